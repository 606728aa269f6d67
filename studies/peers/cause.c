/* cause.c: operations as another suite does them, with the calls that strace shows there and ours lacks. If such a loop
 * takes as long as theirs, those calls explain the difference.
 *
 * usage: cause eventfd|fork|thread|sigsegv|pipe|memcpy|memset|store     (under taskset)
 *
 * It prints the ns of one operation, from a loop of tenths of a second. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define MIB ((size_t)1 << 20)
/* The bytes that it clears before each thread (by a debugger at memset), and how often it takes a lock to see whether
 * the thread has started, which on one CPU it never has. */
#define RECORDS 1440000
#define LOOKS 1000
/* Of stress-ng's forking process, by /proc/PID/maps and smaps_rollup: half of its mappings, KiB of its own. */
#define MAPPINGS 84
#define OWN_KIB 1200

static void check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static int one, two; /* eventfds */

static void look(int fd)
{
	char path[64], text[4096];
	int file;

	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)getpid(), fd);
	file = open(path, O_RDONLY);
	check(file >= 0 && read(file, text, sizeof text) > 0 && close(file) == 0, path);
}

static void eventfd_begin(void)
{
	uint64_t word;

	one = eventfd(0, 0);
	two = eventfd(0, 0);
	check(one >= 0 && two >= 0, "eventfd");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(one, &word, sizeof word) == sizeof word) {
			check(read(one, &word, sizeof word - 1) < 0, "a short read");
			check(write(two, &word, sizeof word) == sizeof word, "write");
		}
		_exit(1);
	}
}

static void eventfd_once(void)
{
	uint64_t word = 1;
	static int turn;

	look((turn ^= 1) ? one : two);
	check(write(one, &word, sizeof word) == sizeof word, "write");
	check(read(two, &word, sizeof word) == sizeof word, "read");
}

static void fork_begin(void)
{
	for (int i = 0; i < MAPPINGS; i++) {
		size_t bytes = (size_t)OWN_KIB * 1024 / MAPPINGS / PAGE * PAGE + PAGE;
		char *fresh = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		check(fresh != MAP_FAILED, "mmap");
		check(mprotect(fresh + bytes, PAGE, PROT_NONE) == 0, "mprotect"); /* keeps it apart from the next one */
		memset(fresh, 1, bytes);
	}
}

static void fork_once(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)!getpgid(getpid());
		(void)!setsid();
		syscall(SYS_vhangup);
		(void)!setpgid(0, 0);
		(void)!setpgid(getpid(), getppid());
		(void)!setpgid(0, -1);
		(void)!setpgid(-1, 0);
		syscall(SYS_sched_yield);
		prctl(PR_SET_NAME, "cause-fork");
		_exit(0);
	}
	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "fork");
}

static void nothing(int number)
{
	(void)number;
}

static char *records;
static pthread_spinlock_t spin;

static void thread_begin(void)
{
	check((records = malloc(RECORDS)) != NULL, "malloc");
	check(pthread_spin_init(&spin, PTHREAD_PROCESS_SHARED) == 0, "pthread_spin_init");
	signal(SIGUSR1, nothing);
}

static void some_process(void)
{
	char text[64];
	int file = open("/proc/sys/kernel/pid_max", O_RDONLY);

	check(file >= 0 && read(file, text, sizeof text - 1) > 0 && close(file) == 0, "pid_max");
	(void)!kill(1 << 22, 0);
	syscall(SYS_tkill, 1 << 22, 0);
}

static void *thread(void *unused)
{
	pid_t pid = getpid();
	long self = syscall(SYS_gettid), head, size;
	struct robust_list list = { &list };
	struct robust_list_head endless = { .list = { &list } }; /* as theirs: the kernel walks 2,048 entries */
	sigset_t set;

	sigemptyset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	prctl(PR_SET_NAME, "cause-thread");
	for (int i = 0; i < 2; i++)
		syscall(SYS_get_robust_list, -i, &head, &size);
	syscall(SYS_set_robust_list, &endless, sizeof endless);
	for (int i = 0; i < 4; i++)
		syscall(SYS_tgkill, pid, self, -i);
	for (int i = 0; i < 3; i++)
		some_process();
	for (int i = 0; i < 3; i++)
		syscall(SYS_tkill, self, -i);
	for (int i = 0; i < 2; i++)
		sigpending(&set);
	for (int i = 0; i < 4; i++)
		syscall(SYS_gettid);
	return unused;
}

