/* route_names.c: Linux's calls of names: opening, folders, what a file is, mounts. Of a pair of calls with and without
 * "at", the older one names no folder. */
#include "abi/abi.h"
#include "abi/files.h"
#include "abi/time.h"
#include "vfs_client.h"

/* No path: the descriptor itself is meant. */
#define NO_PATH user_grant(0, 0)

/* Which times are meant, which of them are the present, and what the others are. */
struct times {
	uint32_t which, present;
	int64_t time[2];
};

static int64_t set_times(struct task *t, int32_t directory, struct grant path, const struct times *to, uint32_t flags)
{
	return client_vfs_set_times(&t->request, directory, path, to->which, to->present, to->time[0], to->time[1],
				    flags);
}

/* Nanoseconds since 1970. Instants that 64 bits do not reach become the last that they do, as a file system's do on
 * Linux. */
static int64_t instant(int64_t seconds, int64_t rest)
{
	const int64_t most = INT64_MAX / (int64_t)NS_PER_SECOND - 1;

	if (seconds > most || seconds < -most)
		return seconds < 0 ? -most * (int64_t)NS_PER_SECOND : most * (int64_t)NS_PER_SECOND;
	return seconds * (int64_t)NS_PER_SECOND + rest;
}

/* Two struct timespec; none: both now. UTIME_NOW and UTIME_OMIT stand in the nanoseconds. */
static int64_t times_get(uint64_t address, struct times *to)
{
	static const uint32_t bit[2] = { SET_ACCESSED, SET_MODIFIED };
	struct linux_timespec given[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };

	*to = (struct times){ 0 };
	if (address != 0 && user_get(given, address, sizeof given) != 0)
		return -EFAULT;
	for (unsigned i = 0; i < 2; i++) {
		if (given[i].nanoseconds == UTIME_OMIT)
			continue;
		to->which |= bit[i];
		if (given[i].nanoseconds == UTIME_NOW)
			to->present |= bit[i];
		else if (given[i].nanoseconds < 0 || given[i].nanoseconds >= (int64_t)NS_PER_SECOND)
			return -EINVAL;
		else
			to->time[i] = instant(given[i].seconds, given[i].nanoseconds);
	}
	return 0;
}

static int64_t run_utimensat(struct task *t, const uint64_t *a)
{
	struct times to;
	int64_t result = times_get(a[2], &to);

	if (result != 0)
		return result;
	/* No path means the descriptor's own file, and there is none of the current folder's. */
	return set_times(t, (int32_t)a[0], a[1] == 0 && (int32_t)a[0] != AT_FDCWD ? NO_PATH : user_string(a[1]), &to,
			 (uint32_t)a[3]);
}

/* Two struct timeval. */
static int64_t utimes_at(struct task *t, int32_t directory, uint64_t path, uint64_t address)
{
	struct times to = { SET_ACCESSED | SET_MODIFIED, SET_ACCESSED | SET_MODIFIED, { 0, 0 } };
	struct linux_timeval given[2];

	if (address != 0) {
		if (user_get(given, address, sizeof given) != 0)
			return -EFAULT;
		to.present = 0;
		for (unsigned i = 0; i < 2; i++) {
			if (given[i].microseconds < 0 || given[i].microseconds >= 1000000)
				return -EINVAL;
			to.time[i] = instant(given[i].seconds, given[i].microseconds * 1000);
		}
	}
	return set_times(t, directory, user_string(path), &to, 0);
}

static int64_t run_utimes(struct task *t, const uint64_t *a)
{
	return utimes_at(t, AT_FDCWD, a[0], a[1]);
}

static int64_t run_futimesat(struct task *t, const uint64_t *a)
{
	return utimes_at(t, (int32_t)a[0], a[1], a[2]);
}

static int64_t run_utime(struct task *t, const uint64_t *a)
{
	struct times to = { SET_ACCESSED | SET_MODIFIED, SET_ACCESSED | SET_MODIFIED, { 0, 0 } };
	int64_t seconds[2];

	if (a[1] != 0) {
		if (user_get(seconds, a[1], sizeof seconds) != 0)
			return -EFAULT;
		to.present = 0;
		to.time[0] = instant(seconds[0], 0);
		to.time[1] = instant(seconds[1], 0);
	}
	return set_times(t, AT_FDCWD, user_string(a[0]), &to, 0);
}

ROUTE_TABLE(names, { 132, false, "utime", run_utime }, { 235, false, "utimes", run_utimes },
	    { 261, false, "futimesat", run_futimesat }, { 280, false, "utimensat", run_utimensat }, );
