/* first.c: as the first process of all. How many instructions ran before it (the counter, where one is a nanosecond),
 * in digits, on the console; then it ends with status 7. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	char text[64];
	uint32_t low, high;
	int n;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	n = snprintf(text, sizeof text, "instructions %llu\n", (unsigned long long)high << 32 | low);
	return write(1, text, (size_t)n) == n && getpid() == 1 ? 7 : 8;
}
