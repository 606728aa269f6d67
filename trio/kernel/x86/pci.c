/* pci.c: PCI's functions on bus 0 and behind bridges. Every base address is assigned here, whatever a firmware did: one
 * machine has a firmware that does, another has none. PCI Local Bus 3.0, chapter 6; bridges: PCI-to-PCI 1.2,
 * chapter 3. */
#include "x86/pci.h"
#include "x86/cpu.h"
#include "x86/machine.h"

/* Memory for devices: from 3 GiB, where QEMU's microvm has its window and a PC nothing but memory that it tells of, up
 * to the configuration space or the interrupt controllers. */
#define WINDOW_BEGIN 0xc0000000UL
#define WINDOW_END 0xfe000000UL
#define FOUR_GIB 0x100000000UL
/* Ports that no old device of a PC has. */
#define PORTS_BEGIN 0xc000UL
#define PORTS_END 0x10000UL

#define FUNCTIONS 64
#define BUSES_MOST 256

#define ID 0x00
#define COMMAND 0x04
#define STATUS 0x06
#define HEADER 0x0e
#define BAR_0 0x10
#define BUSES 0x18
#define BRIDGE_PORTS 0x1c
#define BRIDGE_MEMORY 0x20
#define BRIDGE_PREFETCHED 0x24
#define BRIDGE_PORTS_HIGH 0x30
#define CAPABILITIES 0x34

#define COMMAND_DECODE 3U
#define COMMAND_MASTER 4U
#define STATUS_CAPABILITIES 0x10
#define HEADER_MANY 0x80
#define HEADER_BRIDGE 1
#define BAR_PORT 1U
#define BAR_WIDE 4U

#define CAPABILITY_MSIX 0x11
#define MSIX_ON 0x8000U
#define MSIX_ALL_MASKED 0x4000U
#define MESSAGE_ADDRESS 0xfee00000U

static struct pci_function functions[FUNCTIONS];
static size_t function_count;
static uint64_t memory_next, memory_end, ports_next;
static unsigned bus_next;

static volatile uint8_t *config_at(uint32_t place, uint32_t at)
{
	return (volatile uint8_t *)physical(acpi.pci_config) + ((uint64_t)place << 12) + at;
}

static bool is_mapped(uint32_t place)
{
	return acpi.pci_config && place >> 8 <= acpi.pci_last_bus;
}

static uint16_t config_select(uint32_t place, uint32_t at)
{
	cpu_out32(0xcf8, 1U << 31 | place << 8 | (at & 0xfc));
	return (uint16_t)(0xcfc + (at & 3));
}

uint32_t pci_read(uint32_t place, uint32_t at, uint32_t size)
{
	uint16_t port;

	if (is_mapped(place)) {
		volatile uint8_t *p = config_at(place, at);

		return size == 1 ? *p : size == 2 ? *(volatile uint16_t *)p : *(volatile uint32_t *)p;
	}
	port = config_select(place, at);
	return size == 1 ? cpu_in8(port) : size == 2 ? cpu_in16(port) : cpu_in32(port);
}

static void mapped_write(volatile uint8_t *at, uint32_t size, uint32_t value)
{
	if (size == 1)
		*at = (uint8_t)value;
	else if (size == 2)
		*(volatile uint16_t *)at = (uint16_t)value;
	else
		*(volatile uint32_t *)at = value;
}

static void port_write(uint16_t port, uint32_t size, uint32_t value)
{
	if (size == 1)
		cpu_out8(port, (uint8_t)value);
	else if (size == 2)
		cpu_out16(port, (uint16_t)value);
	else
		cpu_out32(port, value);
}

void pci_write(uint32_t place, uint32_t at, uint32_t size, uint32_t value)
{
	if (is_mapped(place))
		mapped_write(config_at(place, at), size, value);
	else
		port_write(config_select(place, at), size, value);
}

/* From what is left of a window, aligned to its own length, a power of two. 0: no room. */
static uint64_t window_take(uint64_t *next, uint64_t end, uint64_t length)
{
	uint64_t at = (*next + length - 1) & ~(length - 1);

	if (at + length > end)
		return 0;
	*next = at + length;
	return at;
}

/* The length of a BAR is told by which of its bits can be written. `high`: the other half of a wide one. */
static uint64_t bar_length(uint32_t place, uint32_t at, uint32_t fixed_bits, bool wide)
{
	uint64_t mask;

	pci_write(place, at, 4, ~0U);
	mask = pci_read(place, at, 4) & ~fixed_bits;
	if (wide) {
		pci_write(place, at + 4, 4, ~0U);
		mask |= (uint64_t)pci_read(place, at + 4, 4) << 32;
	} else if (mask) {
		mask |= ~0UL << 32;
	}
	return ~mask + 1;
}

/* Decoding is off meanwhile. One that finds no room stays at 0 and is not told of. */
static uint32_t bars_assign(struct pci_function *f, unsigned count)
{
	uint32_t decode = 0;

	for (unsigned i = 0; i < count; i++) {
		uint32_t at = BAR_0 + 4 * i, kind = pci_read(f->place, at, 4);
		bool port = kind & BAR_PORT, wide = !port && kind & BAR_WIDE;
		uint64_t length = bar_length(f->place, at, port ? 3 : 15, wide), base = 0;

		if (port)
			length &= 0xffff;
		if (length)
			base = port ? window_take(&ports_next, PORTS_END, length)
				    : window_take(&memory_next, memory_end, MAX(length, PAGE));
		pci_write(f->place, at, 4, (uint32_t)base);
		if (wide)
			pci_write(f->place, at + 4, 4, 0);
		if (base) {
			f->bars[i] = base;
			f->lengths[i] = length;
			decode |= port ? 1 : 2;
		}
		if (wide)
			i++;
	}
	return decode;
}

