/* calls.c: which call comes next, and with which arguments. Three of four arguments are of the kind that the call
 * wants, so that it gets beyond its first check; the others are anything. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const paths[] = { "a", "b",   "c",   "d",         "d/a",  "d/b",      "d/e", "d/e/a", "s", "p",
			      ".", "d/.", "a/x", "missing/x", "sock", "d/e/../b", "",    "d/",    NULL };
#define NPATHS 18

static uint64_t state;

static uint64_t next(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static unsigned long below(unsigned long n)
{
	return next() % n;
}

static unsigned long wild(void)
{
	static const unsigned long some[] = { 0,
					      1,
					      16,
					      0x400000,
					      0x7ffffffff000,
					      0x7fffffffffff,
					      0x800000000000,
					      0x8000000000000000,
					      0xffff7fffffffffff,
					      0xffff800000000000,
					      0xffff888000001000,
					      0xffffffff80000000,
					      0xffffffff81000000,
					      0xfffffffffffff000,
					      0xffffffffffffffff };

	return some[below(sizeof some / sizeof some[0])];
}

/* Inside the arena: anywhere, or so that little room is left before the page that nobody may touch. */
static unsigned long buffer(void)
{
	switch (below(8)) {
	case 0:
		return ARENA_AT + ARENA_PAGES * FUZZ_PAGE - below(64);
	case 1:
		return ARENA_AT + below(ARENA_PAGES) * FUZZ_PAGE + FUZZ_PAGE - below(16);
	case 2:
		return ARENA_AT + below(ARENA_PAGES * FUZZ_PAGE);
	case 3:
		return wild();
	default:
		return ARENA_AT + (below(ARENA_PAGES * FUZZ_PAGE) & ~15ul);
	}
}

static unsigned long length(void)
{
	static const unsigned long some[] = { 0,         1,         7,         8,         511,       4095,
					      4096,      4097,      8192,      65536,     1ul << 20, 1ul << 31,
					      1ul << 32, 1ul << 46, 1ul << 62, 1ul << 63, -1ul,      -4096ul };

	return below(2) ? below(300) : some[below(below(4) ? 11 : 18)];
}

static unsigned long flags(void)
{
	unsigned long bits = 0;

	for (unsigned long n = below(4); n > 0; n--)
		bits |= 1ul << below(below(8) ? 21 : 64);
	return bits;
}

static unsigned long any(void)
{
	switch (below(6)) {
	case 0:
		return below(16);
	case 1:
		return buffer();
	case 2:
		return length();
	case 3:
		return flags();
	case 4:
		return wild();
	default:
		return next();
	}
}

/* No other process, whatever its number. */
static unsigned long process(void)
{
	static const unsigned long some[] = { 0, 0x7ffffff, -0x7fffffful };

	return some[below(3)];
}

static unsigned long argument(char kind)
{
	if (kind != 'P' && kind != 'g' && below(4) == 0)
		return any();
	switch (kind) {
	case 'f':
		return below(16) ? below(24) : (unsigned long)AT_FDCWD;
	case 's':
		return (unsigned long)paths[below(NPATHS)];
	case 'b':
	case 'v':
		return buffer();
	case 'n':
		return length();
	case 'o':
		return below(4) ? below(100000) : length();
	case 'g':
		return below(66);
	case 'i':
		return below(8) ? below(12) : next();
	case 'x':
		return flags();
	case 'P':
		return process();
	case 't':
		return below(4) ? ARENA_AT : buffer();
	case 'm':
		return ARENA_AT + below(ARENA_PAGES) * FUZZ_PAGE;
	default:
		return any();
	}
}

static long number(int on_trio)
{
	/* Each unknown number may be a line of the kernel's log: a few of the wild ones do. */
	static const long beyond[] = {
		451, 511, 512, 1000, 1001, 1023, 1024, 0xffff, 0x40000027, 0x7fffffff, -1, -4096
	};
	long n;

	do {
		unsigned long kind = below(16);

		if (kind == 0)
			n = 424 + (long)below(27);
		else if (kind == 1)
			n = below(4) ? 335 + (long)below(89) : beyond[below(sizeof beyond / sizeof beyond[0])];
		else
			n = (long)below(335);
		/* These end the process, or cost it a while: seldom. */
		if ((n == SYS_exit || n == SYS_exit_group || n == SYS_rt_sigreturn || n == SYS_rt_sigsuspend) &&
		    below(16))
			n = SYS_getpid;
	} while (is_excluded(n, on_trio));
	return n;
}

/* Keeps what a call does to this process and this folder. */
static void bound(struct call *c)
{
	unsigned long *a = c->argument;

	switch (c->number) {
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
	case SYS_prlimit64:
		a[0] = process();
		a[1] = c->number == SYS_tgkill ? process() : a[1];
		break;
	case SYS_setpriority:
	case SYS_ioprio_get:
		a[0] = 0;
		a[1] = 0;
		break;
	case SYS_sched_setaffinity:
		a[0] = 0;
		break;
	case SYS_socket:
	case SYS_socketpair:
		a[0] = below(8) ? 1 : 77;
		break;
	case SYS_clone:
		/* Children send SIGCHLD, which is ignored: they leave no zombie. */
		a[0] = (a[0] & ~0xfful) | SIGCHLD;
		break;
	case 436: /* close_range: not the log */
		a[1] = below(48);
		break;
	case SYS_rt_sigaction:
		if (a[0] == SIGALRM || a[0] == SIGCHLD)
			a[0] = SIGUSR1;
		break;
	case SYS_setitimer:
	case SYS_alarm:
		if (c->number == SYS_alarm || a[0] == 0)
			a[0] = 1;
		break;
	default:
		break;
	}
}

/* Words of every kind, so that vectors and structures that calls find there lead on. */
void fill_arena(uint64_t seed)
{
	unsigned long *at = (unsigned long *)ARENA_AT;

	state = seed;
	for (unsigned long i = 0; i < ARENA_PAGES * FUZZ_PAGE / sizeof *at; i += 1 + below(3))
		at[i] = below(3) ? below(8) : below(2) ? buffer() : argument('s');
	/* A short time, where most calls that take a time find it. */
	at[0] = 0;
	at[1] = below(2000000);
	at[2] = 0;
	at[3] = below(2000);
}

void random_call(struct call *c, uint64_t seed, unsigned p, uint64_t k, int on_trio)
{
	const char *kind;
	int i = 0;

	state = seed * 0x2545f4914f6cdd1du + p;
	state = next() + k;
	c->number = number(on_trio);
	kind = kinds_of(c->number);
	for (; i < 6; i++)
		c->argument[i] = *kind ? argument(*kind++) : any();
	bound(c);
}
