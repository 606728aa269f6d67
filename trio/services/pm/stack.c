/* stack.c: a new program's stack. From its top: the program's path, the environment's strings and the arguments', what
 * scripts put before them, 16 random bytes; then, where the stack pointer is, argc, pointers to the arguments, NULL, to
 * the environment, NULL, and the auxiliary vector. */
#include "clock.h"
#include "image.h"

#define RANDOM_BYTES 16
/* Words that are written at once. */
#define WORDS 64

/* Words for the pointers, on their way to the program's memory. */
struct writer {
	uint64_t *words;
	uint32_t count;
	uint32_t task;
	uint64_t to;
	int64_t result;
};

static void flush(struct writer *w)
{
	size_t n = w->count * sizeof w->words[0];

	if (w->result == 0 && n)
		w->result = copy_out(grant_caller(w->task, w->to, n), 0, w->words, n);
	w->to += n;
	w->count = 0;
}

static void put(struct writer *w, uint64_t word)
{
	w->words[w->count++] = word;
	if (w->count == WORDS)
		flush(w);
}

static void put_pair(struct writer *w, uint64_t type, uint64_t value)
{
	put(w, type);
	put(w, value);
}

static uint64_t prefix_bytes(const struct image *image)
{
	return PREFIX_BYTES - image->prefix;
}

uint64_t stack_need(const struct image *image, struct grant path, struct grant arguments, uint64_t strings)
{
	return prefix_bytes(image) + 2 * path.length + arguments.length + (strings + image->prefixes + 2) * 8;
}

/* Strings, and where they are to be in the program's memory. */
struct string_copy {
	struct image *image;
	uint32_t task;
	struct grant from;
	uint64_t to;
};

static int64_t strings_copy(struct string_copy *c)
{
	char *work = c->image->work;
	uint64_t offset = 0;

	while (offset < c->from.length) {
		size_t n = MIN(WORK_BYTES, c->from.length - offset);

		if (copy_in(work, c->from, offset, n) != 0 ||
		    copy_out(grant_caller(c->task, c->to + offset, n), 0, work, n) != 0)
			return -EFAULT;
		offset += n;
	}
	return 0;
}

/* Pointers to `*count` strings that lie one after the other from offset `*at` on, which is then behind them. False:
 * some are left, `*budget` bytes have been looked at. */
static bool put_pointers(struct writer *w, struct string_copy *c, uint32_t *count, uint64_t *at, uint64_t *budget)
{
	const char *work = c->image->work + WORDS * 8;
	uint64_t here = *at, begins = here;
	uint32_t left = *count;
	bool all = true;

	while (left > 0 && here < c->from.length) {
		size_t n = MIN(WORK_BYTES - WORDS * 8, c->from.length - here);

		if (*budget == 0 && begins != *at) {
			all = false;
			break;
		}
		*budget -= MIN(*budget, n);
		if (copy_in(c->image->work + WORDS * 8, c->from, here, n) != 0) {
			w->result = -EFAULT;
			break;
		}
		for (size_t i = 0; i < n && left > 0; left--) {
			while (i < n && work[i] != '\0')
				i++;
			if (i == n)
				break;
			put(w, c->to + begins);
			begins = here + ++i;
		}
		here += n;
	}
	*at = begins;
	*count = left;
	return all;
}

static void put_auxiliary(struct writer *w, const struct thread *t, const struct image *image, uint64_t random,
			  uint64_t path, bool secure)
{
	const struct identity *who = &t->process->identity;

	put_pair(w, AT_HWCAP, pm.hardware);
	put_pair(w, AT_PAGESZ, PAGE);
	put_pair(w, AT_CLKTCK, CLOCK_TICKS);
	put_pair(w, AT_PHDR, image->headers);
	put_pair(w, AT_PHENT, sizeof(struct elf_segment));
	put_pair(w, AT_PHNUM, image->header_count);
	put_pair(w, AT_BASE, image->interpreter ? image->interpreter->bias : 0);
	put_pair(w, AT_FLAGS, 0);
	put_pair(w, AT_ENTRY, image->entry);
	put_pair(w, AT_UID, who->uid);
	put_pair(w, AT_EUID, who->euid);
	put_pair(w, AT_GID, who->gid);
	put_pair(w, AT_EGID, who->egid);
	put_pair(w, AT_SECURE, secure);
	put_pair(w, AT_RANDOM, random);
	put_pair(w, AT_HWCAP2, pm.hardware_2);
	put_pair(w, AT_EXECFN, path);
	put_pair(w, AT_NULL, 0);
}

