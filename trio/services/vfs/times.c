/* times.c: when a file was last read and written, as programs set it. */
#include "abi/time.h"
#include "handlers.h"

/* Two of what utime, utimes and utimensat point to are as long. */
union given {
	int64_t seconds[2];
	struct linux_timeval micro[2];
	struct linux_timespec nano[2];
};

/* Nanoseconds since 1970. Instants that 64 bits do not reach become the last that they do, as a file system's do on
 * Linux. */
static int64_t instant(int64_t seconds, int64_t rest)
{
	const int64_t most = INT64_MAX / (int64_t)NS_PER_SECOND - 1;

	if (seconds > most || seconds < -most)
		return seconds < 0 ? -most * (int64_t)NS_PER_SECOND : most * (int64_t)NS_PER_SECOND;
	return seconds * (int64_t)NS_PER_SECOND + rest;
}

/* Of what is given, the time at `i`. UTIME_NOW and UTIME_OMIT are nanoseconds that no other unit becomes. */
static struct linux_timespec time_at(const union given *given, uint32_t unit, unsigned i)
{
	int64_t micro = given->micro[i].microseconds;

	if (unit == 1)
		return given->nano[i];
	if (unit == 0)
		return (struct linux_timespec){ given->seconds[i], 0 };
	return (struct linux_timespec){ given->micro[i].seconds, micro < 0 || micro >= 1000000 ? -1 : micro * 1000 };
}

/* Those of `which` are meant. 1: both are now, else 0, or -errno. None given: both now. */
static int64_t times_get(struct grant from, uint32_t unit, struct file_attributes *to, unsigned *which)
{
	int64_t *const times[] = { &to->accessed, &to->modified };
	union given given = { .nano = { { 0, UTIME_NOW }, { 0, UTIME_NOW } } };
	unsigned present = 0;

	if (from.length == 0)
		unit = 1;
	else
		TRY(copy_in(&given, from, 0, MIN(from.length, sizeof given)));
	for (unsigned i = 0; i < 2; i++) {
		struct linux_timespec t = time_at(&given, unit, i);

		if (t.nanoseconds == UTIME_OMIT)
			continue;
		*which |= i == 0 ? SET_ACCESSED : SET_MODIFIED;
		present += t.nanoseconds == UTIME_NOW;
		if (t.nanoseconds == UTIME_NOW)
			*times[i] = vfs_time();
		else if (t.nanoseconds >= 0 && t.nanoseconds < (int64_t)NS_PER_SECOND)
			*times[i] = instant(t.seconds, t.nanoseconds);
		else
			return -EINVAL;
	}
	return present == 2;
}

verdict vfs_set_times(struct request *r, int32_t directory, struct grant path, struct grant times, uint32_t unit,
		      uint32_t flags)
{
	struct file_attributes to = { 0 };
	unsigned which = 0;
	int64_t both_now = times_get(times, unit, &to, &which);
	HELD struct node *n = NULL;

	/* With nothing to be set the path is not even looked at. */
	if (both_now < 0 || which == 0)
		return settle(r, both_now);
	TRY_ANSWER(r, node_to_set(r, directory, path, flags, &n));
	/* Who may write may set both to now. */
	if (!is_owner(r->task, n))
		TRY_ANSWER(r, both_now ? permitted(r->task, n, MAY_WRITE) : -EPERM);
	return vfs_settle(r, node_set(n, which, &to));
}
