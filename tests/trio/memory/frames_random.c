/* frames_random.c: random takes and drops of frames and runs: frames_random SEED ROUNDS. No frame is given out twice,
 * all are zeros, and when all have come back every frame is free and lies in runs again. */
#include <stdio.h>
#include <stdlib.h>
#include "host.h"

#define HELD_MOST 40000U
#define ORDERS 10U

static struct {
	uint64_t frame;
	uint32_t order;
} held[HELD_MOST];
static uint32_t count;

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
	uint64_t frame = count < HELD_MOST ? frames_take(1UL << order) : 0;

	if (frame == 0)
		return;
	CHECK(frame % (PAGE << order) == 0);
	check_words(frame, order, true);
	held[count].frame = frame;
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
			frame_drop(frame + i * PAGE);
			continue;
		}
		memset(physical(frame + i * PAGE), 0, PAGE);
		frame_free_clean(frame + i * PAGE);
	}
	held[which] = held[--count];
}

int main(int argc, char **argv)
{
	uint64_t all;
	int rounds;

	CHECK(argc == 3);
	srand((unsigned)atoi(argv[1]));
	rounds = atoi(argv[2]);
	host_start();
	all = frames_free();
	CHECK(all == frames_total());
	CHECK(frames_take(0) == 0 && frames_take(3) == 0 && frames_take(1024) == 0 && frames_free() == all);
	for (int round = 0; round < rounds; round++) {
		/* Memory fills, and empties, and fills. */
		if (rand() % 100 < (round / (rounds / 8) % 2 ? 40 : 60))
			take();
		else if (count > 0)
			drop((uint32_t)rand() % count);
	}
	while (count > 0)
		drop(count - 1);
	CHECK(frames_free() == all);
	for (uint64_t runs = 0; frames_take(512) != 0; runs++)
		CHECK(frames_free() == all - (runs + 1) * 512);
	/* What is left are the ends of ranges, which no run fits into. */
	CHECK(frames_free() < 6 * 512);
	while (frame_take() != 0)
		continue;
	CHECK(frames_free() == 0 && frames_take(2) == 0 && frame_take_dirty() == 0);
	return 0;
}
