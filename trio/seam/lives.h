/* lives.h: a server has one process after another; what the kernel keeps of the earlier ones. */
#ifndef TRIO_LIVES_H
#define TRIO_LIVES_H

#include "message.h"
#include "numbers.h"

struct server;

/* Pieces of memory for devices that one process may take. */
#define DMA_MOST 4U

struct lives {
	/* now: enum server_life. See struct server_numbers for the others. */
	uint32_t now, starts, faults, beats, answers;
	/* ended_at is 0 while a process is ready. */
	nanoseconds ended_at, pause;
	uint64_t calls_waited;
	/* The present process is to end: at once; when it has nothing to do. */
	bool is_stopped, is_replaced;
	/* The next process's program, in pages of the kernel; NULL: the program is that of the kernel's file. */
	const uint8_t *image;
	size_t image_pages;
	/* The frames that devices were told of; the present process has the first dma_used ranges. A device may write
	 * to a frame until the next process, which gets the frame then, has reset it. */
	struct {
		uint64_t first;
		size_t count;
	} dma[DMA_MOST];
	unsigned dma_used;
	/* How many pages it has of pages_take(). */
	uint64_t pages;
	/* Of a server that keeps its pages and has no process now: the table of those pages. */
	uint64_t kept_pages;
};

/* Makes a process of the server's program, or a thread of its function. Returns false without memory. */
bool server_load(uint32_t domain);
/* The present process has started its services; it counts at `counters_at`. */
int64_t server_ready(struct server *s, uint64_t counters_at);
/* Everybody who waits for a server that has ended gets EIO, now and later. */
void server_lose(struct server *s);
/* Notifies the services above of everything that they may wait for. */
void server_tell_above(const struct server *s);

#endif
