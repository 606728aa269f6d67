/* kept.c: of port.h, a server's word that outlives it: the kernel has it. */
#include "message.h"

void keep(uint32_t endpoint, uint64_t word)
{
	trap_kernel(TRAP_KEEP, endpoint, word, 0);
}

uint64_t kept(uint32_t endpoint)
{
	return (uint64_t)trap_kernel(TRAP_KEPT, endpoint, 0, 0);
}