static void bus_scan(unsigned bus);

/* Numbers the bus behind it, and opens it for the memory that the functions there got: whole MiB. */
static uint32_t bridge_start(uint32_t place)
{
	unsigned below = bus_next++;
	uint64_t begin;

	memory_next = (memory_next + 0xfffff) & ~0xfffffUL;
	begin = memory_next;
	pci_write(place, BUSES, 4, place >> 8 | below << 8 | 0xffU << 16);
	bus_scan(below);
	pci_write(place, BUSES, 4, place >> 8 | below << 8 | (bus_next - 1) << 16);
	memory_next = (memory_next + 0xfffff) & ~0xfffffUL;
	/* A begin above the end: closed. Ports and prefetched memory always are. */
	pci_write(place, BRIDGE_MEMORY, 4,
		  memory_next > begin ? (uint32_t)(begin >> 16 | ((memory_next - 1) & 0xfff00000)) : 0x0000fff0);
	pci_write(place, BRIDGE_PREFETCHED, 4, 0x0000fff0);
	pci_write(place, BRIDGE_PORTS, 2, 0x00f0);
	pci_write(place, BRIDGE_PORTS_HIGH, 4, 0);
	return memory_next > begin ? 2 : 0;
}

static void function_start(uint32_t place, uint32_t id)
{
	uint32_t command = pci_read(place, COMMAND, 2) & ~COMMAND_DECODE, decode;
	bool bridge = (pci_read(place, HEADER, 1) & 0x7f) == HEADER_BRIDGE;
	struct pci_function *f;

	if (function_count == FUNCTIONS) {
		log_line("pci: no room for function %x", place);
		return;
	}
	f = &functions[function_count++];
	*f = (struct pci_function){ .place = place, .vendor = (uint16_t)id, .device = (uint16_t)(id >> 16) };
	pci_write(place, COMMAND, 2, command);
	decode = bars_assign(f, bridge ? 2 : PCI_BARS);
	if (bridge && bus_next < BUSES_MOST)
		decode |= bridge_start(place);
	pci_write(place, COMMAND, 2, command | decode | COMMAND_MASTER);
}

static void bus_scan(unsigned bus)
{
	for (uint32_t device = 0; device < 32; device++) {
		uint32_t first = bus << 8 | device << 3, count = 1;

		for (uint32_t n = 0; n < count; n++) {
			uint32_t id = pci_read(first + n, ID, 4);

			if ((id & 0xffff) == 0xffff) {
				if (n == 0)
					break;
				continue;
			}
			if (n == 0 && pci_read(first, HEADER, 1) & HEADER_MANY)
				count = 8;
			function_start(first + n, id);
		}
	}
}

void pci_start(void)
{
	memory_next = WINDOW_BEGIN;
	memory_end = WINDOW_END;
	for (size_t i = 0; i < boot.ram_count; i++) {
		uint64_t end = boot.ram[i].base + boot.ram[i].length;

		if (boot.ram[i].base < FOUR_GIB)
			memory_next = MAX(memory_next, MIN(end, FOUR_GIB));
	}
	if (acpi.pci_config >= memory_next && acpi.pci_config < memory_end)
		memory_end = acpi.pci_config;
	/* Tables and firmware stand in the last pages below the end of memory, and are not RAM. */
	memory_next = (memory_next + 0xffffff) & ~0xffffffUL;
	ports_next = PORTS_BEGIN;
	bus_next = 1;
	bus_scan(0);
}

const struct pci_function *pci_function(uint32_t vendor, uint32_t device, uint32_t index)
{
	for (size_t i = 0; i < function_count; i++)
		if (functions[i].vendor == vendor && functions[i].device == device && index-- == 0)
			return &functions[i];
	return NULL;
}

const struct pci_function *pci_function_at(uint32_t place)
{
	for (size_t i = 0; i < function_count; i++)
		if (functions[i].place == place)
			return &functions[i];
	return NULL;
}

/* 0: it has none of that kind. The list is as long as there are places in configuration space at most. */
static uint32_t capability(uint32_t place, uint32_t kind)
{
	uint32_t at, steps = 48;

	if (!(pci_read(place, STATUS, 2) & STATUS_CAPABILITIES))
		return 0;
	for (at = pci_read(place, CAPABILITIES, 1) & 0xfc; at && steps; steps--) {
		if (pci_read(place, at, 1) == kind)
			return at;
		at = pci_read(place, at + 1, 1) & 0xfc;
	}
	return 0;
}

bool pci_message(const struct pci_function *f, unsigned vector)
{
	uint32_t at = capability(f->place, CAPABILITY_MSIX), control, table;
	volatile uint32_t *entry;

	if (!at)
		return false;
	control = pci_read(f->place, at + 2, 2);
	table = pci_read(f->place, at + 4, 4);
	if ((table & 7) >= PCI_BARS || (table & ~7U) + 16 > f->lengths[table & 7])
		return false;
	/* The others are masked since the reset. */
	entry = physical(f->bars[table & 7] + (table & ~7U));
	pci_write(f->place, at + 2, 2, control | MSIX_ON | MSIX_ALL_MASKED);
	entry[0] = MESSAGE_ADDRESS;
	entry[1] = 0;
	entry[2] = vector;
	entry[3] = 0;
	pci_write(f->place, at + 2, 2, (control | MSIX_ON) & ~MSIX_ALL_MASKED);
	return true;
}
