/* tty_control.c: the terminal's ioctls. Changing its modes or its foreground group is allowed from the background
 * too. */
#include "abi/signal.h"
#include "handlers.h"
#include "tty.h"

static bool is_own(const struct terminal *t, uint32_t task)
{
	return t->session != 0 && vfs.tasks[task].session == t->session;
}

static int64_t set_modes(struct terminal *t, struct grant at, bool flush)
{
	struct linux_termios modes;
	bool was_canonical = (t->modes.local & ICANON) != 0;

	TRY(copy_in(&modes, at, 0, sizeof modes));
	if (flush)
		tty_flush_input(t);
	t->modes = modes;
	/* What is typed so far of a line can be read as bytes; bytes become lines only when they are typed again. */
	if (was_canonical && (modes.local & ICANON) == 0)
		t->ready = t->typed;
	watch_changed(&t->watch);
	return 0;
}

/* Becoming the session's: by its leader, if neither has another. `argument` 1: root takes it from another. */
static int64_t take_over(struct terminal *t, uint32_t task, uint64_t argument)
{
	const struct task_files *f = &vfs.tasks[task];

	if (f->process != f->session)
		return -EPERM;
	if (t->session == f->session)
		return 0;
	if (t->session != 0 && (argument != 1 || f->user != 0))
		return -EPERM;
	t->session = f->session;
	t->foreground = f->process_group;
	return 0;
}

static int64_t set_foreground(struct terminal *t, uint32_t task, struct grant at)
{
	int32_t group;

	if (!is_own(t, task))
		return -ENOTTY;
	TRY(copy_in(&group, at, 0, sizeof group));
	if (group < 0)
		return -EINVAL;
	for (uint32_t i = 0; i < TASKS; i++)
		if (vfs.tasks[i].descriptors != NULL && vfs.tasks[i].process_group == (uint32_t)group) {
			if (vfs.tasks[i].session != t->session)
				return -EPERM;
			t->foreground = (uint32_t)group;
			unpark(&t->watch.waiters);
			return 0;
		}
	return -ESRCH;
}

static int64_t get_number(const struct terminal *t, uint32_t task, struct grant at, uint32_t value)
{
	if (!is_own(t, task))
		return -ENOTTY;
	return copy_out(at, 0, &value, sizeof value);
}

static int64_t set_size(struct terminal *t, struct grant at)
{
	struct linux_winsize size;

	TRY(copy_in(&size, at, 0, sizeof size));
	if (memcmp(&size, &t->size, sizeof size) != 0)
		tty_signal(t, t->foreground, SIGWINCH);
	t->size = size;
	return 0;
}

static int64_t give_up(struct terminal *t, uint32_t task)
{
	if (!is_own(t, task))
		return -ENOTTY;
	if (vfs.tasks[task].process == t->session)
		terminal_session_ended(t->session);
	return 0;
}

static int64_t control(uint32_t task, uint32_t command, uint64_t argument, struct grant at)
{
	struct terminal *t = vfs.terminal;

	switch (command) {
	case TCGETS:
		return copy_out(at, 0, &t->modes, sizeof t->modes);
	case TCSETS:
	case TCSETSW:
		return set_modes(t, at, false);
	case TCSETSF:
		return set_modes(t, at, true);
	case TIOCGWINSZ:
		return copy_out(at, 0, &t->size, sizeof t->size);
	case TIOCSWINSZ:
		return set_size(t, at);
	case TIOCGPGRP:
		return get_number(t, task, at, t->foreground);
	case TIOCGSID:
		return get_number(t, task, at, t->session);
	case TIOCSPGRP:
		return set_foreground(t, task, at);
	case TIOCSCTTY:
		return take_over(t, task, argument);
	case TIOCNOTTY:
		return give_up(t, task);
	case TIOCOUTQ:
		return copy_out(at, 0, &(uint32_t){ 0 }, sizeof(uint32_t));
	case TCFLSH:
		/* 0 input, 1 output, 2 both: output never waits here. */
		if (argument > 2)
			return -EINVAL;
		if (argument != 1)
			tty_flush_input(t);
		return 0;
	case TCSBRK:
	case TCSBRKP:
	case TCXONC:
		return 0;
	}
	return -ENOTTY;
}

verdict terminal_ioctl(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at)
{
	return settle(r, control(r->task, command, argument, at));
}
