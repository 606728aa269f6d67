/* bus.c: PCI's functions on bus 0 and behind bridges. Every base address is assigned here, whether or not a firmware
 * has done so. PCI Local Bus 3.0, chapter 6; bridges: PCI-to-PCI 1.2, chapter 3. All registers are accessed by four
 * bytes; neighbours in the same four tolerate that zeros are written to them. */
#include "acpi.h"
#include "bus_serve.h"
#include "kernel.h"

/* Memory for devices: from 3 GiB, where QEMU's microvm has its window and a PC has at most memory, up to the
 * configuration space or the interrupt controllers. */
#define WINDOW_BEGIN 0xc0000000UL
#define WINDOW_END 0xfe000000UL
#define WINDOW_STEP 0x1000000UL
/* Ports that no old device of a PC has. */
#define PORTS_BEGIN 0xc000UL
#define PORTS_END 0x10000UL

/* 3.2.2.3.2: configuration by ports. */
#define CONFIG_ADDRESS 0xcf8
#define CONFIG_DATA 0xcfc
#define CONFIG_ON (1U << 31)

#define FUNCTIONS 64
#define BASES 6
#define BUSES_MOST 256
#define MIB 0x100000UL

/* A register of one or two bytes is accessed as part of its four. */
enum { ID, COMMAND = 0x04, HEADER = 0x0c, BASE_0 = 0x10, CAPABILITIES = 0x34 };
enum { BUSES = 0x18, BRIDGE_PORTS = 0x1c, BRIDGE_MEMORY = 0x20, BRIDGE_PREFETCHED = 0x24, BRIDGE_PORTS_HIGH = 0x30 };
#define CONFIG_BYTES 256
/* More do not fit into configuration space. */
#define CAPABILITIES_MOST 48

#define COMMAND_PORTS 1U
#define COMMAND_MEMORY 2U
#define COMMAND_MASTER 4U
#define STATUS_CAPABILITIES (0x10U << 16)
#define HEADER_MANY (0x80U << 16)
#define HEADER_KIND (0x7fU << 16)
#define HEADER_BRIDGE (1U << 16)
#define BASE_PORT 1U
#define BASE_WIDE 4U
/* A window whose begin is above its end is closed. */
#define CLOSED_MEMORY 0x0000fff0
#define CLOSED_PORTS 0x00f0

#define CAPABILITY_MSIX 0x11
#define MSIX_ON (0x8000U << 16)
#define MSIX_ALL_MASKED (0x4000U << 16)
#define MSIX_TABLE 4
#define MESSAGE_ADDRESS 0xfee00000U

struct function {
	uint32_t place, id;
	/* Assigned base addresses (0: none) and their lengths. */
	uint64_t bases[BASES], lengths[BASES];
};

static struct {
	struct function functions[FUNCTIONS];
	size_t count;
	/* The address of configuration space; 0: by ports. */
	uint64_t config;
	uint64_t memory_next, memory_end, ports_next;
	unsigned bus_next;
	/* Addresses are assigned and in use by drivers: this process is not the first. */
	bool assigned;
} bus;

/* The address of a configuration register. NULL: it is selected and accessible at the port CONFIG_DATA. */
static volatile uint32_t *config_at(uint32_t place, uint32_t at)
{
	uint64_t where;

	if (bus.config && kernel_device_map(bus.config + ((uint64_t)place << 12) + at, 4, &where) == 0)
		return (volatile uint32_t *)where;
	kernel_port_out(CONFIG_ADDRESS, 4, CONFIG_ON | place << 8 | at);
	return NULL;
}

static uint32_t get(uint32_t place, uint32_t at)
{
	const volatile uint32_t *in_memory = config_at(place, at);
	uint32_t value = UINT32_MAX;

	if (in_memory)
		return *in_memory;
	kernel_port_in(CONFIG_DATA, 4, &value);
	return value;
}

static void set(uint32_t place, uint32_t at, uint32_t value)
{
	volatile uint32_t *in_memory = config_at(place, at);

	if (in_memory)
		*in_memory = value;
	else
		kernel_port_out(CONFIG_DATA, 4, value);
}

