/* frames.h: the inside of the frame allocator, for the page tables' hot paths. One word a frame: while it is taken how
 * often it is held, while it is free FRAME_FREE and the number of the next free one. */
#ifndef TRIO_FRAMES_H
#define TRIO_FRAMES_H

#include "core/memory.h"
#include "domains.h"

#define FRAME_FREE 0x80000000u
/* Held so often that no number of mappings brings it to 0. */
#define FRAME_DEVICE 0x40000000u

/* By frame number (physical address / PAGE), up to the end of RAM. */
extern uint32_t *frame_table;
extern uint64_t frame_limit;
/* Stands for all frames beyond. */
extern uint32_t frame_beyond;

static inline uint32_t *frame_word(uint64_t frame)
{
	return frame / PAGE < frame_limit ? &frame_table[frame / PAGE] : &frame_beyond;
}

/* Some servers are processes, whose word about memory is not enough. */
#define DISTRUST PROCESSES
#define DISTRUST_BYTES (DISTRUST ? 1 : 0)
/* Then: of each frame, a byte of pages.c's. */
extern uint8_t *frame_marks;

/* pages.c, with DISTRUST: a frame becomes programs' memory, on which vm may give windows; nobody holds it any
 * more, and it is neither that nor in any window. */
void frame_lend(uint64_t frame);
void frame_return(uint64_t frame);
static inline uint64_t frame_lent(uint64_t frame)
{
	if (DISTRUST)
		frame_lend(frame);
	return frame;
}

/* ends.c: the present server, a process, did what no service may: it ends, and the log says why. */
_Noreturn void server_end(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As frame_take and frame_take_dirty, of what was promised to the caller. */
uint64_t frame_take_promised(void);
uint64_t frame_take_promised_dirty(void);
/* For a frame so taken that nobody holds any more: it is promised again. */
void frame_free_promised(uint64_t frame);
/* For one that is all zeros, so that it need not be cleared again. Held once, by the caller. */
void frame_free_clean_promised(uint64_t frame);

static inline void frame_hold_inline(uint64_t frame)
{
	INVARIANT(*frame_word(frame) != 0 && !(*frame_word(frame) & FRAME_FREE));
	++*frame_word(frame);
}

/* Whoever drops the last hold must know where the frame came from: frame_drop is for one without a promise. */
static inline void frame_drop_promised(uint64_t frame)
{
	INVARIANT(*frame_word(frame) != 0 && !(*frame_word(frame) & FRAME_FREE));
	if (--*frame_word(frame) == 0)
		frame_free_promised(frame);
}

#endif
