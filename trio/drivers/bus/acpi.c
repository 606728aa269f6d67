/* acpi.c: finds PCI's configuration space and the registers that end the machine in the firmware's tables. A table is
 * used only if its length is plausible and its bytes sum to 0; lengths within it are checked. Sections refer to the
 * ACPI specification 6.4. */
#include "acpi.h"
#include "kernel.h"

/* 5.2.5: the root pointer, somewhere in the BIOS's memory. Tables are smaller than this. */
#define BIOS 0xe0000UL
#define BIOS_BYTES 0x20000UL
#define TABLE_MOST 0x100000U
#define ROOT_BYTES 20
enum { ROOT_REVISION = 15, ROOT_RSDT = 16, ROOT_XSDT = 24 };

/* 5.2.6: the header of every table. */
enum { TABLE_LENGTH = 4, TABLE_HEAD = 36 };
/* PCI Firmware Specification 3.0, 4.1.2: after 8 reserved bytes one entry for each segment. Only the first is used. */
#define MCFG_BASE 44

/* 5.2.9: the fixed table. */
enum { FADT_DSDT = 40, FADT_PM1A_CONTROL = 64, FADT_FLAGS = 112, FADT_RESET = 116 };
enum { FADT_RESET_VALUE = 128, FADT_SLEEP_CONTROL = 244 };
#define HARDWARE_REDUCED (1U << 20)
/* 4.8.3: the sleep type and the bit that starts the sleep, in the sleep register of reduced hardware and in PM1's. */
#define SLEEP_TYPE 2
#define SLEEP_NOW (1U << 5)
#define PM1_TYPE 10
#define PM1_NOW (1U << 13)

/* 20.2: byte code. */
enum { AML_BYTE = 0x0a, AML_DWORD = 0x0c, AML_QWORD = 0x0e, AML_PACKAGE = 0x12, AML_RETURN = 0xa4 };

static const uint8_t *mapped(uint64_t at, uint64_t length)
{
	uint64_t where;

	return kernel_device_map(at, length, &where) == 0 ? (const uint8_t *)where : NULL;
}

/* Reads a field of a table; 0 if the table is too short. */
static uint64_t number(const uint8_t *table, uint32_t at, size_t bytes)
{
	uint32_t length;
	uint64_t value = 0;

	memcpy(&length, table + TABLE_LENGTH, sizeof length);
	if (at + bytes <= length)
		memcpy(&value, table + at, bytes);
	return value;
}

static bool sums_to_zero(const uint8_t *at, size_t length)
{
	uint8_t sum = 0;

	while (length--)
		sum += *at++;
	return sum == 0;
}

/* NULL: there is no valid table at that address. */
static const uint8_t *table_at(uint64_t address)
{
	const uint8_t *table = mapped(address, TABLE_HEAD);
	uint64_t length = table ? number(table, TABLE_LENGTH, 4) : 0;

	if (length < TABLE_HEAD || length > TABLE_MOST || !mapped(address, length))
		return NULL;
	return sums_to_zero(table, length) ? table : NULL;
}

/* Finds a name in byte code from `at` on with at least `size` bytes behind it. Returns these, or NULL. */
static const uint8_t *after_name(const uint8_t *code, const uint8_t *at, const char *name, ptrdiff_t size)
{
	const uint8_t *end = code + number(code, TABLE_LENGTH, 4);

	for (; end - at >= 4 + size; at++)
		if (memcmp(at, name, 4) == 0)
			return at + 4;
	return NULL;
}

/* The sleep registers' value for "off" is the first element of the package \_S5 (7.4.2): the package's opcode, its
 * length (below 64, so one byte), the number of elements, then a byte constant, or 0 or 1 as opcodes. */
static uint32_t off_type(const uint8_t *code)
{
	const uint8_t *at = code + TABLE_HEAD;

	while ((at = after_name(code, at, "_S5_", 5)) != NULL)
		if (at[0] == AML_PACKAGE && at[1] < 64)
			return at[3] == AML_BYTE ? at[4] : at[3] & 1;
	return 0;
}

/* A machine without the table MCFG may tell the configuration space by the host bridge's method _CBA, which returns a
 * constant: the method's flags, a return, and 4 or 8 bytes. */
static uint64_t config_of(const uint8_t *code)
{
	const uint8_t *at = code + TABLE_HEAD;
	uint64_t base = 0;

	while (base == 0 && (at = after_name(code, at, "_CBA", 3 + 8)) != NULL)
		if (at[1] == AML_RETURN && (at[2] == AML_DWORD || at[2] == AML_QWORD))
			memcpy(&base, at + 3, at[2] == AML_DWORD ? 4 : 8);
	return base;
}

/* A generic address (5.2.3.2) has the address itself behind four bytes. */
static uint64_t fixed_read(const uint8_t *fixed)
{
	const uint8_t *code = table_at(number(fixed, FADT_DSDT, 4));
	uint32_t type = code ? off_type(code) : 0;

	if (number(fixed, FADT_FLAGS, 4) & HARDWARE_REDUCED)
		kernel_shut_down_by(KERNEL_ENDING_OFF, number(fixed, FADT_SLEEP_CONTROL + 4, 8), 1,
				    type << SLEEP_TYPE | SLEEP_NOW);
	else
		kernel_shut_down_by(KERNEL_ENDING_OFF, number(fixed, FADT_PM1A_CONTROL, 4), 2,
				    type << PM1_TYPE | PM1_NOW);
	kernel_shut_down_by(KERNEL_ENDING_AGAIN, number(fixed, FADT_RESET + 4, 8), 1,
			    (uint32_t)number(fixed, FADT_RESET_VALUE, 1));
	return code ? config_of(code) : 0;
}

static const uint8_t *root_find(void)
{
	const uint8_t *at = mapped(BIOS, BIOS_BYTES), *end = at + BIOS_BYTES;

	for (; at && at < end; at += 16)
		if (memcmp(at, "RSD PTR ", 8) == 0 && sums_to_zero(at, ROOT_BYTES))
			return at;
	return NULL;
}

uint64_t acpi_read(void)
{
	const uint8_t *root = root_find(), *list;
	uint64_t address = 0, config = 0;
	size_t size = 4;

	if (!root)
		return 0;
	memcpy(&address, root + ROOT_RSDT, 4);
	if (root[ROOT_REVISION] >= 2) {
		memcpy(&address, root + ROOT_XSDT, 8);
		size = 8;
	}
	list = table_at(address);
	for (uint32_t at = TABLE_HEAD; list && (address = number(list, at, size)) != 0; at += (uint32_t)size) {
		const uint8_t *table = table_at(address);

		if (table && memcmp(table, "MCFG", 4) == 0)
			config = number(table, MCFG_BASE, 8);
		else if (table && memcmp(table, "FACP", 4) == 0)
			config = MAX(config, fixed_read(table));
	}
	return config;
}
