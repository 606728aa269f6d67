/* Stands for the processor's address spaces in a program on a host: there are no tags, and no translations that could
 * be stale. */
#ifndef TRIO_TAGS_H
#define TRIO_TAGS_H

#include <stdbool.h>
#include <stdint.h>

static uint64_t cr3_loaded;

static inline void space_load(uint64_t cr3)
{
	cr3_loaded = cr3;
}

static inline void tag_set(uint64_t root, uint32_t space)
{
	(void)root;
	(void)space;
}

static inline void forget(uint64_t root, uint64_t address, uint64_t pages)
{
	(void)root;
	(void)address;
	(void)pages;
}

#endif
