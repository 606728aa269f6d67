/* hostile_takes.c: as much of everything as there is. Who takes it is told that there is no more. */
#include "hostile.h"

#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define MOST 4096

int many_processes(void)
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

int fill_files(void)
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

/* This program with more zeros than there is memory: who would execute it goes on, and is told. */
static void execute_too_large(void)
{
	int from = open("/proc/self/exe", O_RDONLY), to = open("/tmp/large", O_WRONLY | O_CREAT | O_TRUNC, 0755);
	off_t size = from < 0 ? 0 : lseek(from, 0, SEEK_END);
	const Elf64_Ehdr *head;
	Elf64_Phdr *segments;
	char *program;

	if (size <= 0)
		_exit(1);
	program = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, from, 0);
	if (program == MAP_FAILED)
		_exit(1);
	head = (const Elf64_Ehdr *)program;
	segments = (Elf64_Phdr *)(program + head->e_phoff);
	for (int i = 0; i < head->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_W)
			segments[i].p_memsz = 1ul << 33;
	if (write(to, program, (size_t)size) != size || close(to) < 0)
		_exit(1);
	for (int i = 0; i < 10; i++)
		if (execl("/tmp/large", "large", NULL) == 0 || errno != ENOMEM)
			_exit(1);
	if (unlink("/tmp/large") < 0)
		_exit(1);
	execl("/bin/true", "true", NULL);
	_exit(1);
}

/* A child that takes what there is is told that there is no more, and ends by itself. */
#define TAKES(name, what)               \
	int name(void)                  \
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
TAKES(execution, execute_too_large)

int recursion(void)
{
	return fate(recurse_without_end) != SIGSEGV;
}
