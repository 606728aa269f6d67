/* server.h: the inside of a protection domain that is a thread or a process: its generated part and its loop. */
#ifndef TRIO_SERVER_H
#define TRIO_SERVER_H

#include "numbers.h"
#include "message.h"

/* A client's request that this domain has, with the arguments that its handler gets again. */
struct held {
	struct request request;
	uint64_t words[MESSAGE_WORDS];
	nanoseconds deadline;
	const struct dispatcher *service;
	/* is_parked: it waits in a queue of the service. runs_again: it is in the queue of those that run again. */
	bool is_parked, runs_again;
} __attribute__((aligned(256)));

/* A service of the domain: its table of handlers, and the functions that unpack messages for it. */
struct dispatcher {
	const void *table;
	void (*start)(const void *table);
	void (*notified)(const void *table, uint64_t bits);
	int64_t (*call)(const void *table, uint16_t call, uint64_t *words);
	verdict (*client)(const void *table, struct request *r, const uint64_t *words);
	/* They make the size a power of two, so that an index is a shift. */
	uint64_t unused[3];
};

/* Generated: the domain's services, the lowest first; by task, room for its clients' requests; its counters. */
extern const struct dispatcher domain_services[];
extern const unsigned domain_service_count;
/* By endpoint: the index of its service above. */
extern const uint8_t domain_places[ENDPOINTS];
extern struct held domain_held[];
extern struct counters domain_counters;

#define COUNT(what, by) COUNT_IN(domain_counters, what, by)

static inline void count_call(unsigned which)
{
	COUNT(calls[which], 1);
}

/* The loop of a domain. */
_Noreturn void serve(void);

#endif
