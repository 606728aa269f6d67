/* stack.c: a new program's stack. From its top: the environment's strings, the arguments' strings, the program's path,
 * 16 random bytes; then, at the stack pointer, argc, pointers to the arguments, NULL, pointers to the environment,
 * NULL, and the auxiliary vector. */
#include "clock.h"
#include "programs/image.h"

#define RANDOM_BYTES 16
/* Words that are copied at once. */
#define WORDS 64
#define AUXILIARY_WORDS 36

/* Copies the words in `work` to the program's memory. */
static int64_t flush(const struct thread *t, struct image *image)
{
	size_t n = image->words * sizeof(uint64_t);

	TRY(copy_out(grant_caller(t->slot, image->words_to, n), 0, image->work, n));
	image->words_to += n;
	image->words = 0;
	return 0;
}

static int64_t put(const struct thread *t, struct image *image, uint64_t word)
{
	((uint64_t *)image->work)[image->words++] = word;
	return image->words == WORDS ? flush(t, image) : 0;
}

/* The address of the first string, the path. */
static uint64_t strings_at(const struct strings *s)
{
	return STACK_TOP - 8 - s->used;
}

/* Writes the pointers to arguments and environment, with a NULL behind each. A share is half of what a copy's is,
 * because a string may have one character. */
static int64_t put_pointers(const struct thread *t, struct image *image)
{
	const struct strings *s = &image->given;
	uint64_t share_end = image->pointed + SHARE_BYTES / 2;

	while (image->pointed < s->used) {
		if (image->pointed >= share_end)
			return GIVES_WAY;
		if (image->pointed == s->environment)
			TRY(put(t, image, 0));
		TRY(put(t, image, strings_at(s) + image->pointed));
		image->pointed += strlen(s->bytes + image->pointed) + 1;
	}
	if (s->envc == 0)
		TRY(put(t, image, 0));
	return put(t, image, 0);
}

static int64_t put_auxiliary(const struct thread *t, struct image *image, uint64_t random, bool secure)
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

	if (image->words + AUXILIARY_WORDS > WORDS)
		TRY(flush(t, image));
	memcpy((uint64_t *)image->work + image->words, words, sizeof words);
	image->words += AUXILIARY_WORDS;
	return flush(t, image);
}

int64_t stack_write(struct thread *t, struct image *image, bool secure, uint64_t *sp)
{
	const struct strings *s = &image->given;
	uint64_t random = (strings_at(s) - RANDOM_BYTES) & ~15UL;

	*sp = (random - (s->argc + s->envc + 3UL + AUXILIARY_WORDS) * 8) & ~15UL;
	if (!image->pointed) {
		clock_random(grant_write(image->work, RANDOM_BYTES));
		TRY(copy_out(grant_caller(t->slot, random, RANDOM_BYTES), 0, image->work, RANDOM_BYTES));
		TRY(copy_out(grant_caller(t->slot, strings_at(s), s->used), 0, s->bytes, s->used));
		image->pointed = s->path;
		image->words_to = *sp;
		TRY(put(t, image, s->argc));
	}
	TRY(put_pointers(t, image));
	return put_auxiliary(t, image, random, secure);
}
