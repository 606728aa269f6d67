/* tty.h: the terminal: what its two sides share. input.c makes lines of what is typed, tty.c is its file. */
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
	/* Whose controlling terminal it is, 0: nobody's; who may read. */
	uint32_t session, foreground;
	/* Typed bytes, positions in the ring that only grow: up to `ready` they may be read, after that they may
	 * be edited. */
	uint32_t read, ready, typed;
	nanoseconds last_input;
	/* Of a line's end on its way out the return has gone, the newline has not. */
	bool return_sent;
	/* Its node is being looked for by name. */
	bool sought;
	/* Here wait those who read, too. */
	struct watch watch;
	struct queue writers;
	/* For pm to fetch: vfs.terminal_signals. */
	struct {
		uint32_t group, signal;
	} signals[TTY_SIGNALS];
	uint32_t signal_count;
	/* Bytes, with ENDS_LINE where one ends a line. */
	uint16_t ring[TTY_BYTES];
};
extern struct terminal terminal;

/* The task's session has it. tty.c: is gone that had it: it is nobody's. */
static inline bool terminal_is_own(uint32_t task)
{
	return terminal.session != 0 && vfs.tasks[task].session == terminal.session;
}
void terminal_session_ended(void);
/* input.c: `group` gets `signal`. */
void tty_signal(uint32_t group, uint32_t signal);
void tty_flush_input(void);
/* The console has input, or room: takes all of it, and wakes who waits for either. */
void terminal_notified(void);

/* /dev/console, held: what the first process's descriptors stand for. A negative errno: it has no such name. */
int64_t terminal_node(struct node **out);

extern const struct file_operations terminal_files;
/* /dev/tty: the session's own terminal, or -ENXIO; any other: it may become that. */
int64_t terminal_open_own(uint32_t task, struct file *f);
int64_t terminal_open(uint32_t task, struct file *f);

#endif
