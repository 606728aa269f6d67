/* spaces.c: address spaces of programs: four levels of tables below a root, pages of 4 KiB. A table is held once by
 * itself and once for each of its entries that is not 0, so that one sees whether it is empty without looking through
 * it. Every frame that is allocated here, except a root, was promised before, so that this cannot fail. Every frame
 * whose last hold is dropped here was allocated so: an object holds its frames for as long as they are mapped. */
#include "core/frames.h"
#include "core/memory.h"
#include "core/task.h"
#include "kernel_serve.h"
#include "structure.h"
#include "switches.h"
#include "x86/paging.h"
#include "x86/tags.h"

/* What it costs to look at one table, in pages. */
#define TABLE_WORK 8

/* Tables on the way to an address, below the root. */
#define TABLES_MOST 3

/* By Linux's PROT_ bits. x86 cannot forbid reading alone. */
static const uint64_t rights[8] = {
	PAGE_KEPT | PAGE_NO_EXECUTE,
	PAGE_PRESENT | PAGE_USER | PAGE_NO_EXECUTE,
	PAGE_PRESENT | PAGE_USER | PAGE_WRITE | PAGE_NO_EXECUTE,
	PAGE_PRESENT | PAGE_USER | PAGE_WRITE | PAGE_NO_EXECUTE,
	PAGE_PRESENT | PAGE_USER,
	PAGE_PRESENT | PAGE_USER,
	PAGE_PRESENT | PAGE_USER | PAGE_WRITE,
	PAGE_PRESENT | PAGE_USER | PAGE_WRITE,
};

uint64_t space_roots[SPACES];

/* The root of a space; 0: there is no such space. */
static uint64_t root_of(uint32_t space)
{
	return space < TASKS ? space_roots[space] : 0;
}

static bool are_pages(uint64_t address, uint64_t pages)
{
	return address % PAGE == 0 && address <= USER_END && pages <= (USER_END - address) / PAGE;
}

static bool is_page(uint64_t address)
{
	return address % PAGE == 0 && address < USER_END;
}

/* Finds the entry for an address; behind it stand the entries that its table has for the next addresses. Returns NULL
 * if there is no table. `*next` is where the table's reach, the gap, or the range ends. */
static inline __attribute__((always_inline)) uint64_t *entries_find(uint64_t root, uint64_t address, uint64_t end,
								    uint64_t *next)
{
	uint64_t *table = physical(root);

#pragma GCC unroll 3
	for (int level = 3; level > 0; level--) {
		uint64_t entry = table[ENTRY_OF(address, level)];

		*next = MIN((address | (REACH(level) - 1)) + 1, end);
		if (entry == 0)
			return NULL;
		table = table_below(entry);
	}
	return &table[ENTRY_OF(address, 0)];
}

/* Frees the empty tables on the way to an address. */
static void prune(uint64_t root, uint64_t address)
{
	uint64_t *path[4] = { [3] = physical(root) };
	int level = 3;

	for (; level > 0; level--) {
		uint64_t entry = path[level][ENTRY_OF(address, level)];

		if (entry == 0)
			break;
		path[level - 1] = table_below(entry);
	}
	for (; level < 3 && *uses_of(path[level]) == 1; level++) {
		path[level + 1][ENTRY_OF(address, level + 1)] = 0;
		--*uses_of(path[level + 1]);
		frame_free_clean_promised(physical_of(path[level]));
	}
}

/* Finds the entry of a level for an address, and makes the tables on the way that are missing. */
static inline __attribute__((always_inline)) uint64_t *entry_make_at(uint64_t root, uint64_t address, int lowest)
{
	uint64_t *table = physical(root);

#pragma GCC unroll 3
	for (int level = 3; level > lowest; level--) {
		uint64_t *entry = &table[ENTRY_OF(address, level)];

		if (*entry == 0) {
			*entry = frame_take_promised() | PAGE_PRESENT | PAGE_WRITE | PAGE_USER;
			++*uses_of(table);
		}
		table = table_below(*entry);
	}
	return &table[ENTRY_OF(address, lowest)];
}

static uint64_t *entry_make(uint64_t root, uint64_t address)
{
	return entry_make_at(root, address, 0);
}

/* Unlike all else here this takes frames that nobody was promised. */
uint64_t *entry_at(uint64_t root, uint64_t address, bool make)
{
	uint64_t next, *entry = entries_find(root, address, address, &next), free = frames.free;

	if (entry == NULL && make && frames.unpromised >= TABLES_MOST) {
		frames.unpromised -= TABLES_MOST;
		entry = entry_make(root, address);
		frames.unpromised += TABLES_MOST - (free - frames.free);
	}
	return entry;
}

