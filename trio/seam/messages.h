/* messages.h: what the structures with messages share: the message, and how a server is told one. Interface compiler's
 * output includes it. */
#ifndef TRIO_MESSAGES_H
#define TRIO_MESSAGES_H

#include "endpoints.h"
#include "port.h"

#define MESSAGE_WORDS 12

struct message {
	/* Number within the interface. */
	uint16_t call;
	int64_t result;
	/* The arguments; on the way back the further results. A grant takes two. */
	uint64_t words[MESSAGE_WORDS];
};

/* Sends, waits for the answer, and has it in `m`. Down the order of services alone. */
void message_call(uint32_t endpoint, struct message *m);
/* The same for the present task's program; the answer is in `r`. */
void message_client_call(uint32_t endpoint, struct request *r, struct message *m);

/* Of a service: its table of handlers, and what unpacks for it. */
struct dispatcher {
	const char *name;
	const void *table;
	void (*start)(const void *table);
	void (*notified)(const void *table, uint64_t bits);
	void (*call)(const void *table, struct message *m);
	verdict (*client)(const void *table, struct request *r, const uint64_t *words);
};
#define DISPATCHER(interface)                                                \
	void serve_##interface##_start(const void *table);                   \
	void serve_##interface##_notified(const void *table, uint64_t bits); \
	void serve_##interface##_call(const void *table, struct message *m); \
	verdict serve_##interface##_client(const void *table, struct request *r, const uint64_t *words)

/* By endpoint; 0, the kernel, is empty. */
extern const struct dispatcher dispatchers[ENDPOINTS];

#endif
