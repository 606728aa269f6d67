/* vector.c: see vector.h. */
#include "abi/vector.h"
#include "abi/abi.h"

int64_t user_vector(struct task *t, uint64_t address, uint64_t count, struct grant *out)
{
	struct vector *v = &t->vector;
	struct segment *segments;
	uint64_t sum = 0;

	if (count > SEGMENTS)
		return -EINVAL;
	if (count > FEW_SEGMENTS && !v->many)
		v->many = pages_take(SEGMENTS_PAGES);
	segments = count > FEW_SEGMENTS ? v->many : v->few;
	if (!segments)
		return -ENOMEM;
	if (user_get(segments, address, count * sizeof *segments) != 0)
		return -EFAULT;
	for (uint64_t i = 0; i < count; i++) {
		if ((int64_t)segments[i].length < 0)
			return -EINVAL;
		segments[i].length = MIN(segments[i].length, MOST_BYTES - sum);
		sum += segments[i].length;
	}
	v->segments = segments;
	v->count = (uint32_t)count;
	v->before = v->last = 0;
	/* This usual case needs no vector. */
	*out = count == 1 ? user_grant(segments[0].address, sum) : (struct grant){ VECTOR_BIT, sum };
	return 0;
}

/* Reads go forwards: the search begins where the last one ended. */
struct segment vector_piece(struct vector *v, uint64_t id, uint64_t offset)
{
	uint64_t at = (id & ~VECTOR_BIT) + offset;

	if (at < v->before)
		v->before = v->last = 0;
	while (v->last < v->count && at - v->before >= v->segments[v->last].length)
		v->before += v->segments[v->last++].length;
	if (v->last == v->count)
		return (struct segment){ 0, 0 };
	at -= v->before;
	return (struct segment){ v->segments[v->last].address + at, v->segments[v->last].length - at };
}
