/* hybrid.h: of the structure "hybrid", where a service is a thread of the kernel's, reached by messages. */
#ifndef TRIO_HYBRID_H
#define TRIO_HYBRID_H

#include "core/task.h"

/* A service works for whoever asks: a grant names the one whose memory it is, above its address. */
#define OWNER_SHIFT 48

static inline uint64_t grant_owner(void)
{
	return (uint64_t)current->number << OWNER_SHIFT;
}

#endif
