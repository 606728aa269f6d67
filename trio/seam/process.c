/* process.c: what a protection domain that is a process has for itself: its traps, its words. */
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
