/* calls.c: chooses the next call and its arguments. Three of four arguments have the kind that the call wants, so that
 * it passes its first checks; the others are anything. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Never another process, whatever its number. */
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
	case 'd':
		return DATA_FD;
	case 's':
		return path();
	case 'b':
	case 'v':
		return buffer();
	case 'V':
		return vector_in_arena();
	case 'h':
		return message_in_arena();
	case 'n':
		return length();
	case 'c':
		return count_around();
	case 'o':
		return below(4) ? below(100000) : length();
	case 'O':
		return below(ARENA_PAGES) * FUZZ_PAGE;
	case 'g':
		return below(66);
	case 'i':
		return below(8) ? below(12) : next();
	case 'x':
		return flags();
	case 'z':
		return 0;
	case 'p':
		return protection();
	case 'M':
		return mapping();
	case 'P':
		return process();
	case 't':
		return below(4) ? ARENA_AT : buffer();
	case 'S':
		return below(16) << 15 | below(8);
	case 'm':
		return ARENA_AT + below(ARENA_PAGES) * FUZZ_PAGE;
	default:
		return any();
	}
}

/* Calls that allocate, copy and wait: a third of all calls. */
static const short rich[] = {
	SYS_read,       SYS_write,     SYS_pread64,   SYS_pwrite64,   SYS_readv,  SYS_writev,   SYS_mmap,
	SYS_mmap,       SYS_mprotect,  SYS_mremap,    SYS_munmap,     SYS_sendto, SYS_recvfrom, SYS_sendmsg,
	SYS_recvmsg,    SYS_sendfile,  SYS_openat,    SYS_rename,     SYS_futex,  SYS_poll,     SYS_epoll_ctl,
	SYS_socketpair, SYS_fallocate, SYS_ftruncate, SYS_getdents64,
};

static long any_number(void)
{
	/* The kernel may log each unknown number, so only a few of the invalid ones are tried. */
	static const long beyond[] = {
		451, 511, 512, 1000, 1001, 1023, 1024, 0xffff, 0x40000027, 0x7fffffff, -1, -4096
	};

	switch (below(24)) {
	case 0:
		return 424 + (long)below(27);
	case 1:
		return below(4) ? 335 + (long)below(89) : beyond[below(sizeof beyond / sizeof beyond[0])];
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
		return rich[below(sizeof rich / sizeof rich[0])];
	default:
		return (long)below(335);
	}
}

static long number(int on_trio)
{
	long n;

	do {
		n = any_number();
		/* These end the process or take long, so they are rare. */
		if ((n == SYS_exit || n == SYS_exit_group || n == SYS_rt_sigreturn || n == SYS_rt_sigsuspend) &&
		    below(16))
			n = SYS_getpid;
	} while (is_excluded(n, on_trio));
	return n;
}

/* Limits the effects of a call to this process and this folder. */
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
		a[0] = below(8) ? 1 + below(2) : 77;
		break;
	case SYS_clone:
		/* Children send SIGCHLD, which is ignored, so they leave no zombies. */
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
	case SYS_semget:
		/* A few keys, and mostly with IPC_CREAT. */
		a[0] = below(64) ? 1 + below(6) : 0;
		a[1] = below(8) ? 1 + below(20) : a[1];
		a[2] |= below(8) ? 01666 : 0;
		break;
	default:
		break;
	}
}

void random_call(struct call *c, uint64_t seed, unsigned p, uint64_t k, int on_trio)
{
	const char *kind;
	int i = 0;

	random_from(seed * 0x2545f4914f6cdd1du + p);
	random_from(next() + k);
	c->number = number(on_trio);
	kind = kinds_of(c->number);
	for (; i < 6; i++)
		c->argument[i] = *kind ? argument(*kind++) : any();
	bound(c);
}
