/* framebuffer.c: the display as linear memory with the interface of Linux's /dev/fb0, for Bochs's display, which QEMU
 * has as bochs-display and `-vga std`. There is one mode, the screen's preferred one, set once without the BIOS. If the
 * memory suffices it is twice as high as the screen, so that a program may draw one half and show the other. Registers:
 * docs/specs/standard-vga in QEMU's sources; EDID: VESA's standard, release A. */
#include "abi/fb.h"
#include "bus.h"
#include "framebuffer_serve.h"
#include "kernel.h"

#define VENDOR 0x1234
#define DEVICE 0x1111
#define BASE_MEMORY 0
#define BASE_REGISTERS 2

/* The page of registers: the screen's EDID, VGA's ports from 0x3c0 on, and the display's own registers of 16 bits. */
#define EDID 0x000
#define VGA 0x400
#define OWN 0x500
#define REGISTERS_BYTES 4096
#define VGA_ATTRIBUTE (VGA + 0x00)
#define VGA_STATUS (VGA + 0x1a)
#define ATTRIBUTE_SHOW 0x20

/* The own registers by ports: an index and its value. */
#define PORT_INDEX 0x1ceU
#define PORT_VALUE 0x1cfU

enum { IDENTITY, WIDTH, HEIGHT, BITS, ENABLE, BANK, WIDTH_VIRTUAL, HEIGHT_VIRTUAL, X_OFFSET, Y_OFFSET };
#define IDENTITY_MASK 0xfff0
#define IDENTITY_BOCHS 0xb0c0
#define ENABLE_ON 0x01
#define ENABLE_LINEAR 0x40

#define EDID_BYTES 128
/* The first detailed timing: the low eight bits of width and height, and the high four. */
enum { EDID_WIDTH = 56, EDID_WIDTH_HIGH = 58, EDID_HEIGHT = 59, EDID_HEIGHT_HIGH = 61 };

#define PIXEL 4U
#define WIDTH_USUAL 1024
#define HEIGHT_USUAL 768

static struct {
	/* NULL: there is no display. Its physical address. */
	uint8_t *memory;
	uint64_t physical;
	/* NULL: by ports. */
	volatile uint8_t *registers;
	uint32_t width, height, height_virtual, line;
} framebuffer;

static void set(uint32_t which, uint32_t value)
{
	if (framebuffer.registers) {
		*(volatile uint16_t *)(framebuffer.registers + OWN + 2 * which) = (uint16_t)value;
		return;
	}
	kernel_port_out(PORT_INDEX, 2, which);
	kernel_port_out(PORT_VALUE, 2, value);
}

static uint32_t get(uint32_t which)
{
	uint32_t value = 0;

	if (framebuffer.registers)
		return *(volatile uint16_t *)(framebuffer.registers + OWN + 2 * which);
	kernel_port_out(PORT_INDEX, 2, which);
	kernel_port_in(PORT_VALUE, 2, &value);
	return value;
}

/* Reads the screen's preferred mode. With a wrong checksum nothing is used. */
static void edid_read(void)
{
	static const uint8_t head[8] = { 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0 };
	uint8_t edid[EDID_BYTES], sum = 0;

	if (!framebuffer.registers)
		return;
	for (unsigned i = 0; i < EDID_BYTES; i++) {
		edid[i] = framebuffer.registers[EDID + i];
		sum += edid[i];
	}
	if (sum || memcmp(edid, head, sizeof head) != 0)
		return;
	framebuffer.width = edid[EDID_WIDTH] | (edid[EDID_WIDTH_HIGH] & 0xf0U) << 4;
	framebuffer.height = edid[EDID_HEIGHT] | (edid[EDID_HEIGHT_HIGH] & 0xf0U) << 4;
}

/* The length of the display's memory; 0: there is no such display. */
static uint64_t display_find(void)
{
	uint64_t registers, length, ignored, at;
	uint32_t place;

	if (bus_find(VENDOR, DEVICE, &place) != 0 || bus_base(place, BASE_MEMORY, &framebuffer.physical, &length) != 0)
		return 0;
	if (bus_base(place, BASE_REGISTERS, &registers, &ignored) == 0 &&
	    kernel_device_map(registers, REGISTERS_BYTES, &at) == 0)
		framebuffer.registers = (volatile uint8_t *)at;
	return (get(IDENTITY) & IDENTITY_MASK) == IDENTITY_BOCHS ? length : 0;
}

/* A display that is also a VGA stays dark until the VGA's switch is on. It is a bit in the attribute register's index;
 * reading the status makes the next byte an index. */
static void show(void)
{
	uint32_t status;

	if (framebuffer.registers) {
		(void)framebuffer.registers[VGA_STATUS];
		framebuffer.registers[VGA_ATTRIBUTE] = ATTRIBUTE_SHOW;
		return;
	}
	kernel_port_in(0x3da, 1, &status);
	kernel_port_out(0x3c0, 1, ATTRIBUTE_SHOW);
}

