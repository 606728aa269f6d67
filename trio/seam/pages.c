/* pages.c: what a process sees of physical memory: its own pages, devices, and windows on frames. Each is at its base
 * plus the physical address. A window holds nothing: it is gone when its frame is free. The kernel loads a server's
 * program at boot, and when rs says so. */
#include "abi/elf.h"
#include "core/memory.h"
#include "ipc.h"
#include "message.h"
#include "servers.h"
#include "structure.h"
#include "switches.h"
#include "x86/machine.h"
#include "x86/paging.h"
#include "x86/tags.h"

#define READ_WRITE (PAGE_PRESENT | PAGE_USER | PAGE_WRITE | PAGE_NO_EXECUTE)

/* A process has its data in a large page if that is no more than this part of all memory. */
#define LARGE_PAGE_PART 256
#define LARGE_PAGE REACH(1)

/* Bits for each frame: some process has a window on it; it is programs' memory; vm, as a process, holds it beside those
 * who have mapped it. */
enum { WINDOWED = 1, LENT = 2, HELD = 4 };

static bool has_mark(uint64_t frame, uint8_t mark)
{
	return frame % PAGE == 0 && frame / PAGE < frame_limit && frame_marks[frame / PAGE] & mark;
}

static void set_mark(uint64_t frame, uint8_t mark)
{
	frame_marks[frame / PAGE] |= mark;
}

static bool map(uint32_t domain, uint64_t address, uint64_t physical_and_bits)
{
	uint64_t *entry = entry_at(space_roots[TASKS + domain], address, true);

	if (!entry)
		return false;
	if (*entry == 0)
		++*uses_of(entry);
	*entry = physical_and_bits;
	return true;
}

static void unmap(uint32_t domain, uint64_t address)
{
	uint64_t root = space_roots[TASKS + domain], *entry = entry_at(root, address, false);

	if (!entry || *entry == 0)
		return;
	entry_clear(root, address, entry);
	forget(root, address, 1);
}

static int64_t pages_map(uint32_t domain, uint64_t frame, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = frame + i * PAGE;

		if (map(domain, PROCESS_PAGES + at, at | READ_WRITE))
			continue;
		for (uint64_t j = 0; j < count; j++) {
			if (j < i)
				unmap(domain, PROCESS_PAGES + frame + j * PAGE);
			frame_drop(frame + j * PAGE);
		}
		return 0;
	}
	return (int64_t)(PROCESS_PAGES + frame);
}

int64_t process_pages_take(uint64_t count)
{
	struct server *s = current->serves;
	uint64_t frame;
	int64_t pages;

	if (s->lives.pages + count > s->rights->pages_most)
		return 0;
	frame = count == 1 ? frame_take() : frames_take(count);
	pages = frame ? pages_map(s->domain, frame, count) : 0;
	if (pages)
		s->lives.pages += count;
	return pages;
}

/* A process gives back only what is mapped where its own pages are. */
int64_t process_pages_give(uint64_t address, uint64_t count)
{
	uint32_t domain = PRESENT_DOMAIN;

	if (address < PROCESS_PAGES || address % PAGE || address - PROCESS_PAGES >= PROCESS_WINDOWS - PROCESS_PAGES)
		return -EINVAL;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = address + i * PAGE;
		uint64_t *entry = at < PROCESS_WINDOWS ? entry_at(space_roots[TASKS + domain], at, false) : NULL;

		if (!entry || *entry == 0)
			return -EINVAL;
		unmap(domain, at);
		frame_drop(at - PROCESS_PAGES);
		servers[domain].lives.pages--;
	}
	return 0;
}

/* Makes tables for a range that covers all memory; they stay. */
static void tables_make(uint32_t domain, uint64_t base)
{
	for (size_t i = 0; i < boot.ram_count; i++) {
		uint64_t end = MIN(boot.ram[i].base + boot.ram[i].length, frame_limit * PAGE);

		for (uint64_t at = boot.ram[i].base & ~(REACH(1) - 1); at < end; at += REACH(1)) {
			uint64_t *entry = entry_at(space_roots[TASKS + domain], base + at, true);

			if (!entry)
				panic("no memory for the windows of %s", domains[domain].name);
			++*uses_of(entry);
		}
	}
}

/* vm must be able to reach the memory that programs were promised even when none is left, and the tables of its
 * objects. */
