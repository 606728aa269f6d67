/* unknown.c: asks for a system call that no Linux has, and says what came of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	long result = syscall(1999, 1L, 2L, 3L);

	printf("%ld %s\n", result, strerror(errno));
	return 0;
}
