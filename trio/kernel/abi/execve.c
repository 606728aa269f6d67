/* execve.c: the strings of a new program. */
#include "abi/files.h"
#include "abi/abi.h"
#include "pm_client.h"

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

static int64_t run_execve(struct task *t, const uint64_t *a)
{
	return execute(t, AT_FDCWD, a, 0);
}

static int64_t run_execveat(struct task *t, const uint64_t *a)
{
	if (a[4] & ~(uint64_t)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	return execute(t, (int32_t)a[0], a + 1, (uint32_t)a[4]);
}

ROUTE_TABLE(programs, { 59, true, "execve", run_execve }, { 322, true, "execveat", run_execveat }, );
