/* thread.c: what a protection domain that is a thread of the kernel's asks of the kernel: a procedure call. */
#include "ipc.h"
#include "message.h"

int64_t trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	return domain_trap(number, (const uint64_t[]){ a, b, c });
}
