/* micro_load.c: at boot, in the structure "micro": a service's program, which is part of the kernel's file, becomes a
 * process. */
#include "core/memory.h"
#include "elf.h"
#include "rendezvous.h"
#include "structure.h"
#include "x86/paging.h"

#define READ_WRITE 3

/* Generated: programs and names by endpoint. */
extern const uint8_t *const service_images[ENDPOINTS];
extern const char *const service_names[ENDPOINTS];

/* A page of zeros, the service's for good. Returns where it is in the direct map. */
static char *load_page(uint32_t space, uint64_t at, uint32_t protection)
{
	uint64_t frame = frame_take();

	if (!frame || !service_map(space, at, frame, protection))
		panic("no memory for a service");
	return physical(frame);
}

/* One segment of a service's program: pages of its own with what the file has. */
static void load_segment(uint32_t space, const uint8_t *image, const struct elf_segment *segment)
{
	uint64_t end = segment->address + segment->memory_bytes;
	uint32_t protection =
		(segment->flags & 4 ? 1 : 0) | (segment->flags & 2 ? 2 : 0) | (segment->flags & 1 ? 4 : 0);

	for (uint64_t at = segment->address & ~(PAGE - 1); at < end; at += PAGE) {
		uint64_t from = MAX(at, segment->address), to = MIN(at + PAGE, segment->address + segment->file_bytes);
		char *page = load_page(space, at, protection);

		if (from < to)
			memcpy(page + (from - at), image + segment->offset + (from - segment->address), to - from);
	}
}

static struct task *load_service(uint32_t endpoint)
{
	const uint8_t *image = service_images[endpoint];
	const struct elf_header *head = (const struct elf_header *)image;
	const struct elf_segment *segments = (const struct elf_segment *)(image + head->segments_at);
	uint32_t number = TASKS + endpoint;
	struct task *t = task_create_server(number, service_names[endpoint], NULL);

	if (space_create(number) != 0)
		panic("no memory for a service");
	for (unsigned i = 0; i < head->segment_count; i++)
		if (segments[i].type == ELF_LOAD)
			load_segment(number, image, &segments[i]);
	for (unsigned i = 1; i <= SERVICE_STACK_PAGES; i++)
		(void)load_page(number, SERVICE_STACK_TOP - i * PAGE, READ_WRITE);
	t->root = space_root(number);
	t->space = number;
	task_exec(t, head->entry, SERVICE_STACK_TOP - 8);
	t->user->rdi = endpoint;
	return t;
}

void services_begin(void)
{
	for (uint32_t endpoint = ENDPOINTS - 1; endpoint > 0; endpoint--) {
		servers[endpoint].task = load_service(endpoint);
		task_start(servers[endpoint].task);
	}
}
