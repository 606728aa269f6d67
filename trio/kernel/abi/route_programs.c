/* route_programs.c: Linux's calls that make, replace, end and wait for processes. */
#include "abi/files.h"
#include "abi/process.h"
#include "abi/signal.h"
#include "route_pm.h"

/* Strings of an execve, gathered in the kernel: path, arguments, environment. Pages double when they are full; the most
 * is what a quarter of an 8 MiB stack holds. */
#define MOST_PAGES 512
#define MOST_STRING (128UL << 10)

struct strings {
	char *bytes;
	size_t pages, used;
	uint32_t count;
};

static int64_t grow(struct strings *s)
{
	size_t pages = s->pages * 2;
	char *more;

	if (pages > MOST_PAGES)
		return -E2BIG;
	more = pages_take(pages);
	if (!more)
		return -ENOMEM;
	memcpy(more, s->bytes, s->used);
	pages_give(s->bytes, s->pages);
	s->bytes = more;
	s->pages = pages;
	return 0;
}

/* Strings that are gathered before others may run. */
#define SHARE_STRINGS 1024

/* The string at a user's address; `most` bytes with its NUL at most, or `too_long`. */
static int64_t add_string(struct strings *s, uint64_t address, size_t most, int64_t too_long)
{
	for (;;) {
		size_t room = MIN(s->pages * PAGE - s->used, most);
		long length = room ? copy_string(s->bytes + s->used, room, user_grant(address, room)) : -ENAMETOOLONG;
		int64_t result;

		if (length >= 0) {
			s->used += (size_t)length + 1;
			s->count++;
			return s->count % SHARE_STRINGS == 0 && !task_look() ? -EINTR : 0;
		}
		if (length != -ENAMETOOLONG)
			return length;
		if (room == most)
			return too_long;
		result = grow(s);
		if (result != 0)
			return result;
	}
}

/* All strings of a vector of pointers that ends with NULL; no vector at all is an empty one. */
static int64_t add_strings(struct strings *s, uint64_t vector)
{
	uint64_t pointers[8];

	if (vector == 0)
		return 0;
	for (;;) {
		/* As many as lie in the same page: what is behind it may not be there. */
		size_t n = MIN((PAGE - (vector & (PAGE - 1)) + 7) / 8, COUNT_OF(pointers));

		if (user_get(pointers, vector, n * sizeof pointers[0]) != 0)
			return -EFAULT;
		for (size_t i = 0; i < n; i++) {
			int64_t result;

			if (pointers[i] == 0)
				return 0;
			result = add_string(s, pointers[i], MOST_STRING, -E2BIG);
			if (result != 0)
				return result;
		}
		vector += n * sizeof pointers[0];
	}
}

/* A program without arguments gets an empty one, as programs take the first for granted. */
static int64_t add_arguments(struct strings *s, uint64_t vector)
{
	int64_t result = add_strings(s, vector);

	if (result != 0 || s->count > 1)
		return result;
	if (s->used == s->pages * PAGE) {
		result = grow(s);
		if (result != 0)
			return result;
	}
	s->bytes[s->used++] = '\0';
	s->count++;
	return 0;
}

static int64_t execute(struct task *t, int32_t directory, const uint64_t *a, uint32_t flags)
{
	struct strings s = { .bytes = pages_take(1), .pages = 1 };
	size_t path_bytes = 0;
	uint32_t argc = 0;
	int64_t result;

	if (!s.bytes)
		return -ENOMEM;
	result = add_string(&s, a[0], PATH_BYTES, -ENAMETOOLONG);
	if (result == 0) {
		path_bytes = s.used;
		result = add_arguments(&s, a[1]);
	}
	if (result == 0) {
		argc = s.count - 1;
		result = add_strings(&s, a[2]);
	}
	if (result == 0)
		result = client_pm_execute(&t->request, directory, grant_read(s.bytes, path_bytes),
					   grant_read(s.bytes + path_bytes, s.used - path_bytes), argc,
					   s.count - 1 - argc, flags);
	pages_give(s.bytes, s.pages);
	return result;
}

int64_t run_execve(struct task *t, const uint64_t *a)
{
	return execute(t, AT_FDCWD, a, 0);
}

int64_t run_execveat(struct task *t, const uint64_t *a)
{
	if (a[4] & ~(uint64_t)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	return execute(t, (int32_t)a[0], a + 1, (uint32_t)a[4]);
}

#define WAIT4_OPTIONS (WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WALL | WCLONE)
#define WAITID_OPTIONS (WAIT4_OPTIONS | WEXITED | WNOWAIT)

int64_t run_wait4(struct task *t, const uint64_t *a)
{
	struct request *r = &t->request;
	int32_t pid = (int32_t)a[0];
	uint32_t which = pid > 0 ? P_PID : pid == -1 ? P_ALL : P_PGID;
	int64_t result;
	uint32_t status;

	if ((uint32_t)a[2] & ~(uint32_t)WAIT4_OPTIONS)
		return -EINVAL;
	if (pid == INT32_MIN)
		return -ESRCH;
	result = client_pm_wait(r, which, pid < 0 ? -pid : pid, (uint32_t)a[2] | WEXITED,
				user_grant_if(a[3], sizeof(struct linux_rusage)));
	if (result <= 0 || !a[1])
		return result;
	status = (uint32_t)r->out[OUT_PM_WAIT_STATUS];
	return user_put(a[1], &status, sizeof status) == 0 ? result : -EFAULT;
}

/* What waitid tells of a status: an exit status or a signal. */
static int32_t status_of(const uint64_t *out)
{
	uint32_t status = (uint32_t)out[OUT_PM_WAIT_STATUS];

	switch (out[OUT_PM_WAIT_SIGNAL_CODE]) {
	case CLD_KILLED:
		return (int32_t)(status & 0x7f);
	case CLD_CONTINUED:
		return SIGCONT;
	default:
		return (int32_t)(status >> 8 & 0xff);
	}
}

int64_t run_waitid(struct task *t, const uint64_t *a)
{
	struct request *r = &t->request;
	uint32_t which = (uint32_t)a[0];
	struct linux_siginfo i = { 0 };
	int64_t result;

	if ((uint32_t)a[3] & ~(uint32_t)WAITID_OPTIONS || which > P_PGID)
		return -EINVAL;
	if ((which == P_PID && (int32_t)a[1] <= 0) || (which == P_PGID && (int32_t)a[1] < 0))
		return -EINVAL;
	result = client_pm_wait(r, which, (int32_t)a[1], (uint32_t)a[3],
				user_grant_if(a[4], sizeof(struct linux_rusage)));
	if (result < 0)
		return result;
	if (result > 0) {
		i.signal = SIGCHLD;
		i.code = (int32_t)r->out[OUT_PM_WAIT_SIGNAL_CODE];
		i.pid = (int32_t)result;
		i.uid = (uint32_t)r->out[OUT_PM_WAIT_UID];
		i.status = status_of(r->out);
	}
	/* Linux writes these fields and no others. */
	return a[2] ? user_put(a[2], &i, offsetof(struct linux_siginfo, status_pad)) : 0;
}
