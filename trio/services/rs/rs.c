/* rs.c: the reincarnation server. It restarts a process that has ended: at once the first time, each further time after
 * twice the delay, and no more once it has ended too often in a short time. With the switch `heartbeats` it regularly
 * asks each process for an answer, and ends one that gives none. config/services.toml says who may be restarted, and
 * the kernel reports it (numbers.h). */
#include "kernel.h"
#include "numbers.h"
#include "rs_serve.h"
#include "text.h"

#define SERVERS_MOST 64U
#define MILLISECOND 1000000ULL
#define BEAT (500 * MILLISECOND)
#define DELAY_FIRST (10 * MILLISECOND)
#define DELAY_MOST (1000 * MILLISECOND)
/* A process is given up after more than this many ends, each within FORGIVEN of the one before. */
#define ENDS_MOST 8U
#define FORGIVEN (10000 * MILLISECOND)

/* By number: the faults seen so far, and the ends that count. */
static struct life {
	uint32_t faults, ends;
	nanoseconds last;
	/* When to restart it; NEVER: it has not ended. */
	nanoseconds due;
} lives[SERVERS_MOST];
static nanoseconds next_beat;

static int64_t look(uint32_t number, struct server_numbers *is)
{
	return number < SERVERS_MOST ? kernel_server(number, grant_write(is, sizeof *is)) : -ESRCH;
}

static nanoseconds delay_after(uint32_t ends)
{
	return ends == 1 ? 0 : MIN(DELAY_FIRST << (ends - 2), DELAY_MOST);
}

/* A replacement by another program is no fault. */
static void note_end(struct life *l, uint32_t faults, nanoseconds at)
{
	l->due = at;
	if (faults == l->faults)
		return;
	l->faults = faults;
	l->ends = l->ends > 0 && at - l->last <= FORGIVEN ? l->ends + 1 : 1;
	l->last = at;
	l->due += delay_after(l->ends);
}

static void start_again(uint32_t number, struct life *l, const char *name)
{
	if (l->ends > ENDS_MOST) {
		log_line("rs gives %s up: it has ended %u times", name, l->ends);
		kernel_server_give_up(number);
		l->due = NEVER;
	} else {
		l->due = kernel_server_start(number) == 0 ? NEVER : now() + DELAY_MOST;
	}
}

/* Does what an ended process needs now. `next`: when to look again. */
static void care_for(uint32_t number, const struct server_numbers *is, nanoseconds *next)
{
	struct life *l = &lives[number];

	if (is->life != SERVER_ENDED)
		return;
	if (l->due == NEVER)
		note_end(l, is->faults, now());
	if (now() >= l->due)
		start_again(number, l, is->name);
	*next = MIN(*next, l->due);
}

static void ask(uint32_t number, const struct server_numbers *is)
{
	if (is->life != SERVER_RUNS || is->policy != POLICY_START_AGAIN)
		return;
	if (is->beats == is->answers) {
		kernel_server_ask(number);
		return;
	}
	log_line("rs: %s does not say that it is alive", is->name);
	kernel_server_stop(number);
}

void rs_notified(uint64_t bits)
{
	bool asks = HEARTBEATS && now() >= next_beat;
	struct server_numbers is;
	nanoseconds next;
	int64_t result;

	if (asks)
		next_beat = now() + BEAT;
	next = HEARTBEATS ? next_beat : NEVER;
	for (uint32_t number = 1; (result = look(number, &is)) != -ESRCH; number++) {
		if (result != 0)
			continue;
		care_for(number, &is, &next);
		if (asks)
			ask(number, &is);
	}
	alarm_at(ENDPOINT_RS, next);
}

void rs_start(void)
{
	for (struct life *l = lives; l < lives + SERVERS_MOST; l++)
		l->due = NEVER;
	if (HEARTBEATS) {
		next_beat = now() + BEAT;
		alarm_at(ENDPOINT_RS, next_beat);
	}
}

const struct rs_service rs_service = RS_HANDLERS;
