/* vm_internal.h: the memory service's own structures. A *space* is an address space. It is divided into *regions*, each
 * a range of addresses with one protection and one source: zeros, or an *object*, a growable array of pages that can be
 * mapped more than once. Only the kernel's page tables know which pages of a region are present. */
#ifndef TRIO_VM_INTERNAL_H
#define TRIO_VM_INTERNAL_H

#include "abi/mman.h"
#include "kernel.h"
#include "tree.h"
#include "vm_serve.h"

/* The end of user space, and the lowest address that may be mapped. */
#define USER_TOP 0x00007ffffffff000UL
#define USER_LOW 0x10000UL
/* The limit of Linux (vm.max_map_count). */
#define REGIONS_MOST 65530U
/* Nothing is placed closer than this below a stack. */
#define STACK_GAP (256 * PAGE)

#define PAGE_DOWN(address) ((address) & ~(PAGE - 1))
#define PAGE_UP(address) PAGE_DOWN((address) + PAGE - 1)

/* Bits of a region beside its protection (Linux's PROT_, bits 0 to 2). */
#define REGION_SHARED 8
/* A stack: a fault below extends it. */
#define REGION_DOWN 16
/* A shared mapping of a file that is not open for writing; it never becomes writable. */
#define REGION_NO_WRITE 32
#define REGION_NO_FORK 64
/* Its pages are promised; its tables are promised. Both bits stay once they are set. */
#define REGION_PROMISED 128
#define REGION_REACHED 256

struct region {
	/* Page-aligned. */
	uint64_t begin, end;
	/* The object's page at `begin`; 0 without an object. */
	uint64_t index;
	/* 0: zeros. Each region holds its object once. */
	uint32_t object;
	uint32_t bits;
};

#define REGIONS_OWN 112U
struct space {
	uint32_t number;
	/* The number of tasks that use it. */
	uint32_t users;
	/* The regions lie from `list` to `list_end` by address. A gap, up to `above`, is where a region was last added
	 * or removed. The first and the last entry are sentinels at the ends of the address space. */
	uint32_t regions;
	struct region *list, *gap, *above, *list_end;
	/* Some region may be REGION_NO_FORK; new mappings are populated at once. */
	bool some_stay, populates;
	uint64_t heap, heap_end;
	uint64_t stack_top, stack_most;
	/* Where placing starts, going down. Above `place_from` no hole is larger than `hole_most`. */
	uint64_t place_top, place_from, hole_most;
	/* Limits in bytes. */
	uint64_t limit_space, limit_data;
	/* Numbers of pages: mapped, private and writable, present, and the most that were present. */
	uint64_t pages, data, resident, peak;
	/* The pages and tables that its regions can need at most and that are promised to it; the part of these that is
	 * kept for future regions. */
	int64_t promised, kept;
	/* The task, plus one, that changes mappings in more than one run, or 0; requests that wait for its end, and
	 * whether a service waits. Meanwhile `change_weight` makes the space count as large. */
	uint32_t changer;
	bool others_wait;
	uint64_t change_weight;
	struct queue changers;
	/* A running fork: the child's space, and up to which address pages are copied. */
	struct space *copy;
	uint64_t copied;
	struct region own[REGIONS_OWN];
};

/* The kind of an object: memory, a device's memory, or pages that vfs reads. */
enum object_kind { OBJECT_MEMORY, OBJECT_DEVICE, OBJECT_PAGED };

struct object {
	/* Regions and other holders (0: the object is free); `next` links objects that nobody holds. */
	uint32_t holders, mapped;
	uint32_t next;
	enum object_kind kind;
	/* Its frames by page. */
	struct tree pages;
	/* For paged.c: pages that have a frame and are still being read. */
	uint32_t coming;
	/* Promised pages and tables that are still to be made; 0: nothing is promised. */
	uint32_t promised;
	/* In bytes. Access beyond the last page is an error. */
	uint64_t size;
	/* The first frame of a device; the name that vfs gave a paged object. */
	uint64_t device;
};

/* vm.c: spaces by number and by task. */
extern struct space *spaces[TASKS], *lives_in[TASKS];

/* NULL: the task has none. */
static inline struct space *space_of(uint32_t task)
{
	return task < TASKS ? lives_in[task] : NULL;
}

/* regions.c: starts with no regions, in the space's own memory. */
void regions_start(struct space *s);
void regions_end(struct space *s);
/* Copies all regions without a bit of `without`. Returns false if memory is short. */
bool regions_copy(struct space *to, const struct space *from, uint32_t without);
/* The first region that ends above `address`, or the sentinel behind the last. */
struct region *region_after(const struct space *s, uint64_t address);
/* The region that contains `address`, or NULL. */
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

