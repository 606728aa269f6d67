/* process.c: a process's traps and its memory functions. */
#include "message.h"
#include "process_traps.h"
#include "server.h"
#include "text.h"

uint64_t __stack_chk_guard = 0x7a6b5c4d3e2f1000;
_Noreturn void __stack_chk_fail(void);
_Noreturn void __stack_chk_fail(void)
{
	panic("a stack was overwritten");
}

int64_t trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	int64_t result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

/* For code that is not compiled for processes alone. */
uint64_t reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs)
{
	return reply_and_wait_by_registers(whom, result, words, outs);
}

int64_t copy_directly(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind)
{
	int64_t result = TRAP_COPY_DIRECTLY;
	register uint64_t own_ __asm__("r10") = own, n_ __asm__("r8") = n, kind_ __asm__("r9") = kind;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(g.id), "S"(g.length), "d"(offset), "r"(own_), "r"(n_), "r"(kind_)
			 : "rcx", "r11", "memory");
	return result;
}

/* Returns false if the page was taken away meanwhile. */
static bool is_copied(struct grant g)
{
	return copy_directly(g, 0, 0, 0, COPY_DONE) == 0;
}

int64_t copy_by_mapping(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind)
{
	while (n > 0) {
		int64_t at = copy_directly(g, offset, own, n, kind);
		size_t piece = MIN(n, PAGE - (uint64_t)at % PAGE);

		if (at < 0)
			return at;
		copy_own(kind, (uint64_t)at, own, piece);
		if (!is_copied(g))
			continue;
		offset += piece;
		own += piece;
		n -= piece;
	}
	return 0;
}

int64_t string_by_mapping(char *to, size_t most, struct grant from)
{
	size_t done = 0;

	while (done < most) {
		int64_t at = copy_directly(from, done, (uint64_t)&to[done], most - done, COPY_STRING);
		size_t piece = MIN(most - done, PAGE - (uint64_t)at % PAGE), length = 0;
		const char *there = (const char *)at;

		if (at < 0)
			return at;
		while (length < piece && there[length])
			length++;
		memcpy(&to[done], there, MIN(length + 1, piece));
		if (!is_copied(from))
			continue;
		done += length;
		if (length < piece)
			return (int64_t)done;
	}
	return -ENAMETOOLONG;
}

/* The rest of the process's large pages, which pages_take() hands out first; and what was given back of it. */
extern char heap_begin[];
static char *heap, *heap_end;
static struct given {
	struct given *next;
} *given;

void *pages_take(size_t count)
{
	void *pages = heap;

	if (count == 1 && given) {
		pages = given;
		given = given->next;
		return memset(pages, 0, PAGE);
	}
	if (count > (size_t)(heap_end - heap) / PAGE)
		return (void *)trap_kernel(TRAP_PAGES_TAKE, count, 0, 0);
	heap += count * PAGE;
	return pages;
}

void pages_give(void *pages, size_t count)
{
	char *page = pages;

	if (page < heap_begin || page >= heap) {
		trap_kernel(TRAP_PAGES_GIVE, (uint64_t)pages, count, 0);
		return;
	}
	for (; count > 0; count--, page += PAGE) {
		struct given *freed = (struct given *)(void *)page;

		freed->next = given;
		given = freed;
	}
}

/* The kernel says where the large page ends that has the process's data; 0: it is in small ones. */
_Noreturn void process_begin(uint64_t end);
_Noreturn void process_begin(uint64_t end)
{
	heap = heap_begin;
	heap_end = (char *)MAX(end, (uint64_t)heap);
	serve();
}

static void say(uint64_t number, const char *format, va_list list)
{
	char line[256];
	struct text t = { line, sizeof line, 0 };

	text_add_list(&t, format, list);
	trap_kernel(number, (uint64_t)line, t.length, 0);
}

void log_line(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(TRAP_LOG, format, list);
	va_end(list);
}

_Noreturn void panic(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	for (;;)
		say(TRAP_PANIC, format, list);
}
