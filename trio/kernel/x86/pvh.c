/* pvh.c: what the boot loader hands over: struct hvm_start_info (Xen, public/arch-x86/hvm/start_info.h, by its
 * documentation). */
#include "core/memory.h"
#include "x86/machine.h"

#define MAGIC 0x336ec578
#define RAM 1
/* The temporary map ends here. */
#define REACHED (1UL << 30)

struct start_info {
	uint32_t magic, version, flags, modules;
	uint64_t module_list, command_line, acpi;
	/* Version 1 and later have this. */
	uint64_t memory_map;
	uint32_t memory_map_entries, reserved;
};

struct module {
	uint64_t address, size, command_line, reserved;
};

struct memory_map_entry {
	uint64_t address, size;
	uint32_t type, reserved;
};

struct boot boot;

void boot_read(uint64_t start_info)
{
	const struct start_info *info = physical(start_info);
	const struct memory_map_entry *map;

	if (start_info >= REACHED || info->magic != MAGIC || info->version < 1 || info->memory_map >= REACHED)
		panic("not booted by PVH with a memory map");
	map = physical(info->memory_map);
	for (uint32_t i = 0; i < info->memory_map_entries && boot.ram_count < COUNT_OF(boot.ram); i++)
		if (map[i].type == RAM)
			boot.ram[boot.ram_count++] = (struct memory_range){ map[i].address, map[i].size };
	if (info->modules > 0 && info->module_list < REACHED) {
		const struct module *archive = physical(info->module_list);

		boot.archive = (struct memory_range){ archive->address, archive->size };
	}
}

bool boot_has_ram(uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < boot.ram_count; i++)
		if (boot.ram[i].base < end && boot.ram[i].base + boot.ram[i].length > begin)
			return true;
	return false;
}
