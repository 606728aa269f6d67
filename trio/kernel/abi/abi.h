/* abi.h: Linux's system calls. Each service's calls are in one file, route_NAME.c, with its part of the table; a
 * route takes the registers apart, follows pointers of pointers (iovec, msghdr, argv), and asks the service. */
#ifndef TRIO_ABI_H
#define TRIO_ABI_H

#include "core/memory.h"
#include "core/task.h"
#include "structure.h"

/* Linux's numbers on x86-64 end before; what is beyond 1000 is Trio's own. */
#define SYSTEM_CALLS 1024

#define RESUMES 2
#define CONTINUES 3
#define RESTART_SYSCALL 219

struct route {
	uint16_t number;
	/* 1: a signal whose handler wants it (SA_RESTART) makes the call begin anew, or one without a handler
	 * (SIGSTOP and SIGCONT); RESUMES: the latter alone; CONTINUES: then call RESTART_SYSCALL is made, which
	 * goes on where it was. */
	uint8_t restarts;
	const char *name;
	/* `a`: the six arguments. Returns the value, or a negative errno. */
	int64_t (*run)(struct task *t, const uint64_t *a);
};

/* Tables of the services' routes; behind the last one stands one without a name. */
extern const struct route routes_generated[], routes_kernel[], routes_sockets[], routes_sleep[];

void routes_start(void);
/* NULL: there is no such call. */
const struct route *route_of(int64_t number);
/* The program makes that call again, with the same arguments, before anything else. */
void call_begin_anew(struct task *t, uint64_t number);

/* absent.c: a copy of the present call met a page that has to be brought. */
void call_met_absent(struct task *t);

/* Memory of the present task's. What is not its own gives -EFAULT when it is used, not here: an id of USER_END is
 * nobody's. Since the length is bounded, no part of it can be an id of another kind. */
static inline struct grant user_grant(uint64_t address, uint64_t length)
{
	return (struct grant){ MIN(address, USER_END), MIN(length, MOST_BYTES) };
}

/* A null pointer is a grant of nothing. */
static inline struct grant user_grant_if(uint64_t address, uint64_t length)
{
	return user_grant(address, address == 0 ? 0 : length);
}

/* The memory that `count` iovecs at `address` name, as one grant. 0 or -EINVAL, -EFAULT. One at a time a task. */
int64_t user_vector(struct task *t, uint64_t address, uint64_t count, struct grant *out);

/* A structure at a user's address; 0 or -EFAULT. */
static inline long user_get(void *to, uint64_t address, size_t n)
{
	return copy_in(to, user_grant(address, n), 0, n);
}

static inline long user_put(uint64_t address, const void *from, size_t n)
{
	return copy_out(user_grant(address, n), 0, from, n);
}

/* Of a wait for so many milliseconds: 0 does not wait, a negative number waits for good. */
static inline nanoseconds deadline_of(int32_t milliseconds)
{
	if (milliseconds < 0)
		return NEVER;
	return milliseconds == 0 ? 0 : now() + (uint64_t)milliseconds * 1000000;
}

/* wait.c: a struct timespec, or a timeval with a `unit` of 1000 ns, at `address` as a deadline, from now on or at that
 * instant of the clock since boot or of the calendar; NEVER where the address is 0, 0 for no wait at all. 0, -EFAULT,
 * -EINVAL. */
int64_t deadline_after(uint64_t address, uint64_t unit, nanoseconds *deadline);
int64_t deadline_at(uint64_t address, nanoseconds *deadline);
int64_t deadline_at_calendar(uint64_t address, nanoseconds *deadline);
/* Writes what is left of it there, unless the address is 0. 0 or -EFAULT. */
long deadline_left(uint64_t address, uint64_t unit, nanoseconds deadline);
/* The signal mask during a wait, where `address` (or what it points to, beside the size) is not 0. 1: it is set, 0,
 * -EFAULT, -EINVAL. After -EINTR the old mask is restored by pm.attend: once the signal's handler has run, or at once
 * where there is none. */
int64_t mask_begin(struct task *t, uint64_t address, uint64_t size);
int64_t mask_begin_at(struct task *t, uint64_t address);
int64_t mask_end(struct task *t, int64_t masked, int64_t result);

/* sockets.c: room at `address` for as much as `length` points to, none where `address` is 0; then how long it was, the
 * answer's first further value, goes back there. */
int64_t room_of(uint64_t address, uint64_t length, struct grant *out);
int64_t room_used(struct task *t, uint64_t address, uint64_t length, int64_t result);

/* signal_frame.c: makes the present task run a handler, as pm.attend answered in `r`. -EFAULT: its stack cannot be
 * written. */
int64_t signal_frame_push(struct task *t, const struct request *r, int signal);
/* rt_sigreturn: the registers as they were, and the mask. 0; -EFAULT: there is no such frame, and nothing is
 * changed. */
int64_t signal_frame_pop(struct task *t);

#endif
