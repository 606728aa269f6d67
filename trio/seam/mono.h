/* mono.h: what the generated stubs of the structure "mono" stand on: a call of a service is a call of a procedure. */
#ifndef TRIO_MONO_H
#define TRIO_MONO_H

#include "calls.h"
#include "core/checked.h"
#include "core/task.h"

static inline void count_call(unsigned which)
{
	COUNT(calls[which], 1);
	(void)which;
}

/* Of a call that may wait: its handler may run more than once. Others need nothing of it. */
static inline void request_begin(struct request *r, uint16_t call)
{
	r->call = call;
	r->late = r->again = false;
	r->done = 0;
	for (unsigned i = 0; i < SCRATCH_WORDS; i++)
		r->scratch[i] = 0;
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
	(void)r;
	(void)said;
}

/* The handler parked or gave way: others run. True: it is to run again; false: the request has its answer. */
bool wait_for_answer(struct request *r);

/* Generated: every service's start, and the handler of its notifications. */
void services_start(void);
void service_notified(uint32_t endpoint, uint64_t bits);

/* Who made a grant of user memory need not be in it: it is always the present task. */
static inline uint64_t grant_owner(void)
{
	return 0;
}

#endif
