/* hostile.c: what a program can do against its kernel on purpose: instructions that are not its own, addresses that
 * the processor refuses, damaged programs, and as much of everything as there is. Each kind is a name; without one,
 * all. Prints a line a kind; status 1: something was allowed, who took too much was ended and not refused, or pages are
 * not free or still promised afterwards. Trio alone tells those. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define KERNEL_ADDRESS 0xffffffff80100000ul
#define DIRECT_ADDRESS 0xffff800000100000ul
#define NOT_CANONICAL 0x800000000000ul
#define MOST 4096
/* Pages that the kernel's services may keep at one time and not at another: one for each of seven sizes. */
#define KEPT 7

static long counter(const char *name)
{
	static char text[65536];
	int fd = open("/proc/trio/counters", O_RDONLY);
	const char *at;

	memset(text, 0, sizeof text);
	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof text - 1) < 0)
		return -1;
	close(fd);
	at = strstr(text, name);
	return at ? atol(at + strlen(name)) : -1;
}

/* The signal that ends a child which does `what`; 0: it left; -1: there was no child, or it left with an error. */
static int fate(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		what();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) == 0 ? 0 : -1;
}

static uint8_t table[16];

static void read_gdt(void)
{
	__asm__ volatile("sgdt %0" : "=m"(table));
}

static void read_idt(void)
{
	__asm__ volatile("sidt %0" : "=m"(table));
}

static void stop_interrupts(void)
{
	__asm__ volatile("cli");
}

static void use_port(void)
{
	__asm__ volatile("outb %%al, %%dx" : : "a"(0), "d"(0x60));
}

static void read_register(void)
{
	__asm__ volatile("rdmsr" : : "c"(0xc0000080) : "eax", "edx");
}

static void run_stack(void)
{
	uint8_t code[16] = { 0xc3 };
	void (*volatile call)(void) = (void (*)(void))code;

	call();
}

static void run_data(void)
{
	void (*volatile call)(void) = (void (*)(void))table;

	call();
}

static void read_kernel(void)
{
	(void)*(volatile uint64_t *)KERNEL_ADDRESS;
}

static void write_direct(void)
{
	*(volatile uint64_t *)DIRECT_ADDRESS = 1;
}

static void jump_to_kernel(void)
{
	((void (*)(void))KERNEL_ADDRESS)();
}

static void jump_nowhere(void)
{
	((void (*)(void))NOT_CANONICAL)();
}

static void stack_nowhere(void)
{
	__asm__ volatile("movq %0, %%rsp\n\tmovl $39, %%eax\n\tsyscall\n\tpush %%rax"
			 :
			 : "r"(NOT_CANONICAL)
			 : "memory");
}

static void handler_nowhere(void)
{
	signal(SIGUSR1, (void (*)(int))NOT_CANONICAL);
	raise(SIGUSR1);
}

static void handler_in_kernel(void)
{
	signal(SIGUSR1, (void (*)(int))KERNEL_ADDRESS);
	raise(SIGUSR1);
}

static uint64_t wild_rip, wild_flags, wild_state;

static void spoil(int signal, siginfo_t *i, void *context)
{
	ucontext_t *c = context;

	(void)signal;
	(void)i;
	if (wild_rip)
		c->uc_mcontext.gregs[REG_RIP] = (greg_t)wild_rip;
	if (wild_flags)
		c->uc_mcontext.gregs[REG_EFL] = (greg_t)wild_flags;
	if (wild_state)
		memset(c->uc_mcontext.fpregs, 0xff, 512);
	/* Other segments are not taken over. */
	c->uc_mcontext.gregs[REG_CSGSFS] = 0x10;
}

