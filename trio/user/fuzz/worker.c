/* worker.c: a process that makes the calls. A call may take away its memory, its descriptors or its thread pointer, so
 * it sets up what it needs every RENEW calls and uses no libc in between. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define RENEW 32
#define FURNISH 512    /* calls after which its descriptors are set up again */
#define TICK_US 4000   /* the longest wait in a call */
#define DESCRIPTORS 48 /* fewer than the log's number */

/* Returns the kernel's answer. A process or thread that the call has made leaves at once without touching memory, since
 * it may have none, or its maker's. */
long raw_call(const struct call *);
__asm__(".globl raw_call\n"
	"raw_call:\n"
	"	push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
	"	mov %rdi, %rbx\n"
	"	mov (%rbx), %rax\n mov 8(%rbx), %rdi\n mov 16(%rbx), %rsi\n mov 24(%rbx), %rdx\n"
	"	mov 32(%rbx), %r10\n mov 40(%rbx), %r8\n mov 48(%rbx), %r9\n"
	"	mov %rax, %r15\n"
	"	syscall\n"
	"	test %rax, %rax\n jnz 1f\n"
	"	cmp $56, %r15\n je 2f\n cmp $57, %r15\n je 2f\n cmp $58, %r15\n je 2f\n cmp $435, %r15\n je 2f\n"
	"1:	pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
	"	cld\n ret\n"
	"2:	mov $60, %eax\n xor %edi, %edi\n syscall\n hlt\n");

static const unsigned short pairs[] = { SOCK_STREAM | SOCK_NONBLOCK, SOCK_SEQPACKET | SOCK_NONBLOCK,
					SOCK_DGRAM | SOCK_NONBLOCK, SOCK_DGRAM };

struct raw_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

/* SA_RESTORER needs a restorer. */
void restore(void);
__asm__("restore: mov $15, %eax\n syscall\n");

static void wake(int signal)
{
	(void)signal;
}

static long do_call(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e,
		    unsigned long f)
{
	struct call call = { number, { a, b, c, d, e, f } };

	return raw_call(&call);
}

/* Maps the arena between two pages without rights, and sets the timer that ends waits and the signals. */
static void renew(uint64_t seed)
{
	struct raw_action action = { wake, 0x04000000, restore, 0 }, ignore = { SIG_IGN, 0x04000000, restore, 0 };
	struct itimerval every = { { 0, TICK_US }, { 0, TICK_US } };
	unsigned long none = 0;

	do_call(SYS_mmap, ARENA_AT - FUZZ_PAGE, (ARENA_PAGES + 2) * FUZZ_PAGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1ul, 0);
	do_call(SYS_mmap, ARENA_AT, ARENA_PAGES * FUZZ_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1ul, 0);
	fill_arena(seed);
	do_call(SYS_rt_sigaction, SIGALRM, (unsigned long)&action, 0, 8, 0, 0);
	do_call(SYS_rt_sigaction, SIGCHLD, (unsigned long)&ignore, 0, 8, 0, 0);
	do_call(SYS_rt_sigaction, SIGPIPE, (unsigned long)&ignore, 0, 8, 0, 0);
	do_call(SYS_rt_sigaction, SIGXFSZ, (unsigned long)&ignore, 0, 8, 0, 0);
	do_call(SYS_rt_sigprocmask, SIG_SETMASK, (unsigned long)&none, 0, 8, 0, 0);
	do_call(SYS_setitimer, ITIMER_REAL, (unsigned long)&every, 0, 0, 0, 0);
}

/* Opens something of each kind at the lowest descriptors; DATA_FD is the first. */
static void furnish(void)
{
	unsigned long ends = ARENA_AT + 6 * FUZZ_PAGE;

	do_call(436 /* close_range */, DATA_FD, DESCRIPTORS, 0, 0, 0, 0);
	do_call(SYS_open, (unsigned long)"a", O_RDWR | O_CREAT | O_NONBLOCK, 0666, 0, 0, 0);
	do_call(SYS_pwrite64, DATA_FD, ARENA_AT, ARENA_PAGES * FUZZ_PAGE, 0, 0, 0);
	do_call(SYS_open, (unsigned long)".", O_RDONLY, 0, 0, 0, 0);
	do_call(SYS_pipe2, ends, O_NONBLOCK, 0, 0, 0, 0);
	do_call(SYS_pipe2, ends, 0, 0, 0, 0, 0);
	do_call(SYS_eventfd2, 1, O_NONBLOCK, 0, 0, 0, 0);
	do_call(SYS_epoll_create1, 0, 0, 0, 0, 0, 0);
	for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		do_call(SYS_socketpair, AF_UNIX, pairs[i], 0, ends, 0, 0);
	do_call(SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, 0, 0, 0);
	do_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0, 0, 0, 0);
}

static void limit(int what, unsigned long most)
{
	struct rlimit r = { most, most };

	setrlimit(what, &r);
}

static void begin(const struct work *w)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	limit(RLIMIT_FSIZE, 1 << 20);
	limit(RLIMIT_AS, 256ul << 20);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, DESCRIPTORS);
	limit(RLIMIT_NPROC, 256);
	if (w->ordinary) {
		syscall(SYS_setgroups, 0, NULL);
		if (setresgid(ORDINARY, ORDINARY, ORDINARY) < 0 || setresuid(ORDINARY, ORDINARY, ORDINARY) < 0)
			_exit(124);
	}
	mkdir("d", 0777);
	mkdir("d/e", 0777);
	mkfifo("p", 0666);
}

static void tell(const struct work *w, uint64_t k, const struct call *c)
{
	char line[256];
	int n = snprintf(line, sizeof line, "process %u call %llu: %ld(%lx, %lx, %lx, %lx, %lx, %lx)\n", w->process,
			 (unsigned long long)k, c->number, c->argument[0], c->argument[1], c->argument[2],
			 c->argument[3], c->argument[4], c->argument[5]);

	do_call(SYS_write, (unsigned long)w->log, (unsigned long)line, (unsigned long)n, 0, 0, 0);
}

void work(const struct work *w)
{
	struct progress *progress = w->progress;
	struct call call;

	begin(w);
	for (uint64_t k = w->from; k < w->to; k++) {
		long got;

		if (k == w->from || k % RENEW == 0)
			renew(w->seed ^ (k - k % RENEW));
		if (k == w->from || k % FURNISH == 0)
			furnish();
		random_call(&call, w->seed, w->process, k, w->on_trio);
		if (w->log >= 0)
			tell(w, k, &call);
		progress->next = k + 1;
		got = raw_call(&call);
		progress->errors[got >= 0 ? 0 : got > -ERRORS + 1 ? -got : ERRORS - 1]++;
	}
	do_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	__builtin_trap();
}
