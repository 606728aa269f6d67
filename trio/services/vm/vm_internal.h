/* vm_internal.h: the memory service's own structures. A *space* is an address space; it is divided into *regions*, each
 * a range of addresses with one protection and one source: zeros, or an *object*, a growable row of pages that can be
 * mapped more than once. The kernel's page tables alone know which pages of a region are there. */
#ifndef TRIO_VM_INTERNAL_H
#define TRIO_VM_INTERNAL_H

#include "abi/mman.h"
#include "kernel.h"
#include "tree.h"
#include "vm_serve.h"

/* The first address that is not a program's, and the lowest that may be mapped. */
#define USER_TOP 0x00007ffffffff000UL
#define USER_LOW 0x10000UL
/* As many as Linux allows a process (vm.max_map_count). */
#define REGIONS_MOST 65530U
/* Nothing is placed as close as this below a stack. */
#define STACK_GAP (256 * PAGE)

#define PAGE_DOWN(address) ((address) & ~(PAGE - 1))
#define PAGE_UP(address) PAGE_DOWN((address) + PAGE - 1)

/* Bits of a region beside its protection (Linux's PROT_, bits 0 to 2). */
#define REGION_SHARED 8
/* A stack: a fault below makes it longer. */
#define REGION_DOWN 16
/* Of a file that is not open for writing: shared, it never becomes writable. */
#define REGION_NO_WRITE 32
#define REGION_NO_FORK 64
/* Its pages are promised; tables for it are. Both stay once they are so. */
#define REGION_PROMISED 128
#define REGION_REACHED 256

struct region {
	/* Whole pages. */
	uint64_t begin, end;
	/* The object's page at `begin`; 0 without one. */
	uint64_t index;
	/* 0: zeros. Each region holds its object once. */
	uint32_t object;
	uint32_t bits;
};

#define REGIONS_OWN 112U
struct space {
	uint32_t number;
	/* Tasks that live in it. */
	uint32_t users;
	/* They stand from `list` to `list_end` in order of address, with a gap where one came or went last, which ends
	 * at `above`. The first and the last are no regions: one ends, the other begins, where nothing else does. */
	uint32_t regions;
	struct region *list, *gap, *above, *list_end;
	/* Some region may be REGION_NO_FORK; what is mapped is to be there at once. */
	bool some_stay, populates;
	uint64_t heap, heap_end;
	uint64_t stack_top, stack_most;
	/* Where placing starts, downward; above `place_from` no hole is larger than `hole_most`. */
	uint64_t place_top, place_from, hole_most;
	/* Limits in bytes. */
	uint64_t limit_space, limit_data;
	/* Pages: mapped, private and writable, there, the most that were there. */
	uint64_t pages, data, resident, peak;
	/* Pages and tables that its regions can need at most, which are promised to it; and, within, what is kept for
	 * regions to come. */
	int64_t promised, kept;
	/* The task, plus one, that changes what is mapped in more than one run, 0: none; who waits for its end, and
	 * whether a service does. `change_weight` makes the space a large one meanwhile. */
	uint32_t changer;
	bool others_wait;
	uint64_t change_weight;
	struct queue changers;
	/* A fork under way: the child's space, and how far pages are copied. */
	struct space *copy;
	uint64_t copied;
	struct region own[REGIONS_OWN];
};

/* What an object is: memory, a device's memory, or pages that the service above reads. */
enum object_kind { OBJECT_MEMORY, OBJECT_DEVICE, OBJECT_PAGED };

struct object {
	/* Regions, and other holders; 0: free. `next`: in a list of those that nobody holds. */
	uint32_t holders, mapped;
	uint32_t next;
	enum object_kind kind;
	/* Its frames, by page. */
	struct tree pages;
	/* Of one that is paged: pages that are not there yet but have a frame. paged.c */
	uint32_t coming;
	/* All its pages and the tables still to come; 0: nothing is promised. */
	uint32_t promised;
	/* Bytes; beyond the page that holds the last one, touching is an error. */
	uint64_t size;
	/* Of a device's: its first frame; of one that is paged: its name in the service above. */
	uint64_t device;
};

/* vm.c: spaces by their number, and of each task. */
extern struct space *spaces[TASKS], *lives_in[TASKS];

/* NULL: it has none. */
static inline struct space *space_of(uint32_t task)
{
	return task < TASKS ? lives_in[task] : NULL;
}

/* regions.c */
/* Without any, in memory of the space's own. */
void regions_start(struct space *s);
void regions_end(struct space *s);
/* A copy of all but those with a bit of `without`; false: no memory. */
bool regions_copy(struct space *to, const struct space *from, uint32_t without);
/* The first region that ends beyond `address`; where there is none, what stands behind the last. */
struct region *region_after(const struct space *s, uint64_t address);
/* The one that `address` lies in, or NULL. */
static inline struct region *region_find(const struct space *s, uint64_t address)
{
	struct region *r = region_after(s, address);

	return r->begin <= address ? r : NULL;
}

static inline struct region *region_next(const struct space *s, struct region *r)
{
	return r + 1 == s->gap ? s->above : r + 1;
}

