/* exec.c: execve: programs, scripts, arguments, and what a program inherits from the previous one. The executed
 * programs are made here, byte by byte, or are this program itself, by its path. */
#include "usertests.h"

#include <elf.h>

/* Makes a static ELF file of one page with the given code, loaded at 0x400000 and entered behind its headers. */
static size_t make_program(const char *name, const char *code, size_t size)
{
	static struct {
		Elf64_Ehdr head;
		Elf64_Phdr load;
		char code[256];
	} image;
	int fd = (int)OK(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755));

	memset(&image, 0, sizeof image);
	memcpy(image.head.e_ident, "\177ELF\2\1\1", 7);
	image.head.e_type = ET_EXEC;
	image.head.e_machine = EM_X86_64;
	image.head.e_version = 1;
	image.head.e_entry = 0x400000 + offsetof(__typeof__(image), code);
	image.head.e_phoff = sizeof image.head;
	image.head.e_ehsize = sizeof image.head;
	image.head.e_phentsize = sizeof image.load;
	image.head.e_phnum = 1;
	image.load = (Elf64_Phdr){ PT_LOAD, PF_R | PF_X, 0, 0x400000, 0x400000, sizeof image, sizeof image, PAGE };
	memcpy(image.code, code, size);
	IS(write(fd, &image, sizeof image), sizeof image);
	OK(close(fd));
	return sizeof image;
}

/* exit(argc) and exit(7), as machine code. */
static void make_argc(const char *name)
{
	make_program(name, "\x8b\x3c\x24\xb8\x3c\0\0\0\x0f\x05", 10);
}

static void make_seven(const char *name)
{
	make_program(name, "\xbf\7\0\0\0\xb8\x3c\0\0\0\x0f\x05", 12);
}

static void make_script(const char *name, const char *text)
{
	make_file(name, text);
	OK(chmod(name, 0755));
}

static char *no_words[] = { NULL }, *words[] = { "x", NULL };

static int run(const char *path, char **argv)
{
	pid_t pid;

	START_CHILD (pid) {
		execve(path, argv, no_words);
		_exit(200 + (errno & 31));
	}
	return reap(pid);
}

TEST(exec_program, "Does execve run a program with its arguments?")
{
	char *three[] = { "a", "b", "c", NULL };

	make_seven("seven");
	make_argc("argc");
	IS(run("./seven", three), 7);
	IS(run("argc", three), 3);
}

TEST(exec_segments, "Are DS, ES, FS and GS of a new program 0, whatever the old one had there?")
{
	/* exit(ds | es | fs | gs) */
	make_program("selectors", "\x8c\xdf\x8c\xc0\x09\xc7\x8c\xe0\x09\xc7\x8c\xe8\x09\xc7\xb8\x3c\0\0\0\x0f\x05", 21);
	__asm__ volatile("mov %%ss, %%eax\n mov %%eax, %%ds\n mov %%eax, %%es\n mov %%eax, %%gs\n" : : : "eax");
	IS(run("selectors", no_words), 0);
}

TEST(exec_errors, "Does execve say why it fails?")
{
	char *argv[] = { "x", NULL };

	make_seven("mode");
	OK(chmod("mode", 0644));
	make_script("text", "just some text, no program\n");
	make_script("empty", "");
	OK(mkdir("dir", 0755));
	FAILS(execve("none", argv, no_words), ENOENT);
	FAILS(execve("", argv, no_words), ENOENT);
	FAILS(execve("mode/x", argv, no_words), ENOTDIR);
	FAILS(execve("mode", argv, no_words), EACCES);
	FAILS(execve("dir", argv, no_words), EACCES);
	FAILS(execve("text", argv, no_words), ENOEXEC);
	FAILS(execve("empty", argv, no_words), ENOEXEC);
	FAULTS(RAW(SYS_execve, wild, argv, no_words));
	make_seven("seven");
	FAULTS(RAW(SYS_execve, "seven", wild, no_words));
	FAULTS(RAW(SYS_execve, "seven", argv, wild));
	for (int i = 0; i < WILD_POINTERS; i++) {
		argv[0] = wild_pointer(i);
		FAILS(RAW(SYS_execve, "seven", argv, no_words), EFAULT);
	}
}

static void change(const char *name, long at, const char *bytes, size_t size)
{
	int fd = (int)OK(open(name, O_WRONLY));

	IS(pwrite(fd, bytes, size, at), size);
	OK(close(fd));
}

