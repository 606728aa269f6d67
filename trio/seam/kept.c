/* kept.c: port.h's keep and kept in a server: the kernel has the word, so it outlives the server's process. */
#include "message.h"

void keep(uint32_t endpoint, uint64_t word)
{
	trap_kernel(TRAP_KEEP, endpoint, word, 0);
}

uint64_t kept(uint32_t endpoint)
{
	return (uint64_t)trap_kernel(TRAP_KEPT, endpoint, 0, 0);
}