/* Reserves room, so that inserting `more` regions cannot fail. */
bool regions_reserve(struct space *s, uint32_t more);
/* Inserts before `at`, which is region_after() of the new begin; room is reserved. Returns the new region. Like
 * region_erase() it may move other regions. */
struct region *region_insert(struct space *s, struct region *at, const struct region *new);
/* Returns the region behind the erased one. */
struct region *region_erase(struct space *s, struct region *at);
/* Merges equal neighbours from `begin` to `end`, including those that touch the range. */
void regions_merge(struct space *s, uint64_t begin, uint64_t end);
/* Does so from region `r` on. */
void regions_merge_from(struct space *s, struct region *r, uint64_t end);
/* Splits regions at `begin` and `end`. Returns false if memory is short or there would be more than `most` regions.
 * `first` is region_after(s, begin). */
bool regions_isolate(struct space *s, const struct region *first, uint64_t begin, uint64_t end, uint32_t most);

static inline uint64_t region_pages(const struct region *r)
{
	return (r->end - r->begin) / PAGE;
}

static inline bool counts_as_data(uint32_t bits)
{
	return (bits & (PROT_WRITE | REGION_SHARED | REGION_DOWN)) == PROT_WRITE;
}

/* Whether the space's limits allow `pages` more pages with these bits. */
bool space_may_grow(const struct space *s, uint64_t pages, uint32_t bits);
/* Counts pages that are mapped (or, if negative, unmapped) now. */
void space_account(struct space *s, int64_t pages, uint32_t bits);
static inline void space_resident(struct space *s, int64_t pages)
{
	s->resident += (uint64_t)pages;
	if (s->resident > s->peak)
		s->peak = s->resident;
}

/* Drops pages of a range, limited to the work of about `most`. Returns their number; *next: where to continue. */
static inline int64_t drop_pages(struct space *s, uint64_t begin, uint64_t end, uint64_t most, uint64_t *next)
{
	int64_t dropped = kernel_space_unmap(s->number, begin, (end - begin) / PAGE, most, next);

	space_resident(s, -dropped);
	return dropped;
}

/* promise.c: adds the bits that follow from the others. */
static inline uint32_t promised_bits(uint32_t bits, uint32_t object)
{
	if (!(bits & PROT_ALL))
		return bits;
	if (!(bits & REGION_SHARED) && (bits & PROT_WRITE || object == 0))
		bits |= REGION_PROMISED;
	return bits | REGION_REACHED;
}

/* What a region needs beside what is promised already: pages by its bits, and tables where no region with
 * REGION_REACHED lies. `at` is region_after(s, begin). */
int64_t promise_for(const struct space *s, struct region *at, uint64_t begin, uint64_t end, uint32_t bits);
/* What all regions without a bit of `without` need. */
int64_t promise_for_all(const struct space *s, uint32_t without);
/* Promises `pages` more to the space, first out of what is kept. A negative number gives back what was dropped before.
 * Returns false if memory is short. */
bool space_promise(struct space *s, int64_t pages);

/* The cost of a region beside its pages, in pages. */
#define REGION_WORK 8

/* share.c: work by shares of SHARE_PAGES. A change of a small space is one share. */
static inline bool space_is_large(const struct space *s)
{
	return s->resident + s->regions + s->change_weight > SHARE_PAGES;
}

static inline bool change_is_anothers(const struct space *s, uint32_t task)
{
	return s->changer != 0 && s->changer != task + 1;
}

/* Gives the space to the task until change_end(). */
void change_claim(struct space *s, uint32_t task);
void change_end(struct space *s);
/* For another service's call on behalf of `task`, which returns -EWAIT if another change is running. */
static inline bool change_is_under_way(struct space *s, uint32_t task)
{
	s->others_wait |= change_is_anothers(s, task);
	return change_is_anothers(s, task);
}
/* Tells a service at once that it may call again. */
static inline int64_t ask_again(uint32_t endpoint, unsigned bit)
{
	notify(endpoint, bit);
	return -EWAIT;
}

/* Words of a request's scratch, valid once it gave way: how far it got, whether there were gaps, and the address that
 * mmap has mapped and populates (0: none yet). */
enum { SHARE_AT, SHARES, MAPPED };
enum { SHARES_NONE, SHARES_BEGUN, SHARES_WITH_GAPS };
/* The request gave way or waits; the handler must return PARKED. */
#define UNDER_WAY 1
/* The rest of a run's share in pages, how far it got, whether there were gaps, and an argument for the act. */
struct share {
	int64_t work;
	uint64_t at;
	bool gaps;
	uint32_t with;
};
/* Acts on the part of a region from share->at to `end`, as far as the share allows. Returns 0 or -errno. */
typedef int64_t (*region_act)(struct space *s, struct region *r, uint64_t end, struct share *share);
/* Acts on all that is mapped from share->at to `end`. Returns 0, UNDER_WAY or the first error. */
int64_t share_of(struct space *s, struct share *share, uint64_t end, region_act act);
/* Starts the request again after memory was freed. */
verdict begin_anew(struct request *r);
/* Acts on a whole range. Answers 0, ENOMEM if there are gaps, or the first error. */
verdict each_by_shares(struct space *s, struct request *r, uint64_t begin, uint64_t end, enum ends ends,
		       region_act act);
