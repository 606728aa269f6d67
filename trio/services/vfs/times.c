/* times.c: when a file was last read and written, as programs set it. */
#include "abi/time.h"
#include "handlers.h"

/* Two of what utime, utimes and utimensat point to are as long. */
union given {
	int64_t seconds[2];
	struct linux_timeval micro[2];
	struct linux_timespec nano[2];
};

/* Which times are meant, which of them are the present, and what the others are. */
struct times {
	unsigned which, present;
	int64_t time[2];
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

/* UTIME_NOW and UTIME_OMIT stand in the nanoseconds. */
static int64_t time_get(const struct linux_timespec *given, unsigned bit, struct times *to, int64_t *time)
{
	if (given->nanoseconds == UTIME_OMIT)
		return 0;
	to->which |= bit;
	if (given->nanoseconds == UTIME_NOW)
		to->present |= bit;
	else if (given->nanoseconds < 0 || given->nanoseconds >= (int64_t)NS_PER_SECOND)
		return -EINVAL;
	else
		*time = instant(given->seconds, given->nanoseconds);
	return 0;
}

/* None: both now. */
static int64_t times_get(struct grant from, uint32_t unit, struct times *to)
{
	union given given;

	*to = (struct times){ SET_ACCESSED | SET_MODIFIED, SET_ACCESSED | SET_MODIFIED, { 0, 0 } };
	if (from.length == 0)
		return 0;
	TRY(copy_in(&given, from, 0, MIN(from.length, sizeof given)));
	*to = (struct times){ unit == 1 ? 0 : SET_ACCESSED | SET_MODIFIED, 0, { 0, 0 } };
	for (unsigned i = 0; i < 2; i++) {
		if (unit == 0) {
			to->time[i] = instant(given.seconds[i], 0);
		} else if (unit == 1) {
			if (time_get(&given.nano[i], i == 0 ? SET_ACCESSED : SET_MODIFIED, to, &to->time[i]) != 0)
				return -EINVAL;
		} else {
			if (given.micro[i].microseconds < 0 || given.micro[i].microseconds >= 1000000)
				return -EINVAL;
			to->time[i] = instant(given.micro[i].seconds, given.micro[i].microseconds * 1000);
		}
	}
	return 0;
}

verdict vfs_set_times(struct request *r, int32_t directory, struct grant path, struct grant times, uint32_t unit,
		      uint32_t flags)
{
	struct file_attributes to = { 0 };
	struct times wanted;
	struct node *n;
	int64_t result = times_get(times, unit, &wanted);

	/* With nothing to be set the path is not even looked at. */
	if (result != 0 || wanted.which == 0)
		return settle(r, result);
	result = node_to_set(r, directory, path, flags, &n);
	if (result != 0)
		return vfs_settle(r, result);
	to.accessed = (wanted.present & SET_ACCESSED) != 0 ? vfs_time() : wanted.time[0];
	to.modified = (wanted.present & SET_MODIFIED) != 0 ? vfs_time() : wanted.time[1];
	/* Both to now: who may write will do. */
	if (!is_owner(r->task, n))
		result = wanted.present == (SET_ACCESSED | SET_MODIFIED) ? permitted(r->task, n, MAY_WRITE) : -EPERM;
	if (result == 0)
		result = node_set(n, wanted.which, &to);
	node_drop(n);
	return vfs_settle(r, result);
}
