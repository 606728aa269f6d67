/* host.h: the memory service, the page tables and the frames of Trio in a program on a host. */
#ifndef HOST_H
#define HOST_H

#include "core/frames.h"
#include "vm.h"

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
/* What a program that reads or writes a word there gets: 0, or what vm.fault says. Checks that a fault that is answered
 * with 0 is not raised again and again. */
int64_t user_read(uint32_t task, uint64_t address, uint64_t *value);
int64_t user_write(uint32_t task, uint64_t address, uint64_t value);

/* A client's call: its answer. */
#define ASK(by, call, ...)                                                   \
	({                                                                   \
		struct request asked = { .task = (by) };                     \
		(void)vm_service.call(vm_service.self, &asked, __VA_ARGS__); \
		asked.result;                                                \
	})
#define CALL(call, ...) vm_service.call(vm_service.self, __VA_ARGS__)

#endif