static void thread_once(void)
{
	pthread_t id;
	sigset_t set;

	memset(records, 0, RECORDS);
	__asm__ volatile("" : : "r"(records) : "memory");
	sigemptyset(&set);
	sigpending(&set);
	check(pthread_create(&id, NULL, thread, NULL) == 0, "pthread_create");
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < LOOKS; i++) {
		pthread_spin_lock(&spin);
		pthread_spin_unlock(&spin);
	}
	sigpending(&set);
	pthread_sigqueue(id, SIGUSR1, (union sigval){ 0 });
	check(pthread_join(id, NULL) == 0, "pthread_join");
}

static sigjmp_buf before;
static char *volatile nowhere = (char *)((uintptr_t)1 << 63 | (uintptr_t)1 << 40); /* no canonical address */

static void leave(int number)
{
	(void)number;
	siglongjmp(before, 1);
}

static void sigsegv_once(void)
{
	static const int of[] = { SIGSEGV, SIGILL, SIGBUS };
	struct sigaction action = { .sa_handler = leave };

	for (int i = 0; i < 3; i++)
		check(sigaction(of[i], &action, NULL) == 0, "sigaction");
	if (sigsetjmp(before, 1) == 0)
		*nowhere = 1; // NOLINT(clang-analyzer-optin.core.FixedAddressDereference): the fault is wanted
}

#define MESSAGE 512
#define MESSAGES 200000

/* One process writes all messages, the other reads them: the time includes its start and every switch. */
static void pipe_once(void)
{
	char text[MESSAGE] = { 0 };
	int ends[2];

	check(pipe(ends) == 0, "pipe");
	if (fork() == 0) {
		for (int i = 0; i < MESSAGES; i++)
			check(write(ends[1], text, sizeof text) == sizeof text, "write");
		_exit(0);
	}
	for (int i = 0; i < MESSAGES; i++)
		check(read(ends[0], text, sizeof text) == sizeof text, "read");
	check(wait(NULL) > 0, "wait");
}

static char *from, *to;

static void memory_begin(void)
{
	from = malloc(MIB);
	to = malloc(MIB);
	check(from && to, "malloc");
	memset(from, 1, MIB);
	memset(to, 2, MIB);
}

static void memcpy_once(void)
{
	memcpy(to, from, MIB);
	__asm__ volatile("" : : "r"(to) : "memory");
}

static void memset_once(void)
{
	memset(to, 3, MIB);
	__asm__ volatile("" : : "r"(to) : "memory");
}

static void store_once(void)
{
	for (volatile uint64_t *word = (void *)to; word < (volatile uint64_t *)(void *)(to + MIB); word++)
		*word = 3;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*begin)(void), (*once)(void);
		int times;
	} known[] = {
		{ "eventfd", eventfd_begin, eventfd_once, 30000 }, { "fork", fork_begin, fork_once, 1000 },
		{ "thread", thread_begin, thread_once, 3000 },     { "sigsegv", NULL, sigsegv_once, 60000 },
		{ "memcpy", memory_begin, memcpy_once, 2000 },     { "memset", memory_begin, memset_once, 3000 },
		{ "store", memory_begin, store_once, 4096 },       { "pipe", NULL, pipe_once, 1 },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known && argc == 2; i++)
		if (strcmp(argv[1], known[i].name) == 0) {
			double start;

			if (known[i].begin)
				known[i].begin();
			start = now();
			for (int k = 0; k < known[i].times; k++)
				known[i].once();
			start = (now() - start) / known[i].times;
			printf("witness: %.2f ns\n", known[i].once == pipe_once ? start / MESSAGES : start);
			return 0;
		}
	fprintf(stderr, "usage: cause eventfd|fork|thread|sigsegv|pipe|memcpy|memset|store\n");
	return 2;
}