static void windows_begin(uint32_t domain)
{
	tables_make(domain, PROCESS_WINDOWS);
	tables_make(domain, PROCESS_PAGES);
}

uint64_t process_window(uint32_t domain, uint64_t frame)
{
	if (!space_roots[TASKS + domain] || !map(domain, PROCESS_WINDOWS + frame, frame | READ_WRITE))
		return 0;
	set_mark(frame, WINDOWED);
	return PROCESS_WINDOWS + frame;
}

void frame_lend(uint64_t frame)
{
	set_mark(frame, LENT);
}

bool frame_is_lent(uint64_t frame)
{
	return has_mark(frame, LENT);
}

void frame_hold_own(uint64_t frame)
{
	set_mark(frame, LENT | HELD);
}

bool frame_drop_own(uint64_t frame)
{
	bool is_held = has_mark(frame, HELD);

	if (is_held)
		frame_marks[frame / PAGE] &= (uint8_t)~HELD;
	return is_held;
}

bool process_may_map(uint64_t frame, uint64_t count)
{
	uint64_t i = 0;

	while (i < count && has_mark(frame + i * PAGE, HELD))
		i++;
	return i == count || (frame % PAGE == 0 && process_may_memory(frame, count * PAGE));
}

void frame_return(uint64_t frame)
{
	bool is_windowed = frame_marks[frame / PAGE] & WINDOWED;

	frame_marks[frame / PAGE] = 0;
	if (!is_windowed)
		return;
	for (uint32_t domain = 1; domain <= SERVERS; domain++)
		if (is_process(domain) && space_roots[TASKS + domain])
			unmap(domain, PROCESS_WINDOWS + frame);
}

uint64_t process_device(uint32_t domain, uint64_t from, uint64_t length)
{
	uint64_t begin = from & ~(PAGE - 1);
	/* The memory that a device writes to is cached, its registers are not. */
	uint64_t bits = READ_WRITE | (from < frame_limit * PAGE ? 0 : PAGE_NO_CACHE);

	for (uint64_t at = begin; at < from + length; at += PAGE)
		if (!map(domain, PROCESS_DEVICES + at, at | bits))
			return 0;
	return PROCESS_DEVICES + from;
}

uint64_t process_dma_take(size_t count)
{
	struct server *s = current->serves;
	uint64_t first;

	if (s->lives.dma_used == DMA_MOST)
		return 0;
	/* A new program may want other ranges than the one before. */
	if (s->lives.dma[s->lives.dma_used].count == count) {
		first = s->lives.dma[s->lives.dma_used].first;
		memset(physical(first), 0, count * PAGE);
	} else {
		first = frames_take(count);
		if (!first)
			return 0;
		s->lives.dma[s->lives.dma_used].first = first;
		s->lives.dma[s->lives.dma_used].count = count;
	}
	s->lives.dma_used++;
	return first;
}

/* Windows and devices hold nothing; memory that a device may still write to stays. */
static void table_free(uint64_t *table, int level, uint64_t address)
{
	for (uint64_t i = 0; i < ENTRIES; i++) {
		uint64_t entry = table[i], at = address + i * REACH(level);

		if (entry == 0 || at >= USER_END)
			continue;
		if (entry & PAGE_HUGE)
			pages_give(table_below(entry), ENTRIES);
		else if (level > 0)
			table_free(table_below(entry), level - 1, at);
		else if (at < PROCESS_WINDOWS)
			frame_drop(entry & PAGE_FRAME);
	}
	*uses_of(table) = 1;
	frame_drop(physical_of(table));
}

/* The entry of a root that stands for all of a process's own pages and for nothing else. */
static uint64_t *own_pages(uint64_t *root)
{
	_Static_assert(PROCESS_PAGES % REACH(3) == 0 && PROCESS_WINDOWS % REACH(3) == 0, "entries of a root");

	return &root[PROCESS_PAGES / REACH(3)];
}

static uint64_t text_of(uint32_t domain)
{
	_Static_assert(DOMAINS * PROCESS_TEXT_BYTES <= 0x800000, "all text is where Linux has vsyscalls");

	return PROCESS_TEXT + domain * PROCESS_TEXT_BYTES;
}

