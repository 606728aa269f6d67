/* timer.c: a heap of deadlines with the first on top. The machine's timer is set for that one, or for the next tick if
 * that comes first. A tick divides the processor among the ready tasks. There are no ticks while no task runs, so that
 * an idle machine goes straight to the next deadline. */
#include "core/task.h"
#include "endpoints.h"
#include "structure.h"
#include "x86/machine.h"

#define TICK 10000000ULL
#define WHO (TASKS + ENDPOINTS)

static struct {
	nanoseconds when;
	uint32_t who;
} heap[WHO];
uint32_t timer_places[WHO];
static uint32_t used;
static nanoseconds next_tick = NEVER;
/* The time for which the machine's timer is set. */
static nanoseconds armed = NEVER;

static void put(uint32_t place, nanoseconds when, uint32_t who)
{
	heap[place].when = when;
	heap[place].who = who;
	timer_places[who] = place + 1;
}

static void rise(uint32_t place, nanoseconds when, uint32_t who)
{
	while (place > 0 && heap[(place - 1) / 2].when > when) {
		uint32_t above = (place - 1) / 2;

		put(place, heap[above].when, heap[above].who);
		place = above;
	}
	put(place, when, who);
}

static void sink(uint32_t place, nanoseconds when, uint32_t who)
{
	for (;;) {
		uint32_t below = 2 * place + 1;

		if (below + 1 < used && heap[below + 1].when < heap[below].when)
			below++;
		if (below >= used || heap[below].when >= when)
			break;
		put(place, heap[below].when, heap[below].who);
		place = below;
	}
	put(place, when, who);
}

static void arm(void)
{
	nanoseconds first = used > 0 ? MIN(heap[0].when, next_tick) : next_tick;

	if (first == armed)
		return;
	armed = first;
	clock_alarm(first);
}

/* The machine's timer may come for nothing after this, which is cheaper than to set it each time. */
void timer_take_out(uint32_t who)
{
	uint32_t place = timer_places[who] - 1;
	nanoseconds when = heap[--used].when;
	uint32_t last = heap[used].who;

	timer_places[who] = 0;
	if (place == used)
		return;
	if (place > 0 && heap[(place - 1) / 2].when > when)
		rise(place, when, last);
	else
		sink(place, when, last);
}

void timer_set(uint32_t who, nanoseconds deadline)
{
	timer_clear(who);
	if (deadline != NEVER)
		rise(used++, deadline, who);
	if (used > 0 && heap[0].when < armed)
		arm();
}

void timer_tick(bool on)
{
	next_tick = on ? now() + TICK : NEVER;
	arm();
}

/* A tick that came up in the kernel is taken at the first instruction after it, where SYSRET has left rip in rcx too.
 * While a server runs, the payer's turn counts, for whom the server works. */
static void count_tick(const struct registers *interrupted)
{
	if (payer != current || (interrupted->cs & 3) == 0 || interrupted->rip == interrupted->rcx)
		payer->ticks_system++;
	else
		payer->ticks_user++;
	if (others_ready())
		payer->work |= WORK_YIELD;
	present_ticked();
}

void timers_expired(const struct registers *interrupted)
{
	nanoseconds at = now();

	armed = NEVER;
	while (used > 0 && heap[0].when <= at) {
		uint32_t who = heap[0].who;

		timer_take_out(who);
		deadline_passed(who);
	}
	if (next_tick <= at) {
		count_tick(interrupted);
		next_tick = at + TICK;
	}
	arm();
}