bool large_page_map(uint64_t root, uint64_t address, uint64_t entry)
{
	uint64_t free = frames.free, *at;

	if (frames.unpromised < TABLES_MOST)
		return false;
	frames.unpromised -= TABLES_MOST;
	at = entry_make_at(root, address, 1);
	frames.unpromised += TABLES_MOST - (free - frames.free);
	*at = entry | PAGE_HUGE;
	++*uses_of(at);
	return true;
}

void entry_clear(uint64_t root, uint64_t address, uint64_t *entry)
{
	uint64_t free = frames.free;

	*entry = 0;
	--*uses_of(entry);
	prune(root, address);
	frames.unpromised += frames.free - free;
}

/* Puts a frame, which is held for this, into an entry; what was there is dropped. */
static void put(uint64_t root, uint64_t *at, uint64_t address, uint64_t entry)
{
	uint64_t old = *at;

	*at = entry;
	if (old == 0) {
		++*uses_of(at);
		return;
	}
	forget(root, address, 1);
	frame_drop_promised(old & PAGE_FRAME);
}

int64_t space_create(uint32_t space)
{
	uint64_t root = frame_take();

	if (root == 0)
		return -ENOMEM;
	kernel_half_set(physical(root));
	tag_set(root, space);
	space_roots[space] = root;
	return 0;
}

int64_t kernel_space_destroy(uint32_t space, int64_t pages)
{
	uint64_t root = root_of(space), next;

	if (root == 0 || pages < 0 || IS_REFUSED(space_tasks[space] == 0))
		return -EINVAL;
	TRY(kernel_memory_promise(-pages));
	if (*uses_of(physical(root)) > 1)
		kernel_space_unmap(space, 0, USER_END / PAGE, UINT64_MAX, &next);
	if ((cr3_loaded & PAGE_FRAME) == root) {
		space_load(kernel_cr3);
		COUNT(space_switches, 1);
	}
	kernel_half_clear(physical(root));
	frame_free_clean_promised(root);
	frames.unpromised++;
	space_roots[space] = 0;
	return 0;
}

int64_t kernel_space_zero(uint32_t space, uint64_t address, uint32_t protection)
{
	uint64_t root = root_of(space), next, *entry;

	if (root == 0 || !is_page(address))
		return -EINVAL;
	entry = entries_find(root, address, address, &next);
	if (entry == NULL)
		entry = entry_make(root, address);
	put(root, entry, address, frame_lent(frame_take_promised()) | rights[protection & 7]);
	return 0;
}

int64_t kernel_space_map(uint32_t space, uint64_t address, uint64_t frame, uint64_t count, uint32_t protection)
{
	uint64_t root = root_of(space), bits = rights[protection & 7];
	int64_t new = 0;

	if (root == 0 || !are_pages(address, count) || IS_REFUSED(process_may_map(frame, count)))
		return -EINVAL;
	for (uint64_t i = 0; i < count;) {
		uint64_t *entry = entry_make(root, address + i * PAGE);
		uint64_t room = ENTRIES - ENTRY_OF(address + i * PAGE, 0);

		for (uint64_t end = MIN(count, i + room); i < end; i++, entry++) {
			bool there = *entry != 0;

			if (there && protection & KERNEL_MAP_KEEP)
				continue;
			frame_hold_inline(frame + i * PAGE);
			put(root, entry, address + i * PAGE, (frame + i * PAGE) | bits);
			new += !there;
		}
	}
	return new;
}

static void copy_page(uint64_t to, uint64_t from)
{
	void *target = physical(to);
	const void *source = physical(from);
	uint64_t words = PAGE / 8;

	__asm__ volatile("rep movsq" : "+D"(target), "+S"(source), "+c"(words) : : "memory");
}

int64_t kernel_space_private(uint32_t space, uint64_t address, uint32_t protection)
{
	uint64_t root = root_of(space), frame, copy, next, *at;

	if (root == 0 || !is_page(address))
		return -EINVAL;
	at = entries_find(root, address, address, &next);
	if (at == NULL || *at == 0)
		return -EFAULT;
	frame = copy = *at & PAGE_FRAME;
	if (*frame_word(frame) != 1) {
		copy = frame_lent(frame_take_promised_dirty());
		copy_page(copy, frame);
		frame_drop_promised(frame);
	}
	*at = copy | rights[protection & 7];
	forget(root, address, 1);
	return 0;
}

