/* models.c: sequences about address spaces: a model knows what each page is and what each process sees. */
#include "fuzz.h"
#include "sequences.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE FUZZ_PAGE

/* The state of each page of a part of the space. */
#define MODEL 24
static struct {
	char *at;
	int there[MODEL], prot[MODEL];
	char value[MODEL];
} model;

static void model_change(size_t first, size_t n)
{
	char *at = model.at + first * PAGE;
	int prot = (int)protection();
	unsigned long what = below(4);

	if (what == 0)
		HOLDS(munmap(at, n * PAGE) == 0);
	else if (what == 1)
		HOLDS(mmap(at, n * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
	for (size_t i = first; i < first + n; i++) {
		if (what < 2) {
			model.there[i] = what == 1;
			model.value[i] = 0;
			model.prot[i] = prot;
		} else if (what == 2 && model.there[i]) {
			HOLDS(mprotect(model.at + i * PAGE, PAGE, prot) == 0);
			model.prot[i] = prot;
		} else if (model.there[i] && model.prot[i] & PROT_WRITE) {
			model.value[i] = model.at[i * PAGE] = (char)(1 + below(100));
		}
	}
}

static void model_look(const int *ends)
{
	for (size_t i = 0; i < MODEL; i++) {
		int prot = model.there[i] ? model.prot[i] : PROT_NONE;
		long got = write(ends[1], model.at + i * PAGE, 1);
		char byte;

		HOLDS(got == 1 || errno == EFAULT);
		HOLDS(got == 1 ? prot != PROT_NONE : !(prot & (PROT_READ | PROT_WRITE)));
		if (got == 1)
			HOLDS(read(ends[0], &byte, 1) == 1 && byte == model.value[i]);
	}
}

/* Pages are mapped, protected, written and unmapped. Each has the state of the last change, in a child too. */
void space_model(void)
{
	int ends[2];

	HOLDS(pipe(ends) == 0);
	model.at = room(MODEL * PAGE, PROT_NONE, MAP_PRIVATE);
	HOLDS(munmap(model.at, MODEL * PAGE) == 0);
	for (int round = 0; round < 60; round++) {
		size_t first = below(MODEL);
		pid_t child;

		model_change(first, 1 + below(MODEL - first));
		model_look(ends);
		if (below(12) > 0)
			continue;
		START_CHILD (child) {
			model_change(0, MODEL);
			model_look(ends);
		}
		reap(child, 0);
		model_look(ends);
	}
}

static void share(char *shared, char *own, int me)
{
	shared[me * (long)PAGE] = (char)me;
	for (long i = 0; i < 4; i++)
		own[i * (long)PAGE] = (char)(me + i);
	for (int turn = 0; turn < 20; turn++) {
		sched_yield();
		for (long i = 0; i < 4; i++)
			HOLDS(own[i * (long)PAGE] == (char)(me + i));
	}
}

/* Several processes share some pages and copy others; one of them is killed. */
void shared_pages(void)
{
	char *shared = room(8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	char *own = room(4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	unsigned long victim = 1 + below(8);
	pid_t pids[8];

	memset(own, 99, 4 * PAGE);
	for (int me = 1; me < 8; me++) {
		START_CHILD (pids[me])
			share(shared, own, me);
	}
	sleep_us(below(1000));
	if (victim < 8)
		kill(pids[victim], SIGKILL);
	for (unsigned long me = 1; me < 8; me++) {
		reap(pids[me], me == victim);
		HOLDS(shared[me * PAGE] == (char)me || (me == victim && shared[me * PAGE] == 0));
	}
	for (size_t i = 0; i < 4 * PAGE; i++)
		HOLDS(own[i] == 99);
}