static inline struct region *region_previous(const struct space *s, struct region *r)
{
	return r == s->above ? s->gap - 1 : r - 1;
}

#define REGION_EACH(r, s) for (struct region *r = region_next(s, (s)->list); r != (s)->list_end; r = region_next(s, r))

/* Room for so many regions more, so that inserting them cannot fail. */
bool regions_reserve(struct space *s, uint32_t more);
/* Before `at`, which is region_after() of its begin, where room is reserved. Returns where it is now; others may stand
 * elsewhere than before, as after region_erase(). */
struct region *region_insert(struct space *s, struct region *at, const struct region *new);
/* Returns the one that comes behind it. */
struct region *region_erase(struct space *s, struct region *at);
/* Neighbours from `begin` to `end`, and those beside, that are alike become one. */
void regions_merge(struct space *s, uint64_t begin, uint64_t end);
/* The same from one of them on. */
void regions_merge_from(struct space *s, struct region *r, uint64_t end);
/* Regions that go across `begin` or `end` become two; false: no memory, or more regions than `most`. `first` is
 * region_after(s, begin). */
bool regions_isolate(struct space *s, const struct region *first, uint64_t begin, uint64_t end, uint32_t most);

static inline uint64_t region_pages(const struct region *r)
{
	return (r->end - r->begin) / PAGE;
}

static inline bool counts_as_data(uint32_t bits)
{
	return (bits & (PROT_WRITE | REGION_SHARED | REGION_DOWN)) == PROT_WRITE;
}

/* What is in `pages` more pages is within the space's limits. */
bool space_may_grow(const struct space *s, uint64_t pages, uint32_t bits);
/* Accounts for pages that are mapped from now on, or no more. */
void space_account(struct space *s, int64_t pages, uint32_t bits);
static inline void space_resident(struct space *s, int64_t pages)
{
	s->resident += (uint64_t)pages;
	if (s->resident > s->peak)
		s->peak = s->resident;
}

/* Drops pages of a range as far as there is work for about `most`, and returns how many; *next: where to continue. */
static inline int64_t drop_pages(struct space *s, uint64_t begin, uint64_t end, uint64_t most, uint64_t *next)
{
	int64_t dropped = kernel_space_unmap(s->number, begin, (end - begin) / PAGE, most, next);

	space_resident(s, -dropped);
	return dropped;
}

/* promise.c: what is promised to a space. */
/* A region's bits with what follows from the others. */
static inline uint32_t promised_bits(uint32_t bits, uint32_t object)
{
	if (!(bits & PROT_ALL))
		return bits;
	if (!(bits & REGION_SHARED) && (bits & PROT_WRITE || object == 0))
		bits |= REGION_PROMISED;
	return bits | REGION_REACHED;
}

/* What a region there needs beside what is promised already: pages, by its bits, and tables, where nothing that is
 * REGION_REACHED lies. `at`: region_after(s, begin). */
int64_t promise_for(const struct space *s, struct region *at, uint64_t begin, uint64_t end, uint32_t bits);
/* What all regions need, but those with a bit of `without`. */
int64_t promise_for_all(const struct space *s, uint32_t without);
/* So much more is promised to the space, out of what is kept where that suffices; negative: so much less, after what
 * was there has been dropped. False: no memory. */
bool space_promise(struct space *s, int64_t pages);

/* What a region costs beside its pages, in pages. */
#define REGION_WORK 8

/* share.c: work that is done by shares of SHARE_PAGES. A change of a space that is not large is one share. */
static inline bool space_is_large(const struct space *s)
{
	return s->resident + s->regions + s->change_weight > SHARE_PAGES;
}

static inline bool change_is_anothers(const struct space *s, uint32_t task)
{
	return s->changer != 0 && s->changer != task + 1;
}

/* The space is the task's until change_end(). */
void change_claim(struct space *s, uint32_t task);
void change_end(struct space *s);
/* For a call of another service's on behalf of `task`: it answers EWAIT where a change is under way. */
static inline bool change_is_under_way(struct space *s, uint32_t task)
{
	s->others_wait |= change_is_anothers(s, task);
	return change_is_anothers(s, task);
}
/* A service is told at once that it can ask again. */
static inline int64_t ask_again(uint32_t endpoint, unsigned bit)
{
	notify(endpoint, bit);
	return -EWAIT;
}

/* Words of a request's scratch, of worth once it gave way: how far it got, whether there were gaps; what mmap mapped
 * and populates, 0: not yet. */
enum { SHARE_AT, SHARES, MAPPED };
enum { SHARES_NONE, SHARES_BEGUN, SHARES_WITH_GAPS };
/* The request gave way or waits, and PARKED is to be returned. */
#define UNDER_WAY 1
/* What is left of a run's share, in pages; how far it got; whether there were gaps; what the act is told. */
struct share {
	int64_t work;
	uint64_t at;
	bool gaps;
	uint32_t with;
};
/* Does something to the part of a region from share->at to `end`, as far as the share goes. 0 or -errno. */
typedef int64_t (*region_act)(struct space *s, struct region *r, uint64_t end, struct share *share);
/* To all that is mapped from share->at to `end`: 0; UNDER_WAY; or the first error of `act`. */
int64_t share_of(struct space *s, struct share *share, uint64_t end, region_act act);
/* Where memory is missing and some was freed since. */
verdict begin_anew(struct request *r);
/* All of a range: 0, -ENOMEM where there are gaps, or the first error of `act`. */
verdict each_by_shares(struct space *s, struct request *r, uint64_t begin, uint64_t end, enum ends ends,
		       region_act act);
