/* calendar.h: the machine's clock with a battery, and what its date is in seconds. */
#ifndef TRIO_CALENDAR_H
#define TRIO_CALENDAR_H

#include "port.h"

/* As in a calendar: month and day from 1. */
struct calendar {
	uint32_t year, month, day, hour, minute, second;
};

/* False: there is no such clock, or it tells nonsense. */
bool calendar_read(struct calendar *c);
/* Since 1970, of a date after it. */
uint64_t calendar_seconds(const struct calendar *c);

#endif
