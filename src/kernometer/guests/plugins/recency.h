/* recency.h: lines in the order of their last use, to tell in one pass which accesses a fully associative cache with
 * least-recently-used replacement misses, of each of some sizes (Mattson et al., Evaluation techniques for storage
 * hierarchies, 1970). The last line within each size is marked, so that an access costs a look and a step for each size
 * that misses. Exact. */
#ifndef KM_RECENCY_H
#define KM_RECENCY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 64u /* lines: 4 KiB */
#define CACHE_SIZES 10u
#define CACHE_LINES(size) (SMALLEST << (size))
#define NEVER_USED (CACHE_SIZES + 1) /* as an answer */

struct recency {
	struct used {
		uint64_t line;
		uint32_t newer, older;              /* 0: none */
		uint32_t beyond;                    /* how many sizes are too small to hold it */
	} *used;                                    /* from 1 on */
	uint32_t *places;                           /* a hash table of them; 0: an empty place */
	uint32_t count, room;                       /* room: of `places`, a power of two; half of it in `used` */
	uint32_t newest, oldest, last[CACHE_SIZES]; /* last: within each size; 0: it is not full */
};

static uint32_t *recency_place(const struct recency *recency, uint64_t line)
{
	uint32_t at = (uint32_t)(line * 0x9e3779b97f4a7c15ull >> 32) & (recency->room - 1);

	while (recency->places[at] != 0 && recency->used[recency->places[at]].line != line)
		at = (at + 1) & (recency->room - 1);
	return &recency->places[at];
}

static void recency_grow(struct recency *recency)
{
	uint32_t room = recency->room ? 2 * recency->room : 1u << 14, i;
	struct used *used = realloc(recency->used, (room / 2 + 1) * sizeof *used);

	free(recency->places);
	recency->places = calloc(room, sizeof *recency->places);
	if (recency->places == NULL || used == NULL)
		abort();
	recency->room = room;
	recency->used = used;
	for (i = 1; i <= recency->count; i++)
		*recency_place(recency, recency->used[i].line) = i;
}

/* A line that was used first now: behind all others, until it is put before them. */
static uint32_t recency_add(struct recency *recency, uint64_t line)
{
	uint32_t here, i;

	if (recency->count == recency->room / 2)
		recency_grow(recency);
	here = ++recency->count;
	*recency_place(recency, line) = here;
	recency->used[here] = (struct used){ line, recency->oldest, 0, 0 };
	if (recency->oldest != 0)
		recency->used[recency->oldest].older = here;
	else
		recency->newest = here;
	recency->oldest = here;
	for (i = 0; i < CACHE_SIZES && here > CACHE_LINES(i); i++)
		recency->used[here].beyond = i + 1;
	for (i = 0; i < CACHE_SIZES; i++)
		if (here == CACHE_LINES(i))
			recency->last[i] = here;
	return here;
}

static void recency_to_front(struct recency *recency, uint32_t here)
{
	struct used *used = recency->used;
	uint32_t i, beyond = used[here].beyond;

	for (i = 0; i < beyond; i++) { /* one falls out of each of these sizes */
		used[recency->last[i]].beyond++;
		recency->last[i] = used[recency->last[i]].newer;
	}
	if (beyond < CACHE_SIZES && recency->last[beyond] == here)
		recency->last[beyond] = used[here].newer;
	used[used[here].newer].older = used[here].older;
	if (used[here].older != 0)
		used[used[here].older].newer = used[here].newer;
	else
		recency->oldest = used[here].newer;
	used[recency->newest].newer = here;
	used[here].older = recency->newest;
	used[here].newer = used[here].beyond = 0;
	recency->newest = here;
}

/* The line is used: how many of the sizes, the smallest ones, did not hold it; NEVER_USED if none has ever. */
static uint32_t recency_use(struct recency *recency, uint64_t line)
{
	uint32_t here, answer;

	if (recency->newest != 0 && recency->used[recency->newest].line == line)
		return 0;
	here = recency->room ? *recency_place(recency, line) : 0;
	answer = here != 0 ? recency->used[here].beyond : NEVER_USED;
	if (here == 0)
		here = recency_add(recency, line);
	if (here != recency->newest)
		recency_to_front(recency, here);
	return answer;
}

#endif
