/* tty.c: the terminal on the console as a file: reading of lines or bytes, writing, modes, the controlling session,
 * ioctls. Background processes may also change its modes and its foreground group. */
#include "abi/signal.h"
#include "console.h"
#include "names/names.h"
#include "polling/poll.h"
#include "terminals/tty.h"

#define TENTH 100000000UL

struct terminal terminal = { .modes = { .input = ICRNL,
					.output = OPOST | ONLCR,
					.control_modes = B38400 | CS8 | CREAD | HUPCL,
					.local = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
					/* VINTR to VMIN. */
					.control = { 3, 28, 127, 21, 4, 0, 1, [VSUSP] = 26, [VREPRINT] = 18,
						     [VWERASE] = 23 } } };

int64_t vfs_terminal_signals(uint32_t *group, uint32_t *signal)
{
	if (terminal.signal_count == 0)
		return 0;
	*group = terminal.signals[0].group;
	*signal = terminal.signals[0].signal;
	memmove(&terminal.signals[0], &terminal.signals[1], --terminal.signal_count * sizeof terminal.signals[0]);
	return 1;
}

static bool is_background(uint32_t task)
{
	return terminal_is_own(task) && terminal.foreground != 0 &&
	       vfs.tasks[task].process_group != terminal.foreground;
}

/* Copies bytes of one line, or of all input, up to the grant's length. Answers their number or EFAULT. */
static verdict take(struct request *r, struct grant to, bool canonical)
{
	uint64_t done = 0;
	bool end = false;

	while (done < to.length && terminal.read != terminal.ready && !(end && canonical)) {
		char c = (char)terminal.ring[terminal.read % TTY_BYTES];

		end = (terminal.ring[terminal.read % TTY_BYTES] & ENDS_LINE) != 0;
		/* The end-of-file mark is not copied. */
		if (!(end && c == '\0') && copy_out(to, done++, &c, 1) != 0)
			return refuse(r, EFAULT);
		terminal.read++;
	}
	return answer(r, (int64_t)done);
}

/* Whether to wait for a line or, in raw mode, for VMIN bytes or VTIME tenths of a second, combined as in termios(3).
 * Input from before the switch to canonical mode counts as a line. */
static bool must_wait(struct request *r, uint64_t length, bool canonical, nanoseconds *deadline)
{
	uint64_t least = canonical ? 1 : terminal.modes.control[VMIN], there = terminal.ready - terminal.read;
	nanoseconds time = canonical ? 0 : terminal.modes.control[VTIME] * TENTH;

	if (there >= MAX(MIN(least, length), 1) || r->late || (least == 0 && time == 0))
		return false;
	if (time == 0)
		return true;
	if (least == 0) {
		if (r->scratch[1] == 0)
			r->scratch[1] = now() + time;
		*deadline = r->scratch[1];
	} else if (there > 0) {
		*deadline = terminal.last_input + time;
	}
	return true;
}

static verdict terminal_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	bool canonical = (terminal.modes.local & ICANON) != 0;
	nanoseconds deadline = NEVER;

	if (to.length == 0)
		return answer(r, 0);
	if (is_background(r->task)) {
		/* A process that ignores the signal gets EIO the second time. */
		if (r->scratch[0]++ > 0)
			return refuse(r, EIO);
		tty_signal(vfs.tasks[r->task].process_group, SIGTTIN);
		return park(&terminal.watch.waiters, r);
	}
	if (must_wait(r, to.length, canonical, &deadline)) {
		if ((f->flags & O_NONBLOCK) == 0)
			return park_until(&terminal.watch.waiters, r, deadline);
		if (terminal.read == terminal.ready)
			return refuse(r, EAGAIN);
	}
	return take(r, to, canonical);
}

/* Writes `n` bytes to the line as the modes say. Returns how many of them were written, or -EIO if there is no line. */
static int64_t put_out(const char *from, size_t n)
{
	char *out = vfs.page + PAGE / 4;
	bool expand = (terminal.modes.output & (OPOST | ONLCR)) == (OPOST | ONLCR);
	size_t length = 0, gone = 0;
	int64_t result;

	for (size_t i = 0; i < n; i++) {
		if (expand && from[i] == '\n' && !(i == 0 && terminal.return_sent))
			out[length++] = '\r';
		out[length++] = from[i];
	}
	result = console_write(grant_read(out, length));
	if (result == -EIO)
		return result;
	for (size_t left = result < 0 ? 0 : (size_t)result; left > 0 && gone < n;) {
		bool two = expand && from[gone] == '\n' && !terminal.return_sent;

		terminal.return_sent = two && left == 1;
		if (terminal.return_sent)
			break;
		left -= two ? 2 : 1;
		gone++;
	}
	return (int64_t)gone;
}

static verdict terminal_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	int64_t gone = 0;

	if ((terminal.modes.local & TOSTOP) != 0 && is_background(r->task) && r->scratch[0]++ == 0) {
		tty_signal(vfs.tasks[r->task].process_group, SIGTTOU);
		return park(&terminal.writers, r);
	}
	while (gone >= 0 && r->done < from.length) {
		size_t n = MIN(from.length - r->done, PAGE / 4);

		gone = copy_in(vfs.page, from, r->done, n) != 0 ? -EFAULT : put_out(vfs.page, n);
		r->done += gone > 0 ? (uint64_t)gone : 0;
		if (gone > 0)
			r->scratch[2] = 0;
		if (gone < 0 || (uint64_t)gone == n)
			continue;
		gone = (f->flags & O_NONBLOCK) != 0 ? -EAGAIN : gone > 0 ? 0 : may_wait_for(r, ENDPOINT_SERIAL);
		if (gone == 0)
			return park(&terminal.writers, r);
	}
	return answer(r, r->done > 0 ? (int64_t)r->done : gone);
}

