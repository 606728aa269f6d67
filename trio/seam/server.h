/* server.h: a protection domain that is a thread or a process, from within: its generated part and its loop. */
#ifndef TRIO_SERVER_H
#define TRIO_SERVER_H

#include "numbers.h"
#include "message.h"

/* A client's request that is here, and the arguments that its handler gets again. */
struct held {
	struct request request;
	uint64_t words[MESSAGE_WORDS];
	nanoseconds deadline;
	const struct dispatcher *service;
	/* In a queue of the service's, waiting; in the queue of those that run again. */
	bool is_parked, runs_again;
} __attribute__((aligned(256)));

/* A service of the domain's: its table of handlers, and what unpacks messages for it. */
struct dispatcher {
	const void *table;
	void (*start)(const void *table);
	void (*notified)(const void *table, uint64_t bits);
	int64_t (*call)(const void *table, uint16_t call, uint64_t *words);
	verdict (*client)(const void *table, struct request *r, const uint64_t *words);
	/* So that a place is a shift. */
	uint64_t unused[3];
};

/* Generated: the domain's services, the lowest first; room for its clients' requests, by task; and what it counts. */
extern const struct dispatcher domain_services[];
extern const unsigned domain_service_count;
/* By endpoint: which of them it is. */
extern const uint8_t domain_places[ENDPOINTS];
extern struct held domain_held[];
extern struct counters domain_counters;

#define COUNT(what, by) COUNT_IN(domain_counters, what, by)

static inline void count_call(unsigned which)
{
	COUNT(calls[which], 1);
}

/* A domain's life. */
_Noreturn void serve(void);

#endif
