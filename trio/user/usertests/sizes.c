/* sizes.c: sizes and counts that a program chooses, around every limit at which a kernel stores them differently:
 * classes of small memory, a page, several pages in a row; and sizes that are too large. */
#include "usertests.h"

#include <sys/epoll.h>

/* More than a kernel stores beside a program's bytes. */
#define HEAD 450
#define SEVERAL 7

/* Each size up to a page with such a head, then those around each power of two. */
static size_t next_size(size_t n)
{
	size_t power = PAGE;

	if (n < PAGE + HEAD)
		return n + 1;
	while (power + HEAD / SEVERAL <= n)
		power *= 2;
	return n + SEVERAL < power - HEAD ? power - HEAD : n + SEVERAL;
}

#define EACH_SIZE(n, first, most) for (size_t n = first; n <= (size_t)(most); n = next_size(n))

static void packets_pass(int type)
{
	enum { MOST = 150000, TOO_MUCH = 212993 };
	char *out = fill(room(TOO_MUCH), TOO_MUCH, 3), *in = room(TOO_MUCH);
	int ends[2];

	OK(socketpair(AF_UNIX, type, 0, ends));
	EACH_SIZE (n, 0, MOST) {
		IS(send(ends[0], out, n, 0), n);
		IS(recv(ends[1], in, TOO_MUCH, 0), n);
		TRUE(memcmp(in, out, n) == 0);
	}
	FAILS(send(ends[0], out, TOO_MUCH, 0), EMSGSIZE);
	/* Linux 6.1 checks first where that would end. */
	for (size_t beyond = SIZE_MAX - 2 * PAGE; beyond != 0; beyond++)
		TRUE(send(ends[0], out, beyond, 0) < 0 && (errno == EMSGSIZE || errno == EFAULT));
}

TEST(size_datagrams, "Does a datagram of each size arrive whole, and too large a one give EMSGSIZE?")
{
	packets_pass(SOCK_DGRAM);
}

TEST(size_sequenced, "Does a sequenced packet of each size arrive whole, and too large a one give EMSGSIZE?")
{
	packets_pass(SOCK_SEQPACKET);
}

TEST(size_chunks, "Does a stream take as many bytes at once as its ring has room for?")
{
	enum { MOST = 65536 };
	char *out = fill(room(MOST), MOST, 4), *in = room(MOST);
	int ends[2];

	OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
	EACH_SIZE (n, 1, MOST) {
		IS(write(ends[0], out, n), n);
		IS(recv(ends[1], in, n, MSG_WAITALL), n);
		TRUE(memcmp(in, out, n) == 0);
	}
}

static void rights_pass(int type)
{
	int ends[2], fds[RIGHTS_MOST + 1], got[RIGHTS_MOST + 1];
	struct stat wanted, st;

	OK(socketpair(AF_UNIX, type, 0, ends));
	OK(fstat(ends[0], &wanted));
	for (int i = 0; i <= RIGHTS_MOST; i++)
		fds[i] = ends[0];
	for (int n = 1; n <= RIGHTS_MOST; n++) {
		IS(send_fds(ends[0], fds, (size_t)n), 1);
		IS(take_fds(ends[1], got, (size_t)n, MSG_DONTWAIT), n);
		OK(fstat(got[n - 1], &st));
		IS(st.st_ino, wanted.st_ino);
		for (int i = 0; i < n; i++)
			OK(close(got[i]));
	}
	FAILS(send_fds(ends[0], fds, RIGHTS_MOST + 1), EINVAL);
	/* Descriptors without room are closed. */
	IS(send_fds(ends[0], fds, RIGHTS_MOST), 1);
	IS(take_fds(ends[1], got, 5, MSG_DONTWAIT), 5);
}

TEST(size_rights, "Do 1 to 253 descriptors travel in a message, and are more refused?")
{
	rights_pass(SOCK_STREAM);
	rights_pass(SOCK_DGRAM);
	rights_pass(SOCK_SEQPACKET);
}

TEST(size_control, "Is more control data refused than a kernel takes over?")
{
	enum { MUCH = 1 << 20 };
	struct iovec part = { "x", 1 };
	struct kernel_msghdr message = { .parts = &part, .part_count = 1, .control = room(MUCH), .room = MUCH };
	int ends[2];

	OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	FAILS(RAW(SYS_sendmsg, ends[0], &message, 0), ENOBUFS);
	message.room = SIZE_MAX;
	FAILS(RAW(SYS_sendmsg, ends[0], &message, 0), ENOBUFS);
}

static void address_is_taken(struct sockaddr_un *name, size_t length)
{
	struct sockaddr_storage told = { 0 };
	socklen_t size = sizeof told;
	int fd = (int)OK(socket(AF_UNIX, SOCK_DGRAM, 0));

	OK(bind(fd, (struct sockaddr *)name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)));
	OK(getsockname(fd, (struct sockaddr *)&told, &size));
	TRUE(memcmp(((struct sockaddr_un *)&told)->sun_path, name->sun_path, length) == 0);
	OK(close(fd));
}

