/* elf.h: as much of ELF (System V ABI, chapter 4, 64 bits) as a loader of static programs needs. */
#ifndef TRIO_ELF_H
#define TRIO_ELF_H

#include <stdint.h>

#define ELF_LOAD 1

struct elf_header {
	uint8_t identification[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, segments_at, sections_at;
	uint32_t flags;
	uint16_t header_bytes, segment_bytes, segment_count;
	uint16_t section_bytes, section_count, names_section;
};

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, address, physical, file_bytes, memory_bytes, alignment;
};

#endif
