/* lives.h: a server's process after process: what the kernel keeps of those before the present one. */
#ifndef TRIO_LIVES_H
#define TRIO_LIVES_H

#include "message.h"
#include "numbers.h"

struct server;

/* Pieces of memory for devices that one process may take. */
#define DMA_MOST 4U

struct lives {
	/* Of enum server_life; see struct server_numbers. */
	uint32_t now, starts, faults, beats, answers;
	/* ended_at: 0 where a process is ready. */
	nanoseconds ended_at, pause;
	uint64_t calls_waited;
	/* The present one is to end: now; once it has nothing to do. */
	bool is_stopped, is_replaced;
	/* The next one's program, where that is not the kernel file's: pages of the kernel's. */
	const uint8_t *image;
	size_t image_pages;
	/* Frames that devices were told of, of which so many are the present one's: a device may write to them until
	 * the next process has reset it, which has them then. */
	struct {
		uint64_t first;
		size_t count;
	} dma[DMA_MOST];
	unsigned dma_used;
	/* Of one that keeps its pages, while there is none: the table of them. */
	uint64_t kept_pages;
};

/* Its program becomes a process, or what it runs a thread. False: no memory. */
bool server_load(uint32_t domain);
/* The present one's services have been started; where it counts. */
int64_t server_ready(struct server *s, uint64_t counters_at);
/* Whoever waits for one that has ended gets EIO, now and later. */
void server_lose(struct server *s);
/* All that those above may wait for is told to them. */
void server_tell_above(const struct server *s);

#endif
