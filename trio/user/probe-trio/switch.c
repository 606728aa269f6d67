/* trio/turn hands a turn over by a futex to another thread that waits for it: the price of waiting. trio/switch tells
 * how much more it costs to hand it to another process: the price of the other address space. If the memory service is
 * a process, every turn goes through its address space. */
#include "unit.h"

enum { TRIO_SWITCH_BYTES = 4096, TRIO_SWITCH_OWN = 256, TRIO_SWITCH_STOP = 512 };

struct trio_switch {
	struct km *km;
	volatile uint32_t *word; /* odd: the other's turn; even: ours. At TRIO_SWITCH_OWN the threads' */
	uint64_t sent;
	uint32_t threads_sent;
	pthread_t thread;
	long peer;
};

static uint32_t trio_switch_await(struct km *km, volatile uint32_t *word, uint32_t bit)
{
	uint32_t seen;

	while (((seen = *word) & 1) == bit)
		if (km_futex_wait(word, seen) != 0 && errno != EAGAIN)
			km_interrupted(km, "futex");
	return seen;
}

static void trio_switch_put(struct km *km, volatile uint32_t *word, uint32_t value)
{
	*word = value;
	if (km_futex_wake(word) < 0)
		km_fail_call(km, "futex");
}

static void trio_switch_answer(struct trio_switch *p, volatile uint32_t *word)
{
	for (;;) {
		uint32_t got = trio_switch_await(p->km, word, 0);

		if (p->word[TRIO_SWITCH_STOP])
			return;
		trio_switch_put(p->km, word, got + 1);
	}
}

static void trio_switch_peer(struct km *km, void *state)
{
	struct trio_switch *p = state;

	km_watch_parent(km);
	trio_switch_answer(p, p->word);
}

static void *trio_switch_thread(void *state)
{
	struct trio_switch *p = state;

	km_place_thread(p->km);
	trio_switch_answer(p, p->word + TRIO_SWITCH_OWN);
	return NULL;
}

/* Switches of address spaces since boot, as Trio counts them; -1: it does not. */
static long trio_switch_spaces(void)
{
	static const char name[] = "switches.address_space";
	static char text[32768];
	int fd = open("/proc/trio/counters", O_RDONLY);
	ssize_t n = read(fd, text, sizeof text - 1);
	const char *at;

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, name);
	return at ? strtol(at + sizeof name - 1, NULL, 10) : -1;
}

/* Whether a call that wakes nobody causes switches, beyond those of a reading. */
static int trio_switch_in_call(struct trio_switch *p)
{
	long idle, before;

	(void)trio_switch_spaces(); /* touches what readings touch */
	idle = trio_switch_spaces();
	before = trio_switch_spaces();
	(void)km_futex_wake(p->word);
	return trio_switch_spaces() - before > before - idle;
}

static struct trio_switch *trio_switch_new(struct km *km)
{
	struct trio_switch *p = km_alloc(km, sizeof *p);

	p->km = km;
	p->word = km_map_shared(TRIO_SWITCH_BYTES);
	if (!p->word)
		km_lacking(km, "mmap");
	return p;
}

static void *trio_switch_with_thread(struct trio_switch *p)
{
	int error = pthread_create(&p->thread, NULL, trio_switch_thread, p);

	if (error) {
		errno = error;
		km_fail_call(p->km, "pthread_create");
	}
	p->km->ops = 2;
	p->km->claim.faults = 0;
	p->km->claim.any_switches = 1;
	return p;
}

static void *trio_turn_setup(struct km *km)
{
	return trio_switch_with_thread(trio_switch_new(km));
}

static void *trio_switch_setup(struct km *km)
{
	struct trio_switch *p = trio_switch_new(km);

	if (trio_switch_in_call(p))
		km_unsupported(km, "each call of the memory service switches address spaces here, to a thread as to a "
				   "process: trio/call has two switches, trio/trap none");
	km_watch(km);
	/* The peer is made before the thread: it is a single task in a space of its own. */
	p->peer = km_peer(km, trio_switch_peer, p);
	return trio_switch_with_thread(p);
}

