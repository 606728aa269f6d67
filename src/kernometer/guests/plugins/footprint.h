/* footprint.h: the distinct lines and pages that one execution of a region touches. It assumes nothing of a processor
 * but lines of 64 bytes and pages of 4 KiB. Lines are told apart by physical addresses. */
#ifndef KM_FOOTPRINT_H
#define KM_FOOTPRINT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SHIFT 6
#define LINES_OF_PAGE 64

enum touched { USER_CODE, USER_DATA, KERNEL_CODE, KERNEL_DATA, TOUCHED };

static const char *const touched_names[] = { "user_code", "user_data", "kernel_code", "kernel_data" };

/* A page of memory, and the last execution that touched it, and each of its lines. */
struct page {
	uint64_t number; /* plus 1; 0: an empty place of the table */
	uint32_t page[TOUCHED], line[TOUCHED][LINES_OF_PAGE];
};

static struct {
	struct page **places; /* a hash table by number */
	size_t room, used;
	uint32_t execution; /* the number of the one that is open; 0: none is */
	uint64_t lines[TOUCHED], pages[TOUCHED];
} footprint;

static struct page **place_of(struct page **places, size_t room, uint64_t number)
{
	size_t at = (size_t)(number * 0x9e3779b97f4a7c15ull >> 20) & (room - 1);

	while (places[at] != NULL && places[at]->number != number + 1)
		at = (at + 1) & (room - 1);
	return &places[at];
}

static void make_room(void)
{
	size_t room = footprint.room ? 2 * footprint.room : 1u << 14, i;
	struct page **places = calloc(room, sizeof *places);

	if (places == NULL)
		abort();
	for (i = 0; i < footprint.room; i++)
		if (footprint.places[i] != NULL)
			*place_of(places, room, footprint.places[i]->number - 1) = footprint.places[i];
	free(footprint.places);
	footprint.places = places;
	footprint.room = room;
}

static struct page *page_of(uint64_t number)
{
	struct page **place;

	if (2 * footprint.used >= footprint.room)
		make_room();
	place = place_of(footprint.places, footprint.room, number);
	if (*place == NULL) {
		*place = calloc(1, sizeof **place);
		if (*place == NULL)
			abort();
		(*place)->number = number + 1;
		footprint.used++;
	}
	return *place;
}

/* A line of memory, by its physical address >> LINE_SHIFT, was touched. */
static inline void footprint_touch(enum touched what, uint64_t line)
{
	static struct page *last[TOUCHED];
	struct page *page = last[what];
	uint32_t *stamp;

	if (footprint.execution == 0)
		return;
	if (page == NULL || page->number - 1 != line / LINES_OF_PAGE)
		page = last[what] = page_of(line / LINES_OF_PAGE);
	stamp = &page->line[what][line % LINES_OF_PAGE];
	if (*stamp == footprint.execution)
		return;
	*stamp = footprint.execution;
	footprint.lines[what]++;
	if (page->page[what] != footprint.execution) {
		page->page[what] = footprint.execution;
		footprint.pages[what]++;
	}
}

static void footprint_open(void)
{
	static uint32_t executions;

	memset(footprint.lines, 0, sizeof footprint.lines);
	memset(footprint.pages, 0, sizeof footprint.pages);
	footprint.execution = ++executions;
}

static void footprint_close(void)
{
	footprint.execution = 0;
}

#endif
