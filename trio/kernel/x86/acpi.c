/* acpi.c: the few facts of the firmware's tables that this kernel needs. A table is read only where its length is
 * sound and its bytes sum to 0; no length in it is trusted. Layouts: ACPI specification 6.4, chapter 5. */
#include "x86/machine.h"

#define BIOS_BEGIN 0xe0000UL
#define BIOS_END 0x100000UL
/* The tables of a sane machine are in the first 4 GiB, and smaller. */
#define TABLES_END 0x100000000UL
#define TABLE_MOST 0x100000U

#define FADT_HARDWARE_REDUCED (1U << 20)
#define MADT_IO_APIC 1
#define MADT_OVERRIDE 2
#define OVERRIDE_LOW 3
#define OVERRIDE_LEVEL 0xc
#define SPACE_PORT 1
#define AML_PACKAGE 0x12
#define AML_BYTE 0x0a
#define AML_DWORD 0x0c
#define AML_QWORD 0x0e
#define AML_RETURN 0xa4
/* Of PCI's configuration space. */
#define BUS_BYTES 0x100000UL
#define BUSES_USUAL 256

struct root_pointer {
	char signature[8];
	uint8_t sum;
	char maker[6];
	uint8_t revision;
	uint32_t rsdt;
	uint32_t length;
	uint64_t xsdt;
	uint8_t sum_of_all, reserved[3];
} __attribute__((packed));
#define ROOT_BYTES 20

struct table {
	char signature[4];
	uint32_t length;
	uint8_t revision, sum;
	char maker[6], maker_table[8];
	uint32_t maker_revision, compiler, compiler_revision;
} __attribute__((packed));

struct generic_address {
	uint8_t space, bits, offset, access;
	uint64_t address;
} __attribute__((packed));

/* The fixed table: only the fields in use have names. */
struct fixed {
	struct table head;
	uint32_t facs, dsdt;
	uint8_t to_pm1[64 - 44];
	uint32_t pm1a_control;
	uint8_t to_flags[112 - 68];
	uint32_t flags;
	struct generic_address reset;
	uint8_t reset_value, to_sleep[244 - 129];
	struct generic_address sleep_control;
} __attribute__((packed));

_Static_assert(offsetof(struct fixed, pm1a_control) == 64 && offsetof(struct fixed, reset) == 116 &&
		       offsetof(struct fixed, sleep_control) == 244,
	       "as in table 5.9");

struct config_space {
	uint64_t base;
	uint16_t segment;
	uint8_t first_bus, last_bus;
	uint32_t reserved;
} __attribute__((packed));

struct acpi acpi;

static bool sums_to_zero(const void *begin, size_t length)
{
	const uint8_t *at = begin;
	uint8_t sum = 0;

	while (length--)
		/* NOLINTNEXTLINE(clang-analyzer-optin.core.FixedAddressDereference): where firmware has it */
		sum += *at++;
	return sum == 0;
}

/* NULL: there is no sound table at that address. */
static const struct table *table_at(uint64_t address)
{
	const struct table *t = physical(address);

	if (address == 0 || address > TABLES_END - TABLE_MOST || t->length < sizeof *t || t->length > TABLE_MOST)
		return NULL;
	return sums_to_zero(t, t->length) ? t : NULL;
}

static bool is_root(const struct root_pointer *p)
{
	return memcmp(p->signature, "RSD PTR ", 8) == 0 && sums_to_zero(p, ROOT_BYTES);
}

static const struct root_pointer *root_find(uint64_t told)
{
	if (told && told < TABLES_END - sizeof(struct root_pointer) && is_root(physical(told)))
		return physical(told);
	for (uint64_t at = BIOS_BEGIN; at < BIOS_END; at += 16)
		if (is_root(physical(at)))
			return physical(at);
	return NULL;
}

static struct acpi_register register_of(const struct generic_address *a)
{
	return (struct acpi_register){ a->address, a->space == SPACE_PORT };
}

static void config_set(uint64_t base, uint8_t last_bus)
{
	if (base == 0 || base >= TABLES_END || ((uint64_t)last_bus + 1) * BUS_BYTES > TABLES_END - base)
		return;
	acpi.pci_config = base;
	acpi.pci_last_bus = last_bus;
}

static void config_read(const struct table *t)
{
	/* After the head 8 reserved bytes; then one entry a segment, of which the first is the machine's. */
	const struct config_space *c = (const void *)((const uint8_t *)(t + 1) + 8);

	if (t->length >= sizeof *t + 8 + sizeof *c && c->segment == 0 && c->first_bus == 0)
		config_set(c->base, c->last_bus);
}

