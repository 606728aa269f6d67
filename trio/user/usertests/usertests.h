/* usertests.h: what the tests of the system calls share. A test answers one question, in a process and an empty folder
 * of its own, within TIME_LIMIT seconds. The runner (main.c) kills what it leaves behind and removes the folder. Tests
 * want what Linux does: the suite passes on Linux first, as root and as an ordinary user. */
#ifndef USERTESTS_H
#define USERTESTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../common/common.h"

#define TIME_LIMIT 120 /* seconds for a test: what takes 9 on an idle host may take 40 on a busy one */
#define PAGE 4096L
#define OTHER_USER 65534 /* the user that root becomes where an ordinary one is needed */
#define MS 1000000L      /* ns */

/* Exit statuses of a test's process. With any other status the runner prints the failure. */
enum { PASSED = 0, SKIPPED = 97, FAILED = 99 };

/* A test that leaves orphans to the first process, which in a guest does not reap them: its pages are not counted. */
#define ORPHANS 1u

struct test {
	const char *name, *question;
	void (*run)(void);
	unsigned flags;
};

/* The linker gathers the pointers in the order of the files, then of each file. */
#define TEST_WITH(id, asked, more)                                                                        \
	static void test_##id(void);                                                                      \
	static const struct test about_##id = { #id, asked, test_##id, more };                            \
	static const struct test *const entry_##id __attribute__((used, section("tests"))) = &about_##id; \
	static void test_##id(void)
#define TEST(id, asked) TEST_WITH(id, asked, 0)

/* The call's result is not negative; returns it. */
#define OK(call) check_ok((long)(call), #call, __FILE__, __LINE__)
/* The call's result is this. */
#define IS(call, wanted) check_is((long)(call), (long)(wanted), #call, __FILE__, __LINE__)
/* The call fails with this errno. */
#define FAILS(call, wanted) check_fails((long)(call), wanted, #call, __FILE__, __LINE__)
#define TRUE(condition) check_true(!!(condition), #condition, __FILE__, __LINE__)
/* The call, which uses the variable `wild`, fails with EFAULT for each unusable pointer. */
#define FAULTS(call)                                                                    \
	do {                                                                            \
		for (int wild_number = 0; wild_number < WILD_POINTERS; wild_number++) { \
			void *wild = wild_pointer(wild_number);                         \
			check_fails((long)(call), EFAULT, #call, __FILE__, __LINE__);   \
		}                                                                       \
	} while (0)

/* A system call without libc; missing arguments are 0. */
#define RAW(number, ...) RAW_(number, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define RAW_(number, a, b, c, d, e, f, ...) \
	syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

extern const char *test_running; /* the name of the test */

long check_ok(long got, const char *call, const char *file, int line);
long check_is(long got, long wanted, const char *call, const char *file, int line);
void check_fails(long got, int wanted, const char *call, const char *file, int line);
void check_true(int holds, const char *condition, const char *file, int line);
/* Prints a sentence and ends the test as failed. In a child, the parent's reap() ends the test then. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void skip(const char *why) __attribute__((noreturn));

enum { WILD_POINTERS = 4 };
void *wild_pointer(int number);

pid_t fork_checked(void);
pid_t fork_paused(void); /* a child that waits for a signal; it leaves with 0 after a handler */
/* Waits for the process and returns its exit status, or 128 + the signal that ended it. A child that has failed ends
 * the test. */
int reap(pid_t);
/* Starts a child that runs a statement, at whose end it leaves with 0: its `pid`, assigned so that the loop is seen to
 * end. */
#define START_CHILD(pid) for ((pid) = fork_checked(); (pid) == 0; _exit((pid) = 0))
/* Runs a statement in a child, whose status as reap() returns it must be this; at the statement's end it is 0. */
#define IN_CHILD(status) for (pid_t child_ = fork_checked(); in_child(&child_, status, __FILE__, __LINE__);)
int in_child(pid_t *, int status, const char *file, int line);
void kill_and_reap(pid_t);
/* Executes this program quietly and without a test, so that it leaves with 2. */
void execute_self(void) __attribute__((noreturn));
/* Root becomes OTHER_USER for good; another user stays as it is. */
void become_ordinary(void);
int is_root(void);
void only_for_root(void); /* skips the test for others */

/* A mapping of a file's beginning, or of none (-1), which must be possible. */
char *mapped(size_t, int protection, int flags, int fd);
/* Zeroed whole pages, this process's own, or its children's too. A variable of that size would be promised to every
 * process of every test. */
char *room(size_t);
void *shared_room(size_t);
void make_file(const char *name, const char *text);           /* replaces it; mode 0644 */
int made_file(const char *name, const char *text, int flags); /* and opens it */
int file_is(const char *name, const char *text);
long file_size(const char *name);
struct stat status_of(const char *name); /* a symbolic link's own */
int is_same(const char *, const char *); /* whether both names, after symbolic links, are of one file */
void sleep_ms(long);
void work_ms(long); /* computes, mostly in user mode */
/* Calls the handler every `ms`, so that a wait is interrupted whenever it starts; 0 stops this. */
void tick(long ms, void (*handler)(int), int flags);
void handle(int signal, void (*handler)(int), int flags); /* sigaction with an empty mask */
void handle_info(int signal, void (*handler)(int, siginfo_t *, void *), int flags);
extern volatile int caught[65]; /* how often, by signal, these handlers ran */
extern siginfo_t last_info;     /* of catch_info() */
void catch (int signal);
void catch_info(int signal, siginfo_t *, void *context);
sigset_t set_of(int signal); /* 0: empty */
void block(int signal);      /* for this thread */
void unblock(int signal);
long read_all(int fd, char *to, size_t); /* until the end, or as much; the number of bytes */
void put(int fd);                        /* one byte */
void get(int fd);                        /* one byte, or the test fails */
void send_fd(int socket, int fd);        /* with a byte */
int take_fd(int socket);
/* Local sockets: a name, one that has it, and what connect returns. */
struct sockaddr_un address_of(const char *path);
int bound(int type, const char *path);
int connect_to(int fd, const char *path);
int is_pending(int signal);
int events_of(int fd, int events);    /* what poll reports at once */
int pages_there(char *at, int pages); /* how many mincore reports */
pthread_t start_thread(void *(*body)(void *), void *argument);

/* A system call without errno, which lies at FS. */
static inline long bare(long number, long a, long b, long c)
{
	register long fourth __asm__("r10") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
