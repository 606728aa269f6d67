/* ctx/thread-pair: two threads of one process pass a turn back and forth by a mutex and condition variables. */
#include "../km.h"

enum thread_pair_turn { THREAD_PAIR_MAIN, THREAD_PAIR_OTHER, THREAD_PAIR_END };

struct thread_pair {
	struct km *km;
	pthread_mutex_t lock;
	pthread_cond_t main, other;
	enum thread_pair_turn turn;
	uint64_t made, taken; /* turns handed over by the main thread, taken by the other; under the lock */
	pthread_t thread;
};

static void thread_pair_check(struct thread_pair *p, int error, const char *call)
{
	if (error == 0)
		return;
	errno = error;
	km_fail_call(p->km, call);
}

/* Unlocks before it signals: otherwise the woken thread would have to wait for the lock once more. */
static void thread_pair_give(struct thread_pair *p, enum thread_pair_turn turn, pthread_cond_t *to)
{
	p->turn = turn;
	thread_pair_check(p, pthread_mutex_unlock(&p->lock), "pthread_mutex_unlock");
	thread_pair_check(p, pthread_cond_signal(to), "pthread_cond_signal");
	thread_pair_check(p, pthread_mutex_lock(&p->lock), "pthread_mutex_lock");
}

static void *thread_pair_other(void *state)
{
	struct thread_pair *p = state;

	km_place_thread(p->km);
	thread_pair_check(p, pthread_mutex_lock(&p->lock), "pthread_mutex_lock");
	while (p->turn != THREAD_PAIR_END) {
		if (p->turn == THREAD_PAIR_OTHER) {
			p->taken++;
			thread_pair_give(p, THREAD_PAIR_MAIN, &p->main);
			continue;
		}
		thread_pair_check(p, pthread_cond_wait(&p->other, &p->lock), "pthread_cond_wait");
	}
	thread_pair_check(p, pthread_mutex_unlock(&p->lock), "pthread_mutex_unlock");
	return NULL;
}

static void *thread_pair_setup(struct km *km)
{
	struct thread_pair *p = km_state(km, sizeof *p);

	thread_pair_check(p, pthread_mutex_init(&p->lock, NULL), "pthread_mutex_init");
	thread_pair_check(p, pthread_cond_init(&p->main, NULL), "pthread_cond_init");
	thread_pair_check(p, pthread_cond_init(&p->other, NULL), "pthread_cond_init");
	thread_pair_check(p, pthread_create(&p->thread, NULL, thread_pair_other, p), "pthread_create");
	km->claim.reads = km->claim.writes = 0;
	if (km->point->place == SAME_CPU) /* of both threads */
		km->claim.any_switches = 2;
	return p;
}

static void thread_pair_run(void *state, uint64_t n) /* timed: n times the turn there and back */
{
	struct thread_pair *p = state;

	while (n--) {
		thread_pair_check(p, pthread_mutex_lock(&p->lock), "pthread_mutex_lock");
		thread_pair_give(p, THREAD_PAIR_OTHER, &p->other);
		while (p->turn != THREAD_PAIR_MAIN)
			thread_pair_check(p, pthread_cond_wait(&p->main, &p->lock), "pthread_cond_wait");
		p->made++;
		thread_pair_check(p, pthread_mutex_unlock(&p->lock), "pthread_mutex_unlock");
	}
}

static void thread_pair_verify(void *state, uint64_t n)
{
	struct thread_pair *p = state;

	if (p->made != n || p->taken != n)
		km_fail(p->km, "%" PRIu64 " turns were handed over, %" PRIu64 " taken, %" PRIu64 " counted", p->made,
			p->taken, n);
}

static void thread_pair_teardown(void *state)
{
	struct thread_pair *p = state;

	thread_pair_check(p, pthread_mutex_lock(&p->lock), "pthread_mutex_lock");
	thread_pair_give(p, THREAD_PAIR_END, &p->other);
	thread_pair_check(p, pthread_mutex_unlock(&p->lock), "pthread_mutex_unlock");
	thread_pair_check(p, pthread_join(p->thread, NULL), "pthread_join");
}

const struct workload ctx_thread_pair = {
	.name = "ctx/thread-pair",
	.per = "round trip",
	.source = "beyond the sources",
	.what = "two threads of a process pass a turn back and forth by a mutex and two condition variables",
	.inside = "in each thread one signal, one wait or more and the mutex; the switches between them",
	.needs = CAP_PTHREAD,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 100, .place = SAME_CPU },
			    { .profile = FULL, .place = OTHER_CPU }),
	.setup = thread_pair_setup,
	.run = thread_pair_run,
	.verify = thread_pair_verify,
	.teardown = thread_pair_teardown,
};
