/* host.h: the memory service, the page tables and the frames of Trio in a program on a host. */
#ifndef HOST_H
#define HOST_H

#include "core/frames.h"
#include "vm_internal.h"

/* Of the machine that is played. */
#define MEMORY_BYTES (64UL << 20)

/* port.h's is looked after only in a kernel built for that; here every one is. */
#undef CHECK
#define CHECK(condition)                                                                  \
	do {                                                                              \
		if (!(condition))                                                         \
			panic("%s:%d: %s does not hold", __FILE__, __LINE__, #condition); \
	} while (0)

extern const struct vm_service vm_service;

void host_start(void);
/* Each case leaves nothing behind. */
void host_run(void (*const cases[])(void), size_t count);
/* How often the service above was told that there is something to do. */
extern unsigned host_notified;
/* What a program that reads or writes a word there gets: 0, or what vm.fault says. Checks that a fault that is answered
 * with 0 is not raised again and again. */
int64_t user_read(uint32_t task, uint64_t address, uint64_t *value);
int64_t user_write(uint32_t task, uint64_t address, uint64_t value);

/* What was dropped is freed at once. */
void host_reap(void);

/* A client's call, however often it gives way: its answer. */
#define ASK(by, call, ...)                                             \
	({                                                             \
		struct request asked = { .task = (by) };               \
		while (vm_service.call(&asked, __VA_ARGS__) == PARKED) \
			host_reap();                                   \
		host_reap();                                           \
		asked.result;                                          \
	})
/* A service's call, asked again as often as that says. */
#define CALL(call, ...)                                                   \
	({                                                                \
		int64_t called;                                           \
		while ((called = vm_service.call(__VA_ARGS__)) == -EWAIT) \
			host_reap();                                      \
		host_reap();                                              \
		called;                                                   \
	})
#define LEAVE(task) CALL(leave, task, &(uint64_t){ 0 })

#endif