/* Entries: type, length, and for an I/O APIC its address at 4 and first input at 8; for an override the line at 3,
 * its input at 4, flags at 8. */
static void interrupts_read(const struct table *t)
{
	const uint8_t *at = (const uint8_t *)(t + 1) + 8, *end = (const uint8_t *)t + t->length;

	for (; end - at >= 2 && at[1] >= 2 && at[1] <= end - at; at += at[1]) {
		uint32_t word, input;

		if (at[0] == MADT_IO_APIC && at[1] >= 12) {
			memcpy(&word, at + 4, 4);
			memcpy(&input, at + 8, 4);
			if (input == 0)
				acpi.io_apic = word;
		} else if (at[0] == MADT_OVERRIDE && at[1] >= 10 && at[3] < 16) {
			acpi.lines[at[3]] = (struct acpi_line){ .input = at[4],
								.level = (at[8] & OVERRIDE_LEVEL) == OVERRIDE_LEVEL,
								.low = (at[8] & OVERRIDE_LOW) == OVERRIDE_LOW };
		}
	}
}

/* What follows a name in byte code, from `at` on, where that is `size` bytes at least; NULL: it is not there. */
static const uint8_t *after_name(const struct table *code, const uint8_t *at, const char *name, ptrdiff_t size)
{
	const uint8_t *end = (const uint8_t *)code + code->length;

	for (; end - at >= 4 + size; at++)
		if (memcmp(at, name, 4) == 0)
			return at + 4;
	return NULL;
}

/* The number that means "off" in the sleep registers is the first element of the package \_S5: a package's sign, its
 * length (less than 64, so one byte), the number of elements; then a byte constant, or 0 or 1 as opcodes. */
static uint8_t off_type(const struct table *code)
{
	const uint8_t *at = (const uint8_t *)(code + 1);

	while ((at = after_name(code, at, "_S5_", 5)) != NULL)
		if (at[0] == AML_PACKAGE && at[1] < 64)
			return at[3] == AML_BYTE ? at[4] : at[3] & 1;
	return 0;
}

/* A machine without the table MCFG may still say where PCI's configuration space is: by the method _CBA of the host
 * bridge, which returns a constant: the method's flags, a return, and 4 or 8 bytes. */
static void config_from_code(const struct table *code)
{
	const uint8_t *at = (const uint8_t *)(code + 1);

	while ((at = after_name(code, at, "_CBA", 3 + 8)) != NULL) {
		uint64_t base = 0;

		if (at[1] != AML_RETURN || (at[2] != AML_DWORD && at[2] != AML_QWORD))
			continue;
		memcpy(&base, at + 3, at[2] == AML_DWORD ? 4 : 8);
		config_set(base, BUSES_USUAL - 1);
		return;
	}
}

static void fixed_read(const struct table *t)
{
	const struct fixed *f = (const void *)t;
	const struct table *code;

	if (t->length < offsetof(struct fixed, to_flags))
		return;
	code = table_at(f->dsdt);
	if (code) {
		acpi.sleep_type = off_type(code);
		if (!acpi.pci_config)
			config_from_code(code);
	}
	acpi.pm1_control = (struct acpi_register){ f->pm1a_control, true };
	if (t->length < offsetof(struct fixed, to_sleep))
		return;
	acpi.reset = register_of(&f->reset);
	acpi.reset_value = f->reset_value;
	if (t->length >= sizeof *f && f->flags & FADT_HARDWARE_REDUCED) {
		acpi.sleep = register_of(&f->sleep_control);
		acpi.pm1_control.address = 0;
	}
}

static void table_read(uint64_t address)
{
	const struct table *t = table_at(address);

	if (!t)
		return;
	if (memcmp(t->signature, "MCFG", 4) == 0)
		config_read(t);
	else if (memcmp(t->signature, "APIC", 4) == 0)
		interrupts_read(t);
	else if (memcmp(t->signature, "FACP", 4) == 0)
		fixed_read(t);
}

void acpi_start(uint64_t root)
{
	const struct root_pointer *p = root_find(root);
	const struct table *list;
	bool wide;
	size_t size;

	for (unsigned line = 0; line < COUNT_OF(acpi.lines); line++)
		acpi.lines[line].input = (uint8_t)line;
	if (!p)
		return;
	wide = p->revision >= 2 && p->xsdt != 0;
	size = wide ? 8 : 4;
	list = table_at(wide ? p->xsdt : p->rsdt);
	if (!list)
		return;
	for (size_t at = sizeof *list; at + size <= list->length; at += size) {
		uint64_t address = 0;

		memcpy(&address, (const uint8_t *)list + at, size);
		table_read(address);
	}
}