/* The page is in all spaces, and stays in the TLB when these are switched. */
static void text_page_free(uint32_t domain, uint64_t at)
{
	uint64_t *entry = entry_at(space_roots[TASKS + domain], at, false), frame = entry ? *entry & PAGE_FRAME : 0;

	if (!frame)
		return;
	entry_clear(space_roots[TASKS + domain], at, entry);
	cpu_forget_page(at);
	frame_drop(frame);
}

static void space_free(uint32_t domain)
{
	uint64_t *root = physical(space_roots[TASKS + domain]);

	if (domains[domain].keeps_pages) {
		servers[domain].lives.kept_pages = *own_pages(root);
		*own_pages(root) = 0;
	} else {
		servers[domain].lives.pages = 0;
	}
	for (uint64_t at = text_of(domain); at < text_of(domain + 1); at += PAGE)
		text_page_free(domain, at);
	space_roots[TASKS + domain] = 0;
	table_free(root, 3, 0);
}

void process_free(uint32_t domain)
{
	current->cr3 = kernel_cr3;
	space_load(kernel_cr3);
	COUNT(space_switches, 1);
	space_free(domain);
}

char *process_place(uint32_t domain, uint64_t address, bool write)
{
	uint64_t root = space_roots[TASKS + domain], rights = PAGE_PRESENT | PAGE_USER | (write ? PAGE_WRITE : 0);
	uint64_t *table = physical(root);

	for (int level = 3; root; level--) {
		uint64_t entry = table[ENTRY_OF(address, level)];

		if ((entry & rights) != rights)
			return NULL;
		table = table_below(entry);
		if (level == 0 || entry & PAGE_HUGE)
			return (char *)table + address % REACH(level);
	}
	return NULL;
}

bool process_read(uint32_t domain, uint64_t from, void *to, size_t n)
{
	char *at = to;

	while (n > 0) {
		size_t part = MIN(n, PAGE - from % PAGE);
		const char *place = from < PROCESS_PAGES ? process_place(domain, from, false) : NULL;

		if (!place)
			return false;
		memcpy(at, place, part);
		at += part;
		from += part;
		n -= part;
	}
	return true;
}

/* Programs -------------------------------------------------------------------------------------------------------- */

/* Gives a server a page of zeros for good, if it has none at that address. Returns its address in the direct map; NULL:
 * no memory. */
static char *load_page(uint32_t domain, uint64_t at, uint32_t flags)
{
	char *place = process_place(domain, at, false);
	uint64_t frame = place ? 0 : frame_take();
	uint64_t bits = PAGE_PRESENT | PAGE_USER | (flags & PF_WRITE ? PAGE_WRITE : 0) |
			(flags & PF_EXECUTE ? 0 : PAGE_NO_EXECUTE) | (at >= PROCESS_TEXT ? PAGE_GLOBAL : 0);

	if (!frame)
		return place;
	if (map(domain, at, frame | bits))
		return physical(frame);
	frame_drop(frame);
	return NULL;
}

/* The large pages of a program's stack and data end here; 0: it has none. */
static uint64_t load_large(uint32_t domain, const struct elf_segment *segment)
{
	uint64_t end = (segment->address + segment->size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);

	if (segment->address != PROCESS_STACK_TOP || frames.total < LARGE_PAGE_PART * ENTRIES)
		return 0;
	for (uint64_t at = PROCESS_STACK_TOP & ~(LARGE_PAGE - 1); at < end; at += LARGE_PAGE) {
		uint64_t frame = frames_take(ENTRIES);

		if (!frame)
			return 0;
		if (!large_page_map(space_roots[TASKS + domain], at, frame | READ_WRITE)) {
			pages_give(physical(frame), ENTRIES);
			return 0;
		}
	}
	return end;
}

/* Loads one segment of a server's program: pages of its own with the bytes of the file. */
static bool load_segment(uint32_t domain, const uint8_t *image, const struct elf_segment *segment)
{
	uint64_t end = segment->address + segment->size;

	for (uint64_t at = segment->address & ~(PAGE - 1); at < end; at += PAGE) {
		uint64_t from = MAX(at, segment->address), to = MIN(at + PAGE, segment->address + segment->file_size);
		char *page = load_page(domain, at, segment->flags);

		if (!page)
			return false;
		if (from < to)
			memcpy(page + (from - at), image + segment->offset + (from - segment->address), to - from);
	}
	return true;
}

