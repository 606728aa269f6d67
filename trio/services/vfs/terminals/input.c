/* input.c: what is typed: characters that send signals, editing of the line, echo. */
#include "abi/signal.h"
#include "console.h"
#include "pm.h"
#include "polling/poll.h"
#include "terminals/tty.h"

#define DELETE 0x7f
/* Reads of the driver in a row: more than it can have at once. */
#define READS_MOST 128

void tty_signal(uint32_t group, uint32_t signal)
{
	if (group == 0 || terminal.signal_count == TTY_SIGNALS)
		return;
	terminal.signals[terminal.signal_count].group = group;
	terminal.signals[terminal.signal_count++].signal = signal;
	notify(ENDPOINT_PM, PM_TERMINAL);
}

void tty_flush_input(void)
{
	terminal.read = terminal.ready = terminal.typed;
}

static bool is_shown_as_two(char c)
{
	return ((uint8_t)c < ' ' && c != '\t' && c != '\n' && (terminal.modes.local & ECHOCTL) != 0) || c == DELETE;
}

/* Characters that the line does not accept at once are lost. */
static void echo(char c)
{
	char two[2] = { '^', (char)(c ^ 0x40) };

	if ((terminal.modes.local & (c == '\n' ? ECHO | ECHONL : ECHO)) == 0)
		return;
	if (c == '\n')
		console_write(grant_read("\r\n", 2));
	else if (is_shown_as_two(c))
		console_write(grant_read(two, 2));
	else
		console_write(grant_read(&c, 1));
}

static void rub_out(void)
{
	char c = (char)terminal.ring[--terminal.typed % TTY_BYTES];

	if ((terminal.modes.local & (ECHO | ECHOE)) != (ECHO | ECHOE))
		return;
	for (int shown = is_shown_as_two(c) ? 2 : 1; shown > 0; shown--)
		console_write(grant_read("\b \b", 3));
}

/* The last byte of the unfinished line; -1: none. */
static int last_typed(void)
{
	return terminal.typed == terminal.ready ? -1 : terminal.ring[(terminal.typed - 1) % TTY_BYTES];
}

static void erase(void)
{
	/* Bytes that continue a UTF-8 character. */
	while ((terminal.modes.input & IUTF8) != 0 && (last_typed() & 0xc0) == 0x80)
		terminal.typed--;
	if (last_typed() >= 0)
		rub_out();
}

static void erase_word(void)
{
	while (last_typed() == ' ' || last_typed() == '\t')
		rub_out();
	while (last_typed() >= 0 && last_typed() != ' ' && last_typed() != '\t')
		rub_out();
}

/* A full buffer loses input, except the end of a line, which has the last place and makes the line readable. */
static bool put(char c, bool end)
{
	if (terminal.typed - terminal.read >= TTY_BYTES - (end ? 0 : 1))
		return false;
	terminal.ring[terminal.typed++ % TTY_BYTES] = (uint16_t)((uint8_t)c | (end ? ENDS_LINE : 0));
	if (end)
		terminal.ready = terminal.typed;
	return true;
}

static bool is_control(char c, unsigned which)
{
	return terminal.modes.control[which] != 0 && (uint8_t)c == terminal.modes.control[which];
}

/* Returns whether the character sent a signal. */
static bool signal_typed(char c)
{
	uint32_t signal = is_control(c, VINTR)   ? SIGINT
			  : is_control(c, VQUIT) ? SIGQUIT
			  : is_control(c, VSUSP) ? SIGTSTP
						 : 0;

	if (signal == 0 || (terminal.modes.local & ISIG) == 0)
		return false;
	if ((terminal.modes.local & NOFLSH) == 0)
		tty_flush_input();
	echo(c);
	tty_signal(terminal.foreground, signal);
	return true;
}

static void edit_line(char c)
{
	if (is_control(c, VERASE) || c == '\b') {
		erase();
	} else if (is_control(c, VWERASE)) {
		erase_word();
	} else if (is_control(c, VKILL)) {
		while (last_typed() >= 0)
			rub_out();
	} else if (is_control(c, VEOF)) {
		put('\0', true);
	} else if (c == '\n' || is_control(c, VEOL)) {
		echo(c);
		put(c, true);
	} else if (put(c, false)) {
		echo(c);
	}
}

static void typed(char c)
{
	if ((terminal.modes.input & ISTRIP) != 0)
		c &= 0x7f;
	if (c == '\r' && (terminal.modes.input & IGNCR) != 0)
		return;
	if (c == '\r' && (terminal.modes.input & ICRNL) != 0)
		c = '\n';
	else if (c == '\n' && (terminal.modes.input & INLCR) != 0)
		c = '\r';
	if (signal_typed(c))
		return;
	if ((terminal.modes.local & ICANON) != 0) {
		edit_line(c);
		return;
	}
	if (put(c, false))
		echo(c);
	terminal.ready = terminal.typed;
}

void terminal_notified(void)
{
	char bytes[64];
	uint32_t before = terminal.ready;
	int64_t n = 1;

	/* Bytes that the driver did not have yet when it told of some are told of again. */
	for (unsigned reads = 0; n > 0 && reads < READS_MOST; reads++) {
		n = console_read(grant_write(bytes, sizeof bytes));
		for (int64_t i = 0; i < n; i++)
			typed(bytes[i]);
	}
	if (terminal.ready != before) {
		terminal.last_input = now();
		watch_changed(&terminal.watch);
	}
	unpark(&terminal.writers);
}
