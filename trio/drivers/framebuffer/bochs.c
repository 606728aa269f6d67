/* bochs.c: finds the display and sets its mode, with no BIOS. See docs/specs/standard-vga in QEMU's sources for the
 * registers; EDID: VESA's standard, release A. */
#include "bochs.h"
#include "bus.h"
#include "kernel.h"

#define VENDOR 0x1234
#define DEVICE 0x1111
#define BASE_MEMORY 0
#define BASE_REGISTERS 2

/* In the registers' page: the screen's EDID, VGA's ports from 0x3c0 on, and the display's own, of 16 bits each. */
#define EDID 0x000
#define VGA 0x400
#define OWN 0x500
#define REGISTERS_BYTES 4096
#define VGA_ATTRIBUTE (VGA + 0x00)
#define VGA_STATUS (VGA + 0x1a)
#define ATTRIBUTE_SHOW 0x20

/* The same by ports: an index, and its value. */
#define PORT_INDEX 0x1ceU
#define PORT_VALUE 0x1cfU

enum { IDENTITY, WIDTH, HEIGHT, BITS, ENABLE, BANK, WIDTH_VIRTUAL, HEIGHT_VIRTUAL, X_OFFSET, Y_OFFSET };
#define IDENTITY_MASK 0xfff0
#define IDENTITY_BOCHS 0xb0c0
#define ENABLE_ON 0x01
#define ENABLE_LINEAR 0x40

#define EDID_BYTES 128
/* Its first detailed timing: low eight bits of width and height, and the high four. */
#define EDID_WIDTH 56
#define EDID_WIDTH_HIGH 58
#define EDID_HEIGHT 59
#define EDID_HEIGHT_HIGH 61

static void set(const struct bochs *b, uint32_t which, uint32_t value)
{
	if (b->registers) {
		*(volatile uint16_t *)(b->registers + OWN + 2 * which) = (uint16_t)value;
		return;
	}
	kernel_port_out(PORT_INDEX, 2, which);
	kernel_port_out(PORT_VALUE, 2, value);
}

static uint32_t get(const struct bochs *b, uint32_t which)
{
	uint32_t value = 0;

	if (b->registers)
		return *(volatile uint16_t *)(b->registers + OWN + 2 * which);
	kernel_port_out(PORT_INDEX, 2, which);
	kernel_port_in(PORT_VALUE, 2, &value);
	return value;
}

/* Nothing is taken over of one whose sum is wrong. */
static void edid_read(struct bochs *b)
{
	static const uint8_t head[8] = { 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0 };
	uint8_t edid[EDID_BYTES], sum = 0;

	if (!b->registers)
		return;
	for (unsigned i = 0; i < EDID_BYTES; i++) {
		edid[i] = b->registers[EDID + i];
		sum += edid[i];
	}
	if (sum || memcmp(edid, head, sizeof head) != 0)
		return;
	b->width = edid[EDID_WIDTH] | (edid[EDID_WIDTH_HIGH] & 0xf0U) << 4;
	b->height = edid[EDID_HEIGHT] | (edid[EDID_HEIGHT_HIGH] & 0xf0U) << 4;
}

bool bochs_find(struct bochs *b)
{
	uint64_t registers, length, at;
	uint32_t place;

	if (bus_find(VENDOR, DEVICE, &place) != 0 || bus_base(place, BASE_MEMORY, &b->memory, &b->length) != 0)
		return false;
	if (bus_base(place, BASE_REGISTERS, &registers, &length) == 0 &&
	    kernel_device_map(registers, REGISTERS_BYTES, &at) == 0)
		b->registers = (volatile uint8_t *)at;
	if ((get(b, IDENTITY) & IDENTITY_MASK) != IDENTITY_BOCHS)
		return false;
	edid_read(b);
	return true;
}

/* A display that is a VGA too stays dark until the VGA's own switch is on, which is in the index of another register:
 * reading the status makes the next byte written an index. */
static void show(const struct bochs *b)
{
	uint32_t status;

	if (b->registers) {
		(void)b->registers[VGA_STATUS];
		b->registers[VGA_ATTRIBUTE] = ATTRIBUTE_SHOW;
		return;
	}
	kernel_port_in(0x3da, 1, &status);
	kernel_port_out(0x3c0, 1, ATTRIBUTE_SHOW);
}

void bochs_mode(const struct bochs *b, uint32_t width, uint32_t height)
{
	set(b, ENABLE, 0);
	set(b, WIDTH, width);
	set(b, HEIGHT, height);
	set(b, BITS, 32);
	set(b, ENABLE, ENABLE_ON | ENABLE_LINEAR);
	set(b, WIDTH_VIRTUAL, width);
	set(b, X_OFFSET, 0);
	set(b, Y_OFFSET, 0);
	show(b);
}

void bochs_pan(const struct bochs *b, uint32_t line)
{
	set(b, Y_OFFSET, line);
}