TEST(size_addresses, "May a socket's name have each length up to 108?")
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	size_t most = sizeof name.sun_path;
	char path[sizeof name.sun_path + 1];

	for (size_t n = 1; n <= most; n++) {
		memset(name.sun_path, 'n', n);
		address_is_taken(&name, n);
		memcpy(path, name.sun_path, n);
		path[n] = '\0';
		OK(unlink(path));
		name.sun_path[0] = '\0';
		if (n > 1)
			address_is_taken(&name, n);
	}
	FAILS(bind((int)OK(socket(AF_UNIX, SOCK_DGRAM, 0)), (struct sockaddr *)&name, sizeof name + 1), EINVAL);
}

/* Makes a file, a link to it, a folder, a fifo and a symbolic link of that name, one after the other. If `error` is not
 * 0, all must fail with it. */
static void name_is_used(const char *name, int error)
{
	if (error != 0) {
		FAILS(open(name, O_CREAT | O_RDWR, 0644), error);
		FAILS(mkdir(name, 0755), error);
		FAILS(mkfifo(name, 0644), error);
		FAILS(symlink("b", name), error);
		FAILS(link("b", name), error);
		FAILS(rename("b", name), error);
		FAILS(unlink(name), error);
		return;
	}
	OK(close((int)OK(open(name, O_CREAT | O_RDWR, 0644))));
	OK(rename(name, "c"));
	OK(link("c", name));
	OK(unlink("c"));
	OK(unlink(name));
	OK(mkdir(name, 0755));
	OK(rmdir(name));
	OK(mkfifo(name, 0644));
	OK(unlink(name));
	OK(symlink("b", name));
	OK(unlink(name));
}

TEST(size_names, "May a name have each length up to 255, whatever it is of?")
{
	char name[NAME_MAX + 2] = "";

	make_file("b", "");
	for (int n = 0; n < NAME_MAX; n++) {
		name[n] = 'a';
		if (n > 0)
			name_is_used(name, 0);
	}
	name[NAME_MAX] = 'a';
	name_is_used(name, ENAMETOOLONG);
}

TEST(size_targets, "May a symbolic link's text have each length up to 4,095?")
{
	char *target = fill(room(PATH_MAX + 1), PATH_MAX + 1, 0), *told = room(PATH_MAX + 1);

	memset(target, 't', PATH_MAX + 1);
	EACH_SIZE (n, 1, PATH_MAX - 1) {
		target[n] = '\0';
		OK(symlink(target, "link"));
		IS(readlink("link", told, PATH_MAX + 1), n);
		TRUE(memcmp(told, target, n) == 0);
		IS(readlink("link", told, n / 2 + 1), n / 2 + 1);
		OK(unlink("link"));
		target[n] = 't';
	}
	target[PATH_MAX] = '\0';
	FAILS(symlink(target, "link"), ENAMETOOLONG);
}

TEST(size_paths, "May a path have each length up to 4,095?")
{
	char *path = room(PATH_MAX + 1);
	struct stat st;

	make_file("a", "");
	memset(path, '/', PATH_MAX);
	path[0] = '.';
	for (int n = 3; n < PATH_MAX; n++) {
		memcpy(path + n - 1, "a", 2);
		OK(stat(path, &st));
		OK(close((int)OK(open(path, O_RDONLY))));
		path[n - 1] = '/';
	}
	memcpy(path + PATH_MAX - 1, "a", 2);
	FAILS(stat(path, &st), ENAMETOOLONG);
	FAILS(open(path, O_RDONLY), ENAMETOOLONG);
}

TEST(size_arguments, "Does execve take arguments of each size, and many of them?")
{
	enum { MOST = 32 * PAGE, MANY = 3000 };
	static char *many[MANY + 1];
	char *word = room(MOST + 1), *single[] = { "a", word, NULL }, *none[] = { NULL };

	memset(word, 'w', MOST);
	EACH_SIZE (n, 0, MOST - 1) {
		word[n] = '\0';
		FAILS(execve("none", single, none), ENOENT);
		FAILS(execve("none", none, single), ENOENT);
		word[n] = 'w';
	}
	FAILS(execve("/proc/self/exe", single, none), E2BIG);
	FAILS(execve("/proc/self/exe", none, single), E2BIG);
	for (int n = 0; n < MANY; n++) {
		if (n % SEVERAL == 0)
			FAILS(execve("none", many, many), ENOENT);
		many[n] = "0123456789";
	}
}

TEST(size_command, "Does a process begin whatever length its arguments have?")
{
	char *word = room(2 * PAGE), *words[] = { "usertests", "-?", word, NULL };
	int quiet = (int)OK(open("/dev/null", O_WRONLY));

	memset(word, 'w', 2 * PAGE - 1);
	for (size_t n = 1; n < 2 * PAGE; n += 61) {
		IN_CHILD (2) {
			OK(dup2(quiet, 2));
			word[n] = '\0';
			execve("/proc/self/exe", words, words);
			_exit(1);
		}
	}
}