/* The tables stay. */
static bool window_begin(uint32_t domain)
{
	struct server *s = &servers[domain];
	char *lost = load_page(domain, PROCESS_UNMAPPED, PF_WRITE);

	if (!lost)
		return false;
	s->lost_frame = physical_of(lost);
	if (!map(domain, PROCESS_MAPPED, s->lost_frame | READ_WRITE))
		return false;
	s->window = entry_at(space_roots[TASKS + domain], PROCESS_MAPPED, false);
	*s->window = 0;
	s->maps = s->has_lost = false;
	return true;
}

/* `*end`: where large pages end. */
static bool load(uint32_t domain, const uint8_t *image, uint64_t *end)
{
	const struct elf_header *head = (const struct elf_header *)image;
	const struct elf_segment *segments = (const struct elf_segment *)(image + head->segments);

	if (domains[domain].has_windows)
		windows_begin(domain);
	for (unsigned i = 0; i < head->segment_count; i++) {
		if (segments[i].type != PT_LOAD)
			continue;
		*end = MAX(*end, load_large(domain, &segments[i]));
		if (!load_segment(domain, image, &segments[i]))
			return false;
	}
	if (BY_MAPPING && !window_begin(domain))
		return false;
	for (unsigned i = 1; i <= PROCESS_STACK_PAGES; i++)
		if (!load_page(domain, PROCESS_STACK_TOP - i * PAGE, PF_WRITE))
			return false;
	return true;
}

struct task *process_load(uint32_t domain, const uint8_t *image)
{
	uint32_t number = TASKS + domain;
	uint64_t end = 0;
	struct task *t = task_create_server(number, domains[domain].name, NULL);

	if (!t)
		return NULL;
	if (space_create(number) != 0) {
		task_discard(t);
		return NULL;
	}
	if (servers[domain].lives.kept_pages) {
		uint64_t *entry = own_pages(physical(space_roots[number]));

		*entry = servers[domain].lives.kept_pages;
		++*uses_of(entry);
	}
	if (!load(domain, image, &end)) {
		space_free(domain);
		task_discard(t);
		return NULL;
	}
	servers[domain].lives.kept_pages = 0;
	/* The process before had the same tag. */
	if (has_tags)
		tags_forget(space_roots[number], 0, USER_END / PAGE);
	t->cr3 = space_cr3(number, space_roots[number]);
	t->space = number;
	task_exec(t, 0, PROCESS_STACK_TOP - 8);
	t->user->rip = ((const struct elf_header *)image)->entry;
	t->user->rdi = domains[domain].keeps_pages ? 0 : end;
	return t;
}

static bool is_within(uint64_t address, uint64_t size, uint64_t begin, uint64_t end)
{
	return address >= begin && address <= end && size <= end - address;
}

/* Whether a segment lies below the stack, behind it, or where the domain's text is, and the file contains all of its
 * bytes. */
static bool is_segment(uint32_t domain, const struct elf_segment *s, size_t length)
{
	uint64_t begin = s->address;
	bool is_placed = is_within(begin, s->size, PAGE, PROCESS_STACK_TOP - (PROCESS_STACK_PAGES + 1) * PAGE) ||
			 is_within(begin, s->size, PROCESS_STACK_TOP, PROCESS_DATA_END) ||
			 (!(s->flags & PF_WRITE) && is_within(begin, s->size, text_of(domain), text_of(domain + 1)));

	return s->type != PT_LOAD ||
	       (is_placed && s->file_size <= s->size && s->offset <= length && s->file_size <= length - s->offset);
}

bool process_is_program(uint32_t domain, const uint8_t *image, size_t length)
{
	const struct elf_header *head = (const struct elf_header *)image;
	const struct elf_segment *segments;

	if (length < sizeof *head || head->magic != ELF_MAGIC || head->class_and_order != ELF_64_LITTLE ||
	    head->machine != EM_X86_64 || head->type != ET_EXEC || head->segments > length || head->segments % 8 ||
	    head->segment_count > (length - head->segments) / sizeof *segments ||
	    !(head->entry < PROCESS_DATA_END || is_within(head->entry, 0, text_of(domain), text_of(domain + 1))))
		return false;
	segments = (const struct elf_segment *)(image + head->segments);
	for (unsigned i = 0; i < head->segment_count; i++)
		if (!is_segment(domain, &segments[i], length))
			return false;
	return true;
}