/* Takes an aligned range of `length` (a power of two) from the rest of a window. Returns 0 if there is no room. */
static uint64_t window_take(uint64_t *next, uint64_t end, uint64_t length)
{
	uint64_t at = (*next + length - 1) & ~(length - 1);

	if (at + length > end)
		return 0;
	*next = at + length;
	return at;
}

/* The writable bits tell the length. `base` becomes the previous value. */
static uint64_t base_length(uint32_t place, uint32_t at, bool port, bool wide, uint64_t *base)
{
	uint64_t mask, digits = ~(port ? 3UL : 15UL);

	*base = get(place, at) & digits;
	set(place, at, UINT32_MAX);
	mask = get(place, at) & digits & UINT32_MAX;
	if (wide) {
		*base |= (uint64_t)get(place, at + 4) << 32;
		set(place, at + 4, UINT32_MAX);
		mask |= (uint64_t)get(place, at + 4) << 32;
	} else if (mask) {
		mask |= ~0UL << (port ? 16 : 32);
	}
	return ~mask + 1;
}

/* Decoding is off meanwhile, unless a driver uses it. A base without room stays at 0. */
static uint32_t bases_assign(struct function *f, unsigned count)
{
	uint32_t decode = 0;

	for (unsigned i = 0; i < count; i++) {
		uint32_t at = BASE_0 + 4 * i, kind = get(f->place, at);
		bool port = kind & BASE_PORT, wide = !port && kind & BASE_WIDE;
		uint64_t base, length = base_length(f->place, at, port, wide, &base);

		if (!bus.assigned)
			base = !length ? 0
			       : port  ? window_take(&bus.ports_next, PORTS_END, length)
				       : window_take(&bus.memory_next, bus.memory_end, MAX(length, PAGE));
		set(f->place, at, (uint32_t)base);
		if (wide)
			set(f->place, at + 4, (uint32_t)(base >> 32));
		if (base) {
			f->bases[i] = base;
			f->lengths[i] = length;
			decode |= port ? COMMAND_PORTS : COMMAND_MEMORY;
			if (!port)
				kernel_device_memory(f->id, base, length);
		}
		i += wide;
	}
	return decode;
}

static void scan(unsigned number);

/* Numbers the bus behind the bridge, and opens the bridge for the memory of the functions there, in whole MiB. */
static uint32_t bridge_start(uint32_t place)
{
	unsigned below = bus.bus_next++;
	uint64_t begin = bus.memory_next = (bus.memory_next + MIB - 1) & ~(MIB - 1);
	bool open;

	set(place, BUSES, place >> 8 | below << 8 | 0xffU << 16);
	scan(below);
	set(place, BUSES, place >> 8 | below << 8 | (bus.bus_next - 1) << 16);
	open = bus.memory_next > begin;
	bus.memory_next = (bus.memory_next + MIB - 1) & ~(MIB - 1);
	set(place, BRIDGE_MEMORY,
	    open ? (uint32_t)(begin >> 16 | ((bus.memory_next - 1) & ~(MIB - 1))) : CLOSED_MEMORY);
	set(place, BRIDGE_PREFETCHED, CLOSED_MEMORY);
	set(place, BRIDGE_PORTS, CLOSED_PORTS);
	set(place, BRIDGE_PORTS_HIGH, 0);
	return open ? COMMAND_MEMORY : 0;
}

static void function_start(uint32_t place, uint32_t id)
{
	uint32_t decode, command = get(place, COMMAND) & 0xffff & ~(COMMAND_PORTS | COMMAND_MEMORY);
	bool bridge = (get(place, HEADER) & HEADER_KIND) == HEADER_BRIDGE;
	struct function *f = &bus.functions[bus.count];

	if (bus.count == FUNCTIONS) {
		log_line("bus: no room for function %x", place);
		return;
	}
	bus.count++;
	*f = (struct function){ .place = place, .id = id };
	if (!bus.assigned)
		set(place, COMMAND, command);
	decode = bases_assign(f, bridge ? 2 : BASES);
	if (bus.assigned) {
		if (bridge)
			scan(get(place, BUSES) >> 8 & 0xff);
		return;
	}
	if (bridge && bus.bus_next < BUSES_MOST)
		decode |= bridge_start(place);
	set(place, COMMAND, command | decode | COMMAND_MASTER);
}

