/* shares.c: work that Trio does by shares, between which others run: is it complete, whatever they do meanwhile? */
#include "usertests.h"

/* More pages than a share has. */
#define PAGES 3000L
#define LENGTH (PAGES * PAGE)

static void mark(char *p, char with)
{
	for (long i = 0; i < PAGES; i++)
		p[i * PAGE] = (char)(with + i);
}

static int is_marked(const char *p, char with)
{
	for (long i = 0; i < PAGES; i++)
		if (p[i * PAGE] != (char)(with + i))
			return 0;
	return 1;
}

TEST(share_exec, "Does execve come to an end with more descriptors and pages to drop than a share has?")
{
	IN_CHILD (0) {
		mark(room(LENGTH), 1);
		for (int i = 0; i < 400; i++)
			OK(open("/dev/null", O_RDWR | O_CLOEXEC));
		OK(dup2((int)OK(open("/dev/null", O_RDWR)), 1));
		execl("/proc/self/exe", "usertests", "-l", NULL);
		_exit(9);
	}
}

TEST(share_remap, "Is a mapping that mremap leaves as long as it is whole, and unmapped with much else?")
{
	char *p = room(LENGTH);

	mark(p, 5);
	for (long i = 1; i < 100; i++)
		TRUE(mremap(p + i * PAGE, PAGE, PAGE, 0) == p + i * PAGE);
	TRUE(is_marked(p, 5));
	OK(munmap(p + PAGE, LENGTH - PAGE));
	OK(munmap(p, PAGE));
}

TEST(share_fork, "Does a child have all pages as they were, while its parent goes on to write?")
{
	char *p = room(LENGTH);

	mark(p, 3);
	for (int round = 0; round < 5; round++) {
		pid_t pid;

		START_CHILD (pid)
			_exit(is_marked(p, (char)(3 + round)) ? 0 : 1);
		mark(p, (char)(4 + round));
		IS(reap(pid), 0);
		TRUE(is_marked(p, (char)(4 + round)));
	}
	OK(munmap(p, LENGTH));
}

static volatile int over;

/* Maps and unmaps much memory, over and over. */
static void *unmaps(void *unused)
{
	while (!over) {
		char *p = room(LENGTH);

		mark(p, 1);
		OK(mprotect(p, LENGTH, PROT_READ));
		OK(munmap(p, LENGTH));
	}
	return unused;
}

/* What another thread maps meanwhile is its own. */
TEST(share_threads, "Does a thread keep what it maps while others unmap, protect and fork?")
{
	pthread_t thread = start_thread(unmaps, NULL);
	long end = now_ms() + 1000;

	for (unsigned round = 0; now_ms() < end; round++) {
		char *mine = room(16 * PAGE);
		pid_t pid;

		memset(mine, (int)round, 16 * PAGE);
		pid = round % 4 == 0 ? fork_checked() : -1;
		if (pid == 0)
			_exit(mine[15 * PAGE] == (char)round ? 0 : 1);
		if (pid > 0)
			IS(reap(pid), 0);
		for (int i = 0; i < 16; i++)
			IS(mine[i * PAGE], (char)round);
		OK(munmap(mine, 16 * PAGE));
	}
	over = 1;
	IS(pthread_join(thread, NULL), 0);
}

TEST(share_kill, "Does SIGKILL end a process in the middle of much work, and come all pages back?")
{
	for (int round = 0; round < 8; round++) {
		pid_t pid = fork_checked();

		if (pid == 0)
			for (;;) {
				char *p = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
				pid_t child = round % 2 ? fork() : -1;

				if (child == 0)
					_exit(0);
				if (child > 0)
					waitpid(child, NULL, 0);
				munmap(p, LENGTH);
			}
		usleep(20000 + 3000 * (unsigned)round);
		kill_and_reap(pid);
	}
}

TEST(share_alarm, "Does a signal end a long read of /dev/zero with what is done, and not a file's?")
{
	struct itimerval soon = { .it_value = { .tv_usec = 1000 } };
	int zero = (int)OK(open("/dev/zero", O_RDONLY)), file = (int)OK(open("whole", O_RDWR | O_CREAT, 0600));
	char *p = room(LENGTH);
	long n;

	handle(SIGALRM, catch, 0);
	OK(setitimer(ITIMER_REAL, &soon, NULL));
	n = read(zero, p, LENGTH);
	TRUE(n > 0 && n <= LENGTH);
	mark(p, 7);
	OK(setitimer(ITIMER_REAL, &soon, NULL));
	IS(write(file, p, LENGTH), LENGTH);
	memset(p, 0, LENGTH);
	OK(setitimer(ITIMER_REAL, &soon, NULL));
	IS(pread(file, p, LENGTH, 0), LENGTH);
	TRUE(is_marked(p, 7));
	OK(ftruncate(file, LENGTH / 2 + 1));
	OK(ftruncate(file, LENGTH));
	IS(pread(file, p, LENGTH, 0), LENGTH);
	IS(p[LENGTH / 2 - PAGE], (char)(7 + PAGES / 2 - 1));
	for (long i = LENGTH / 2 + 1; i < LENGTH; i++)
		IS(p[i], 0);
	OK(unlink("whole"));
	OK(close(file));
	OK(close(zero));
	OK(munmap(p, LENGTH));
}

TEST(share_append, "Are long writes at a file's end whole, and do they move its position once?")
{
	int file = (int)OK(open("end", O_RDWR | O_CREAT | O_APPEND, 0600));
	char *p = room(LENGTH);

	mark(p, 9);
	IS(write(file, "first", 5), 5);
	IS(write(file, p, LENGTH), LENGTH);
	IS(lseek(file, 0, SEEK_CUR), 5 + LENGTH);
	IS(pread(file, p, LENGTH, 5), LENGTH);
	TRUE(is_marked(p, 9));
	OK(lseek(file, 0, SEEK_SET));
	IS(read(file, p, LENGTH), LENGTH);
	IS(lseek(file, 0, SEEK_CUR), LENGTH);
	OK(unlink("end"));
	OK(close(file));
	OK(munmap(p, LENGTH));
}
