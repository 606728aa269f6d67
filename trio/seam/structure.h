/* structure.h: what the kernel leaves to the structure. Services are in its own domain (local.c), in domains that are
 * threads or processes (ipc.c), or in both; which, the kernel knows when it is compiled. */
#ifndef TRIO_STRUCTURE_H
#define TRIO_STRUCTURE_H

#include "core/memory.h"
#include "core/task.h"
#include "ipc.h"
#include "local.h"

/* A bit for each domain: servers that have to run because they were notified. Bit 0: services in the kernel were
 * notified. */
extern uint64_t services_notified;

/* Whether a server has to run before the present task. */
static inline bool servers_notified(void)
{
	return SERVERS && services_notified;
}

/* Without servers, runs the handlers of notifications now. */
static inline void deliver_here(void)
{
	if (!SERVERS)
		local_deliver();
}

/* The same; servers that were notified run before the present task. */
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

/* Whether the present service is a process that lacks a right (rights.c). */
#define BY_PROCESS (PROCESSES && is_process(PRESENT_DOMAIN) && !current->in_service)
#define IS_REFUSED(right) (BY_PROCESS && !(right))

/* Starts the services, the lowest first. */
void services_begin(void);

/* Whether what has come for `t` ends its request. */
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

/* A signal came for `t`. If it ends the parked request of `t`, the answer is -EINTR, or what the request has done. */
static inline void request_interrupt(struct task *t)
{
	if (SERVICES_IN_KERNEL && (!SERVERS || t->request.link.next))
		local_interrupt(t);
	else if (SERVERS)
		server_interrupt(t);
}

/* Whether a request of `t` is parked. */
static inline bool request_is_parked(const struct task *t)
{
	return SERVERS ? t->request.link.next || server_has_parked(t) : t->state == WAITING;
}

/* pm has ended and cannot end the present task's process, so the kernel stops the task. If it is the first process's,
 * the machine ends. */
void task_end_alone(uint32_t status);
/* `raised` is what pm answered to pm.raise. Only the kernel can end a program once pm, a process, has ended. */
static inline void end_without_pm(int64_t raised, unsigned signal)
{
	if (PROCESSES && raised == -EIO)
		task_end_alone(128 + signal);
}

/* Forgets the parked request of `t`: nobody answers it any more. */
void request_forget(struct task *t);
/* The deadline of `who` has passed: of a task's request, or of a service's alarm (TASKS + endpoint). */
void deadline_passed(uint32_t who);

#endif
