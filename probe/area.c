/* area.c: memory for working sets, and sums of words whose loads no compiler widens or omits. */
#include "km.h"

void *km_area(struct km *km, size_t bytes)
{
	void *at = km_map_fresh(bytes, 1);

	if (!at && errno == ENOSYS) { /* no mmap here */
		char *block = malloc(bytes + km->page);

		if (!block)
			km_fail_call(km, "malloc");
		return block + km->page - (uintptr_t)block % km->page;
	}
	if (!at)
		km_fail_call(km, "mmap");
	return at;
}

void *km_area_huge(struct km *km, size_t bytes)
{
	size_t huge;
	const char *why = km_huge_missing(&huge);
	void *at;

	if (why)
		km_unsupported(km, "%s", why);
	if (bytes % huge != 0)
		km_unsupported(km, "the working set is not a multiple of a huge page, which has %lu KiB here",
			       (unsigned long)(huge / 1024));
	at = km_map_huge(bytes, huge);
	if (!at)
		km_lacking(km, "madvise");
	return at;
}

/* Four sums: with one, the additions would take the time, not the loads. */
KM_NOINLINE unsigned long km_sum(const void *from, size_t bytes)
{
	const volatile unsigned long *at = from, *end = &at[bytes / sizeof *at];
	unsigned long a = 0, b = 0, c = 0, d = 0;

	for (; at < end; at += KM_SUM_WORDS) {
		a += at[0];
		b += at[1];
		c += at[2];
		d += at[3];
		a += at[4];
		b += at[5];
		c += at[6];
		d += at[7];
	}
	return a + b + c + d;
}

KM_NOINLINE unsigned long km_sum_wide(const void *from, size_t bytes, int forward)
{
	const volatile km_wide *at = from;
	size_t step = forward ? KM_SUM_WORDS : 0;
	km_wide a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	unsigned long words[sizeof a / sizeof(unsigned long)], sum = 0;

	for (size_t left = bytes / (KM_SUM_WORDS * sizeof a); left > 0; left--, at += step) {
		a += at[0];
		b += at[1];
		c += at[2];
		d += at[3];
		a += at[4];
		b += at[5];
		c += at[6];
		d += at[7];
	}
	a += b + c + d;
	memcpy(words, &a, sizeof a);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		sum += words[i];
	return sum;
}
