/* local.h: services in the kernel's own domain: a call of one is a call of a procedure. Generated stubs stand on it. */
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

/* Of a call that may give way. */
static inline void request_begin_at_once(struct request *r)
{
	r->again = false;
}

/* What a handler said whose call cannot wait. */
static inline void at_once(const struct request *r, verdict said)
{
	INVARIANT(said == ANSWERED);
	INVARIANT(!r->link.next);
}

/* The handler parked or gave way: others run. True: it is to run again; false: the request has its answer. */
bool wait_for_answer(struct request *r);

#if PARKING_COUNTED
/* In the place of the loop that runs a handler again. Two runs have in common no more than the shorter one did. */
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

/* A service in the kernel whose handlers call a server is entered by one task at a time. */
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

/* Of structure.h's functions, what they are for services in the kernel. */
void local_begin(void);
void local_notify(uint32_t endpoint, unsigned bit);
void local_deliver(void);
void local_interrupt(struct task *t);

#endif
