/* stalled.c: `stalled FILE` maps a file whose disk the test lets stall once this has said "ready" on the console, and
 * got a line; then it asks what a signal does to calls that wait for one of the file's pages. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define PAGES 64UL
/* Until the other is sure to wait. */
#define A_WHILE 300000

static void note(int signal)
{
	(void)signal;
}

static pid_t child(void (*act)(char *), char *at)
{
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGUSR1, note);
		act(at);
	}
	return pid;
}

static void touch(char *at)
{
	_exit(*(volatile char *)at);
}

static void ask_which_are_there(char *at)
{
	/* The answer goes to the page that is not there. */
	mincore(at, PAGE, (unsigned char *)at);
	_exit(1);
}

static void lock(char *at)
{
	_exit(mlock(at, PAGE) == 0 ? 0 : errno);
}

static int ended(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
	char *file = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	pid_t first, second, third;

	if (file == MAP_FAILED)
		return 1;
	puts("ready");
	getchar();
	/* What the disk reads before it stalls. */
	first = child(touch, file);
	usleep(A_WHILE);
	second = child(ask_which_are_there, file + 20 * PAGE);
	third = child(lock, file + 40 * PAGE);
	usleep(A_WHILE);
	kill(third, SIGUSR1);
	kill(second, SIGKILL);
	printf("killed %d\n", ended(second));
	printf("locked %d\n", ended(third));
	printf("touched %d\n", ended(first));
	return 0;
}
