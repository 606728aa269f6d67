/* load.c: at boot, a server's program, which is part of the kernel's file, becomes a process. */
#include "core/memory.h"
#include "elf.h"
#include "ipc.h"
#include "structure.h"
#include "x86/paging.h"

enum { FLAG_EXECUTE = 1, FLAG_WRITE = 2 };

/* A page of zeros, the server's for good. Returns where it is in the direct map. */
static char *load_page(uint32_t domain, uint64_t at, uint32_t flags)
{
	uint64_t frame = frame_take();
	uint64_t bits = PAGE_PRESENT | PAGE_USER | (flags & FLAG_WRITE ? PAGE_WRITE : 0) |
			(flags & FLAG_EXECUTE ? 0 : PAGE_NO_EXECUTE);

	if (!frame || !process_map(domain, at, frame | bits))
		panic("no memory for %s", domains[domain].name);
	return physical(frame);
}

/* One segment of a server's program: pages of its own with what the file has. */
static void load_segment(uint32_t domain, const struct elf_segment *segment)
{
	uint64_t end = segment->address + segment->memory_bytes;

	for (uint64_t at = segment->address & ~(PAGE - 1); at < end; at += PAGE) {
		uint64_t from = MAX(at, segment->address), to = MIN(at + PAGE, segment->address + segment->file_bytes);
		char *page = load_page(domain, at, segment->flags);

		if (from < to)
			memcpy(page + (from - at), domains[domain].image + segment->offset + (from - segment->address),
			       to - from);
	}
}

struct task *process_load(uint32_t domain)
{
	const uint8_t *image = domains[domain].image;
	const struct elf_header *head = (const struct elf_header *)image;
	const struct elf_segment *segments = (const struct elf_segment *)(image + head->segments_at);
	uint32_t number = TASKS + domain;
	struct task *t = task_create_server(number, domains[domain].name, NULL);

	if (space_create(number) != 0)
		panic("no memory for %s", domains[domain].name);
	if (domains[domain].has_windows)
		process_windows_begin(domain);
	for (unsigned i = 0; i < head->segment_count; i++)
		if (segments[i].type == ELF_LOAD)
			load_segment(domain, &segments[i]);
	for (unsigned i = 1; i <= PROCESS_STACK_PAGES; i++)
		(void)load_page(domain, PROCESS_STACK_TOP - i * PAGE, FLAG_WRITE);
	t->root = space_roots[number];
	t->space = number;
	task_exec(t, head->entry, PROCESS_STACK_TOP - 8);
	return t;
}
