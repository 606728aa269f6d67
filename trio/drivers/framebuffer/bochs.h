/* bochs.h: registers of the display that Bochs invented, and QEMU has as bochs-display and as `-vga std`. */
#ifndef TRIO_BOCHS_H
#define TRIO_BOCHS_H

#include "port.h"

struct bochs {
	/* Registers in memory; NULL: by ports. */
	volatile uint8_t *registers;
	/* Physical address and bytes of the video memory. */
	uint64_t memory, length;
	/* What the screen says it likes best, in pixels; 0: it says nothing. */
	uint32_t width, height;
};

/* False: there is no such display. */
bool bochs_find(struct bochs *b);
/* 32 bits a pixel, lines without gaps. */
void bochs_mode(const struct bochs *b, uint32_t width, uint32_t height);
/* The line of the memory that is the screen's first. */
void bochs_pan(const struct bochs *b, uint32_t line);

#endif