static uint32_t terminal_poll(struct file *f)
{
	watch(&terminal.watch);
	return (terminal.read != terminal.ready ? READY_IN : 0) | READY_OUT;
}

/* A session leader takes a free terminal; with `argument` 1 root takes it from another session. */
static int64_t take_over(uint32_t task, uint64_t argument)
{
	const struct task_files *t = &vfs.tasks[task];

	if (t->process != t->session)
		return -EPERM;
	if (terminal.session == t->session)
		return 0;
	if (terminal.session != 0 && (argument != 1 || t->user != 0))
		return -EPERM;
	terminal.session = t->session;
	terminal.foreground = t->process_group;
	return 0;
}

int64_t terminal_open_own(uint32_t task, struct file *f)
{
	return terminal_is_own(task) ? 0 : -ENXIO;
}

int64_t terminal_open(uint32_t task, struct file *f)
{
	if ((f->flags & O_NOCTTY) == 0)
		(void)take_over(task, 0);
	return 0;
}

void terminal_session_ended(void)
{
	tty_signal(terminal.foreground, SIGHUP);
	tty_signal(terminal.foreground, SIGCONT);
	terminal.session = terminal.foreground = 0;
}

/* The name of the file that the first process's descriptors, opened before there were names, stand for. */
static const char console_name[] = "/dev/console";

int64_t terminal_node(struct node **out)
{
	HELD struct node *n = NULL;
	int64_t result;

	/* The name leads through a descriptor without a name, which leads here again. */
	if (terminal.sought)
		return -ELOOP;
	terminal.sought = true;
	result = walk(VFS_TASK, AT_FDCWD, console_name, 0, &n);
	terminal.sought = false;
	TRY(result);
	if (!S_ISCHR(n->mode) || n->device != DEVICE(5, 1))
		return -ENXIO;
	*out = node_hold(n);
	return 0;
}

static void terminal_stat(struct file *f, struct linux_stat *to)
{
	HELD struct node *n = NULL;

	to->mode = S_IFCHR | 0600;
	to->special = DEVICE(5, 1);
	if (terminal_node(&n) == 0)
		stat_of_node(n, to);
}

static int64_t terminal_readable(struct file *f)
{
	return terminal.ready - terminal.read;
}

static int64_t set_modes(struct grant at, bool flush)
{
	struct linux_termios modes;
	bool was_canonical = (terminal.modes.local & ICANON) != 0;

	TRY(copy_in(&modes, at, 0, sizeof modes));
	if (flush)
		tty_flush_input();
	terminal.modes = modes;
	/* Unfinished lines can be read as bytes. Bytes become lines only if they are typed again. */
	if (was_canonical && (modes.local & ICANON) == 0)
		terminal.ready = terminal.typed;
	watch_changed(&terminal.watch);
	return 0;
}

static int64_t set_foreground(struct grant at)
{
	int32_t group;

	TRY(copy_in(&group, at, 0, sizeof group));
	if (group < 0)
		return -EINVAL;
	for (uint32_t i = 0; i < TASKS; i++)
		if (vfs.tasks[i].descriptors != NULL && vfs.tasks[i].process_group == (uint32_t)group) {
			if (vfs.tasks[i].session != terminal.session)
				return -EPERM;
			terminal.foreground = (uint32_t)group;
			unpark(&terminal.watch.waiters);
			return 0;
		}
	return -ESRCH;
}

static int64_t set_size(struct grant at)
{
	struct linux_winsize size;

	TRY(copy_in(&size, at, 0, sizeof size));
	if (memcmp(&size, &terminal.size, sizeof size) != 0)
		tty_signal(terminal.foreground, SIGWINCH);
	terminal.size = size;
	return 0;
}

static int64_t control(uint32_t task, uint32_t command, uint64_t argument, struct grant at)
{
	bool own = terminal_is_own(task);

	switch (command) {
	case TCGETS:
		return copy_out(at, 0, &terminal.modes, sizeof terminal.modes);
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		return set_modes(at, command == TCSETSF);
	case TIOCGWINSZ:
		return copy_out(at, 0, &terminal.size, sizeof terminal.size);
	case TIOCSWINSZ:
		return set_size(at);
	case TIOCGPGRP:
		return own ? copy_out(at, 0, &terminal.foreground, sizeof terminal.foreground) : -ENOTTY;
	case TIOCGSID:
		return own ? copy_out(at, 0, &terminal.session, sizeof terminal.session) : -ENOTTY;
	case TIOCSPGRP:
		return own ? set_foreground(at) : -ENOTTY;
	case TIOCNOTTY:
		if (own && vfs.tasks[task].process == terminal.session)
			terminal_session_ended();
		return own ? 0 : -ENOTTY;
	case TIOCSCTTY:
		return take_over(task, argument);
	case TIOCOUTQ:
		return copy_out(at, 0, &(uint32_t){ 0 }, sizeof(uint32_t));
	case TCFLSH:
		/* 0: input, 1: output, 2: both. Output never waits here. */
		if (argument > 2)
			return -EINVAL;
		if (argument != 1)
			tty_flush_input();
		return 0;
	case TCSBRK:
	case TCSBRKP:
	case TCXONC:
		return 0;
	}
	return -ENOTTY;
}

static verdict terminal_ioctl(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at)
{
	return answer(r, control(r->task, command, argument, at));
}

const struct file_operations terminal_files = { .read = terminal_read,
						.write = terminal_write,
						.poll = terminal_poll,
						.readable = terminal_readable,
						.ioctl = terminal_ioctl,
						.stat = terminal_stat,
						.kind = console_name };
