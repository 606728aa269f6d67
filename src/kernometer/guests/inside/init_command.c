/* init_command.c: reads init's command from files of the emulator's fw_cfg device (QEMU, docs/specs/fw_cfg.rst). A
 * guest that was saved before reads the files of its new emulator. On a machine without the device they are in the
 * first file system, below the same names. */
#include "init.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define SIGNATURE 0x00
#define DIRECTORY 0x19
#define MOST_FILES 4096

struct file { /* numbers are big-endian */
	uint32_t size;
	uint16_t key, reserved;
	char name[56];
};

static char text[COMMAND_BYTES];
static char *argv[COMMAND_WORDS + 1];

static int send(const char *from, size_t n, int to)
{
	for (size_t sent = 0; sent < n;) {
		ssize_t k = write(to, from + sent, n - sent);

		if (k < 0)
			return errno;
		sent += (size_t)k;
	}
	return 0;
}

/* ENOENT without such a file in the first file system, whose root is the working directory. */
static int send_own(const char *name, int to)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

	return n < 0 ? errno : send(text, (size_t)n, to);
}

/* Runs in a separate process, whose exit status is an errno: once a process has asked for a port, Linux before 5.5
 * loads an I/O bitmap at each switch to it, and children inherit that. */
static int send_file(const char *name, int to)
{
	char signature[4];
	uint32_t files;
	struct file f;
	int failed = send_own(name, to);

	if (failed != ENOENT)
		return failed;
	failed = open_files();
	if (failed)
		return failed;
	select_file(SIGNATURE);
	take_file(signature, sizeof signature);
	if (memcmp(signature, "QEMU", sizeof signature) != 0)
		return ENODEV;
	select_file(DIRECTORY);
	take_file(&files, sizeof files);
	files = __builtin_bswap32(files);
	for (uint32_t i = 0; i < files && i < MOST_FILES; i++) {
		size_t n;

		take_file(&f, sizeof f);
		if (strncmp(f.name, name, sizeof f.name) != 0)
			continue;
		n = __builtin_bswap32(f.size);
		if (n > sizeof text)
			return EFBIG;
		memset(text, 0, n); /* or Xen reads a byte from the port before it finds the page missing */
		select_file(__builtin_bswap16(f.key));
		take_file(text, n);
		return send(text, n, to);
	}
	return ENOENT;
}

/* The number of received bytes; -1 without such a file. */
static ssize_t receive(const char *name)
{
	size_t n = 0;
	ssize_t k = 1;
	int ends[2], status = 0;
	pid_t child;

	if (pipe(ends) < 0)
		give_up("pipe");
	child = fork();
	if (child < 0)
		give_up("fork");
	if (child == 0)
		_exit(send_file(name, ends[1]));
	close(ends[1]);
	while (k > 0 && n < sizeof text) {
		k = read(ends[0], text + n, sizeof text - n);
		n += k > 0 ? (size_t)k : 0;
	}
	close(ends[0]);
	if (k < 0 || waitpid(child, &status, 0) < 0)
		give_up(name);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	if (errno == ENOENT)
		return -1;
	if (errno != 0)
		give_up(name);
	return (ssize_t)n;
}

/* Each word ends with a NUL; an empty word begins the padding. A file without words counts as missing. */
char **read_command(const char *name)
{
	ssize_t n = receive(name);
	int count = 0;
	char *at = text;

	if (n < 0)
		return NULL;
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
