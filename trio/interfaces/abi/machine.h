/* machine.h: Linux's structures that tell of the machine, and getrandom's flags, as on x86-64. */
#ifndef TRIO_ABI_MACHINE_H
#define TRIO_ABI_MACHINE_H

#include <stdint.h>

/* What uname tells. */
#define UTSNAME_BYTES 65
struct linux_utsname {
	char system[UTSNAME_BYTES], node[UTSNAME_BYTES], release[UTSNAME_BYTES], version[UTSNAME_BYTES];
	char machine[UTSNAME_BYTES], domain[UTSNAME_BYTES];
};

struct linux_sysinfo {
	int64_t uptime;
	uint64_t loads[3], total, free, shared, buffers, swap_total, swap_free;
	uint16_t processes, pad;
	uint32_t pad_2;
	uint64_t high_total, high_free;
	/* The unit of memory, in bytes. */
	uint32_t unit, pad_3;
};

#define GRND_NONBLOCK 1U
#define GRND_RANDOM 2U
#define GRND_INSECURE 4U
#define GRND_ALL (GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE)

#endif