static void return_wild(void)
{
	struct sigaction action = { .sa_sigaction = spoil, .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void return_nowhere(void)
{
	wild_rip = NOT_CANONICAL;
	return_wild();
}

static void return_to_kernel(void)
{
	wild_rip = KERNEL_ADDRESS;
	return_wild();
}

static void return_with_rights(void)
{
	/* All but trap and alignment check: the port privilege, virtual mode, nested task. */
	wild_flags = ~0x40100ul;
	return_wild();
	__asm__ volatile("cli");
}

static void return_with_state(void)
{
	wild_state = 1;
	return_wild();
}

static void thread_pointer(void)
{
	syscall(SYS_arch_prctl, 0x1002, NOT_CANONICAL);
	syscall(SYS_arch_prctl, 0x1001, 0xffff000000000000ul);
}

static const struct {
	const char *name;
	void (*what)(void);
	int signal;
} forbidden[] = {
	{ "sgdt", read_gdt, SIGSEGV },
	{ "sidt", read_idt, SIGSEGV },
	{ "cli", stop_interrupts, SIGSEGV },
	{ "out", use_port, SIGSEGV },
	{ "rdmsr", read_register, SIGSEGV },
	{ "stack", run_stack, SIGSEGV },
	{ "data", run_data, SIGSEGV },
	{ "read", read_kernel, SIGSEGV },
	{ "write", write_direct, SIGSEGV },
	{ "jump", jump_to_kernel, SIGSEGV },
	{ "jump-nowhere", jump_nowhere, SIGSEGV },
	{ "stack-nowhere", stack_nowhere, -1 },
	{ "handler-nowhere", handler_nowhere, SIGSEGV },
	{ "handler-kernel", handler_in_kernel, SIGSEGV },
	{ "return-nowhere", return_nowhere, SIGSEGV },
	{ "return-kernel", return_to_kernel, SIGSEGV },
	{ "return-rights", return_with_rights, SIGSEGV },
	{ "return-state", return_with_state, 0 },
	{ "thread-pointer", thread_pointer, 0 },
};

static int all_forbidden(void)
{
	int wrong = 0;

	for (unsigned i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
		int got = fate(forbidden[i].what);

		/* -1: some signal. */
		if (forbidden[i].signal < 0 ? got > 0 : got == forbidden[i].signal)
			continue;
		printf("%s: signal %d\n", forbidden[i].name, got);
		wrong = 1;
	}
	return wrong;
}

/* This program with some bytes of its headers changed, many times: it may run, or not, and nothing else. */
static int damaged_programs(void)
{
	static uint8_t program[1 << 20];
	int from = open("/proc/self/exe", O_RDONLY);
	ssize_t size = read(from, program, sizeof program);
	uint64_t state = 1;

	close(from);
	if (size < 1024)
		return 1;
	for (int round = 0; round < 150; round++) {
		uint8_t spoilt[1024];
		int fd = open("/tmp/spoilt", O_WRONLY | O_CREAT | O_TRUNC, 0755), status;
		pid_t pid;

		memcpy(spoilt, program, sizeof spoilt);
		for (int n = 1 + round % 4; n > 0; n--) {
			static const uint8_t some[] = { 0, 1, 0x7f, 0x80, 0xff };

			state = state * 6364136223846793005u + 1442695040888963407u;
			spoilt[(state >> 33) % (round % 2 ? 64 : 456)] = some[(state >> 20) % sizeof some];
		}
		if (write(fd, spoilt, sizeof spoilt) < 0 || write(fd, program + 1024, (size_t)size - 1024) < 0)
			return 1;
		close(fd);
		pid = fork();
		if (pid == 0) {
			struct rlimit limit = { 2, 2 };

			setrlimit(RLIMIT_CPU, &limit);
			alarm(2);
			execl("/tmp/spoilt", "spoilt", "nothing", NULL);
			_exit(99);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return 1;
	}
	unlink("/tmp/spoilt");
	return 0;
}

static int many_processes(void)
{
	static pid_t pids[MOST];
	int n = 0, why;

	while (n < MOST && (pids[n] = fork()) >= 0)
		if (pids[n++] == 0)
			for (;;)
				pause();
	why = errno;
	for (int i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
	return n == MOST || (why != EAGAIN && why != ENOMEM);
}

static void *wait_long(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void take_threads(void)
{
	static pthread_t threads[MOST];
	pthread_attr_t small;
	int n = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	while (n < MOST && pthread_create(&threads[n], &small, wait_long, NULL) == 0)
		n++;
	_exit(n == MOST);
}

static void take_descriptors(void)
{
	struct rlimit limit = { 65536, 65536 };
	int ends[2], n = 0;
	char buffer[4096] = { 0 };

	setrlimit(RLIMIT_NOFILE, &limit);
	while (pipe2(ends, O_NONBLOCK) == 0 && n++ < 100000)
		while (write(ends[1], buffer, sizeof buffer) > 0)
			continue;
	_exit(errno != EMFILE && errno != ENFILE && errno != ENOMEM);
}

static void send_descriptors(void)
{
	int ends[2];

	/* Each socket goes into the next one's queue, and is then closed here. */
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) < 0)
		_exit(1);
	for (int i = 0; i < 20000; i++) {
		union {
			struct cmsghdr header;
			char bytes[CMSG_SPACE(2 * sizeof(int))];
		} control = { .header = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
		struct iovec byte = { "x", 1 };
		struct msghdr m = { .msg_iov = &byte,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = sizeof control.bytes };
		int next[2];

		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, next) < 0)
			break;
		memcpy(CMSG_DATA(&control.header), ends, sizeof ends);
		if (sendmsg(next[0], &m, 0) < 0)
			break;
		close(ends[0]);
		close(ends[1]);
		memcpy(ends, next, sizeof ends);
	}
	_exit(0);
}

/* What is mapped is there. Before it is touched, others want their part too. */
static void take_all(int flags)
{
	static struct {
		char *at;
		size_t size;
	} got[MOST];
	int n = 0;

	for (size_t size = 1ul << 40; size >= 4096; size /= 2)
		while (n < MOST && (got[n].at = mmap(NULL, size, PROT_READ | PROT_WRITE,
						     flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) != MAP_FAILED)
			got[n++].size = size;
	if (errno != ENOMEM || fork() >= 0 || errno != ENOMEM)
		_exit(1);
	for (int i = 0; i < n; i++)
		for (size_t at = 0; at < got[i].size; at += 4096)
			got[i].at[at] = 1;
	_exit(0);
}

static void take_memory(void)
{
	take_all(MAP_PRIVATE);
}

static void take_shared_memory(void)
{
	take_all(MAP_SHARED);
}

/* Each child wants as much as its parent has, and has it if it is there at all. */
static void take_by_forks(void)
{
	size_t size = 1 << 20;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int children = 0, wrong = 0, status, ends[2];
	pid_t pid;

	memset(at, 1, size);
	if (pipe(ends) < 0)
		_exit(1);
	while ((pid = fork()) > 0)
		children++;
	if (pid == 0) {
		close(ends[1]);
		if (read(ends[0], &status, 1) < 0)
			_exit(1);
		for (size_t i = 0; i < size; i += 4096)
			at[i] = 2;
		/* Not before all have theirs. */
		sleep(1);
		_exit(0);
	}
	wrong = errno != ENOMEM && errno != EAGAIN;
	close(ends[1]);
	close(ends[0]);
	while (wait(&status) > 0) {
		children--;
		wrong |= status != 0;
	}
	_exit(wrong || children != 0);
}

static void take_break(void)
{
	for (size_t size = 1ul << 30; size >= 4096; size /= 2) {
		char *at;

		while ((at = sbrk((intptr_t)size)) != (void *)-1)
			memset(at, 1, size);
	}
	_exit(errno != ENOMEM);
}

static void take_mappings(void)
{
	for (int i = 0; i < 70000; i++)
		if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			_exit(errno != ENOMEM);
	_exit(1);
}

static void recurse(int signal)
{
	raise(signal);
}

static void recurse_without_end(void)
{
	struct sigaction action = { .sa_handler = recurse, .sa_flags = SA_NODEFER };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static int fill_files(void)
{
	static char block[65536];
	int fd = open("/tmp/full", O_WRONLY | O_CREAT, 0600), why;
	char name[64];
	int n = 0;

	while (write(fd, block, sizeof block) > 0)
		continue;
	why = errno;
	for (; n < 200000; n++) {
		snprintf(name, sizeof name, "/tmp/many-%d", n);
		if (mkdir(name, 0700) < 0)
			break;
	}
	while (n-- > 0) {
		snprintf(name, sizeof name, "/tmp/many-%d", n);
		rmdir(name);
	}
	close(fd);
	unlink("/tmp/full");
	return why != ENOSPC && why != ENOMEM;
}

/* A child that takes what there is is told that there is no more, and ends by itself. */
#define TAKES(name, what)               \
	static int name(void)           \
	{                               \
		return fate(what) != 0; \
	}
TAKES(threads, take_threads)
TAKES(descriptors, take_descriptors)
TAKES(rights, send_descriptors)
TAKES(memory, take_memory)
TAKES(shared_memory, take_shared_memory)
TAKES(mappings, take_mappings)
TAKES(forks, take_by_forks)
TAKES(program_break, take_break)

static int recursion(void)
{
	return fate(recurse_without_end) != SIGSEGV;
}

static const struct {
	const char *name;
	int (*run)(void);
} kinds[] = {
	{ "forbidden", all_forbidden }, { "programs", damaged_programs }, { "processes", many_processes },
	{ "threads", threads },         { "descriptors", descriptors },   { "rights", rights },
	{ "memory", memory },           { "shared", shared_memory },      { "mappings", mappings },
	{ "recursion", recursion },     { "files", fill_files },          { "forks", forks },
	{ "break", program_break },
};

/* In a process of its own: what it has taken goes with it. */
static int apart(unsigned kind)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(kinds[kind].run());
	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

/* Twice: tables that the kernel keeps and services' spare pages are there after the first time. */
static int run(unsigned kind)
{
	struct timespec pause = { 0, 20000000 };
	int wrong = apart(kind);
	long before, after = 0, promised = counter("promised_pages "), still;

	nanosleep(&pause, NULL);
	before = counter("free_pages ");
	wrong |= apart(kind);
	for (int i = 0; i < 50 && (after = counter("free_pages ")) < before; i++)
		nanosleep(&pause, NULL);
	still = counter("promised_pages ");
	wrong |= after + KEPT < before || still != promised;
	printf("%s %s: free pages %ld, then %ld, promised %ld, then %ld\n", wrong ? "FAIL" : "ok", kinds[kind].name,
	       before, after, promised, still);
	return wrong;
}

int main(int argc, char **argv)
{
	int wrong = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (argc < 2 || strcmp(argv[1], kinds[i].name) == 0)
			wrong |= run(i);
	return wrong;
}
