/* pages.h: which pages the memory system is asked for: what each costs in the executions that are charged, and which of
 * its lines are touched in the one whose footprint is open. */
#ifndef KM_PAGES_H
#define KM_PAGES_H

#include "memory.h"
#include <inttypes.h>
#include <stdio.h>

/* A page of 4 KiB of an address space, or (-1) of the kernel's half. */
static struct asked {
	uint64_t page, frame; /* virtual, physical */
	int space, is_stack;
	size_t first; /* the instruction that touched it first; frame 0: none did */
	uint64_t lines[TOUCHED], counts[MEMORY_COUNTS];
	struct asked *next;
} *asked[1u << 12];
#define ASKED (sizeof asked / sizeof *asked)

#define MAX_ROOTS 4096
static uint64_t roots[MAX_ROOTS]; /* of the address spaces of this execution, as they came */
static int n_roots;

/* The number of the present address space. They are numbered anew in each execution, so that those of several are one
 * by what they are for, whatever page their root is. */
static int number_of_space(void)
{
	int i = 0;

	while (i < n_roots && roots[i] != spaces.current)
		i++;
	if (i == n_roots && n_roots < MAX_ROOTS)
		roots[n_roots++] = spaces.current;
	return i;
}

static struct asked *page_asked(uint64_t address)
{
	int space = address >> 63 ? -1 : number_of_space();
	uint64_t page = address >> PAGE_SHIFT;
	struct asked **place = &asked[(page * 31 + (uint64_t)space) % ASKED];

	while (*place != NULL && ((*place)->page != page || (*place)->space != space))
		place = &(*place)->next;
	if (*place == NULL) {
		*place = calloc(1, sizeof **place);
		if (*place == NULL)
			abort();
		(*place)->page = page;
		(*place)->space = space;
	}
	return *place;
}

static void page_touched(uint64_t address, enum touched what, size_t instruction)
{
	struct asked *page = page_asked(address);
	struct mapping at;

	if (page->frame == 0 && walk(address, &at)) {
		page->first = instruction;
		page->frame = at.physical >> PAGE_SHIFT;
	}
	page->lines[what] |= 1ull << (address >> LINE_SHIFT & (LINES_OF_PAGE - 1));
	page->is_stack |= register_of_cpu(REGISTER_RSP) >> PAGE_SHIFT == address >> PAGE_SHIFT;
}

static void write_pages(FILE *to)
{
	const struct asked *page;
	size_t i, kind;

	for (i = 0; i < ASKED; i++)
		for (page = asked[i]; page != NULL; page = page->next) {
			fprintf(to, "page %d %" PRIx64 " %" PRIx64 " %d %zu", page->space, page->page, page->frame,
				page->is_stack, page->first);
			for (kind = 0; kind < TOUCHED; kind++)
				fprintf(to, " %" PRIx64, page->lines[kind]);
			for (kind = 0; kind < MEMORY_COUNTS; kind++)
				if (page->counts[kind] != 0)
					fprintf(to, " %s %" PRIu64, memory_names[kind], page->counts[kind]);
			fputc('\n', to);
		}
}

#endif
