/* proc/thread: creates and joins a thread, which counts itself and returns the count: work and join are checked. */
#include "../km.h"

struct proc_thread {
	struct km *km;
	uint64_t made; /* by the threads; read after each join */
};

static void *proc_thread_body(void *state)
{
	struct proc_thread *p = state;

	p->made++;
	return &p->made;
}

static void *proc_thread_setup(struct km *km)
{
	struct proc_thread *p = km_state(km, sizeof *p);

	km->claim.reads = km->claim.writes = 0;
	km->claim.children = 0;
	return p;
}

static void proc_thread_run(void *state, uint64_t n) /* timed: n times create and join */
{
	struct proc_thread *p = state;

	while (n--) {
		uint64_t before = p->made;
		void *result = NULL;
		pthread_t thread;
		int error = pthread_create(&thread, NULL, proc_thread_body, p);

		if (error != 0) {
			errno = error;
			km_fail_call(p->km, "pthread_create");
		}
		error = pthread_join(thread, &result);
		if (error != 0) {
			errno = error;
			km_fail_call(p->km, "pthread_join");
		}
		if (result != &p->made || p->made != before + 1)
			km_fail(p->km, "a thread that had not run was joined");
	}
}

const struct workload proc_thread = {
	.name = "proc/thread",
	.per = "thread",
	.source = "beyond the sources",
	.what = "create a POSIX thread with default attributes, which counts itself, and join it",
	.inside = "pthread_create, the thread's start and end, pthread_join",
	.needs = CAP_PTHREAD,
	.points = KM_POINTS({ .profile = QUICK, .path_n = 100 }),
	.setup = proc_thread_setup,
	.run = proc_thread_run,
	.counted = { offsetof(struct proc_thread, made), "threads ran" },
};
