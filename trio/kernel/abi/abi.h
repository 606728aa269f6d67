/* abi.h: Linux's system calls. A route takes a call's registers, follows pointers within structures (iovec, msghdr),
 * and calls the service. Most routes are made from the lines `linux …` of the interfaces; route_kernel.c, sockets.c and
 * sleep.c have the others. */
#ifndef TRIO_ABI_H
#define TRIO_ABI_H

#include "core/memory.h"
#include "core/task.h"
#include "structure.h"

/* Linux's numbers on x86-64 end before 1000; those from 1000 on are Trio's own. */
#define SYSTEM_CALLS 1024

#define RESUMES 2
#define CONTINUES 3
#define RESTART_SYSCALL 219

struct route {
	uint16_t number;
	/* How the call begins anew after a signal. 1: if the handler wants that (SA_RESTART), or if none ran (SIGSTOP
	 * and SIGCONT). RESUMES: only if none ran. CONTINUES: then the call RESTART_SYSCALL is made, which goes on
	 * where this one was. */
	uint8_t restarts;
	const char *name;
	/* `a` has the six arguments. Returns the value, or a negative errno. */
	int64_t (*run)(struct task *t, const uint64_t *a);
};

/* Tables of routes; each ends with a route without a name. */
extern const struct route routes_generated[], routes_kernel[], routes_sockets[], routes_sleep[];

void routes_start(void);
/* Returns NULL if there is no such call. */
const struct route *route_of(int64_t number);
/* Makes the program's call again, with the same arguments, before the program does anything else. */
void call_begin_anew(struct task *t, uint64_t number);

/* absent.c: a copy of the present call met a page that has to be read first. */
void call_met_absent(struct task *t);

/* Grants memory of the present task. Memory that is not its own gives -EFAULT when it is used, not here: nobody has an
 * id of USER_END. The length is bounded, so no part of the grant can be an id of another kind. */
static inline struct grant user_grant(uint64_t address, uint64_t length)
{
	return (struct grant){ MIN(address, USER_END), MIN(length, MOST_BYTES) };
}

/* The same; a null pointer gives a grant of nothing. */
static inline struct grant user_grant_if(uint64_t address, uint64_t length)
{
	return user_grant(address, address == 0 ? 0 : length);
}

/* Makes one grant of the memory that `count` iovecs at `address` name. Returns 0, -EINVAL or -EFAULT. A task has one
 * such grant at a time. */
int64_t user_vector(struct task *t, uint64_t address, uint64_t count, struct grant *out);

/* Reads a structure at a program's address. Returns 0 or -EFAULT. */
static inline long user_get(void *to, uint64_t address, size_t n)
{
	return copy_in(to, user_grant(address, n), 0, n);
}

static inline long user_put(uint64_t address, const void *from, size_t n)
{
	return copy_out(user_grant(address, n), 0, from, n);
}

/* The deadline of a wait for so many milliseconds: 0 does not wait, a negative number waits for ever. */
static inline nanoseconds deadline_of(int32_t milliseconds)
{
	if (milliseconds < 0)
		return NEVER;
	return milliseconds == 0 ? 0 : now() + (uint64_t)milliseconds * 1000000;
}

/* wait.c: makes a deadline of the struct timespec at `address` (a timeval has a `unit` of 1000 ns): from now on, or at
 * that instant of the clock since boot or of the calendar. The deadline is NEVER if the address is 0, and 0 if there is
 * to be no wait. Returns 0, -EFAULT, -EINVAL. */
int64_t deadline_after(uint64_t address, uint64_t unit, nanoseconds *deadline);
int64_t deadline_at(uint64_t address, nanoseconds *deadline);
int64_t deadline_at_calendar(uint64_t address, nanoseconds *deadline);
/* Writes what is left of the time there, unless the address is 0. Returns 0 or -EFAULT. */
long deadline_left(uint64_t address, uint64_t unit, nanoseconds deadline);
/* Sets the signal mask for the time of a wait, if `address` (of which mask_begin_at reads pointer and size) is not 0.
 * Returns 1 if it was set, 0, -EFAULT, -EINVAL. After -EINTR pm.attend restores the old mask: once the signal's handler
 * has run, or at once if there is none. */
int64_t mask_begin(struct task *t, uint64_t address, uint64_t size);
int64_t mask_begin_at(struct task *t, uint64_t address);
int64_t mask_end(struct task *t, int64_t masked, int64_t result);

/* sockets.c: room_of grants room at `address`, as much as `length` points to, none if `address` is 0. room_used writes
 * back how long the value was, which is the first further value of the answer. */
int64_t room_of(uint64_t address, uint64_t length, struct grant *out);
int64_t room_used(struct task *t, uint64_t address, uint64_t length, int64_t result);

/* signal_frame.c: makes the present task run a handler, as pm.attend answered in `r`. Returns -EFAULT if its stack
 * cannot be written. */
int64_t signal_frame_push(struct task *t, const struct request *r, int signal);
/* rt_sigreturn: restores the registers and the mask. Returns 0, or -EFAULT if there is no such frame; then nothing is
 * changed. */
int64_t signal_frame_pop(struct task *t);

#endif