#define AUXILIARY_WORDS 36

uint64_t first_length(struct image *image, struct grant strings)
{
	uint64_t offset = 0;

	while (offset < strings.length) {
		size_t n = MIN(WORK_BYTES, strings.length - offset);

		if (copy_in(image->work, strings, offset, n) != 0)
			break;
		for (size_t i = 0; i < n; i++)
			if (image->work[i] == '\0')
				return offset + i + 1;
		offset += n;
	}
	return strings.length;
}

/* What has its place on the stack. */
struct layout {
	struct string_copy paths, before, rest;
	uint64_t random, words;
	/* Beside what scripts put before them and the script's name, which is an argument too: a second pointer to the
	 * path. */
	uint32_t arguments;
};

static struct layout lay_out(struct thread *t, struct image *image, const struct arguments *a)
{
	uint64_t prefix = prefix_bytes(image);
	struct layout l = { .paths = { .image = image, .task = t->slot, .from = a->path },
			    .rest = { .image = image, .task = t->slot, .from = a->strings },
			    .before = { .image = image,
					.task = t->slot,
					.from = grant_read(image->strings + image->prefix, prefix) },
			    .arguments = a->argc };

	if (image->replaces_first && a->argc > 0) {
		uint64_t first = first_length(image, a->strings);

		l.rest.from = grant_part(a->strings, first, a->strings.length - first);
		l.arguments--;
	}
	l.paths.to = STACK_TOP - 8 - a->path.length;
	l.rest.to = l.paths.to - l.rest.from.length;
	l.before.to = l.rest.to - prefix;
	l.random = (l.before.to - RANDOM_BYTES) & ~15UL;
	l.words = 1 + image->prefixes + image->replaces_first + l.arguments + 1 + a->envc + 1 + AUXILIARY_WORDS;
	return l;
}

/* The strings, argc, and the pointers to what stands before the arguments. */
static int64_t stack_begin(struct thread *t, struct image *image, const struct arguments *a, struct layout *l,
			   struct writer *w)
{
	uint32_t prefixes = image->prefixes;
	uint64_t at = 0, budget = UINT64_MAX;

	clock_random(grant_write(image->work, RANDOM_BYTES));
	if (copy_out(grant_caller(t->slot, l->random, RANDOM_BYTES), 0, image->work, RANDOM_BYTES) != 0)
		return -EFAULT;
	if (strings_copy(&l->before) != 0 || strings_copy(&l->rest) != 0 || strings_copy(&l->paths) != 0)
		return -EFAULT;
	put(w, image->prefixes + image->replaces_first + l->arguments);
	(void)put_pointers(w, &l->before, &prefixes, &at, &budget);
	if (image->replaces_first)
		put(w, l->paths.to);
	image->stack_begun = true;
	image->left[0] = l->arguments;
	image->left[1] = a->envc;
	image->pointed = 0;
	return 0;
}

int64_t stack_write(struct thread *t, struct image *image, const struct arguments *a, bool secure, uint64_t *sp)
{
	struct layout l = lay_out(t, image, a);
	struct writer w = { .words = (uint64_t *)image->work, .task = t->slot, .to = image->pointers_to };
	uint64_t budget = SHARE_BYTES;

	*sp = (l.random - l.words * 8) & ~15UL;
	if (!image->stack_begun) {
		w.to = *sp;
		if (stack_begin(t, image, a, &l, &w) != 0)
			return -EFAULT;
	}
	for (; image->vector < 2; image->vector++) {
		bool all = put_pointers(&w, &l.rest, &image->left[image->vector], &image->pointed, &budget);

		if (!all) {
			flush(&w);
			image->pointers_to = w.to;
			return w.result == 0 ? GIVES_WAY : w.result;
		}
		put(&w, 0);
	}
	put_auxiliary(&w, t, image, l.random, l.paths.to, secure);
	flush(&w);
	return w.result;
}
