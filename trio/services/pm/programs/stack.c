/* stack.c: a new program's stack. From its top: the environment's strings, the arguments' and the program's path, 16
 * random bytes; then, where the stack pointer is, argc, pointers to the arguments, NULL, to the environment, NULL, and
 * the auxiliary vector. */
#include "clock.h"
#include "programs/image.h"

#define RANDOM_BYTES 16
/* Words that are written at once. */
#define WORDS 64
#define AUXILIARY_WORDS 36

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

	if (w->result == 0)
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

/* The first of the strings, the path. */
static uint64_t strings_at(const struct strings *s)
{
	return STACK_TOP - 8 - s->used;
}

/* Pointers to arguments and environment, with a NULL behind each. False: a share of them is done, which is half of what
 * a copy's is, for strings may be of one character. */
static bool put_pointers(struct writer *w, struct image *image)
{
	const struct strings *s = &image->given;
	uint64_t share_end = image->pointed + SHARE_BYTES / 2;

	while (image->pointed < s->used) {
		if (image->pointed >= share_end)
			return false;
		if (image->pointed == s->environment)
			put(w, 0);
		put(w, strings_at(s) + image->pointed);
		image->pointed += strlen(s->bytes + image->pointed) + 1;
	}
	if (s->envc == 0)
		put(w, 0);
	put(w, 0);
	return true;
}

static void put_auxiliary(struct writer *w, const struct thread *t, const struct image *image, uint64_t random,
			  bool secure)
{
	const struct identity *who = &t->process->identity;
	const uint64_t words[AUXILIARY_WORDS] = {
		AT_HWCAP,  pm.hardware,
		AT_PAGESZ, PAGE,
		AT_CLKTCK, CLOCK_TICKS,
		AT_PHDR,   image->headers,
		AT_PHENT,  sizeof(struct elf_segment),
		AT_PHNUM,  image->header_count,
		AT_BASE,   image->interpreter ? image->interpreter->bias : 0,
		AT_FLAGS,  0,
		AT_ENTRY,  image->entry,
		AT_UID,    who->user.real,
		AT_EUID,   who->user.effective,
		AT_GID,    who->group.real,
		AT_EGID,   who->group.effective,
		AT_SECURE, secure,
		AT_RANDOM, random,
		AT_HWCAP2, pm.hardware_2,
		AT_EXECFN, strings_at(&image->given),
		AT_NULL,   0,
	};

	if (w->count + AUXILIARY_WORDS > WORDS)
		flush(w);
	memcpy(w->words + w->count, words, sizeof words);
	w->count += AUXILIARY_WORDS;
}

int64_t stack_write(struct thread *t, struct image *image, bool secure, uint64_t *sp)
{
	const struct strings *s = &image->given;
	uint64_t random = (strings_at(s) - RANDOM_BYTES) & ~15UL;
	struct writer w = { .words = (uint64_t *)image->work, .task = t->slot, .to = image->pointers_to };

	*sp = (random - (s->argc + s->envc + 3UL + AUXILIARY_WORDS) * 8) & ~15UL;
	if (!image->pointed) {
		clock_random(grant_write(image->work, RANDOM_BYTES));
		TRY(copy_out(grant_caller(t->slot, random, RANDOM_BYTES), 0, image->work, RANDOM_BYTES));
		TRY(copy_out(grant_caller(t->slot, strings_at(s), s->used), 0, s->bytes, s->used));
		image->pointed = s->path;
		w.to = *sp;
		put(&w, s->argc);
	}
	if (!put_pointers(&w, image)) {
		flush(&w);
		image->pointers_to = w.to;
		return w.result == 0 ? GIVES_WAY : w.result;
	}
	put_auxiliary(&w, t, image, random, secure);
	flush(&w);
	return w.result;
}
