/* tty_control.c: the terminal's ioctls. Changing its modes or its foreground group is allowed from the background
 * too. */
#include "abi/signal.h"
#include "handlers.h"
#include "tty.h"

static int64_t set_modes(struct grant at, bool flush)
{
	struct linux_termios modes;
	bool was_canonical = (terminal.modes.local & ICANON) != 0;

	TRY(copy_in(&modes, at, 0, sizeof modes));
	if (flush)
		tty_flush_input();
	terminal.modes = modes;
	/* What is typed so far of a line can be read as bytes; bytes become lines only when they are typed again. */
	if (was_canonical && (modes.local & ICANON) == 0)
		terminal.ready = terminal.typed;
	watch_changed(&terminal.watch);
	return 0;
}

/* Becoming the session's: by its leader, if neither has another. `argument` 1: root takes it from another. */
static int64_t take_over(uint32_t task, uint64_t argument)
{
	const struct task_files *f = &vfs.tasks[task];

	if (f->process != f->session)
		return -EPERM;
	if (terminal.session == f->session)
		return 0;
	if (terminal.session != 0 && (argument != 1 || f->user != 0))
		return -EPERM;
	terminal_own(task);
	return 0;
}

static int64_t set_foreground(uint32_t task, struct grant at)
{
	int32_t group;

	if (!terminal_is_own(task))
		return -ENOTTY;
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

static int64_t get_number(uint32_t task, struct grant at, uint32_t value)
{
	if (!terminal_is_own(task))
		return -ENOTTY;
	return copy_out(at, 0, &value, sizeof value);
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

static int64_t give_up(uint32_t task)
{
	if (!terminal_is_own(task))
		return -ENOTTY;
	if (vfs.tasks[task].process == terminal.session)
		terminal_session_ended();
	return 0;
}

static int64_t control(uint32_t task, uint32_t command, uint64_t argument, struct grant at)
{
	switch (command) {
	case TCGETS:
		return copy_out(at, 0, &terminal.modes, sizeof terminal.modes);
	case TCSETS:
	case TCSETSW:
		return set_modes(at, false);
	case TCSETSF:
		return set_modes(at, true);
	case TIOCGWINSZ:
		return copy_out(at, 0, &terminal.size, sizeof terminal.size);
	case TIOCSWINSZ:
		return set_size(at);
	case TIOCGPGRP:
		return get_number(task, at, terminal.foreground);
	case TIOCGSID:
		return get_number(task, at, terminal.session);
	case TIOCSPGRP:
		return set_foreground(task, at);
	case TIOCSCTTY:
		return take_over(task, argument);
	case TIOCNOTTY:
		return give_up(task);
	case TIOCOUTQ:
		return copy_out(at, 0, &(uint32_t){ 0 }, sizeof(uint32_t));
	case TCFLSH:
		/* 0 input, 1 output, 2 both: output never waits here. */
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

verdict terminal_ioctl(struct request *r, struct file *f, uint32_t command, uint64_t argument, struct grant at)
{
	return settle(r, control(r->task, command, argument, at));
}
