/* tty.c: the terminal on the console as a file: reading lines or bytes, writing, its modes, and whose it is. */
#include "abi/signal.h"
#include "console.h"
#include "handlers.h"
#include "tty.h"

#define TENTH 100000000UL

struct terminal terminal = { .modes = { .input = ICRNL,
					.output = OPOST | ONLCR,
					.control_modes = B38400 | CS8 | CREAD | HUPCL,
					.local = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
					/* VINTR to VMIN. */
					.control = { 3, 28, 127, 21, 4, 0, 1, [VSUSP] = 26, [VREPRINT] = 18,
						     [VWERASE] = 23 } } };

void terminal_notified(void)
{
	tty_input();
	unpark(&terminal.writers);
}

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

/* Bytes of the line, or of what there is, up to the grant's length. 0 or -EFAULT. */
static verdict take(struct request *r, struct grant to, bool canonical)
{
	uint64_t done = 0;

	while (done < to.length && terminal.read != terminal.ready) {
		bool end = tty_is_end(terminal.read);
		char c = terminal.ring[terminal.read % TTY_BYTES];

		/* An end of the file is not read itself. */
		if (!(end && c == '\0') && copy_out(to, done++, &c, 1) != 0)
			return refuse(r, EFAULT);
		terminal.read++;
		terminal.lines -= end;
		if (end && canonical)
			break;
	}
	return answer(r, (int64_t)done);
}

/* Not canonical: VMIN bytes, or VTIME tenths of a second, as termios(3) combines them. Parks where neither is
 * there yet. */
static bool must_wait(struct request *r, uint64_t length, nanoseconds *deadline)
{
	uint64_t least = terminal.modes.control[VMIN], there = terminal.ready - terminal.read;
	nanoseconds time = terminal.modes.control[VTIME] * TENTH;

	*deadline = NEVER;
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
	bool canonical = (terminal.modes.local & ICANON) != 0, wait;
	nanoseconds deadline = NEVER;

	if (to.length == 0)
		return answer(r, 0);
	if (is_background(r->task)) {
		/* Whoever ignores the signal is told the second time. */
		if (r->scratch[0]++ > 0)
			return refuse(r, EIO);
		tty_signal(vfs.tasks[r->task].process_group, SIGTTIN);
		return park(&terminal.watch.waiters, r);
	}
	wait = canonical ? terminal.lines == 0 : must_wait(r, to.length, &deadline);
	if (!wait)
		return take(r, to, canonical);
	if ((f->flags & O_NONBLOCK) != 0)
		return terminal.read != terminal.ready && !canonical ? take(r, to, false) : refuse(r, EAGAIN);
	return park_until(&terminal.watch.waiters, r, deadline);
}

/* Puts `n` bytes of `from` on the line as the modes say. Returns how many of them have gone; -EIO: there is no line. */
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
	if ((terminal.modes.local & TOSTOP) != 0 && is_background(r->task) && r->scratch[0]++ == 0) {
		tty_signal(vfs.tasks[r->task].process_group, SIGTTOU);
		return park(&terminal.writers, r);
	}
	while (r->done < from.length) {
		size_t n = MIN(from.length - r->done, PAGE / 4);
		int64_t gone;

		if (copy_in(vfs.page, from, r->done, n) != 0)
			return r->done > 0 ? answer(r, (int64_t)r->done) : refuse(r, EFAULT);
		gone = put_out(vfs.page, n);
		if (gone < 0)
			return r->done > 0 ? answer(r, (int64_t)r->done) : settle(r, gone);
		r->done += (uint64_t)gone;
		if ((uint64_t)gone == n)
			continue;
		if ((f->flags & O_NONBLOCK) == 0)
			return park(&terminal.writers, r);
		return r->done > 0 ? answer(r, (int64_t)r->done) : refuse(r, EAGAIN);
	}
	return answer(r, (int64_t)r->done);
}

static uint32_t terminal_poll(struct file *f)
{
	bool readable = (terminal.modes.local & ICANON) != 0 ? terminal.lines > 0 : terminal.read != terminal.ready;

	watch(&terminal.watch);
	return (readable ? READY_IN : 0) | READY_OUT;
}

void terminal_own(uint32_t task)
{
	terminal.session = vfs.tasks[task].session;
	terminal.foreground = vfs.tasks[task].process_group;
}

int64_t terminal_open_own(uint32_t task, struct file *f)
{
	return terminal_is_own(task) ? 0 : -ENXIO;
}

int64_t terminal_open(uint32_t task, struct file *f)
{
	const struct task_files *t = &vfs.tasks[task];

	if ((f->flags & O_NOCTTY) == 0 && terminal.session == 0 && t->session != 0 && t->process == t->session)
		terminal_own(task);
	return 0;
}

void terminal_session_ended(void)
{
	tty_signal(terminal.foreground, SIGHUP);
	tty_signal(terminal.foreground, SIGCONT);
	terminal.session = terminal.foreground = 0;
}

/* The first process's descriptors were opened by no name, before there was any: they are what has this one later. */
static const char console_name[] = "/dev/console";

int64_t terminal_node(struct node **out)
{
	int64_t result;

	/* That name leads through a descriptor without a name: back here. */
	if (terminal.sought)
		return -ELOOP;
	terminal.sought = true;
	result = walk(VFS_TASK, AT_FDCWD, console_name, 0, out);
	terminal.sought = false;
	if (result == 0 && (!S_ISCHR((*out)->mode) || (*out)->device != DEVICE(5, 1))) {
		node_drop(*out);
		result = -ENXIO;
	}
	return result;
}

static void terminal_stat(struct file *f, struct linux_stat *to)
{
	struct node *n;

	to->mode = S_IFCHR | 0600;
	to->special = DEVICE(5, 1);
	if (terminal_node(&n) != 0)
		return;
	stat_of_node(n, to);
	node_drop(n);
}

static int64_t terminal_readable(struct file *f)
{
	return (terminal.modes.local & ICANON) != 0 && terminal.lines == 0 ? 0 : terminal.ready - terminal.read;
}

const struct file_operations terminal_files = { .read = terminal_read,
						.write = terminal_write,
						.poll = terminal_poll,
						.readable = terminal_readable,
						.ioctl = terminal_ioctl,
						.stat = terminal_stat,
						.kind = console_name };