TEST(exec_bad_elf, "Does a damaged ELF file give ENOEXEC, or kill its process and no more?")
{
	static const struct {
		long at;
		int byte, wanted;
	} damage[] = {
		{ 0, 'X', 200 + ENOEXEC }, { 16, 9, 200 + ENOEXEC }, { 18, 3, 200 + ENOEXEC },
		{ 54, 1, 200 + ENOEXEC },  { 56, 0, 200 + ENOEXEC },
	};

	for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
		char byte = (char)damage[i].byte;

		make_seven("bad");
		change("bad", damage[i].at, &byte, 1);
		IS(run("bad", words), damage[i].wanted);
	}
	make_seven("bad");
	OK(truncate("bad", 40));
	IS(run("bad", words), 200 + ENOEXEC);
	/* The entry point is not mapped. */
	make_seven("bad");
	change("bad", 24, "\0\0\0\x10\0\0\0\0", 8);
	IS(run("bad", words), 128 + SIGSEGV);
}

TEST(exec_script, "Does #! run the interpreter with its argument, the script's path and the rest?")
{
	char *argv[] = { "ignored", "one", "two", NULL };

	make_argc("argc");
	make_script("plain", "#!argc\n");
	make_script("more", "#! argc  -x y  \nrest");
	make_script("none", "#!nowhere\n");
	make_script("loop", "#!loop\n");
	make_script("bare", "#!\n");
	/* argc plain one two; argc "-x y" more one two */
	IS(run("plain", argv), 4);
	IS(run("more", argv), 5);
	FAILS(execve("none", argv, no_words), ENOENT);
	FAILS(execve("loop", argv, no_words), ELOOP);
	FAILS(execve("bare", argv, no_words), ENOEXEC);
}

TEST(exec_script_nested, "May a script's interpreter be a script?")
{
	make_argc("argc");
	make_script("inner", "#!argc a\n");
	make_script("outer", "#!inner b\n");
	/* argc a inner b outer */
	IS(run("outer", words), 5);
}

TEST(exec_arguments_long, "Do long arguments arrive, and too long ones give E2BIG?")
{
	enum { MANY = 2000, LENGTH = 40 * PAGE };
	static char *argv[MANY + 1];
	char *word = room(LENGTH), *single[] = { word, NULL };

	make_argc("argc");
	for (int i = 0; i < MANY; i++)
		argv[i] = "0123456789";
	IN_CHILD (MANY & 255)
		_exit(execve("argc", argv, argv));
	memset(word, 'w', LENGTH - 1);
	/* One string may have 32 pages. */
	FAILS(execve("argc", single, no_words), E2BIG);
	word[20 * PAGE] = '\0';
	IS(run("argc", single), 1);
	for (int i = 0; i < MANY; i++)
		argv[i] = word;
	FAILS(execve("argc", argv, no_words), E2BIG);
}

TEST(exec_busy, "Is a running program's file refused to writers, and one being written not run?")
{
	int fd, ends[2];
	char byte;
	pid_t pid;

	make_seven("seven");
	fd = (int)OK(open("seven", O_WRONLY));
	if (run("seven", words) == 7)
		skip("files being written are run here");
	FAILS(execve("seven", words, no_words), ETXTBSY);
	OK(close(fd));
	IS(run("seven", words), 7);
	/* The program runs once execve has closed its end of the pipe. */
	make_program("pause", "\xb8\x22\0\0\0\x0f\x05\x0f\x0b", 9);
	OK(pipe2(ends, O_CLOEXEC));
	START_CHILD (pid) {
		execve("pause", words, no_words);
		_exit(1);
	}
	OK(close(ends[1]));
	IS(read(ends[0], &byte, 1), 0);
	FAILS(open("pause", O_WRONLY), ETXTBSY);
	kill_and_reap(pid);
	OK(open("pause", O_WRONLY));
}

/* write(50, "x", 1) and exit with the error, or 0: tells whether descriptor 50 is open. */
static void make_writes_50(const char *name)
{
	static const char code[] = "\xbf\x32\0\0\0"           /* mov $50, %edi */
				   "\x48\x89\xe6"             /* mov %rsp, %rsi */
				   "\xba\1\0\0\0"             /* mov $1, %edx */
				   "\xb8\1\0\0\0\x0f\x05"     /* write */
				   "\x89\xc7\xff\xcf\xf7\xdf" /* mov %eax, %edi; dec %edi; neg %edi */
				   "\xb8\x3c\0\0\0\x0f\x05";  /* exit */

	make_program(name, code, sizeof code - 1);
}

