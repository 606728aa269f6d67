/* tty_input.c: what is typed: characters that mean a signal, editing of a line until it ends, echo. */
#include "abi/signal.h"
#include "console.h"
#include "pm.h"
#include "tty.h"

#define DELETE 0x7f

void tty_signal(struct terminal *t, uint32_t group, uint32_t signal)
{
	if (group == 0 || t->signal_count == TTY_SIGNALS)
		return;
	t->signals[t->signal_count].group = group;
	t->signals[t->signal_count++].signal = signal;
	notify(ENDPOINT_PM, PM_TERMINAL);
}

void tty_flush_input(struct terminal *t)
{
	t->read = t->ready = t->typed;
	t->lines = 0;
}

/* Echo that the line cannot take at once is lost. */
static void echo_bytes(const char *bytes, size_t n)
{
	console_write(grant_read(bytes, n));
}

static bool is_shown_as_two(const struct terminal *t, char c)
{
	return ((uint8_t)c < ' ' && c != '\t' && c != '\n' && (t->modes.local & ECHOCTL) != 0) || c == DELETE;
}

static void echo(const struct terminal *t, char c)
{
	char two[2] = { '^', (char)(c ^ 0x40) };

	if (c == '\n') {
		if ((t->modes.local & (ECHO | ECHONL)) != 0)
			echo_bytes("\r\n", 2);
		return;
	}
	if ((t->modes.local & ECHO) == 0)
		return;
	if (is_shown_as_two(t, c))
		echo_bytes(two, 2);
	else
		echo_bytes(&c, 1);
}

static void rub_out(struct terminal *t)
{
	char c = t->ring[--t->typed % TTY_BYTES];

	if ((t->modes.local & (ECHO | ECHOE)) != (ECHO | ECHOE))
		return;
	echo_bytes("\b \b", 3);
	if (is_shown_as_two(t, c))
		echo_bytes("\b \b", 3);
}

static char last_typed(const struct terminal *t)
{
	return t->ring[(t->typed - 1) % TTY_BYTES];
}

static bool is_continued(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

static void erase(struct terminal *t)
{
	while (t->typed != t->ready && (t->modes.input & IUTF8) != 0 && is_continued((uint8_t)last_typed(t)))
		t->typed--;
	if (t->typed != t->ready)
		rub_out(t);
}

static void erase_word(struct terminal *t)
{
	while (t->typed != t->ready && (last_typed(t) == ' ' || last_typed(t) == '\t'))
		rub_out(t);
	while (t->typed != t->ready && last_typed(t) != ' ' && last_typed(t) != '\t')
		rub_out(t);
}

/* Full: what is typed is lost but for the end of a line, which has the last place. */
static bool put(struct terminal *t, char c, bool end)
{
	if (t->typed - t->read >= TTY_BYTES - (end ? 0 : 1))
		return false;
	t->ring[t->typed % TTY_BYTES] = c;
	t->ends[t->typed % TTY_BYTES / 8] &= (uint8_t)~(1U << (t->typed % 8));
	if (end) {
		t->ends[t->typed % TTY_BYTES / 8] |= (uint8_t)(1U << (t->typed % 8));
		t->lines++;
	}
	t->typed++;
	return true;
}

static bool is_control(const struct terminal *t, char c, unsigned which)
{
	return t->modes.control[which] != 0 && (uint8_t)c == t->modes.control[which];
}

/* True: the character meant a signal. */
static bool signal_typed(struct terminal *t, char c)
{
	static const struct {
		unsigned control, signal;
	} meanings[] = { { VINTR, SIGINT }, { VQUIT, SIGQUIT }, { VSUSP, SIGTSTP } };

	if ((t->modes.local & ISIG) == 0)
		return false;
	for (unsigned i = 0; i < COUNT_OF(meanings); i++)
		if (is_control(t, c, meanings[i].control)) {
			if ((t->modes.local & NOFLSH) == 0)
				tty_flush_input(t);
			echo(t, c);
			tty_signal(t, t->foreground, meanings[i].signal);
			return true;
		}
	return false;
}

static void edit_line(struct terminal *t, char c)
{
	if (is_control(t, c, VERASE) || c == '\b') {
		erase(t);
	} else if (is_control(t, c, VWERASE)) {
		erase_word(t);
	} else if (is_control(t, c, VKILL)) {
		while (t->typed != t->ready)
			rub_out(t);
	} else if (is_control(t, c, VEOF)) {
		put(t, '\0', true);
		t->ready = t->typed;
	} else if (c == '\n' || is_control(t, c, VEOL)) {
		echo(t, c);
		put(t, c, true);
		t->ready = t->typed;
	} else if (put(t, c, false)) {
		echo(t, c);
	}
}

static void typed(struct terminal *t, char c)
{
	if ((t->modes.input & ISTRIP) != 0)
		c &= 0x7f;
	if (c == '\r' && (t->modes.input & IGNCR) != 0)
		return;
	if (c == '\r' && (t->modes.input & ICRNL) != 0)
		c = '\n';
	else if (c == '\n' && (t->modes.input & INLCR) != 0)
		c = '\r';
	if (signal_typed(t, c))
		return;
	if ((t->modes.local & ICANON) != 0) {
		edit_line(t, c);
		return;
	}
	if (put(t, c, false))
		echo(t, c);
	t->ready = t->typed;
}

void tty_input(struct terminal *t)
{
	char bytes[64];
	uint32_t before = t->ready;
	int64_t n;

	while ((n = console_read(grant_write(bytes, sizeof bytes))) > 0)
		for (int64_t i = 0; i < n; i++)
			typed(t, bytes[i]);
	if (t->ready == before)
		return;
	t->last_input = now();
	watch_changed(&t->watch);
}
