/* stack.c: a new program's stack. From its top: the program's path, the environment's strings and the arguments', what
 * scripts put before them, 16 random bytes; then, where the stack pointer is, argc, pointers to the arguments, NULL, to
 * the environment, NULL, and the auxiliary vector. */
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

/* Pointers to the `count` strings that lie one after the other from offset `at` on, which is then behind them. */
static void put_pointers(struct writer *w, struct string_copy *c, uint32_t count, uint64_t *at)
{
	char *work = c->image->work + WORDS * 8;
	uint64_t begins = *at;

	while (count > 0 && *at < c->from.length) {
		size_t n = MIN(WORK_BYTES - WORDS * 8, c->from.length - *at);

		if (copy_in(work, c->from, *at, n) != 0) {
			w->result = -EFAULT;
			return;
		}
		for (size_t i = 0; i < n && count > 0; i++) {
			++*at;
			if (work[i] != '\0')
				continue;
			put(w, c->to + begins);
			begins = *at;
			count--;
		}
	}
}

static void put_auxiliary(struct pm *pm, struct writer *w, const struct thread *t, const struct image *image,
			  uint64_t random, uint64_t path, bool secure)
{
	const struct identity *who = &t->process->identity;

	put_pair(w, AT_HWCAP, pm->hardware);
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
	put_pair(w, AT_HWCAP2, pm->hardware_2);
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

int64_t stack_write(struct pm *pm, struct thread *t, struct image *image, const struct arguments *a, bool secure,
		    uint64_t *sp)
{
	uint32_t argc = a->argc;
	uint64_t prefix = prefix_bytes(image), random, at = 0;
	/* A script's name is an argument too: a second pointer to the path. */
	bool script = image->replaces_first;
	struct string_copy paths = { .image = image, .task = t->slot, .from = a->path },
			   rest = { .image = image, .task = t->slot, .from = a->strings };
	struct string_copy before = { .image = image,
				      .task = t->slot,
				      .from = grant_read(image->strings + image->prefix, prefix) };
	struct writer w = { .words = (uint64_t *)image->work, .task = t->slot };

	if (script && argc > 0) {
		uint64_t first = first_length(image, rest.from);

		rest.from = grant_part(rest.from, first, rest.from.length - first);
		argc--;
	}
	paths.to = STACK_TOP - 8 - a->path.length;
	rest.to = paths.to - rest.from.length;
	before.to = rest.to - prefix;
	random = (before.to - RANDOM_BYTES) & ~15UL;
	kernel_random_bytes(grant_write(image->work, RANDOM_BYTES));
	if (copy_out(grant_caller(t->slot, random, RANDOM_BYTES), 0, image->work, RANDOM_BYTES) != 0)
		return -EFAULT;
	if (strings_copy(&before) != 0 || strings_copy(&rest) != 0 || strings_copy(&paths) != 0)
		return -EFAULT;
	argc += image->prefixes + script;
	w.to = (random - (1 + argc + 1 + a->envc + 1 + AUXILIARY_WORDS) * 8) & ~15UL;
	*sp = w.to;
	put(&w, argc);
	put_pointers(&w, &before, image->prefixes, &at);
	if (script)
		put(&w, paths.to);
	at = 0;
	put_pointers(&w, &rest, argc - image->prefixes - script, &at);
	put(&w, 0);
	put_pointers(&w, &rest, a->envc, &at);
	put(&w, 0);
	put_auxiliary(pm, &w, t, image, random, paths.to, secure);
	flush(&w);
	return w.result;
}
