/* structure.c: see structure.h; and the functions of port.h that depend on where a service is. */
#include "ipc.h"
#include "queue.h"
#include "structure.h"

uint64_t services_notified;
struct task *notifier;

void notify(uint32_t endpoint, unsigned bit)
{
	if (SERVERS && endpoints[endpoint].domain)
		server_notify(endpoint, 1UL << bit);
	else if (SERVICES_IN_KERNEL)
		local_notify(endpoint, bit);
}

void alarm_at(uint32_t endpoint, nanoseconds deadline)
{
	timer_set(TASKS + endpoint, deadline);
}

void services_begin(void)
{
	if (SERVERS)
		servers_begin();
	if (SERVICES_IN_KERNEL)
		local_begin();
}

void request_forget(struct task *t)
{
	if (t->request.link.next)
		list_remove(&t->request.link);
	else if (SERVERS)
		server_forget(t);
}

void deadline_passed(uint32_t who)
{
	if (who >= TASKS) {
		notify(who - TASKS, NOTIFY_ALARM);
	} else if (SERVICES_IN_KERNEL && (!SERVERS || tasks[who]->request.link.next)) {
		tasks[who]->request.late = true;
		unpark_request(&tasks[who]->request);
	} else if (SERVERS) {
		server_late(tasks[who]);
	}
}
