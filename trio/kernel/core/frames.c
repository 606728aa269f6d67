/* frames.c: who holds which frame of physical memory, and which are free. Memory that was never used is handed out
 * from a mark that moves up; frames that come back go to a list and are handed out first. Runs of frames are blocks of
 * a power of two, aligned to their size; once untouched memory is gone, free frames are gathered into such blocks when
 * one is asked for.
 *
 * Memory can be promised before it is taken. `frames.unpromised` is how many of the free frames nobody has been
 * promised; what is taken without a promise is of those. A frame that is taken from a promise leaves that number
 * alone, and so does its coming back: the free frames beyond it are always as many as can still be taken from
 * promises. */
#include "kernel_calls.h"
#include "core/frames.h"
#include "core/checked.h"

#define ORDERS 10
#define SEGMENTS 64
/* What the direct map reaches. */
#define MEMORY_END (512UL << 30)

struct segment {
	/* Frame numbers: the first, the first that was never handed out, the first beyond. */
	uint64_t begin, mark, end;
};

uint32_t *frame_table;
uint64_t frame_limit;
uint32_t frame_beyond = FRAME_DEVICE;

static struct segment segments[SEGMENTS];
static size_t segment_count;
/* Those before are used up to their end. */
static size_t segment_now;
/* Heads of the lists of free blocks by order, and of frames that are all zeros; 0: empty, for frame 0 is never free. */
static uint32_t lists[ORDERS], clean;
struct frames frames;

static void segment_add(uint64_t base, uint64_t end)
{
	uint64_t begin = (base + PAGE - 1) / PAGE;

	end = MIN(end, MEMORY_END) / PAGE;
	if (begin >= end || segment_count == SEGMENTS)
		return;
	segments[segment_count++] = (struct segment){ begin, begin, end };
	frame_limit = MAX(frame_limit, end);
}

/* The table goes to the beginning of the first segment that has room for it. */
static void table_place(void)
{
	uint64_t pages = (frame_limit * sizeof *frame_table + PAGE - 1) / PAGE;

	for (size_t i = 0; i < segment_count; i++) {
		struct segment *s = &segments[i];

		if (s->end - s->begin <= pages)
			continue;
		frame_table = physical(s->begin * PAGE);
		s->begin = s->mark = s->begin + pages;
		return;
	}
	panic("no room for the table of frames");
}

void frames_start(const struct memory_range *ranges, size_t count, uint64_t first_free, struct memory_range taken)
{
	uint64_t hole = taken.base & ~(PAGE - 1), hole_end = taken.base + taken.length;

	for (size_t i = 0; i < count; i++) {
		uint64_t base = MAX(ranges[i].base, first_free), end = ranges[i].base + ranges[i].length;

		segment_add(base, MIN(end, hole));
		segment_add(MAX(base, hole_end), end);
	}
	table_place();
	for (size_t i = 0; i < segment_count; i++)
		frames.total += segments[i].end - segments[i].begin;
	frames.free = frames.unpromised = frames.total;
}

static void block_push(unsigned order, uint32_t index)
{
	frame_table[index] = FRAME_FREE | lists[order];
	lists[order] = index;
}

/* A free block of that order out of the lists, a larger one split where there is none; 0: none. */
static uint32_t block_pop(unsigned order)
{
	unsigned found = order;
	uint32_t index;

	while (found < ORDERS && lists[found] == 0)
		found++;
	if (found >= ORDERS)
		return 0;
	index = lists[found];
	lists[found] = frame_table[index] & ~FRAME_FREE;
	while (found-- > order)
		block_push(found, index + (1u << found));
	return index;
}

/* Frames from `begin` to `end`, marked as free already, become blocks as large as may be. */
static void blocks_push(uint64_t begin, uint64_t end)
{
	while (begin < end) {
		unsigned order = MIN((unsigned)__builtin_ctzll(begin), ORDERS - 1);

		while ((1UL << order) > end - begin)
			order--;
		block_push(order, (uint32_t)begin);
		begin += 1UL << order;
	}
}

/* A block of memory that was never used. What is passed over for its alignment is free. */
static uint32_t block_untouched(unsigned order)
{
	uint64_t size = 1UL << order;

	for (; segment_now < segment_count; segment_now++) {
		struct segment *s = &segments[segment_now];
		uint64_t at = (s->mark + size - 1) & ~(size - 1);
		uint64_t begin = s->mark;
		bool fits = at + size <= s->end;
		uint64_t passed = fits ? at : s->end;

		for (uint64_t i = begin; i < passed; i++)
			frame_table[i] = FRAME_FREE;
		blocks_push(begin, passed);
		s->mark = fits ? at + size : s->end;
		if (fits)
			return (uint32_t)at;
	}
	return 0;
}

