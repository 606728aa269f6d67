/* freestanding.c: the functions that a freestanding C compiler may call by itself, and strings. */
#include "port.h"

void *memcpy(void *to, const void *from, size_t n)
{
	void *result = to;

	__asm__ volatile("movq %[n], %%rcx\n\t"
			 "shrq $3, %%rcx\n\t"
			 "rep movsq\n\t"
			 "movl %k[n], %%ecx\n\t"
			 "andl $7, %%ecx\n\t"
			 "rep movsb"
			 : "+D"(to), "+S"(from)
			 : [n] "r"(n)
			 : "rcx", "memory");
	return result;
}

void *memmove(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	if (t <= f || t >= f + n)
		return memcpy(to, from, n);
	while (n--)
		t[n] = f[n];
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	void *result = to;
	uint64_t words = 0x0101010101010101UL * (uint8_t)byte;

	__asm__ volatile("movq %[n], %%rcx\n\t"
			 "shrq $3, %%rcx\n\t"
			 "rep stosq\n\t"
			 "movl %k[n], %%ecx\n\t"
			 "andl $7, %%ecx\n\t"
			 "rep stosb"
			 : "+D"(to)
			 : "a"(words), [n] "r"(n)
			 : "rcx", "memory");
	return result;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i] || !a[i])
			return (uint8_t)a[i] - (uint8_t)b[i];
	return 0;
}
