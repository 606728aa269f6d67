/* thread.c: a domain that is a thread of the kernel makes procedure calls for its requests. */
#include "ipc.h"
#include "message.h"

int64_t trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	COUNT(server_traps, 1);
	return domain_trap(number, (uint64_t[]){ a, b, c });
}

uint64_t reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs)
{
	return thread_reply_and_wait(whom, result, words, outs);
}

int64_t message_call(uint64_t header, uint64_t *words)
{
	COUNT(server_traps, 1);
	return domain_call(header, words);
}

int64_t copy_directly(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind)
{
	return grants_copy_short(g.id, g.length, offset, own, n, kind);
}

void *pages_take(size_t count)
{
	return (void *)trap_kernel(TRAP_PAGES_TAKE, count, 0, 0);
}

void pages_give(void *pages, size_t count)
{
	trap_kernel(TRAP_PAGES_GIVE, (uint64_t)pages, count, 0);
}