int64_t kernel_space_unmap(uint32_t space, uint64_t address, uint64_t pages, uint64_t most, uint64_t *next)
{
	uint64_t root = root_of(space), end = address + pages * PAGE, at = address, work = 0, stop;
	int64_t dropped = 0;

	if (root == 0 || !are_pages(address, pages))
		return -EINVAL;
	for (; at < end && work < most; at = stop) {
		uint64_t *entry = entries_find(root, at, end, &stop);
		uint32_t left, had, *uses;

		if (entry == NULL)
			continue;
		uses = uses_of(entry);
		had = left = *uses;
		for (const uint64_t *beyond = entry + (stop - at) / PAGE; entry < beyond; entry++) {
			if (*entry == 0)
				continue;
			frame_drop_promised(*entry & PAGE_FRAME);
			*entry = 0;
			if (--left == 1)
				break;
		}
		*uses = left;
		dropped += had - left;
		work += had - left + TABLE_WORK;
		if (left == 1)
			prune(root, at);
	}
	if (dropped > 0)
		forget(root, address, (at - address) / PAGE);
	*next = at;
	return dropped;
}

int64_t kernel_space_protect(uint32_t space, uint64_t address, uint64_t pages, uint32_t protection, uint32_t private)
{
	uint64_t root = root_of(space), end = address + pages * PAGE, bits = rights[protection & 7], next;
	uint64_t careful = private && bits & PAGE_WRITE ? PAGE_WRITE : 0;

	if (root == 0 || !are_pages(address, pages))
		return -EINVAL;
	for (uint64_t at = address; at < end; at = next) {
		uint64_t *entry = entries_find(root, at, end, &next);

		if (entry == NULL)
			continue;
		for (const uint64_t *beyond = entry + (next - at) / PAGE; entry < beyond; entry++) {
			uint64_t frame = *entry & PAGE_FRAME;

			if (*entry != 0)
				*entry = frame | (*frame_word(frame) > 1 ? bits & ~careful : bits);
		}
	}
	forget(root, address, pages);
	return 0;
}

int64_t kernel_space_move(uint32_t space, uint64_t address, uint64_t to, uint64_t pages)
{
	uint64_t root = root_of(space), end = address + pages * PAGE, next;

	if (root == 0 || !are_pages(address, pages) || !are_pages(to, pages))
		return -EINVAL;
	if (to < end && address < to + pages * PAGE)
		return -EINVAL;
	for (uint64_t at = address; at < end; at = next) {
		uint64_t *entry = entries_find(root, at, end, &next), target = at - address + to;

		if (entry == NULL)
			continue;
		for (const uint64_t *beyond = entry + (next - at) / PAGE; entry < beyond; entry++, target += PAGE) {
			if (*entry == 0)
				continue;
			put(root, entry_make(root, target), target, *entry);
			*entry = 0;
			--*uses_of(entry);
		}
	}
	/* It comes after the moves: one table may serve both ranges. */
	for (uint64_t at = address; at < end; at = (at | (REACH(1) - 1)) + 1)
		prune(root, at);
	forget(root, address, pages);
	return 0;
}

int64_t kernel_space_share(uint32_t from, uint32_t to, uint64_t address, uint64_t pages, uint32_t private,
			   uint64_t most, uint64_t *next)
{
	uint64_t root = root_of(from), child = root_of(to), end = address + pages * PAGE, at = address, work = 0, stop;
	uint64_t lost = private ? PAGE_WRITE : 0;
	int64_t total = 0;

	if (root == 0 || child == 0 || root == child || !are_pages(address, pages))
		return -EINVAL;
	for (; at < end && work < most; at = stop) {
		uint64_t *entry = entries_find(root, at, end, &stop), *copy;
		uint32_t shared = 0, *uses;

		if (entry == NULL)
			continue;
		copy = entry_make(child, at);
		uses = uses_of(copy);
		for (const uint64_t *beyond = entry + (stop - at) / PAGE; entry < beyond; entry++, copy++) {
			if (*entry == 0 || (DISTRUST && *copy != 0))
				continue;
			if (FORK_COPIES && *entry & lost) {
				*copy = frame_lent(frame_take_promised_dirty()) | (*entry & ~PAGE_FRAME);
				copy_page(*copy & PAGE_FRAME, *entry & PAGE_FRAME);
			} else {
				*entry = *copy = *entry & ~lost;
				frame_hold_inline(*entry & PAGE_FRAME);
			}
			shared++;
		}
		*uses += shared;
		total += shared;
		work += shared + TABLE_WORK;
		if (shared == 0)
			prune(child, at);
	}
	if (private && total > 0)
		forget(root, address, (at - address) / PAGE);
	*next = at;
	return total;
}

int64_t space_find(uint32_t space, uint64_t address, uint64_t *frame, uint32_t *protection)
{
	uint64_t next;
	const uint64_t *entry = entries_find(space_roots[space], address, address, &next);

	if (entry == NULL || *entry == 0)
		return -EFAULT;
	*frame = *entry & PAGE_FRAME;
	*protection = 0;
	if (*entry & PAGE_PRESENT)
		*protection = 1 | (*entry & PAGE_WRITE ? 2 : 0) | (*entry & PAGE_NO_EXECUTE ? 0 : 4);
	return 0;
}