static void trio_switch_turns(struct trio_switch *p, volatile uint32_t *word, uint32_t from, uint64_t n)
{
	while (n--) {
		uint32_t back;

		trio_switch_put(p->km, word, from + 1);
		back = trio_switch_await(p->km, word, 1);
		if (back != from + 2)
			km_fail(p->km, "turn %lu was answered by %lu", (unsigned long)from, (unsigned long)back);
		from = back;
	}
}

static void trio_switch_run(void *state, uint64_t n)
{
	struct trio_switch *p = state;

	trio_switch_turns(p, p->word, 2 * (uint32_t)p->sent, n);
	p->sent += n;
}

static void trio_turn_run(void *state, uint64_t n)
{
	struct trio_switch *p = state;

	trio_switch_turns(p, p->word + TRIO_SWITCH_OWN, p->threads_sent, n);
	p->threads_sent += 2 * (uint32_t)n;
}

static void trio_turn_verify(void *state, uint64_t n)
{
	struct trio_switch *p = state;

	if (p->threads_sent != 2 * (uint32_t)n)
		km_fail(p->km, "%" PRIu32 " turns were handed over, %" PRIu64 " counted", p->threads_sent, 2 * n);
}

static void trio_switch_verify(void *state, uint64_t n)
{
	struct trio_switch *p = state;

	if (p->sent != n || *p->word != 2 * (uint32_t)n)
		km_fail(p->km, "%" PRIu64 " round trips were made, %" PRIu64 " counted", p->sent, n);
}

static void trio_turn_teardown(void *state)
{
	struct trio_switch *p = state;

	p->word[TRIO_SWITCH_STOP] = 1;
	trio_switch_put(p->km, p->word + TRIO_SWITCH_OWN, p->word[TRIO_SWITCH_OWN] | 1);
	pthread_join(p->thread, NULL);
	km_unmap((void *)(uintptr_t)p->word, TRIO_SWITCH_BYTES);
	km_free(p);
}

static void trio_switch_teardown(void *state)
{
	struct trio_switch *p = state;

	km_watch_end(p->km);
	p->word[TRIO_SWITCH_STOP] = 1;
	trio_switch_put(p->km, p->word, *p->word | 1);
	km_peer_end(p->km, p->peer);
	trio_turn_teardown(p);
}

const struct workload trio_turn = {
	.name = "trio/turn",
	.per = "turn",
	.source = "beyond the sources",
	.what = "a turn handed to another thread, which waits for it",
	.inside =
		"in each of two threads one store, one wake, one wait, and the switches between them: two a round trip",
	.needs = CAP_FUTEX | CAP_SHARED_MAP | CAP_MMAP | CAP_PTHREAD | CAP_SYSCALL,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 200, .place = SAME_CPU }),
	.setup = trio_turn_setup,
	.run = trio_turn_run,
	.verify = trio_turn_verify,
	.teardown = trio_turn_teardown,
};

const struct workload trio_switch = {
	.name = "trio/switch",
	.per = "switch",
	.source = "beyond the sources",
	.what = "a switch of address spaces: a turn handed to another process, less one handed to another thread",
	.inside = "in each of two tasks one store, one wake, one wait, and the switches between them: two a round trip",
	.subtracts = "the same calls and switches between two threads of one process",
	.figure_less_baseline = 1,
	.needs = CAP_FUTEX | CAP_SHARED_MAP | CAP_MMAP | CAP_PTHREAD | CAP_SYSCALL,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 200, .place = SAME_CPU }),
	.setup = trio_switch_setup,
	.run = trio_switch_run,
	.baseline = trio_turn_run,
	.verify = trio_switch_verify,
	.teardown = trio_switch_teardown,
};
