/* calendar.c: the MC146818 of every PC, which tells the date in decimal digits or in binary, of 12 or of 24 hours. */
#include "calendar.h"
#include "kernel.h"

#define INDEX 0x70U
#define VALUE 0x71U

#define SECOND 0x00U
#define MINUTE 0x02U
#define HOUR 0x04U
#define DAY 0x07U
#define MONTH 0x08U
#define YEAR 0x09U
#define STATUS_A 0x0aU
#define STATUS_B 0x0bU
/* Where PCs, and their emulators, keep it. */
#define CENTURY 0x32U

#define A_UPDATING 0x80U
#define B_BINARY 0x04U
#define B_24_HOURS 0x02U
#define AFTERNOON 0x80U
/* An update takes 2 milliseconds at most, a look a microsecond at least. */
#define LOOKS 10000

static uint32_t get(uint32_t number)
{
	uint32_t value = 0xff;

	kernel_port_out(INDEX, 1, number);
	kernel_port_in(VALUE, 1, &value);
	return value;
}

static uint32_t binary(uint32_t value, uint32_t mode)
{
	return mode & B_BINARY ? value : (value >> 4) * 10 + (value & 15);
}

static void get_all(struct calendar *c, uint32_t mode)
{
	uint32_t hour = get(HOUR), century = binary(get(CENTURY), mode);

	c->second = binary(get(SECOND), mode);
	c->minute = binary(get(MINUTE), mode);
	c->hour = binary(hour & ~AFTERNOON, mode);
	if (!(mode & B_24_HOURS))
		c->hour = c->hour % 12 + (hour & AFTERNOON ? 12 : 0);
	c->day = binary(get(DAY), mode);
	c->month = binary(get(MONTH), mode);
	c->year = (century >= 19 && century <= 25 ? century : 20) * 100 + binary(get(YEAR), mode);
}

bool calendar_read(struct calendar *c)
{
	unsigned looks = 0;

	/* The registers are not to be read while they change. */
	while (get(STATUS_A) & A_UPDATING)
		if (++looks == LOOKS)
			return false;
	get_all(c, get(STATUS_B));
	return c->second < 60 && c->minute < 60 && c->hour < 24 && c->day >= 1 && c->day <= 31 && c->month >= 1 &&
	       c->month <= 12 && c->year >= 1970;
}

uint64_t calendar_seconds(const struct calendar *c)
{
	/* Years that begin in March have their odd day at the end, and their months' lengths in a regular row. */
	uint64_t year = c->year - (c->month <= 2), month = (c->month + 9) % 12;
	uint64_t days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + c->day - 1;

	/* The first of January 1970, counted so. */
	return (((days - 719468) * 24 + c->hour) * 60 + c->minute) * 60 + c->second;
}
