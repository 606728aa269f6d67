/* The counters' machinery with an event that every Linux has: page faults stand in for instructions and cycles.
 * Prints why they cannot be opened, or the user-mode faults of 64 first touches between on and off. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#define PERF_TYPE_HARDWARE PERF_TYPE_SOFTWARE
#define PERF_COUNT_HW_INSTRUCTIONS PERF_COUNT_SW_PAGE_FAULTS
#define PERF_COUNT_HW_CPU_CYCLES PERF_COUNT_SW_PAGE_FAULTS
#include "../../../../probe/counters.c"

#define PAGES 64

const char *errno_name(int error)
{
	return error == ENOENT ? "ENOENT" : "another errno";
}

static void touch(size_t page)
{
	volatile char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise((void *)(uintptr_t)memory, PAGES * page, MADV_NOHUGEPAGE) != 0)
		exit(2);
	for (size_t i = 0; i < PAGES; i++)
		memory[i * page] = 1;
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const char *why = counters_missing();
	double values[N_COUNTERS];

	counters_open();
	if (*why) {
		printf("%s\n", why);
		return 0;
	}
	touch(page);
	counters_on();
	touch(page);
	counters_off();
	touch(page);
	if (!counters_read(values, 1))
		return 3;
	printf("user %.0f kernel %.0f\n", values[0], values[1]);
	return 0;
}
