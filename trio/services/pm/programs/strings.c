/* strings.c: the strings of an execve, one after the other: path, arguments, environment. They are gathered while the
 * caller's memory is still there. The buffer doubles when it is full, up to a quarter of an 8 MiB stack.
 *
 * A script begins with `#!` and the name of its interpreter. The interpreter gets the rest of that line as one
 * argument, then the script's name in place of the caller's first argument. */
#include "programs/image.h"

#define MOST_PAGES 512
#define MOST_STRING (128UL << 10)

void strings_drop(struct strings *s)
{
	if (s->bytes)
		pages_give(s->bytes, s->pages);
	s->bytes = NULL;
}

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

int64_t strings_prepend(struct strings *s, const char *text, size_t length)
{
	char *at;

	while (s->used + length + 1 > s->pages * PAGE)
		TRY(grow(s));
	at = s->bytes + s->path;
	memmove(at + length + 1, at, s->used - s->path);
	memcpy(at, text ? text : s->bytes, length);
	at[length] = '\0';
	s->used += length + 1;
	s->environment += length + 1;
	s->argc++;
	return 0;
}

/* Adds the caller's string at `address`. A string with more than `most` bytes, its NUL included, is `too_long`. */
static int64_t add_string(struct strings *s, uint32_t task, uint64_t address, size_t most, int64_t too_long)
{
	for (;;) {
		size_t room = MIN(s->pages * PAGE - s->used, most);
		long length = -ENAMETOOLONG;

		if (room)
			length = copy_string(s->bytes + s->used, room, grant_caller(task, address, room));
		if (length >= 0) {
			s->used += (size_t)length + 1;
			return 0;
		}
		if (length != -ENAMETOOLONG)
			return length;
		if (room == most)
			return too_long;
		TRY(grow(s));
	}
}

/* Adds the strings of a vector of pointers that ends with NULL, from `next` on; NULL stands for an empty vector.
 * Returns 0 when all are there. A share reads as many strings as a copy's share has pages, then returns GIVES_WAY. */
static int64_t add_strings(struct strings *s, uint32_t task, uint32_t *count)
{
	uint64_t pointers[8];

	for (uint32_t share = 0; s->next != 0; share += COUNT_OF(pointers)) {
		/* Only pointers in the same page are read at once: the page behind it may not be mapped. */
		size_t n = MIN((PAGE - (s->next & (PAGE - 1)) + 7) / 8, COUNT_OF(pointers));

		if (share >= SHARE_PAGES)
			return GIVES_WAY;
		TRY(copy_in(pointers, grant_caller(task, s->next, sizeof pointers), 0, n * sizeof pointers[0]));
		for (size_t i = 0; i < n; i++) {
			if (pointers[i] == 0)
				return 0;
			TRY(add_string(s, task, pointers[i], MOST_STRING, -E2BIG));
			++*count;
		}
		s->next += n * sizeof pointers[0];
	}
	return 0;
}

int64_t strings_gather(struct image *image, uint32_t task, uint64_t path, uint64_t arguments, uint64_t environment)
{
	struct strings *s = &image->given;

	if (image->stage == PATH) {
		*s = (struct strings){ .bytes = pages_take(1), .pages = 1, .next = arguments };
		if (!s->bytes)
			return -ENOMEM;
		TRY(add_string(s, task, path, PATH_BYTES, -ENAMETOOLONG));
		s->path = s->used;
		image->stage = ARGUMENTS;
	}
	if (image->stage == ARGUMENTS) {
		TRY(add_strings(s, task, &s->argc));
		s->environment = s->used;
		/* Programs rely on the first argument, so a program without arguments gets an empty one. */
		if (s->argc == 0)
			TRY(strings_prepend(s, "", 0));
		s->next = environment;
		image->stage = ENVIRONMENT;
	}
	if (image->stage == ENVIRONMENT) {
		TRY(add_strings(s, task, &s->envc));
		image->stage = GATHERED;
	}
	return 0;
}

/* Removes the first argument. */
static void strings_shift(struct strings *s)
{
	char *at = s->bytes + s->path;
	size_t n = strlen(at) + 1;

	memmove(at, at + n, s->used - s->path - n);
	s->used -= n;
	s->environment -= n;
	s->argc--;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static char *skip(char *at, const char *end, bool spaces)
{
	while (at < end && is_space(*at) == spaces)
		at++;
	return at;
}

int64_t script_take(struct image *image)
{
	char *limit = image->head + LINE_BYTES, *end = image->head + 2, *name, *name_end, *argument;
	struct strings *s = &image->given;

	if (image->head[0] != '#' || image->head[1] != '!')
		return 0;
	if (image->scripts++ == SCRIPTS)
		return -ELOOP;
	while (end < limit && *end != '\n' && *end != '\0')
		end++;
	name = skip(image->head + 2, end, true);
	name_end = skip(name, end, false);
	if (name == name_end || name_end == limit)
		return -ENOEXEC;
	argument = skip(name_end, end, true);
	while (end > argument && is_space(end[-1]))
		end--;
	if (image->scripts == 1) {
		strings_shift(s);
		TRY(strings_prepend(s, NULL, s->path - 1));
	}
	if (argument < end)
		TRY(strings_prepend(s, argument, (size_t)(end - argument)));
	TRY(strings_prepend(s, name, (size_t)(name_end - name)));
	return 1;
}