/* The same for what changes regions: those across the range's ends become two, and there are `most` at most; where more
 * runs than one are needed the request has the space for itself. 0, UNDER_WAY or an error; for gaps see scratch. */
int64_t change_by_shares(struct space *s, struct request *r, uint64_t begin, uint64_t end, uint32_t most,
			 region_act act, uint32_t with);
int64_t act_nothing(struct space *s, struct region *r, uint64_t end, struct share *share);
int64_t act_drop(struct space *s, struct region *r, uint64_t end, struct share *share);
/* -ENOMEM: a page may not be there, or there is nothing behind it. */
int64_t act_populate(struct space *s, struct region *r, uint64_t end, struct share *share);

/* map.c: what handlers and the other services' calls share. Results are an address or 0, or a negative errno. */
int64_t map_region(struct space *s, uint64_t address, uint64_t length, uint32_t flags, struct region new);
/* A share of a range is unmapped, from its beginning: 0: all of it is; UNDER_WAY; -ENOMEM. */
int64_t unmap_share(struct space *s, uint64_t begin, uint64_t end);
/* All of it, for a request: 0; -ENOMEM: nothing has changed; UNDER_WAY. */
int64_t unmap_for(struct space *s, struct request *r, uint64_t begin, uint64_t end);
/* The same for whole regions: cannot fail, gives nothing back, and returns what was promised for them alone. */
int64_t drop_regions(struct space *s, uint64_t begin, uint64_t end);
/* `new`, which gets its addresses, where room is reserved and nothing is; `*at` is where it is among the regions then.
 * It is not merged. `already`: pages that are promised for it. False: no memory. */
struct region *place_region(struct space *s, uint64_t begin, uint64_t length, struct region *new, int64_t already);
/* An address for `length` bytes, as high as may be; below `top` where that is not 0. 0: no room. */
uint64_t space_place(struct space *s, uint64_t length, uint64_t top);
/* Where to map, as flags and hint say; it is empty then and room is reserved for one region there. An address or a
 * negative errno. */
int64_t make_place(struct space *s, uint64_t hint, uint64_t length, uint32_t flags, uint32_t bits);
int64_t check_range(uint64_t address, uint64_t length);

/* change.c */
/* A fork's child will not have a range, or have it again. */
verdict keep_from_child(struct space *s, struct request *r, uint64_t begin, uint64_t end, uint32_t kept);

/* fault.c: x86's error code. */
#define ACCESS_PRESENT 1
#define ACCESS_WRITE 2
#define ACCESS_FETCH 16
int64_t space_fault(struct space *s, uint64_t address, uint32_t access);
/* Where vm itself reads or writes what is at a user's address, up to the end of its page: in the frame, since a copy
 * that met an absent page would ask vm for it. -EWAIT: it has to be read first; -EFAULT: not mapped, or not allowed. */
int64_t user_place(struct space *s, uint64_t address, bool write, void **place);

/* object.c */
struct object *object_of(uint32_t number);
/* Whether it has such a page: touching one beyond is an error. */
static inline bool object_reaches(const struct object *o, uint64_t index)
{
	return index < (o->size + PAGE - 1) / PAGE;
}
/* Its first `pages` pages, and it will not have more, are promised to it: 0 or -ENOMEM. */
int64_t object_promise(uint32_t object, uint64_t pages);
/* The frame of a page; made where `create`, but of memory's alone. 0: none, or no memory. */
uint64_t object_frame(struct object *o, uint64_t index, bool create);
/* The word of the tree for a page; 0: there is none. */
uint64_t object_word(const struct object *o, uint64_t index);
/* Where that is, made if need be; NULL: no memory. */
uint64_t *object_place(struct object *o, uint64_t index);
/* A region holds it, or no more. 0 is allowed. */
void object_mapped(uint32_t object);
void object_unmapped(uint32_t object);

/* paged.c */
/* A page of such an object that object_frame() has not: -EWAIT, or why it will not come. */
int64_t paged_absent(uint32_t object, uint64_t index);
/* The request ends with `result`; or, where that is -EWAIT, waits for the page that was found absent last. */
verdict paged_settle(struct request *r, int64_t result, enum ends ends);
/* Those of a range will be needed. */
void paged_need(struct space *s, uint32_t task, uint64_t begin, uint64_t end);
/* Whether a page has its content. */
bool paged_is_there(uint64_t word);
/* Its pages from `index` up to `end` go; who waits looks again. */
void paged_cut(struct object *o, uint64_t index, uint64_t end);
/* Nobody holds it any more: the service above is told. */
void paged_unheld(uint32_t object);

#endif
