/* time.h: Linux's clocks and structures of time, as on x86-64. */
#ifndef TRIO_ABI_TIME_H
#define TRIO_ABI_TIME_H

#include <stdint.h>

#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID 3
#define CLOCK_MONOTONIC_RAW 4
#define CLOCK_REALTIME_COARSE 5
#define CLOCK_MONOTONIC_COARSE 6
#define CLOCK_BOOTTIME 7
#define CLOCK_TAI 11

#define TIMER_ABSTIME 1

#define NS_PER_SECOND 1000000000UL

struct linux_timespec {
	int64_t seconds, nanoseconds;
};

struct linux_timeval {
	int64_t seconds, microseconds;
};

#endif
