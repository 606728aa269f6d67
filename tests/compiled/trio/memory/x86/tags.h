/* Stands for the processor's address spaces in a program on a host: there are no tags, and no translations that could be
 * stale. */
#ifndef TRIO_TAGS_H
#define TRIO_TAGS_H

#include <stdbool.h>
#include <stdint.h>

#define has_tags false
#define cr3_loaded host_cr3
static uint64_t host_cr3;

static inline void space_load(uint64_t cr3)
{
	host_cr3 = cr3;
}

static inline uint64_t space_cr3(uint32_t space, uint64_t root)
{
	(void)space;
	return root;
}

static inline void tags_forget(uint32_t space, uint64_t address, uint64_t pages)
{
	(void)space;
	(void)address;
	(void)pages;
}

static inline void forget(uint32_t space, uint64_t root, uint64_t address, uint64_t pages)
{
	(void)root;
	tags_forget(space, address, pages);
}

#endif
