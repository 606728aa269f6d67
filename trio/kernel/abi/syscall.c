/* syscall.c: the way from a system call's number to its route and back, and the work before a program goes on. */
#include "abi/abi.h"
#include "abi/signal.h"
#include "core/task.h"
#include "pm_client.h"
#include "structure.h"
#include "switches.h"
#include "x86/entry.h"
#include "x86/processor.h"

enum { EXIT = 60, EXIT_GROUP = 231 };

static const struct route *table[SYSTEM_CALLS];
/* The unknown calls that the log has named, each once; all beyond the table share one entry. */
static bool named[SYSTEM_CALLS + 1];

void routes_start(void)
{
	static const struct route *const all[] = { routes_generated, routes_kernel, routes_sockets, routes_sleep };

	for (size_t i = 0; i < COUNT_OF(all); i++)
		for (const struct route *route = all[i]; route->name; route++)
			table[route->number] = route;
}

const struct route *route_of(int64_t number)
{
	return number >= 0 && number < SYSTEM_CALLS ? table[number] : NULL;
}

static __attribute__((noinline)) int64_t unknown(uint64_t number)
{
	bool *is_named = &named[MIN(number, SYSTEM_CALLS)];

	if (!*is_named)
		log_line("task %u: system call %lu is unknown", current->number, number);
	*is_named = true;
	return -ENOSYS;
}

/* entry.S calls this; it has put the arguments first among the registers. Returns the result. */
int64_t system_call(struct registers *r)
{
	uint64_t number = r->error;
	struct task *t = current;

	COUNT_FOR(t, system_calls, 1);
	t->system_call = (int64_t)number;
	if (number < SYSTEM_CALLS && table[number])
		return table[number]->run(t, &r->rdi);
	return unknown(number);
}

/* entry.S calls this behind a system call if there is work, or if a service that has ended may be its result. */
void system_call_work(struct registers *r)
{
	uint64_t number = r->error;

	if (PROCESSES && (int64_t)r->rax == -EIO && (number == EXIT || number == EXIT_GROUP))
		task_end_alone((uint8_t)r->rdi);
	if (services_notified | current->work)
		task_work();
}

/* The instruction SYSCALL has two bytes. rcx no longer has the address to return to. */
void call_begin_anew(struct task *t, uint64_t number)
{
	t->user->rax = number;
	t->user->rip -= 2;
	t->user->trap = 0;
}

/* A call that a signal ended with -EINTR begins anew if the handler wants that, or if no handler ran (`unhandled`). */
static void restart(struct task *t, bool wanted, bool unhandled)
{
	int64_t number = t->system_call;

	t->system_call = -1;
	if (number < 0 || (int64_t)t->user->rax != -EINTR || t->user->trap != TRAP_SYSCALL)
		return;
	if (!wanted || (uint64_t)number >= SYSTEM_CALLS || !table[number]->restarts)
		return;
	if (table[number]->restarts >= RESUMES && !unhandled)
		return;
	call_begin_anew(t, table[number]->restarts == CONTINUES ? RESTART_SYSCALL : (uint64_t)number);
}

/* Asks pm for signals until there is none. */
static void attend(struct task *t)
{
	while (t->state != ENDED) {
		struct request *r = &t->request;
		int64_t signal = client_pm_attend(r, t->user->rsp);

		if (signal <= 0)
			break;
		restart(t, r->out[OUT_PM_ATTEND_FLAGS] & SA_RESTART, false);
		t->user->trap = 0;
		if (signal_frame_push(t, r, (int)signal) != 0)
			client_pm_raise(&t->request, SIGSEGV, signal == SIGSEGV ? 0 : SI_KERNEL, 0);
	}
	restart(t, true, true);
}

/* Does the work that a call left beside its answer: a signal first, since it ends a wait for a page; then signals. */
static void work_for_call(struct task *t)
{
	if (t->work & WORK_RAISE) {
		t->work &= ~WORK_RAISE;
		client_pm_raised(&t->request, t->request.raises);
	} else if (t->work & WORK_ABSENT) {
		call_met_absent(t);
	} else {
		t->work &= ~(WORK_ATTEND | WORK_END);
		attend(t);
	}
}

void task_work(void)
{
	struct task *t = current;

	if (BY_MAPPING && is_server(t))
		server_stops();
	for (;;) {
		deliver_notifications();
		if (t->work & WORK_YIELD || t->state == ENDED)
			schedule();
		else if (PROCESSES && is_server(t) && t->work & WORK_END)
			server_look();
		else if (t->work & (WORK_ABSENT | WORK_RAISE | WORK_ATTEND)) {
			work_for_call(t);
		} else {
			break;
		}
	}
}