/* Puts all free frames of used memory back into the lists, neighbours together. */
static void gather(void)
{
	memset(lists, 0, sizeof lists);
	clean = 0;
	for (size_t i = 0; i < segment_count; i++) {
		const struct segment *s = &segments[i];
		uint64_t at = s->begin;

		while (at < s->mark) {
			uint64_t begin = at;

			while (at < s->mark && frame_table[at] & FRAME_FREE)
				at++;
			blocks_push(begin, at);
			at += at == begin;
		}
	}
}

/* Out of the hot path: the list of single frames is empty. Nobody gets here who may not have a frame. */
static __attribute__((noinline)) uint32_t frame_refill(void)
{
	struct segment *s = &segments[segment_now];
	uint32_t index;

	if (segment_now < segment_count && s->mark < s->end)
		return (uint32_t)s->mark++;
	index = block_untouched(0);
	if (index == 0)
		index = block_pop(0);
	if (index == 0 && clean != 0) {
		index = clean;
		clean = frame_table[index] & ~FRAME_FREE;
	}
	if (index == 0)
		panic("more memory is taken than was promised");
	return index;
}

/* What is promised was promised by a service, which, as a process, may take more than that. It ends, so that nobody
 * else meets a promise that cannot be kept. */
static inline void check_promise(void)
{
	if (DISTRUST && frames.free <= frames.unpromised)
		server_end("more memory is taken than was promised");
	INVARIANT(frames.free > frames.unpromised);
}

uint64_t frame_take_promised_dirty(void)
{
	uint32_t index = lists[0];

	check_promise();
	if (index != 0)
		lists[0] = frame_table[index] & ~FRAME_FREE;
	else
		index = frame_refill();
	frame_check_poison(index * PAGE);
	frame_table[index] = 1;
	frames.free--;
	return index * PAGE;
}

static void clear(uint64_t frame, size_t count)
{
	void *at = physical(frame);
	size_t words = count * PAGE / 8;

	__asm__ volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(0UL) : "memory");
}

uint64_t frame_take_promised(void)
{
	uint32_t index = clean;
	uint64_t frame;

	if (index != 0) {
		check_promise();
		clean = frame_table[index] & ~FRAME_FREE;
		frame_check_zeros(index * PAGE);
		frame_table[index] = 1;
		frames.free--;
		return index * PAGE;
	}
	frame = frame_take_promised_dirty();
	clear(frame, 1);
	return frame;
}

/* One that nobody was promised is promised, and taken. */
uint64_t frame_take(void)
{
	if (frames.unpromised == 0)
		return 0;
	frames.unpromised--;
	return frame_take_promised();
}

uint64_t frame_take_dirty(void)
{
	if (frames.unpromised == 0)
		return 0;
	frames.unpromised--;
	return frame_take_promised_dirty();
}

uint64_t frames_take(size_t count)
{
	unsigned order;
	uint32_t index;

	if (count == 1)
		return frame_take();
	if (count == 0 || count & (count - 1) || count >> ORDERS || frames.unpromised < count)
		return 0;
	order = (unsigned)__builtin_ctzll(count);
	index = block_pop(order);
	if (index == 0)
		index = block_untouched(order);
	if (index == 0) {
		gather();
		index = block_pop(order);
	}
	if (index == 0)
		return 0;
	/* committed */
	for (size_t i = 0; i < count; i++) {
		frame_check_poison((index + i) * PAGE);
		frame_table[index + i] = 1;
	}
	frames.free -= count;
	frames.unpromised -= count;
	clear(index * PAGE, count);
	return index * PAGE;
}

void frame_free_promised(uint64_t frame)
{
	INVARIANT(frame_table[frame / PAGE] == 0);
	frame_freed(frame);
	frame_poison(frame);
	block_push(0, (uint32_t)(frame / PAGE));
	frames.free++;
}

void frame_free_clean_promised(uint64_t frame)
{
	INVARIANT(frame_table[frame / PAGE] == 1);
	frame_freed(frame);
	frame_check_zeros(frame);
	frame_table[frame / PAGE] = FRAME_FREE | clean;
	clean = (uint32_t)(frame / PAGE);
	frames.free++;
}

void frame_drop(uint64_t frame)
{
	frames.unpromised += *frame_word(frame) == 1;
	frame_drop_promised(frame);
}

int64_t kernel_call_memory_promise(int64_t pages)
{
	if (pages > (int64_t)frames.unpromised)
		return -ENOMEM;
	if (DISTRUST && pages < 0 && 0 - (uint64_t)pages > MIN(frames.free - frames.unpromised, frames.promised))
		return -EINVAL;
	frames.unpromised -= (uint64_t)pages;
	frames.promised += (uint64_t)pages;
	INVARIANT(frames.unpromised <= frames.free);
	return 0;
}

/* Frames beyond the end of RAM have no word of their own. */
void frames_are_device(uint64_t frame, uint64_t count)
{
	for (uint64_t i = frame / PAGE; i < MIN(frame / PAGE + count, frame_limit); i++)
		frame_table[i] = FRAME_DEVICE;
}
