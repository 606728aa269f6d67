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

static struct footprint {
	struct page **places; /* a hash table by number */
	size_t room, used;
	struct page *last[TOUCHED];
	uint64_t lines[TOUCHED], pages[TOUCHED];
	uint64_t space;         /* of the user's, where each address space has its own: profile.c */
	struct footprint *next; /* of another space */
} footprint, *footprint_of_user = &footprint;
static uint32_t footprint_execution; /* the number of the one that is open; 0: none is */

static struct page **place_of(struct page **places, size_t room, uint64_t number)
{
	size_t at = (size_t)(number * 0x9e3779b97f4a7c15ull >> 20) & (room - 1);

	while (places[at] != NULL && places[at]->number != number + 1)
		at = (at + 1) & (room - 1);
	return &places[at];
}

static void make_room(struct footprint *f)
{
	size_t room = f->room ? 2 * f->room : 1u << 14, i;
	struct page **places = calloc(room, sizeof *places);

	if (places == NULL)
		abort();
	for (i = 0; i < f->room; i++)
		if (f->places[i] != NULL)
			*place_of(places, room, f->places[i]->number - 1) = f->places[i];
	free(f->places);
	f->places = places;
	f->room = room;
}

static struct page *page_of(struct footprint *f, uint64_t number)
{
	struct page **place;

	if (2 * f->used >= f->room)
		make_room(f);
	place = place_of(f->places, f->room, number);
	if (*place == NULL) {
		*place = calloc(1, sizeof **place);
		if (*place == NULL)
			abort();
		(*place)->number = number + 1;
		f->used++;
	}
	return *place;
}

/* A line of memory, by its physical address >> LINE_SHIFT, was touched; returns whether it is new in this execution. */
static inline int footprint_touch(enum touched what, uint64_t line)
{
	struct footprint *f = what < KERNEL_CODE ? footprint_of_user : &footprint;
	struct page *page = f->last[what];
	uint32_t *stamp;

	if (footprint_execution == 0)
		return 0;
	if (page == NULL || page->number - 1 != line / LINES_OF_PAGE)
		page = f->last[what] = page_of(f, line / LINES_OF_PAGE);
	stamp = &page->line[what][line % LINES_OF_PAGE];
	if (*stamp == footprint_execution)
		return 0;
	*stamp = footprint_execution;
	f->lines[what]++;
	if (page->page[what] != footprint_execution) {
		page->page[what] = footprint_execution;
		f->pages[what]++;
	}
	return 1;
}

static void footprint_open(void)
{
	static uint32_t executions;
	struct footprint *f;

	for (f = &footprint; f != NULL; f = f->next) {
		memset(f->lines, 0, sizeof f->lines);
		memset(f->pages, 0, sizeof f->pages);
	}
	footprint_execution = ++executions;
}

static void footprint_close(void)
{
	footprint_execution = 0;
}

#endif
