/* seam.h: a seam in user space, for one service under test: grants are pointers, time stands still until it is
 * moved, and the disk is memory that can wait and lose its power. */
#ifndef TRIO_TEST_SEAM_H
#define TRIO_TEST_SEAM_H

#include "port.h"

/* Pages that are taken and not given back, and how many may be (0: any number). */
extern size_t pages_held, pages_most;
/* Nanoseconds since boot; and when the service's alarm is due. */
extern nanoseconds host_now, host_alarm;
/* Bits that were set for the endpoint, which are taken. */
uint64_t host_notified(uint32_t endpoint);

struct host_disk {
	uint8_t *bytes;
	size_t sectors;
	/* Every transfer says -EWAIT first. */
	bool waits;
	/* Writes that reach the disk before the power fails; then nothing does any more. */
	long writes_left;
	/* Writes and flushes so far. */
	long writes, flushes;
	/* Fails every transfer that touches this sector; SIZE_MAX: none. */
	size_t bad_sector;
	/* It tells to go on, and nothing ends; the next process of its driver is as it should be. */
	bool is_stuck, begins_anew;
	/* How often it was reported as stuck. */
	long reported;
};
extern struct host_disk host_disk;
/* Something that was under way ends. False: nothing is. */
bool disk_goes_on(void);
/* The power fails: of what no flush has followed, some is on the disk, as the seed says. */
void disk_cut(unsigned seed);

#endif
