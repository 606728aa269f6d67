/* frames_random.c: random takes and drops of frames and runs, promised and not: frames_random SEED ROUNDS. No frame is
 * given out twice, all are zeros, what was promised is there, and when all have come back every frame is free and lies
 * in runs again. */
#include <stdio.h>
#include <stdlib.h>
#include "host.h"
#include "kernel_calls.h"

#define HELD_MOST 40000U
#define ORDERS 10U
/* Rounds until memory turns from filling to emptying. */
#define PHASE 2500

static struct {
	uint64_t frame;
	uint32_t order;
	bool promised;
} held[HELD_MOST];
static uint32_t count;
/* Frames that are promised, and how many of them are taken. */
static uint64_t promised, taken;

/* All words of a run are as they should be: zeros, or what was written there. */
static void check_words(uint64_t frame, uint32_t order, bool fresh)
{
	uint64_t *words = physical(frame);

	for (uint64_t i = 0; i < (PAGE / 8) << order; i++) {
		CHECK(words[i] == (fresh ? 0 : frame + i));
		words[i] = frame + i;
	}
}

static void take(void)
{
	uint32_t order = rand() % 4 ? 0 : (uint32_t)rand() % ORDERS;
	bool of_promise = taken < promised && rand() % 2;
	uint64_t frame;

	if (count == HELD_MOST)
		return;
	if (of_promise)
		order = 0;
	frame = of_promise ? frame_take_promised() : frames_take(1UL << order);
	if (frame == 0) {
		CHECK(!of_promise && (order > 0 || frames.unpromised == 0));
		return;
	}
	taken += of_promise;
	CHECK(frame % (PAGE << order) == 0);
	check_words(frame, order, true);
	held[count].frame = frame;
	held[count].promised = of_promise;
	held[count++].order = order;
}

static void drop(uint32_t which)
{
	uint64_t frame = held[which].frame;

	check_words(frame, held[which].order, false);
	for (uint64_t i = 0; i < 1UL << held[which].order; i++) {
		frame_hold_inline(frame + i * PAGE);
		CHECK(*frame_word(frame + i * PAGE) == 2);
		frame_drop(frame + i * PAGE);
		if (rand() % 8) {
			(held[which].promised ? frame_drop_promised : frame_drop)(frame + i * PAGE);
			continue;
		}
		memset(physical(frame + i * PAGE), 0, PAGE);
		frame_free_clean_promised(frame + i * PAGE);
		frames.unpromised += !held[which].promised;
	}
	taken -= held[which].promised;
	held[which] = held[--count];
}

/* As many as nobody has, and not one more; and back what is not taken. */
static void promise(void)
{
	int64_t pages = rand() % 4096, left = (int64_t)(promised - taken);
	bool fits;

	if (rand() % 2)
		pages = -MIN(pages, left);
	fits = pages <= (int64_t)frames.unpromised;
	CHECK(kernel_call_memory_promise(pages) == (fits ? 0 : -ENOMEM));
	promised += fits ? (uint64_t)pages : 0;
	CHECK(frames.promised == promised);
}

int main(int argc, char **argv)
{
	uint64_t all;
	int rounds;

	CHECK(argc == 3);
	srand((unsigned)atoi(argv[1]));
	rounds = atoi(argv[2]);
	host_start();
	all = frames.free;
	CHECK(all == frames.total);
	CHECK(frames_take(0) == 0 && frames_take(3) == 0 && frames_take(1024) == 0 && frames.free == all);
	for (int round = 0; round < rounds; round++) {
		/* Memory fills, and empties, and fills. */
		if (rand() % 100 < (round / PHASE % 2 ? 40 : 60))
			take();
		else if (count > 0)
			drop((uint32_t)rand() % count);
		if (rand() % 8 == 0)
			promise();
		CHECK(frames.free - frames.unpromised == promised - taken);
	}
	while (count > 0)
		drop(count - 1);
	CHECK(frames.free == all && taken == 0 && kernel_call_memory_promise(-(int64_t)promised) == 0);
	CHECK(frames.unpromised == all && frames.promised == 0);
	for (uint64_t runs = 0; frames_take(512) != 0; runs++)
		CHECK(frames.free == all - (runs + 1) * 512);
	/* What is left are the ends of ranges, which no run fits into. */
	CHECK(frames.free < 6 * 512);
	while (frame_take() != 0)
		continue;
	CHECK(frames.free == 0 && frames_take(2) == 0 && frame_take_dirty() == 0);
	return 0;
}
