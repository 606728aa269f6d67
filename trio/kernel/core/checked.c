/* checked.c: see checked.h. Without TRIO_CHECKED it is empty. */
#include "core/checked.h"

#ifdef TRIO_CHECKED
#include "call_names.h"
#include "core/task.h"

#define POISON 0xdbdbdbdbdbdbdbdbUL
#define PAINT 0x5ca1ab1e5ca1ab1eUL
#define ERRNOS 128
#define WORDS(bytes) ((bytes) / sizeof(uint64_t))

extern uint64_t boot_stack[], boot_stack_end[];

/* A bit is set once the log has named that errno of that call. */
static uint8_t named[CALLS][ERRNOS / 8];
static uint64_t deepest_of_ended;

static bool is_listed(unsigned which, int64_t errno_number)
{
	for (const uint16_t *e = call_errors[which]; *e; e++)
		if (*e == errno_number)
			return true;
	return false;
}

int64_t checked_result(unsigned which, int64_t result)
{
	int64_t e = -result;

	/* A number outside of errno's is a value, which may be negative. */
	if (e <= 0 || e >= 4096 || is_listed(which, e))
		return result;
	INVARIANT(e < ERRNOS);
	if (!(named[which][e / 8] & 1U << e % 8)) {
		named[which][e / 8] |= (uint8_t)(1U << e % 8);
		log_line("checked: %s answers -%lu, which its interface does not list", call_names[which], (uint64_t)e);
	}
	return result;
}

static void fill(uint64_t *words, size_t count, uint64_t word)
{
	__asm__ volatile("rep stosq" : "+D"(words), "+c"(count) : "a"(word) : "memory");
}

/* How many words from `words` on equal `word`. */
static size_t run_of(const uint64_t *words, size_t count, uint64_t word)
{
	size_t n = 0;

	while (n < count && words[n] == word)
		n++;
	return n;
}

void frame_poison(uint64_t frame)
{
	fill(physical(frame), WORDS(PAGE), POISON);
}

/* Memory that was never used has no pattern, which the first word tells. */
void frame_check_poison(uint64_t frame)
{
	const uint64_t *words = physical(frame);
	size_t same;

	if (words[0] != POISON)
		return;
	same = run_of(words, WORDS(PAGE), POISON);
	if (same < WORDS(PAGE))
		panic("frame %lx was written to while it was free: %lx at %lx", frame, words[same], same * 8);
}

void frame_check_zeros(uint64_t frame)
{
	const uint64_t *words = physical(frame);
	size_t same = run_of(words, WORDS(PAGE), 0);

	if (same < WORDS(PAGE))
		panic("frame %lx is not clean: %lx at %lx", frame, words[same], same * 8);
}

void stack_paint(uint64_t lowest, size_t bytes)
{
	fill((uint64_t *)lowest, WORDS(bytes), PAINT);
}

static uint64_t depth(uint64_t lowest, size_t bytes)
{
	return bytes - run_of((const uint64_t *)lowest, WORDS(bytes), PAINT) * sizeof(uint64_t);
}

void stack_measure(uint64_t lowest, size_t bytes)
{
	deepest_of_ended = MAX(deepest_of_ended, depth(lowest, bytes));
}

void stack_paint_first(void)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0) - 512;

	stack_paint((uint64_t)boot_stack, here - (uint64_t)boot_stack);
}

void stack_depths(uint64_t *task, uint64_t *first)
{
	*task = deepest_of_ended;
	for (uint32_t i = 0; i < TASKS; i++)
		if (tasks[i])
			*task = MAX(*task, depth(kernel_stack_lowest(i), STACK_PAGES * PAGE));
	*first = depth((uint64_t)boot_stack, (uint64_t)boot_stack_end - (uint64_t)boot_stack);
}
#endif
