/* init_command.c: reads init's commands, which are files of the first file system. */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char text[COMMAND_BYTES];
static char *argv[COMMAND_WORDS + 1];

/* Each word ends with a NUL; an empty word begins the padding. A file without words counts as missing. */
char **read_command(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC), count = 0;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	char *at = text;

	if (n < 0 && errno != ENOENT)
		give_up(name);
	if (fd >= 0)
		close(fd);
	errno = EINVAL;
	if (n > 0 && text[n - 1] != '\0')
		give_up(name);
	while (at < text + n && *at && count < COMMAND_WORDS) {
		argv[count++] = at;
		at += strlen(at) + 1;
	}
	argv[count] = NULL;
	return count > 0 ? argv : NULL;
}
