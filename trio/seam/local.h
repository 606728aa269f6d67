/* local.h: services in the kernel's own domain, where a call is a procedure call. Generated stubs use this. */
#ifndef TRIO_LOCAL_H
#define TRIO_LOCAL_H

#include "calls.h"
#include "queue.h"
#include "core/checked.h"
#include "core/task.h"
#include "switches.h"
#include "x86/cpu.h"

static inline void count_call(unsigned which)
{
	COUNT(calls[which], 1);
}

/* Begins the request of a call that may give way. */
static inline void request_begin_at_once(struct request *r)
{
	r->again = false;
}

/* Checks what the handler of a call that cannot wait has returned. */
static inline void at_once(const struct request *r, verdict said)
{
	INVARIANT(said == ANSWERED);
	INVARIANT(!r->link.next);
}

/* The handler parked or gave way: other tasks run. Returns true if the handler is to run again, false if the request
 * has its answer. */
bool wait_for_answer(struct request *r);

#if PARKING_COUNTED
/* Stands for the loop that runs a handler again. What two runs have in common is at most the shorter run. */
#define COUNTED_HANDLE(r, call)                                          \
	do {                                                             \
		uint64_t parked_ = 0, took_ = cpu_cycles();              \
		verdict said_ = (call);                                  \
		for (;; took_ = cpu_cycles(), said_ = (call)) {          \
			took_ = cpu_cycles() - took_;                    \
			COUNT(parked, parked_ != 0);                     \
			COUNT(parked_work, MIN(parked_, took_));         \
			parked_ = current->state == WAITING ? took_ : 0; \
			if (said_ != PARKED || !wait_for_answer(r))      \
				break;                                   \
		}                                                        \
	} while (0)
#endif

/* One task at a time enters a service in the kernel whose handlers call a server. */
void service_enter(uint32_t endpoint);
void service_leave(uint32_t endpoint);
#define ENTERED(endpoint, call)               \
	({                                    \
		service_enter(endpoint);      \
		__auto_type result_ = (call); \
		service_leave(endpoint);      \
		result_;                      \
	})

/* Generated: every service's start, and the handler of its notifications. */
void services_start(void);
void service_notified(uint32_t endpoint, uint64_t bits);

/* What structure.h's functions do for services in the kernel. */
void local_begin(void);
void local_notify(uint32_t endpoint, unsigned bit);
void local_deliver(void);
void local_interrupt(struct task *t);

#endif
