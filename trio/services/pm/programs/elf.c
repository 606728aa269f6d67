/* elf.c: ELF programs for x86-64, at fixed or movable addresses, and the interpreters that they may name. */
#include "programs/image.h"

#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
/* Movable programs are loaded at two thirds of the address space, as on Linux without randomisation; interpreters below
 * the largest stack. */
#define MOVABLE_BASE 0x555555554000UL
#define INTERPRETER_BASE 0x00007fff80000000UL
/* Nothing is mapped below this address, so that null pointers fault. */
#define LOWEST 0x1000UL

static uint64_t page_down(uint64_t address)
{
	return address & ~(PAGE - 1);
}

static uint64_t page_up(uint64_t address)
{
	return page_down(address + PAGE - 1);
}

static int64_t read_all(const struct image *image, uint64_t offset, void *to, uint64_t length)
{
	int64_t n;

	TRY(n = vfs_program_read(image->file, offset, grant_write(to, length)));
	return (uint64_t)n == length ? 0 : -ENOEXEC;
}

/* If the program headers are not within `head`, they are read into it, behind the file's header. */
static int64_t segments_read(struct image *image)
{
	struct elf_header *h = (struct elf_header *)image->head;
	uint64_t length = h->segment_count * sizeof(struct elf_segment);

	if (length > HEAD_BYTES - sizeof *h)
		return -ENOEXEC;
	if (h->segments <= HEAD_BYTES - length && h->segments % 8 == 0) {
		image->segments = (const struct elf_segment *)(image->head + h->segments);
		return 0;
	}
	image->segments = (const struct elf_segment *)(h + 1);
	return read_all(image, h->segments, h + 1, length);
}

static bool segment_is_good(const struct elf_segment *s, uint64_t bias)
{
	uint64_t limit = STACK_TOP - bias;

	if (s->file_size > s->size || (s->address ^ s->offset) & (PAGE - 1))
		return false;
	if (s->offset + s->file_size < s->offset || s->size > limit || s->address > limit - s->size)
		return false;
	return bias || page_down(s->address) >= LOWEST;
}

/* For `bytes` at an unknown address. Tables of the three levels reach 2 MiB, 1 GiB and 512 GiB. */
uint64_t tables_most(uint64_t bytes)
{
	return (bytes >> 21) + (bytes >> 30) + (bytes >> 39) + 6;
}

/* A writable segment needs all its pages, a read-only one those beyond the file's bytes. */
static uint64_t segment_need(const struct image *image, const struct elf_segment *s)
{
	uint64_t start = image->bias + s->address, end = page_up(start + s->size), own = page_down(start);

	if (s->file_size && !(s->flags & PF_WRITE))
		own = page_up(start + s->file_size);
	return (end - own) / PAGE + tables_most(end - page_down(start));
}

/* Checks what elf_map relies on. Finds the heap's address, the headers' address in memory, and how much memory the
 * program needs. */
static int64_t segments_check(struct image *image, const struct elf_header *h)
{
	bool some = false;

	for (uint32_t i = 0; i < image->header_count; i++) {
		const struct elf_segment *s = &image->segments[i];

		if (s->type == PT_INTERP)
			image->names_interpreter = s;
		if (s->type != PT_LOAD)
			continue;
		if (!segment_is_good(s, image->bias))
			return -ENOEXEC;
		some = true;
		image->need += s->size ? segment_need(image, s) : 0;
		image->heap = MAX(image->heap, page_up(image->bias + s->address + s->size));
		if (h->segments >= s->offset && h->segments < s->offset + s->file_size)
			image->headers = image->bias + s->address + (h->segments - s->offset);
	}
	return some ? 0 : -ENOEXEC;
}

int64_t elf_interpreter(struct image *image, struct grant *path)
{
	const struct elf_segment *s = image->names_interpreter;

	if (s->file_size < 2 || s->file_size > WORK_BYTES)
		return -ENOEXEC;
	TRY(read_all(image, s->offset, image->work, s->file_size));
	*path = grant_read(image->work, s->file_size);
	return image->work[s->file_size - 1] == '\0' ? 0 : -ENOEXEC;
}

int64_t elf_check(struct image *image, bool is_interpreter)
{
	const struct elf_header *h = (const struct elf_header *)image->head;

	if (h->magic != ELF_MAGIC || h->class_and_order != ELF_64_LITTLE || h->machine != EM_X86_64)
		return -ENOEXEC;
	if ((h->type != ET_EXEC && h->type != ET_DYN) || h->segment_size != sizeof(struct elf_segment))
		return -ENOEXEC;
	TRY(segments_read(image));
	image->bias = h->type == ET_EXEC ? 0 : is_interpreter ? INTERPRETER_BASE : MOVABLE_BASE;
	image->entry = image->bias + h->entry;
	image->header_count = h->segment_count;
	image->need = 0;
	return segments_check(image, h);
}

/* Maps the file's bytes, zeros the rest of the last page if it is writable, and maps zeros behind it. */
static int64_t segment_map(struct thread *t, const struct image *image, const struct elf_segment *s)
{
	uint64_t start = image->bias + s->address, file_end = start + s->file_size, end = start + s->size;
	uint64_t zeros = s->file_size ? page_up(file_end) : page_down(start);
	uint32_t protection = (s->flags & PF_READ ? PROT_READ : 0) | (s->flags & PF_WRITE ? PROT_WRITE : 0) |
			      (s->flags & PF_EXECUTE ? PROT_EXEC : 0);

	if (s->file_size)
		TRY(vfs_program_map(image->file, t->slot, page_down(start), zeros - page_down(start), protection,
				    page_down(s->offset)));
	if (end > zeros)
		TRY(vm_map_zeros(t->slot, zeros, page_up(end) - zeros, protection));
	if (end > file_end && zeros > file_end && s->file_size && protection & PROT_WRITE)
		TRY(copy_zeros(grant_caller(t->slot, file_end, zeros - file_end), 0, zeros - file_end));
	return 0;
}

int64_t elf_map(struct thread *t, struct image *image)
{
	for (; image->mapped < image->header_count; image->mapped++) {
		const struct elf_segment *s = &image->segments[image->mapped];

		if (s->type == PT_LOAD && s->size)
			TRY(segment_map(t, image, s));
	}
	return 0;
}
