/* in_kernel.c: of port.h and structure.h, what is the same wherever services are parts of the kernel. */
#include "core/memory.h"
#include "structure.h"

void alarm_at(uint32_t endpoint, nanoseconds deadline)
{
	timer_set(TASKS + endpoint, deadline);
}

/* Services are in the kernel and need no traps. */
bool is_service_trap(uint64_t number)
{
	(void)number;
	return false;
}

int64_t service_trap(uint64_t number, const uint64_t *arguments)
{
	(void)number;
	(void)arguments;
	return -ENOSYS;
}

uint64_t service_address(uint32_t endpoint, uint64_t frame)
{
	(void)endpoint;
	return (uint64_t)physical(frame);
}

void deadline_passed(uint32_t who)
{
	if (who >= TASKS) {
		notify(who - TASKS, NOTIFY_ALARM);
		return;
	}
	tasks[who]->request.late = true;
	unpark_request(&tasks[who]->request);
}