/* Acts on a range and changes regions. Regions across its ends are split, up to `most` regions. If it needs more than
 * one run the request owns the space meanwhile. Returns 0, UNDER_WAY or an error; scratch tells gaps. */
int64_t change_by_shares(struct space *s, struct request *r, uint64_t begin, uint64_t end, uint32_t most,
			 region_act act, uint32_t with);
int64_t act_nothing(struct space *s, struct region *r, uint64_t end, struct share *share);
int64_t act_drop(struct space *s, struct region *r, uint64_t end, struct share *share);
/* -ENOMEM: a page is not accessible, or there is no memory for it. */
int64_t act_populate(struct space *s, struct region *r, uint64_t end, struct share *share);

/* map.c: shared by handlers and other services' calls. Returns an address or a negative errno. */
int64_t map_region(struct space *s, uint64_t address, uint64_t length, uint32_t flags, struct region new);
/* Unmaps a share of a range from its beginning. Returns 0 when all is unmapped, UNDER_WAY or -ENOMEM. */
int64_t unmap_share(struct space *s, uint64_t begin, uint64_t end);
/* Unmaps a range for a request. Returns 0, -ENOMEM without a change, or UNDER_WAY. */
int64_t unmap_for(struct space *s, struct request *r, uint64_t begin, uint64_t end);
/* Unmaps whole regions; cannot fail. Returns what was promised for them, which the caller gives back. */
int64_t drop_regions(struct space *s, uint64_t begin, uint64_t end);
/* Inserts `new` at these addresses, which are empty and for which room is reserved, without merging. `already`: pages
 * promised for it before. Returns NULL if memory is short. */
struct region *place_region(struct space *s, uint64_t begin, uint64_t length, struct region *new, int64_t already);
/* The highest free address for `length` bytes, below `top` if that is not 0. Returns 0 if there is no room. */
uint64_t space_place(struct space *s, uint64_t length, uint64_t top);
/* Chooses where to map by flags and hint, empties that range, and reserves room for one region. Returns an address or a
 * negative errno. */
int64_t make_place(struct space *s, uint64_t hint, uint64_t length, uint32_t flags, uint32_t bits);
int64_t check_range(uint64_t address, uint64_t length);

/* change.c: sets whether a fork's child lacks the range. */
verdict keep_from_child(struct space *s, struct request *r, uint64_t begin, uint64_t end, uint32_t kept);

/* fault.c */
int64_t space_fault(struct space *s, uint64_t address, uint32_t access);
/* Gives vm access to a user's address, up to the end of its page, through the frame: a copy that met an absent page
 * would call vm itself. Returns -EWAIT if the page must be read first, or -EFAULT. */
int64_t user_place(struct space *s, uint64_t address, bool write, void **place);

struct object *object_of(uint32_t number);
/* object.c: whether the object has that page. */
static inline bool object_reaches(const struct object *o, uint64_t index)
{
	return index < (o->size + PAGE - 1) / PAGE;
}
/* Promises all pages that the object will ever have. Returns 0 or -ENOMEM. */
int64_t object_promise(uint32_t object, uint64_t pages);
/* The frame of a page. With `create` a missing page of memory is made. Returns 0 if there is none. */
uint64_t object_frame(struct object *o, uint64_t index, bool create);
/* The tree's word for a page; 0: none. */
uint64_t object_word(const struct object *o, uint64_t index);
/* Its address, in a table that is made if needed. Returns NULL if memory is short. */
uint64_t *object_place(struct object *o, uint64_t index);
/* A region holds the object, or does so no more. 0 is allowed. */
void object_mapped(uint32_t object);
void object_unmapped(uint32_t object);

/* paged.c: for a page that object_frame() does not have. Returns -EWAIT, or why it cannot be read. */
int64_t paged_absent(uint32_t object, uint64_t index);
/* Answers with `result` or, if that is -EWAIT, waits for the last page found absent. */
verdict answer_or_wait(struct request *r, int64_t result, enum ends ends);
/* Requests pages that will be needed. */
void paged_need(struct space *s, uint32_t task, uint64_t begin, uint64_t end);
/* Whether the page's contents are there. */
bool paged_is_there(uint64_t word);
/* Drops the pages from `index` to `end`; waiters look again. */
void paged_cut(struct object *o, uint64_t index, uint64_t end);
/* Reports to vfs that nobody holds the object. */
void paged_unheld(uint32_t object);

#endif
