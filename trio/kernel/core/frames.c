/* frames.c: which frames of physical memory are held, how often, and which are free. Free frames are in lists of
 * blocks. A block has a power of two of frames and is aligned to its size. If there is no block of a size, a larger one
 * is split; if there is none, all free frames are gathered into blocks anew.
 *
 * Memory can be promised before it is allocated. `frames.unpromised` counts the free frames that nobody was promised;
 * an allocation without a promise takes from these. An allocation from a promise does not change that number, and
 * neither does freeing such a frame: the other free frames are always as many as can still be allocated from
 * promises. */
#include "core/checked.h"
#include "core/frames.h"
#include "core/memory.h"
#include "kernel_serve.h"

#define ORDERS 10
/* The end of what the direct map reaches, and of what the temporary map at boot shows of it. */
#define MEMORY_END (512UL << 30)
#define BOOT_END (1UL << 30)

uint32_t *frame_table;
uint8_t *frame_marks;
uint64_t frame_limit;
uint32_t frame_beyond = FRAME_DEVICE;

/* Heads of the lists of free blocks, by order; and of frames that are all zeros. 0 ends a list, since frame 0 is never
 * free. */
static uint32_t lists[ORDERS], clean;
struct frames frames;

static void list_push(uint32_t *list, uint32_t index)
{
	frame_table[index] = FRAME_FREE | *list;
	*list = index;
}

static uint32_t list_pop(uint32_t *list)
{
	uint32_t index = *list;

	*list = frame_table[index] & ~FRAME_FREE;
	return index;
}

/* Takes a free block of that order out of the lists, and splits a larger one if there is none. Returns 0 without
 * one. */
static uint32_t block_pop(unsigned order)
{
	unsigned found = order;
	uint32_t index;

	while (found < ORDERS && lists[found] == 0)
		found++;
	if (found >= ORDERS)
		return 0;
	index = list_pop(&lists[found]);
	while (found-- > order)
		list_push(&lists[found], index + (1u << found));
	return index;
}

/* Frees the frames from `begin` to `end`, in blocks as large as possible. The lowest block becomes the first of its
 * list. */
static void blocks_push(uint64_t begin, uint64_t end)
{
	while (begin < end) {
		unsigned order = MIN((unsigned)__builtin_ctzll(end), ORDERS - 1);

		while ((1UL << order) > end - begin)
			order--;
		end -= 1UL << order;
		list_push(&lists[order], (uint32_t)end);
	}
}

/* Puts all free frames below `limit` into the lists anew, neighbours in one block. */
static void gather(uint64_t limit)
{
	memset(lists, 0, sizeof lists);
	clean = 0;
	while (limit > 0) {
		uint64_t end = limit;

		while (limit > 0 && frame_table[limit - 1] & FRAME_FREE)
			limit--;
		blocks_push(limit, end);
		limit -= limit == end;
	}
}

static void mark(uint64_t begin, uint64_t end, uint32_t word)
{
	for (uint64_t i = begin; i < MIN(end, frame_limit); i++)
		frame_table[i] = word;
}

static uint64_t frames_for(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE;
}

/* Finds the first range with room for the table, before or behind what is taken. */
static uint64_t table_place(const struct memory_range *ranges, size_t count, uint64_t first_free,
			    struct memory_range taken, uint64_t bytes)
{
	uint64_t taken_end = taken.base + taken.length;

	for (size_t i = 0; i < 2 * count; i++) {
		const struct memory_range *r = &ranges[i / 2];
		uint64_t at = frames_for(MAX(r->base, i % 2 ? taken_end : first_free)) * PAGE;

		if (at + bytes <= r->base + r->length && (at >= taken_end || at + bytes <= taken.base))
			return at;
	}
	panic("no room for the table of frames");
}

void frames_start(const struct memory_range *ranges, size_t count, uint64_t first_free, struct memory_range taken)
{
	uint64_t bytes, place;

	for (size_t i = 0; i < count; i++)
		frame_limit = MAX(frame_limit, MIN(ranges[i].base + ranges[i].length, MEMORY_END) / PAGE);
	bytes = frame_limit * (sizeof *frame_table + DISTRUST_BYTES);
	place = table_place(ranges, count, first_free, taken, bytes);
	frame_table = physical(place);
	frame_marks = (uint8_t *)(frame_table + frame_limit);
	memset(frame_table, 0, bytes);
	for (size_t i = 0; i < count; i++)
		mark(frames_for(ranges[i].base), (ranges[i].base + ranges[i].length) / PAGE, FRAME_FREE);
	mark(0, frames_for(first_free), 0);
	mark(taken.base / PAGE, frames_for(taken.base + taken.length), 0);
	mark(place / PAGE, frames_for(place + bytes), 0);
	for (uint64_t i = 0; i < frame_limit; i++)
		frames.total += frame_table[i] != 0;
	frames.free = frames.unpromised = frames.total;
	gather(MIN(frame_limit, BOOT_END / PAGE));
}

void frames_reach_all(void)
{
	gather(frame_limit);
}

/* The slow path: the list of single frames is empty. Callers have checked that they may have a frame. */
static __attribute__((noinline)) uint32_t frame_refill(void)
{
	uint32_t index = block_pop(0);

	if (index == 0 && clean == 0)
		panic("more memory is taken than was promised");
	return index ? index : list_pop(&clean);
}

/* A service made the promise; if it is a process it may take more than it was promised. It ends then, so that no one
 * else meets a promise that cannot be kept. */
static inline void check_promise(void)
{
	if (DISTRUST && frames.free <= frames.unpromised)
		server_end("more memory is taken than was promised");
	INVARIANT(frames.free > frames.unpromised);
}

static inline uint64_t held_once(uint32_t index)
{
	frame_table[index] = 1;
	frames.free--;
	return index * PAGE;
}

uint64_t frame_take_promised_dirty(void)
{
	uint32_t index;

	check_promise();
	index = lists[0] != 0 ? list_pop(&lists[0]) : frame_refill();
	frame_check_poison(index * PAGE);
	return held_once(index);
}

static void clear(uint64_t frame, size_t count)
{
	void *at = physical(frame);
	size_t words = count * PAGE / 8;

	__asm__ volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(0UL) : "memory");
}

uint64_t frame_take_promised(void)
{
	uint64_t frame;

	if (clean != 0) {
		check_promise();
		frame_check_zeros(clean * PAGE);
		return held_once(list_pop(&clean));
	}
	frame = frame_take_promised_dirty();
	clear(frame, 1);
	return frame;
}

/* Takes a frame that nobody was promised: promises it first. */
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
	if (index == 0) {
		gather(frame_limit);
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

static inline __attribute__((always_inline)) void give_back(uint64_t frame, uint32_t *list)
{
	if (DISTRUST)
		frame_return(frame);
	list_push(list, (uint32_t)(frame / PAGE));
	frames.free++;
}

void frame_free_promised(uint64_t frame)
{
	INVARIANT(frame_table[frame / PAGE] == 0);
	frame_poison(frame);
	give_back(frame, &lists[0]);
}

void frame_free_clean_promised(uint64_t frame)
{
	INVARIANT(frame_table[frame / PAGE] == 1);
	frame_check_zeros(frame);
	give_back(frame, &clean);
}

void frame_drop(uint64_t frame)
{
	frames.unpromised += *frame_word(frame) == 1;
	frame_drop_promised(frame);
}

int64_t kernel_memory_promise(int64_t pages)
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

/* Frames beyond the end of RAM have no word in the table. */
void frames_are_device(uint64_t frame, uint64_t count)
{
	mark(frame / PAGE, frame / PAGE + count, FRAME_DEVICE);
}
