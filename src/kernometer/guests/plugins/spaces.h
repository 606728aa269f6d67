/* spaces.h: which address space the processor is in. A page of memory that was the root of one may become the root of
 * another, with the same value of CR3: a store to the user's half of a root that is not the current one tells. */
#ifndef KM_SPACES_H
#define KM_SPACES_H

#include "processors.h"
#include "strings.h"
#include "tlb.h"
#include <stdlib.h>

#define MAX_SPACES 4096u
#define ROOT_PAGES (1ull << 24) /* physical pages below 64 GiB: a root above them is not watched */
#define ROOT(cr3) ((cr3) >> 12 & 0xffffffffffull)

static struct {
	struct {
		uint64_t root; /* plus 1; 0: an empty place */
		uint64_t tag;
	} known[MAX_SPACES]; /* a hash table */
	size_t used;
	uint8_t *watched;         /* a bit for each physical page: it is the root of a known space */
	uint8_t *stored;          /* likewise: its first entry was stored to */
	uint64_t current, newest; /* root and last given tag */
	uint64_t home;            /* root of the space in which the open region began; before it the first one */
	int is_old;               /* the current space was there when counting began: who makes a root clears it */
	uint64_t user_at_switch;  /* instructions in user mode when the current space was entered */
	uint64_t server_instructions;
} spaces;

static void spaces_open(void)
{
	spaces.watched = calloc(ROOT_PAGES / 8, 1);
	spaces.stored = calloc(ROOT_PAGES / 8, 1);
	if (spaces.watched == NULL || spaces.stored == NULL)
		abort();
}

/* A server is what runs in user mode in an address space that was there when counting began, and is neither the first
 * one nor that in which the open region began. */
static inline int in_server(void)
{
	return spaces.is_old && spaces.current != spaces.home;
}

/* Before the space changes, or the count of servers' instructions is read. */
static inline void spaces_leave(unsigned int vcpu)
{
	uint64_t now = counters(vcpu)[USER] - strings.repeated[USER];

	if (in_server())
		spaces.server_instructions += now - spaces.user_at_switch;
	spaces.user_at_switch = now;
}

static size_t place_of_root(uint64_t root)
{
	size_t at = (size_t)(root * 0x9e3779b97f4a7c15ull >> 40) % MAX_SPACES;

	while (spaces.known[at].root != 0 && spaces.known[at].root != root + 1)
		at = (at + 1) % MAX_SPACES;
	return at;
}

static void watch(uint64_t root, int on)
{
	if (root < ROOT_PAGES)
		spaces.watched[root / 8] =
			(uint8_t)((spaces.watched[root / 8] & ~(1u << root % 8)) | (unsigned int)on << root % 8);
}

/* The tag of the address space that CR3 has now: from 1 on, never given twice; `*forgotten` if the tags began anew. */
static uint64_t space_now(int *forgotten)
{
	uint64_t root = ROOT(register_of_cpu(REGISTER_CR3));
	size_t at = place_of_root(root);
	int is_new = spaces.known[at].root == 0;

	spaces.current = root;
	spaces.home += spaces.home == 0 ? root : 0;
	spaces.is_old = root < ROOT_PAGES && !(spaces.stored[root / 8] >> root % 8 & 1);
	*forgotten = 0;
	if (!is_new && (root >= ROOT_PAGES || spaces.watched[root / 8] >> root % 8 & 1))
		return spaces.known[at].tag;
	if (spaces.newest == MAX_TAG || (is_new && spaces.used == MAX_SPACES / 2)) {
		memset(spaces.known, 0, sizeof spaces.known);
		memset(spaces.watched, 0, ROOT_PAGES / 8);
		spaces.used = spaces.newest = 0;
		*forgotten = is_new = 1;
		at = place_of_root(root);
	}
	spaces.used += (size_t)is_new;
	spaces.known[at].root = root + 1;
	spaces.known[at].tag = ++spaces.newest;
	watch(root, 1);
	return spaces.newest;
}

/* There was a store to this physical address. */
static inline void space_stored(uint64_t physical)
{
	uint64_t page = physical >> 12;

	if (page < ROOT_PAGES && (physical & 0xfff) < 8)
		spaces.stored[page / 8] |= (uint8_t)(1u << page % 8);
	if (page < ROOT_PAGES && spaces.watched[page / 8] >> page % 8 & 1 && page != spaces.current &&
	    (physical & 0xfff) < 0x800)
		watch(page, 0); /* its next use is another space */
}

#endif
