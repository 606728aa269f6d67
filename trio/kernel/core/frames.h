/* frames.h: the inside of the frame allocator, for the hot paths of the page tables. A frame has one word: how often it
 * is held, or, while it is free, FRAME_FREE and the number of the next free frame. */
#ifndef TRIO_FRAMES_H
#define TRIO_FRAMES_H

#include "core/memory.h"
#include "domains.h"

#define FRAME_FREE 0x80000000u
/* A device's frame is held so often that no number of mappings brings its word to 0. */
#define FRAME_DEVICE 0x40000000u

/* By frame number (physical address / PAGE), up to the end of RAM. */
extern uint32_t *frame_table;
extern uint64_t frame_limit;
/* The word of all frames beyond. */
extern uint32_t frame_beyond;

static inline uint32_t *frame_word(uint64_t frame)
{
	return frame / PAGE < frame_limit ? &frame_table[frame / PAGE] : &frame_beyond;
}

/* Some servers are processes, which may lie about memory. */
#define DISTRUST PROCESSES
#define DISTRUST_BYTES (DISTRUST ? 1 : 0)
/* With DISTRUST: a byte of each frame (pages.c). */
extern uint8_t *frame_marks;

/* pages.c, with DISTRUST: frame_lend makes a frame programs' memory, on which vm may give windows; frame_return ends
 * that, and all windows on the frame, when nobody holds it any more. */
void frame_lend(uint64_t frame);
void frame_return(uint64_t frame);
static inline uint64_t frame_lent(uint64_t frame)
{
	if (DISTRUST)
		frame_lend(frame);
	return frame;
}

/* ends.c: ends the present server, a process, since it did what no service may; the log says why. */
_Noreturn void server_end(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* frame_take and frame_take_dirty, from a promise that the caller has. */
uint64_t frame_take_promised(void);
uint64_t frame_take_promised_dirty(void);
/* Frees a frame that was taken so and that nobody holds any more: it is promised again. */
void frame_free_promised(uint64_t frame);
/* The same for a frame that is all zeros, so that it need not be cleared again. Only the caller holds it. */
void frame_free_clean_promised(uint64_t frame);

static inline void frame_hold_inline(uint64_t frame)
{
	INVARIANT(*frame_word(frame) != 0 && !(*frame_word(frame) & FRAME_FREE));
	++*frame_word(frame);
}

/* Whoever drops the last hold must know where the frame came from: frame_drop is for a frame without a promise. */
static inline void frame_drop_promised(uint64_t frame)
{
	INVARIANT(*frame_word(frame) != 0 && !(*frame_word(frame) & FRAME_FREE));
	if (--*frame_word(frame) == 0)
		frame_free_promised(frame);
}

#endif
