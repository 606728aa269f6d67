/* log.c: port.h's log_line and panic. The log goes straight to the serial port's register, so that it works before any
 * driver does, and when nothing else does. */
#include "core/task.h"
#include "text.h"
#include "x86/cpu.h"
#include "x86/machine.h"

#define COM1 0x3f8
#define LINE_STATUS (COM1 + 5)
#define TRANSMITTER_EMPTY 0x20
#define LINE_BYTES 256
#define PANIC_STATUS 255

static void transmit(char c)
{
	while (!(cpu_in(LINE_STATUS, 1) & TRANSMITTER_EMPTY))
		continue;
	cpu_out(COM1, 1, (uint8_t)c);
}

static void log_list(const char *format, va_list list)
{
	char line[LINE_BYTES];
	struct text t = { line, sizeof line - 2, 0 };

	text_add(&t, "trio: ");
	text_add_list(&t, format, list);
	line[t.length++] = '\r';
	line[t.length++] = '\n';
	for (size_t i = 0; i < t.length; i++)
		transmit(line[i]);
}

void log_start(void)
{
	cpu_out(COM1 + 1, 1, 0);
	/* 115,200 baud, 8 bits, no parity, one stop bit; FIFOs on; the modem's lines too: OUT2 lets interrupts pass. */
	cpu_out(COM1 + 3, 1, 0x80);
	cpu_out(COM1, 1, 1);
	cpu_out(COM1 + 1, 1, 0);
	cpu_out(COM1 + 3, 1, 0x03);
	cpu_out(COM1 + 2, 1, 0x07);
	cpu_out(COM1 + 4, 1, 0x0b);
}

void log_line(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	log_list(format, list);
	va_end(list);
}

_Noreturn void panic(const char *format, ...)
{
	va_list list;

	log_line("Kernel panic - not syncing: task %u (%s):", current->number, current->name);
	va_start(list, format);
	log_list(format, list);
	va_end(list);
	machine_end(false, PANIC_STATUS);
}
