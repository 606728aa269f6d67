/* ipc/shm-futex: two processes pass a word of shared memory back and forth, each waiting by a futex.
 *
 * Nobody spins: a process that finds the word unchanged asks the kernel to wait. On two CPUs the reply may arrive
 * before that, and saves the call. Only the word is passed, so that the order of other stores does not matter. */
#include "../km.h"

struct shm_futex {
	struct km *km;
	volatile uint32_t *word; /* odd: the parent's, to which the peer replies with the next; even: the peer's */
	volatile uint32_t *own;  /* the baseline's */
	uint64_t sent, echoed;
	long peer;
};

enum { SHM_FUTEX_BYTES = 4096, SHM_FUTEX_OWN = 256, SHM_FUTEX_STOP = 512 };

/* The word, once its last bit is no longer `bit`. */
static uint32_t shm_futex_await(struct km *km, volatile uint32_t *word, uint32_t bit)
{
	uint32_t seen;

	while (((seen = *word) & 1) == bit)
		if (km_futex_wait(word, seen) != 0 && errno != EAGAIN)
			km_interrupted(km, "futex");
	return seen;
}

static void shm_futex_put(struct km *km, volatile uint32_t *word, uint32_t value)
{
	*word = value;
	if (km_futex_wake(word) < 0)
		km_fail_call(km, "futex");
}

static void shm_futex_peer(struct km *km, void *state)
{
	struct shm_futex *p = state;

	km_watch_parent(km);
	for (;;) {
		uint32_t got = shm_futex_await(km, p->word, 0);

		if (p->word[SHM_FUTEX_STOP])
			return;
		shm_futex_put(km, p->word, got + 1);
	}
}

static void *shm_futex_setup(struct km *km)
{
	struct shm_futex *p = km_state(km, sizeof *p);

	p->word = km_map_shared(SHM_FUTEX_BYTES);
	if (!p->word)
		km_lacking(km, "mmap");
	p->own = p->word + SHM_FUTEX_OWN;
	if (km_futex_wake(p->word) < 0)
		km_lacking(km, "futex");
	km_watch(km);
	p->peer = km_peer(km, shm_futex_peer, p);
	km->claim.reads = km->claim.writes = 0;
	km->claim.any_switches = 1;
	km->claim.faults = 0;
	return p;
}

static void shm_futex_run(void *state, uint64_t n) /* timed: n words there and back */
{
	struct shm_futex *p = state;

	while (n--) {
		uint32_t number = 2 * (uint32_t)p->sent++ + 1, back;

		shm_futex_put(p->km, p->word, number);
		back = shm_futex_await(p->km, p->word, 1);
		if (back != number + 1)
			km_fail(p->km, "the reply to word %lu was %lu", (unsigned long)number, (unsigned long)back);
	}
}

static void shm_futex_baseline(void *state, uint64_t n) /* timed: two wakes without a waiter, two waits that return */
{
	struct shm_futex *p = state;

	while (n--)
		for (int half = 0; half < 2; half++) {
			uint32_t value = 2 * (uint32_t)p->echoed++;

			shm_futex_put(p->km, p->own, value);
			if (km_futex_wait(p->own, value + 1) == 0 || errno != EAGAIN)
				km_fail(p->km, "the kernel waited for a futex whose word had changed");
		}
}

static void shm_futex_verify(void *state, uint64_t n)
{
	struct shm_futex *p = state;

	if (p->sent != n || (n > 0 && *p->word != 2 * (uint32_t)n))
		km_fail(p->km, "%" PRIu64 " round trips were made, %" PRIu64 " counted", p->sent, n);
}

static void shm_futex_teardown(void *state)
{
	struct shm_futex *p = state;

	km_watch_end(p->km);
	p->word[SHM_FUTEX_STOP] = 1;
	shm_futex_put(p->km, p->word, *p->word | 1);
	km_peer_end(p->km, p->peer);
}

const struct workload ipc_shm_futex = {
	.name = "ipc/shm-futex",
	.per = "round trip",
	.source = "beyond the sources",
	.what = "two processes pass one word of shared memory back and forth, and wait for it by a futex",
	.inside = "in each of the two processes one store, one wake, at most one wait, and the switches between them",
	.subtracts = "two wakes of nobody and two waits for a word that has changed, within one process (the same four "
		     "calls, no switch)",
	.needs = CAP_FUTEX | CAP_SHARED_MAP | CAP_MMAP | (KM_FUTEX_CALL ? 0 : CAP_SYSCALL),
	.points = KM_POINTS({ .profile = QUICK, .path_n = 100, .place = SAME_CPU },
			    { .profile = FULL, .place = OTHER_CPU }),
	.setup = shm_futex_setup,
	.run = shm_futex_run,
	.baseline = shm_futex_baseline,
	.verify = shm_futex_verify,
	.teardown = shm_futex_teardown,
};
