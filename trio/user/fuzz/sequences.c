/* sequences.c: runs one sequence after the other, and checks after each that its processes, its time and its pages came
 * back. */
#include "fuzz.h"
#include "sequences.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 60 /* for one sequence; the longest takes one or two seconds, a dozen if the host is slow */
#define FOLDER "sequence"

#define NAMED(function) { #function, function }
const struct sequence sequences[] = {
	NAMED(protections),
	NAMED(packets),
	NAMED(unmap_under_read),
	NAMED(rights),
	NAMED(exit_of_waiting),
	NAMED(cycles),
	NAMED(remap_under_touch),
	NAMED(file_model),
	NAMED(flock_waiters),
	NAMED(chains),
	NAMED(protect_under_copy),
	NAMED(kill_in_pipeline),
	NAMED(futex_unmap),
	NAMED(mapped_file),
	NAMED(passing),
	NAMED(space_model),
	NAMED(fork_among_threads),
	NAMED(vectors),
	NAMED(shared_pages),
	NAMED(names),
	NAMED(pipe_crowd),
	NAMED(kill_anywhere),
	NAMED(semaphore_undo),
	NAMED(inet_streams),
	NAMED(inet_ends),
	NAMED(inet_datagrams),
};
const unsigned sequence_count = sizeof sequences / sizeof sequences[0];

static volatile int too_long;

static void end_it(int signal)
{
	(void)signal;
	too_long = 1;
	if (at_work > 0)
		kill(-at_work, SIGKILL);
}

static void become_ordinary(void)
{
	if (setgroups(0, NULL) < 0 || setresgid(ORDINARY, ORDINARY, ORDINARY) < 0 ||
	    setresuid(ORDINARY, ORDINARY, ORDINARY) < 0)
		broken("cannot become an ordinary user: %s", strerror(errno));
}

static void in_sequence(const struct sequence *s, uint64_t k, int ordinary)
{
	setsid();
	signal(SIGALRM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (chdir(FOLDER) < 0)
		broken("no folder: %s", strerror(errno));
	if (ordinary)
		become_ordinary();
	random_from(o.seed * 0x2545f4914f6cdd1du);
	random_from(next() + k);
	s->run();
	_exit(0);
}

/* Sockets that nobody can reach are collected when a socket is closed for the last time, on Linux too. */
static void let_collect(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) {
		fprintf(stderr, "fuzz: broken: %s: no socket after it: %s\n", sequence_now, strerror(errno));
		return;
	}
	close(ends[0]);
	close(ends[1]);
}

/* Returns 1 if something did not hold, which was printed. */
static int watched(const struct sequence *s, uint64_t k, int ordinary)
{
	int status = 0;

	if (mkdir(FOLDER, 0777) < 0) {
		fprintf(stderr, "fuzz: broken: %s: no folder: %s\n", sequence_now, strerror(errno));
		return 1;
	}
	too_long = 0;
	at_work = fork();
	if (at_work == 0)
		in_sequence(s, k, ordinary);
	alarm(LIMIT_S);
	while (at_work > 0 && waitpid(at_work, &status, 0) < 0 && errno == EINTR)
		;
	alarm(0);
	if (at_work < 0 || too_long)
		fprintf(stderr, "fuzz: broken: %s: %s\n", sequence_now, too_long ? "not done in time" : "no process");
	else if (kill(-at_work, SIGKILL) == 0)
		fprintf(stderr, "fuzz: broken: %s: it left a process behind\n", sequence_now), too_long = 1;
	else if (status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == STATUS_BROKEN))
		fprintf(stderr, "fuzz: broken: %s: wait status %#x\n", sequence_now, (unsigned)status);
	remove_tree(FOLDER);
	let_collect();
	return at_work < 0 || too_long || status != 0;
}

/* Runs the sequence in a further process, whose memory goes with it: the process that counts pages does nothing
 * else. */
static int make_one(const struct sequence *s, uint64_t k, int ordinary)
{
	int status;

	at_work = fork();
	if (at_work == 0)
		_exit(watched(s, k, ordinary));
	if (at_work < 0)
		return fprintf(stderr, "fuzz: broken: %s: no process\n", sequence_now), 1;
	while (waitpid(at_work, &status, 0) < 0 && errno == EINTR)
		;
	at_work = 0;
	return status != 0;
}

static int pages_lost(struct pages *before)
{
	struct pages least = { before->free - cached_pages(), before->promised }, after = pages_settled(least);

	if (before->free < 0 || !pages_missing(least, after))
		return 0;
	fprintf(stderr, "fuzz: broken: %s: %ld pages were free before, %ld after it; %ld promised, %ld after it\n",
		sequence_now, before->free, after.free, before->promised, after.promised);
	*before = after;
	return 1;
}

static void nothing(void)
{
}

static const struct sequence *chosen(uint64_t k)
{
	for (unsigned i = 0; o.only && i < sequence_count; i++)
		if (strcmp(sequences[i].name, o.only) == 0)
			return &sequences[i];
	return &sequences[k % sequence_count];
}

int make_sequences(void)
{
	static const struct sequence empty = NAMED(nothing);
	static char now[128];
	unsigned long wrong = 0;
	struct pages before = pages_now();
	uint64_t k = o.from;

	signal(SIGALRM, end_it);
	sequence_now = now;
	if (o.on_trio)
		use_all_tasks();
	/* The pages that this process itself needs for a sequence are no loss. */
	make_one(&empty, 0, 0);
	pages_settled(before);
	before = pages_now();
	for (; k < o.from + o.sequences && !stopped; k++) {
		const struct sequence *s = chosen(k);
		int ordinary = o.root && (!o.on_trio || k / sequence_count % 2);

		snprintf(now, sizeof now, "seed %llu sequence %llu %s%s", (unsigned long long)o.seed,
			 (unsigned long long)k, s->name, ordinary ? " (ordinary user)" : "");
		if (o.log)
			fprintf(stderr, "fuzz: %s\n", now);
		wrong += (unsigned long)(make_one(s, k, ordinary) | pages_lost(&before));
	}
	printf("sequences %llu\nbroken %lu\n", (unsigned long long)(k - o.from), wrong);
	return wrong > 0;
}