static void scan(unsigned number)
{
	for (uint32_t place = number << 8; place < (number + 1) << 8; place++) {
		uint32_t id = get(place, ID);
		bool is_there = (uint16_t)id != UINT16_MAX;

		if (is_there)
			function_start(place, id);
		if (place % 8 == 0 && !(is_there && get(place, HEADER) & HEADER_MANY))
			place += 7;
	}
}

/* What the kernel does not map is memory. It ends with tables and the firmware's own memory. */
void bus_start(void)
{
	uint64_t where;

	bus.config = acpi_read();
	bus.memory_next = WINDOW_BEGIN;
	while (bus.memory_next < WINDOW_END && kernel_device_map(bus.memory_next, 1, &where) != 0)
		bus.memory_next += WINDOW_STEP;
	bus.memory_end = bus.config >= bus.memory_next ? MIN(bus.config, WINDOW_END) : WINDOW_END;
	bus.ports_next = PORTS_BEGIN;
	bus.bus_next = 1;
	bus.assigned = kept(ENDPOINT_BUS);
	scan(0);
	keep(ENDPOINT_BUS, true);
}

void bus_notified(uint64_t bits)
{
}

static const struct function *function_at(uint32_t place)
{
	for (size_t i = 0; i < bus.count; i++)
		if (bus.functions[i].place == place)
			return &bus.functions[i];
	return NULL;
}

int64_t bus_find(uint32_t vendor, uint32_t device, uint32_t *out_place)
{
	for (size_t i = 0; i < bus.count; i++) {
		*out_place = bus.functions[i].place;
		if (bus.functions[i].id == (device << 16 | vendor))
			return 0;
	}
	return -ENODEV;
}

int64_t bus_base(uint32_t place, uint32_t number, uint64_t *out_address, uint64_t *out_length)
{
	const struct function *f = function_at(place);

	if (!f || number >= BASES || !f->bases[number])
		return -ENODEV;
	*out_address = f->bases[number];
	*out_length = f->lengths[number];
	return 0;
}

/* The offset of a capability in configuration space; 0: none. The limit of steps ends a cyclic list. */
static uint32_t capability_at(uint32_t place, uint32_t kind, uint32_t index)
{
	uint32_t at = 0;

	if (function_at(place) && get(place, COMMAND) & STATUS_CAPABILITIES)
		at = get(place, CAPABILITIES) & 0xfc;
	for (unsigned steps = 0; at && steps < CAPABILITIES_MOST; steps++) {
		uint32_t head = get(place, at);

		if ((uint8_t)head == kind && index-- == 0)
			return at;
		at = head >> 8 & 0xfc;
	}
	return 0;
}

int64_t bus_capability(uint32_t place, uint32_t kind, uint32_t index, uint32_t offset, uint32_t *out_value)
{
	uint32_t at = capability_at(place, kind, index);

	if (!at || offset % 4 || offset >= CONFIG_BYTES - at)
		return -ENODEV;
	*out_value = get(place, at + offset);
	return 0;
}

int64_t bus_interrupt(uint32_t place, uint32_t vector)
{
	uint32_t at = capability_at(place, CAPABILITY_MSIX, 0), control, table;
	uint64_t address, length, where;
	volatile uint32_t *entry;

	if (!at)
		return -ENODEV;
	control = get(place, at) | MSIX_ON;
	table = get(place, at + MSIX_TABLE);
	if (bus_base(place, table & 7, &address, &length) != 0 || (table & ~7U) + 16 > length ||
	    kernel_device_map(address + (table & ~7U), 16, &where) != 0)
		return -ENODEV;
	/* The other entries are masked since the reset. */
	entry = (volatile uint32_t *)where;
	set(place, at, control | MSIX_ALL_MASKED);
	entry[0] = MESSAGE_ADDRESS;
	entry[1] = 0;
	entry[2] = vector;
	entry[3] = 0;
	set(place, at, control & ~MSIX_ALL_MASKED);
	return 0;
}

const struct bus_service bus_service = BUS_HANDLERS;
