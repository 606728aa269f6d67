/* structure.h: what the kernel leaves to the structure: services in its own domain (local.c), in domains that are
 * threads or processes (ipc.c), or both. Which, is known when the kernel is compiled. */
#ifndef TRIO_STRUCTURE_H
#define TRIO_STRUCTURE_H

#include "core/memory.h"
#include "core/task.h"
#include "ipc.h"
#include "local.h"

/* A bit a domain: servers that are to run since they were notified; bit 0: services in the kernel were. */
extern uint64_t services_notified;

/* A server is to run before the present task. */
static inline bool servers_notified(void)
{
	return SERVERS && services_notified;
}

/* Without servers, notified services do what they have to, now. */
static inline void deliver_here(void)
{
	if (!SERVERS)
		local_deliver();
}

/* The same, and with servers they run before the present task. */
static inline void deliver_notifications(void)
{
	deliver_here();
	if (servers_notified())
		schedule();
}

/* Where a service reads and writes a frame; 0: no memory. */
static inline uint64_t service_address(uint32_t endpoint, uint64_t frame)
{
	if (SERVERS && is_process(endpoints[endpoint].domain))
		return process_window(endpoints[endpoint].domain, frame);
	return (uint64_t)physical(frame);
}

/* Whether the present service is a process that lacks a right of rights.c's. */
#define BY_PROCESS (PROCESSES && is_process(PRESENT_DOMAIN) && !current->in_service)
#define IS_REFUSED(right) (BY_PROCESS && !(right))

/* Services begin, the lowest first. */
void services_begin(void);

/* What has come for `t` is what ends its request. */
static inline bool request_is_ended(const struct task *t)
{
	static const uint32_t work[] = { [BY_A_SIGNAL] = WORK_ATTEND, [BY_THE_END] = WORK_END, [BY_NOTHING] = 0 };

	return (t->work & work[t->request.ends]) != 0;
}

/* The present task had the processor for a tick. */
static inline void present_ticked(void)
{
	if (PROCESSES && is_server(current))
		server_ticked();
}

/* A parked request of `t`'s ends with -EINTR, or with what is done, if a signal ends it. */
static inline void request_interrupt(struct task *t)
{
	if (SERVICES_IN_KERNEL && (!SERVERS || t->request.link.next))
		local_interrupt(t);
	else if (SERVERS)
		server_interrupt(t);
}

/* A request of `t`'s is parked. */
static inline bool request_is_parked(const struct task *t)
{
	return SERVERS ? t->request.link.next || server_has_parked(t) : t->state == WAITING;
}

/* pm, which has ended itself, cannot end the present task's process: the task does not go on. That of the first process
 * ends the machine. */
void task_end_alone(uint32_t status);
/* What pm answered to pm.raise: nobody but the kernel can end a program once pm, a process, has ended. */
static inline void end_without_pm(int64_t raised, unsigned signal)
{
	if (PROCESSES && raised == -EIO)
		task_end_alone(128 + signal);
}

/* Nobody is to answer `t`'s parked request any more. */
void request_forget(struct task *t);
/* The deadline of `who` has passed: a task's request, or (TASKS + endpoint) a service's alarm. */
void deadline_passed(uint32_t who);

#endif
