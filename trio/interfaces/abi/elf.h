/* elf.h: as much of ELF (System V ABI, chapter 4, 64 bits) as a loader of programs needs. */
#ifndef TRIO_ABI_ELF_H
#define TRIO_ABI_ELF_H

#include <stdint.h>

#define ELF_MAGIC 0x464c457fU
#define ELF_64_LITTLE 0x0102
#define ET_EXEC 2
#define ET_DYN 3
#define EM_X86_64 62
#define PT_LOAD 1
#define PT_INTERP 3
#define PF_EXECUTE 1
#define PF_WRITE 2
#define PF_READ 4

struct elf_header {
	uint32_t magic;
	uint16_t class_and_order;
	uint8_t version, abi, pad[8];
	uint16_t type, machine;
	uint32_t version_2;
	uint64_t entry, segments, sections;
	uint32_t flags;
	uint16_t size, segment_size, segment_count, section_size, section_count, names;
};

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, address, physical, file_size, size, align;
};
_Static_assert(sizeof(struct elf_header) == 64 && sizeof(struct elf_segment) == 56, "as ELF has them");

#endif