/* Lines have no gaps. */
static void mode_set(void)
{
	set(ENABLE, 0);
	set(WIDTH, framebuffer.width);
	set(HEIGHT, framebuffer.height);
	set(BITS, 8 * PIXEL);
	set(ENABLE, ENABLE_ON | ENABLE_LINEAR);
	set(WIDTH_VIRTUAL, framebuffer.width);
	set(X_OFFSET, 0);
	set(Y_OFFSET, 0);
	show();
}

static uint64_t length_of(void)
{
	return (uint64_t)framebuffer.width * PIXEL * framebuffer.height_virtual;
}

void framebuffer_start(void)
{
	uint64_t length = display_find(), at;

	if (length == 0)
		return;
	edid_read();
	if (!framebuffer.width || !framebuffer.height ||
	    (uint64_t)framebuffer.width * framebuffer.height * PIXEL > length) {
		framebuffer.width = WIDTH_USUAL;
		framebuffer.height = HEIGHT_USUAL;
	}
	framebuffer.height_virtual = 2 * framebuffer.height;
	if (length_of() > length)
		framebuffer.height_virtual = framebuffer.height;
	if (length_of() > length || kernel_device_map(framebuffer.physical, length_of(), &at) != 0)
		return;
	framebuffer.memory = (uint8_t *)at;
	mode_set();
}

void framebuffer_notified(uint64_t bits)
{
}

static void describe(struct fb_var_screeninfo *v)
{
	*v = (struct fb_var_screeninfo){
		.width = framebuffer.width,
		.height = framebuffer.height,
		.width_virtual = framebuffer.width,
		.height_virtual = framebuffer.height_virtual,
		.y_offset = framebuffer.line,
		.bits_per_pixel = 8 * PIXEL,
		.red = { .offset = 16, .length = 8 },
		.green = { .offset = 8, .length = 8 },
		.blue = { .offset = 0, .length = 8 },
		.height_mm = UINT32_MAX,
		.width_mm = UINT32_MAX,
	};
}

int64_t framebuffer_information(struct grant to)
{
	struct {
		struct fb_fix_screeninfo fix;
		struct fb_var_screeninfo var;
	} told = { .fix = { .id = "bochs-display",
			    .memory_start = framebuffer.physical,
			    .memory_length = (uint32_t)length_of(),
			    .type = FB_TYPE_PACKED_PIXELS,
			    .visual = FB_VISUAL_TRUECOLOR,
			    .y_pan_step = 1,
			    .line_length = framebuffer.width * PIXEL } };

	if (!framebuffer.memory)
		return -ENODEV;
	describe(&told.var);
	return copy_out(to, 0, &told, sizeof told);
}

/* Only the screen's offset can change. As on Linux a rotation is accepted and ignored. */
int64_t framebuffer_set(struct grant screen)
{
	struct fb_var_screeninfo v;

	if (!framebuffer.memory)
		return -ENODEV;
	if (copy_in(&v, screen, 0, sizeof v))
		return -EFAULT;
	if (v.width != framebuffer.width || v.height != framebuffer.height || v.bits_per_pixel != 8 * PIXEL ||
	    v.width_virtual > framebuffer.width || v.height_virtual > framebuffer.height_virtual || v.x_offset ||
	    v.y_offset > framebuffer.height_virtual - framebuffer.height)
		return -EINVAL;
	if ((v.activate & FB_ACTIVATE_MASK) != FB_ACTIVATE_TEST && v.y_offset != framebuffer.line) {
		framebuffer.line = v.y_offset;
		set(Y_OFFSET, framebuffer.line);
	}
	describe(&v);
	return copy_out(screen, 0, &v, sizeof v);
}

int64_t framebuffer_read(uint64_t offset, struct grant to)
{
	uint64_t n;

	if (!framebuffer.memory)
		return -ENODEV;
	if (offset >= length_of())
		return 0;
	n = MIN(to.length, length_of() - offset);
	return copy_out(to, 0, framebuffer.memory + offset, n) ? -EFAULT : (int64_t)n;
}

/* EFBIG if it begins beyond the end or is longer than everything, ENOSPC if no byte is left. */
int64_t framebuffer_write(uint64_t offset, struct grant from)
{
	uint64_t n;

	if (!framebuffer.memory)
		return -ENODEV;
	if (offset > length_of())
		return -EFBIG;
	n = MIN(from.length, length_of() - offset);
	if (n == 0 && from.length > 0)
		return from.length > length_of() ? -EFBIG : -ENOSPC;
	return copy_in(framebuffer.memory + offset, from, 0, n) ? -EFAULT : (int64_t)n;
}

int64_t framebuffer_frames(uint64_t *out_frame, uint64_t *out_count)
{
	if (!framebuffer.memory)
		return -ENODEV;
	*out_frame = framebuffer.physical;
	*out_count = (length_of() + PAGE - 1) / PAGE;
	return 0;
}

const struct framebuffer_service framebuffer_service = FRAMEBUFFER_HANDLERS;
