/* mmu.c: the kernel's own map, the upper half of every address space: the image, with the rights that its parts need,
 * all physical memory, and kernel stacks. The root's two entries for it never change after the start, so a space has
 * the map once it has copied these. */
#include "core/checked.h"
#include "core/memory.h"
#include "x86/cpu.h"
#include "x86/machine.h"
#include "x86/paging.h"
#include "x86/tags.h"

#define MSR_EFER 0xc0000080
#define EFER_NO_EXECUTE (1UL << 11)

#define STACK_STRIDE ((STACK_PAGES + 1) * PAGE)
_Static_assert(REACH(1) % STACK_STRIDE == 0, "a stack's entries are in one table");

/* Whole pages, from the linker script. */
extern char text_begin[], text_end[], rodata_begin[], rodata_end[], data_begin[], data_end[], boot_stack[], image_end[];

uint64_t kernel_cr3;
static uint64_t kernel_root;

static uint64_t table_new(void)
{
	uint64_t table = frame_take();

	if (table == 0)
		panic("no memory for the kernel's page tables");
	return table | PAGE_PRESENT | PAGE_WRITE;
}

static void map_image(const char *begin, const char *end, uint64_t rights)
{
	for (uint64_t at = (uint64_t)begin; at < (uint64_t)end; at += PAGE) {
		uint64_t *entry = entry_at(kernel_root, at, true);

		if (entry == NULL)
			panic("no memory for the kernel's page tables");
		*entry = (at - KERNEL_BASE) | PAGE_PRESENT | PAGE_GLOBAL | rights;
	}
}

/* Maps all that one table of the second level reaches: memory, and devices' registers. */
static void map_physical(void)
{
	uint64_t entry = table_new();
	uint64_t *table = table_below(entry);

	((uint64_t *)physical(kernel_root))[ENTRY_OF(DIRECT_MAP, 3)] = entry;
	for (uint64_t i = 0; i < ENTRIES; i++) {
		uint64_t base = i * REACH(2);

		table[i] = base | PAGE_PRESENT | PAGE_WRITE | PAGE_HUGE | PAGE_GLOBAL | PAGE_NO_EXECUTE |
			   (boot_has_ram(base, base + REACH(2)) ? 0 : PAGE_NO_CACHE);
	}
}

void kernel_map_start(void)
{
	kernel_root = table_new() & PAGE_FRAME;
	map_physical();
	map_image(text_begin, text_end, 0);
	map_image(rodata_begin, rodata_end, PAGE_NO_EXECUTE);
	map_image(data_begin, data_end, PAGE_WRITE | PAGE_NO_EXECUTE);
	map_image(boot_stack, image_end, PAGE_WRITE | PAGE_NO_EXECUTE);

	cpu_write_msr(MSR_EFER, cpu_read_msr(MSR_EFER) | EFER_NO_EXECUTE);
	kernel_cr3 = kernel_root | (has_tags ? CR3_KEEP : 0);
	/* Nothing of the temporary map is kept. */
	cr3_write(kernel_root);
	cr3_loaded = kernel_cr3;
}

void kernel_half_set(uint64_t *table)
{
	const uint64_t *own = physical(kernel_root);

	table[ENTRY_OF(DIRECT_MAP, 3)] = own[ENTRY_OF(DIRECT_MAP, 3)];
	table[ENTRY_OF(KERNEL_BASE, 3)] = own[ENTRY_OF(KERNEL_BASE, 3)];
}

void kernel_half_clear(uint64_t *table)
{
	table[ENTRY_OF(DIRECT_MAP, 3)] = 0;
	table[ENTRY_OF(KERNEL_BASE, 3)] = 0;
}

/* The page below a stack, also below the first one, is never mapped: an overflow is a fault and overwrites nothing. */
uint64_t kernel_stack_lowest(uint32_t task)
{
	return STACKS_BASE + task * STACK_STRIDE + PAGE;
}

uint64_t kernel_stack_take(uint32_t task)
{
	uint64_t lowest = kernel_stack_lowest(task), *entries = entry_at(kernel_root, lowest, true);

	for (unsigned i = 0; i < STACK_PAGES; i++) {
		uint64_t frame = entries == NULL ? 0 : frame_take_dirty();

		if (frame == 0) {
			kernel_stack_give(task);
			return 0;
		}
		entries[i] = frame | PAGE_PRESENT | PAGE_WRITE | PAGE_GLOBAL | PAGE_NO_EXECUTE;
	}
	stack_paint(lowest, STACK_PAGES * PAGE);
	return lowest + STACK_PAGES * PAGE;
}

void kernel_stack_give(uint32_t task)
{
	uint64_t lowest = kernel_stack_lowest(task), *entries = entry_at(kernel_root, lowest, false);

	for (unsigned i = 0; i < STACK_PAGES && entries != NULL && entries[i] != 0; i++) {
		frame_drop(entries[i] & PAGE_FRAME);
		entries[i] = 0;
		cpu_forget_page(lowest + i * PAGE);
	}
}
