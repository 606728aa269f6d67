/* turn.c: a turn handed to another thread, and to another task, by gsync, which is Mach's futex: a call of the kernel
 * by message, without a reply to wake, with one to wait. */
#include "mach.h"

enum { GSYNC_WAIT = 4204, GSYNC_WAKE = 4205, SHARED = 1, OTHER_VALUE = 4 };

struct waiter { /* a thread's own */
	struct message m;
	port reply, task;
};
static volatile uint32_t
	*word; /* in shared memory: odd: the other's turn; the second task's, 64 further: the thread's */
static char stack[65536] __attribute__((aligned(16)));
static uint32_t done[2];

static void wake(struct waiter *w, volatile uint32_t *at)
{
	begin(&w->m);
	item(&w->m, ITEM(INTEGER_64, 64, 1) | IN_LINE, (uintptr_t)at);
	item(&w->m, ITEM(INTEGER_32, 32, 1) | IN_LINE, 0);
	item(&w->m, ITEM(INTEGER_32, 32, 1) | IN_LINE, SHARED);
	w->m.bits = COPY_SEND;
	w->m.remote = w->task;
	w->m.local = 0;
	w->m.id = GSYNC_WAKE;
	must(mach_msg(&w->m, SEND, w->m.size, 0, 0, 0, 0), "gsync_wake");
}

/* Until the word's lowest bit is not this one. */
static uint32_t await(struct waiter *w, volatile uint32_t *at, uint32_t bit)
{
	uint32_t seen, status;

	while (((seen = *at) & 1) == bit) {
		begin(&w->m);
		item(&w->m, ITEM(INTEGER_64, 64, 1) | IN_LINE, (uintptr_t)at);
		item(&w->m, ITEM(INTEGER_32, 32, 1) | IN_LINE, seen);
		item(&w->m, ITEM(INTEGER_32, 32, 1) | IN_LINE, 0);
		item(&w->m, ITEM(INTEGER_32, 32, 1) | IN_LINE, 0);
		item(&w->m, ITEM(INTEGER_32, 32, 1) | IN_LINE, SHARED);
		w->m.bits = COPY_SEND | MAKE_SEND_ONCE << 8;
		w->m.remote = w->task;
		w->m.local = w->reply;
		w->m.id = GSYNC_WAIT;
		must(mach_msg(&w->m, SEND | RECEIVE, w->m.size, sizeof w->m, w->reply, 0, 0), "gsync_wait");
		status = (uint32_t)w->m.body[1]; /* the other half is whatever the kernel had there */
		if (status != 0 && status != OTHER_VALUE)
			fail("gsync_wait");
	}
	return seen;
}

static struct waiter new_waiter(void)
{
	return (struct waiter){ .reply = mach_reply_port(), .task = mach_task_self() };
}

static void answer(struct waiter *w, volatile uint32_t *at)
{
	for (;;) {
		*at = await(w, at, 0) + 1;
		wake(w, at);
	}
}

static void in_second_task(void)
{
	static struct waiter w;

	w = new_waiter();
	answer(&w, word);
}

static void in_thread(void)
{
	static struct waiter w;

	w = new_waiter();
	answer(&w, word + 64);
}

static struct waiter ours;

static void turns(volatile uint32_t *at, uint64_t n)
{
	while (n--) {
		uint32_t from = *at;

		*at = from + 1;
		wake(&ours, at);
		if (await(&ours, at, 1) != from + 2)
			fail("the turn did not come back");
		done[at != word]++;
	}
}

static void turn_run(void *state, uint64_t n)
{
	(void)state;
	turns(word + 64, n);
}

static void switch_run(void *state, uint64_t n)
{
	(void)state;
	turns(word, n);
}

static void turn_setup(const long arg[])
{
	(void)arg;
	ours = new_waiter();
	if (!word)
		word = (volatile uint32_t *)new_memory(PAGE);
	*word = 0;
	start(task_self, in_thread, stack + sizeof stack);
}

static void switch_setup(const long arg[])
{
	word = (volatile uint32_t *)new_memory(PAGE);
	share((uintptr_t)word, PAGE);
	(void)second_task(in_second_task);
	turn_setup(arg);
}

static void turn_verify(uint64_t n)
{
	if (done[1] != n || word[64] != 2 * n)
		fail("not all turns came back");
}

static void switch_verify(uint64_t n)
{
	turn_verify(n);
	if (done[0] != n || *word != 2 * n)
		fail("not all turns came back");
}

const struct unit turn_units[] = {
	{ .name = "trio/turn", .ops = 2, .setup = turn_setup, .run = turn_run, .verify = turn_verify },
	{ .name = "trio/switch",
	  .ops = 2,
	  .setup = switch_setup,
	  .run = switch_run,
	  .baseline = turn_run,
	  .verify = switch_verify },
	{ 0 },
};