TEST(exec_closes, "Does execve close what is close-on-exec, and nothing else?")
{
	int ends[2];

	OK(pipe(ends));
	make_writes_50("w");
	IS(dup2(ends[1], 50), 50);
	IS(run("w", words), 0);
	OK(fcntl(50, F_SETFD, FD_CLOEXEC));
	IS(run("w", words), 1 + EBADF);
	/* The parent's descriptor is still open, and a failed execve closes nothing. */
	FAILS(execve("none", words, no_words), ENOENT);
	put(50);
}

/* rt_sigaction(SIGUSR1, NULL, old at the stack), exit with the low byte of the handler. */
static void make_tells_handler(const char *name, int signal)
{
	char code[64] = "\xbf\x0a\0\0\0"                 /* mov $signal, %edi */
			"\x31\xf6"                       /* xor %esi, %esi */
			"\x48\x8d\x94\x24\0\xff\xff\xff" /* lea -256(%rsp), %rdx */
			"\x41\xba\x08\0\0\0"             /* mov $8, %r10d */
			"\xb8\x0d\0\0\0\x0f\x05"         /* rt_sigaction */
			"\x8b\xbc\x24\0\xff\xff\xff"     /* mov -256(%rsp), %edi */
			"\xb8\x3c\0\0\0\x0f\x05";        /* exit */

	code[1] = (char)signal;
	make_program(name, code, sizeof code);
}

TEST(exec_signals, "Does execve reset handlers, and keep what is ignored, blocked and pending?")
{
	make_tells_handler("usr1", SIGUSR1);
	make_tells_handler("usr2", SIGUSR2);
	make_seven("seven");
	handle(SIGUSR1, catch, 0);
	handle(SIGUSR2, SIG_IGN, 0);
	IS(run("usr1", words), 0);
	IS(run("usr2", words), 1);
	handle(SIGUSR1, SIG_DFL, 0);
	block(SIGUSR1);
	IN_CHILD (7) {
		OK(raise(SIGUSR1));
		execve("seven", words, no_words);
		_exit(1);
	}
}

TEST(exec_keeps, "Does execve look a path up from the folder of the process?")
{
	make_argc("argc");
	OK(mkdir("d", 0755));
	OK(link("argc", "d/argc"));
	IN_CHILD (1) {
		OK(chdir("d"));
		OK(unlink("../argc"));
		execve("argc", words, no_words);
		_exit(99);
	}
}

TEST(exec_vfork, "Does vfork's parent go on after the child's execve, and share no memory then?")
{
	volatile int mine = 1;
	pid_t pid;

	make_seven("seven");
	for (int i = 0; i < 50; i++) {
		pid = vfork();
		if (pid == 0) {
			execve("seven", words, no_words);
			_exit(1);
		}
		OK(pid);
		IS(reap(pid), 7);
	}
	IS(mine, 1);
}

TEST(exec_setuid, "Does a set-user-id program run as its owner?")
{
	/* geteuid, exit with its low byte */
	static const char code[] = "\xb8\x6b\0\0\0\x0f\x05\x89\xc7\xb8\x3c\0\0\0\x0f\x05";
	struct statfs fs;

	only_for_root();
	make_program("who", code, sizeof code - 1);
	OK(chown("who", 0x155, 0));
	IS(run("who", words), 0);
	OK(chmod("who", 04755));
	OK(statfs(".", &fs));
	if (fs.f_flags & 2)
		skip("this file system is mounted nosuid");
	IS(run("who", words), 0x55);
}

TEST(exec_ordinary, "May an ordinary user run only what mode allows?")
{
	make_seven("root-only");
	OK(chmod("root-only", 0700));
	make_seven("unreadable");
	OK(chmod("unreadable", 0711));
	only_for_root();
	become_ordinary();
	FAILS(execve("root-only", words, no_words), EACCES);
	IS(run("unreadable", words), 7);
}

TEST(exec_at_most, "Can a process execute itself over and over?")
{
	for (int i = 0; i < 20; i++)
		IN_CHILD (2)
			execute_self();
}
