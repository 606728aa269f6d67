/* marked.c: runs a command inside a timed region, in which the emulator's plugin counts every instruction. Its exit
 * status is the command's. */
#include <sys/wait.h>
#include <unistd.h>

/* A long NOP with 0x4b4d or 0x4b4e and the region's id (docs/architecture.md, "Region markers"). */
#define MARK(displacement) __asm__ volatile(".byte 0x0f, 0x1f, 0x80\n\t.long " #displacement)

int main(int argc, char **argv)
{
	int status = 0;
	pid_t child;

	if (argc < 2)
		return 125;
	MARK(0x4b4d7ffe);
	child = fork();
	if (child == 0) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 126;
	MARK(0x4b4e7ffe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
