/* tty.h: the terminal, as shared by input.c, which makes lines of what is typed, and tty.c, which is its file. */
#ifndef TRIO_VFS_TTY_H
#define TRIO_VFS_TTY_H

#include "abi/termios.h"
#include "vfs_internal.h"

#define TTY_BYTES 4096
#define TTY_SIGNALS 8
#define ENDS_LINE 0x100

struct terminal {
	struct linux_termios modes;
	struct linux_winsize size;
	/* The session that it controls (0: none), and the process group that may read. */
	uint32_t session, foreground;
	/* Positions of typed bytes in the ring; they only grow. Bytes up to `ready` may be read; later ones may be
	 * edited. */
	uint32_t read, ready, typed;
	nanoseconds last_input;
	/* The carriage return of a line's end was sent, its newline was not. */
	bool return_sent;
	/* A lookup of the terminal's name is running. */
	bool sought;
	/* Readers wait here too. */
	struct watch watch;
	struct queue writers;
	/* pm fetches these with vfs.terminal_signals. */
	struct {
		uint32_t group, signal;
	} signals[TTY_SIGNALS];
	uint32_t signal_count;
	/* Each byte, with ENDS_LINE if it ends a line. */
	uint16_t ring[TTY_BYTES];
};
extern struct terminal terminal;

/* Whether it controls the task's session. tty.c: to be called when that session's leader has ended. */
static inline bool terminal_is_own(uint32_t task)
{
	return terminal.session != 0 && vfs.tasks[task].session == terminal.session;
}
void terminal_session_ended(void);
/* input.c: sends `signal` to `group`. */
void tty_signal(uint32_t group, uint32_t signal);
void tty_flush_input(void);
/* To be called when the console has input or room: takes all input and wakes those who wait for either. */
void terminal_notified(void);

/* The node of /dev/console (held), which the first process's descriptors stand for, or a negative errno. */
int64_t terminal_node(struct node **out);

extern const struct file_operations terminal_files;
/* /dev/tty is the session's own terminal, or -ENXIO. Any other terminal may become the session's. */
int64_t terminal_open_own(uint32_t task, struct file *f);
int64_t terminal_open(uint32_t task, struct file *f);

#endif
