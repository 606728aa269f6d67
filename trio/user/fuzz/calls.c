/* calls.c: which call comes next, and with which arguments. Three of four arguments are of the kind that the call
 * wants, so that it gets beyond its first check; the others are anything. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const paths[] = { "a", "b",   "c",   "d",         "d/a",  "d/b",      "d/e", "d/e/a", "s", "p",
			      ".", "d/.", "a/x", "missing/x", "sock", "d/e/../b", "",    "d/",    NULL };
#define NPATHS 18

/* Kinds of arguments by call: f descriptor, s path, b buffer, n length, o offset, g signal, i small number, x flags,
 * P process, v vector, t time, m memory, w anything. A call that is not here gets anything. */
static const char *const kinds[512] = {
	[SYS_read] = "fbn",
	[SYS_write] = "fbn",
	[SYS_open] = "sxw",
	[SYS_close] = "f",
	[SYS_stat] = "sb",
	[SYS_fstat] = "fb",
	[SYS_lstat] = "sb",
	[SYS_poll] = "bit",
	[SYS_lseek] = "foi",
	[SYS_mmap] = "mnxxfo",
	[SYS_mprotect] = "mnx",
	[SYS_munmap] = "mn",
	[SYS_brk] = "m",
	[SYS_rt_sigaction] = "gbbi",
	[SYS_rt_sigprocmask] = "ibbi",
	[SYS_ioctl] = "fxb",
	[SYS_pread64] = "fbno",
	[SYS_pwrite64] = "fbno",
	[SYS_readv] = "fvi",
	[SYS_writev] = "fvi",
	[SYS_access] = "si",
	[SYS_pipe] = "b",
	[SYS_select] = "ibbbt",
	[SYS_sched_yield] = "",
	[SYS_mremap] = "mnnxm",
	[SYS_msync] = "mnx",
	[SYS_mincore] = "mnb",
	[SYS_madvise] = "mni",
	[SYS_dup] = "f",
	[SYS_dup2] = "ff",
	[SYS_nanosleep] = "tb",
	[SYS_getitimer] = "ib",
	[SYS_alarm] = "i",
	[SYS_setitimer] = "itb",
	[SYS_getpid] = "",
	[SYS_sendfile] = "ffbn",
	[SYS_socket] = "iii",
	[SYS_connect] = "fbi",
	[SYS_accept] = "fbb",
	[SYS_sendto] = "fbnxbi",
	[SYS_recvfrom] = "fbnxbb",
	[SYS_sendmsg] = "fvx",
	[SYS_recvmsg] = "fvx",
	[SYS_shutdown] = "fi",
	[SYS_bind] = "fbi",
	[SYS_listen] = "fi",
	[SYS_getsockname] = "fbb",
	[SYS_getpeername] = "fbb",
	[SYS_socketpair] = "iiib",
	[SYS_setsockopt] = "fiibi",
	[SYS_getsockopt] = "fiibb",
	[SYS_clone] = "xmbbm",
	[SYS_fork] = "",
	[SYS_vfork] = "",
	[SYS_execve] = "svv",
	[SYS_wait4] = "Pbib",
	[SYS_kill] = "Pg",
	[SYS_uname] = "b",
	[SYS_fcntl] = "fiw",
	[SYS_flock] = "fi",
	[SYS_fsync] = "f",
	[SYS_fdatasync] = "f",
	[SYS_truncate] = "so",
	[SYS_ftruncate] = "fo",
	[SYS_getdents64] = "fbn",
	[SYS_getcwd] = "bn",
	[SYS_chdir] = "s",
	[SYS_fchdir] = "f",
	[SYS_rename] = "ss",
	[SYS_mkdir] = "sw",
	[SYS_rmdir] = "s",
	[SYS_creat] = "sw",
	[SYS_link] = "ss",
	[SYS_unlink] = "s",
	[SYS_symlink] = "ss",
	[SYS_readlink] = "sbn",
	[SYS_chmod] = "sw",
	[SYS_fchmod] = "fw",
	[SYS_chown] = "sii",
	[SYS_fchown] = "fii",
	[SYS_lchown] = "sii",
	[SYS_umask] = "w",
	[SYS_gettimeofday] = "bb",
	[SYS_getrlimit] = "ib",
	[SYS_getrusage] = "ib",
	[SYS_sysinfo] = "b",
	[SYS_times] = "b",
	[SYS_setpgid] = "PP",
	[SYS_getpgid] = "P",
	[SYS_getsid] = "P",
	[SYS_setuid] = "i",
	[SYS_setgid] = "i",
	[SYS_setresuid] = "iii",
	[SYS_getgroups] = "ib",
	[SYS_setgroups] = "ib",
	[SYS_rt_sigpending] = "bi",
	[SYS_rt_sigtimedwait] = "bbti",
	[SYS_rt_sigsuspend] = "bi",
	[SYS_sigaltstack] = "bb",
	[SYS_mknod] = "sxi",
	[SYS_personality] = "i",
	[SYS_statfs] = "sb",
	[SYS_fstatfs] = "fb",
	[SYS_getpriority] = "iP",
	[SYS_setpriority] = "iPi",
	[SYS_mlock] = "mn",
	[SYS_munlock] = "mn",
	[SYS_prctl] = "ibiii",
	[SYS_arch_prctl] = "xb",
	[SYS_setrlimit] = "ib",
	[SYS_tkill] = "Pg",
	[SYS_time] = "b",
	[SYS_futex] = "biitbi",
	[SYS_sched_setaffinity] = "Pnb",
	[SYS_sched_getaffinity] = "Pnb",
	[SYS_epoll_create] = "i",
	[SYS_set_tid_address] = "b",
	[SYS_fadvise64] = "fooi",
	[SYS_clock_gettime] = "ib",
	[SYS_clock_getres] = "ib",
	[SYS_clock_nanosleep] = "iitb",
	[SYS_exit_group] = "i",
	[SYS_epoll_wait] = "fbii",
	[SYS_epoll_ctl] = "fifb",
	[SYS_tgkill] = "PPg",
	[SYS_utimes] = "sb",
	[SYS_waitid] = "iPbib",
	[SYS_openat] = "fsxw",
	[SYS_mkdirat] = "fsw",
	[SYS_mknodat] = "fsxi",
	[SYS_fchownat] = "fsiix",
	[SYS_newfstatat] = "fsbx",
	[SYS_unlinkat] = "fsx",
	[SYS_renameat] = "fsfs",
	[SYS_linkat] = "fsfsx",
	[SYS_symlinkat] = "sfs",
	[SYS_readlinkat] = "fsbn",
	[SYS_fchmodat] = "fsw",
	[SYS_faccessat] = "fsi",
	[SYS_pselect6] = "ibbbtb",
	[SYS_ppoll] = "bitbi",
	[SYS_set_robust_list] = "bn",
	[SYS_utimensat] = "fsbx",
	[SYS_eventfd] = "i",
	[SYS_fallocate] = "fioo",
	[SYS_accept4] = "fbbx",
	[SYS_eventfd2] = "ix",
	[SYS_epoll_create1] = "x",
	[SYS_dup3] = "ffx",
	[SYS_pipe2] = "bx",
	[SYS_preadv] = "fvio",
	[SYS_pwritev] = "fvio",
	[SYS_prlimit64] = "Pibb",
	[SYS_syncfs] = "f",
	[SYS_getrandom] = "bnx",
	[SYS_execveat] = "fsvvx",
	[SYS_copy_file_range] = "fbfbnx",
	[SYS_renameat2] = "fsfsx",
	[SYS_statx] = "fsxxb",
};

/* What would end the machine, reach beyond this folder, leave something behind, or only sleep. */
static const short never[] = {
	SYS_reboot,
	SYS_mount,
	SYS_umount2,
	SYS_swapon,
	SYS_swapoff,
	SYS_pivot_root,
	SYS_chroot,
	SYS_vhangup,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_acct,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_shmget,
	SYS_semget,
	SYS_msgget,
	SYS_mq_open,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_unshare,
	SYS_setns,
	SYS_ptrace,
	SYS_process_vm_writev,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_syslog,
	SYS_iopl,
	SYS_ioperm,
	SYS_quotactl,
	SYS_sched_setscheduler,
	SYS_sched_setparam,
	SYS_ioprio_set,
	SYS_migrate_pages,
	SYS_move_pages,
	SYS_process_vm_readv,
	SYS_kcmp,
	SYS_userfaultfd,
	SYS_seccomp,
	SYS_sched_setattr,
	SYS_pause,
	SYS_modify_ldt,
	424,
	425,
	426,
	427,
	434,
	438,
	440,
	448,
};

static uint64_t state;

static uint64_t next(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static unsigned long below(unsigned long n)
{
	return next() % n;
}

static unsigned long wild(void)
{
	static const unsigned long some[] = { 0,
					      1,
					      16,
					      0x400000,
					      0x7ffffffff000,
					      0x7fffffffffff,
					      0x800000000000,
					      0x8000000000000000,
					      0xffff7fffffffffff,
					      0xffff800000000000,
					      0xffff888000001000,
					      0xffffffff80000000,
					      0xffffffff81000000,
					      0xfffffffffffff000,
					      0xffffffffffffffff };

	return some[below(sizeof some / sizeof some[0])];
}

/* Inside the arena: anywhere, or so that little room is left before the page that nobody may touch. */
static unsigned long buffer(void)
{
	switch (below(8)) {
	case 0:
		return ARENA_AT + ARENA_PAGES * FUZZ_PAGE - below(64);
	case 1:
		return ARENA_AT + below(ARENA_PAGES) * FUZZ_PAGE + FUZZ_PAGE - below(16);
	case 2:
		return ARENA_AT + below(ARENA_PAGES * FUZZ_PAGE);
	case 3:
		return wild();
	default:
		return ARENA_AT + (below(ARENA_PAGES * FUZZ_PAGE) & ~15ul);
	}
}

static unsigned long length(void)
{
	static const unsigned long some[] = { 0,         1,         7,         8,         511,       4095,
					      4096,      4097,      8192,      65536,     1ul << 20, 1ul << 31,
					      1ul << 32, 1ul << 46, 1ul << 62, 1ul << 63, -1ul,      -4096ul };

	return below(2) ? below(300) : some[below(below(4) ? 11 : 18)];
}

static unsigned long flags(void)
{
	unsigned long bits = 0;

	for (unsigned long n = below(4); n > 0; n--)
		bits |= 1ul << below(below(8) ? 21 : 64);
	return bits;
}

static unsigned long any(void)
{
	switch (below(6)) {
	case 0:
		return below(16);
	case 1:
		return buffer();
	case 2:
		return length();
	case 3:
		return flags();
	case 4:
		return wild();
	default:
		return next();
	}
}

/* No other process, whatever its number. */
static unsigned long process(void)
{
	static const unsigned long some[] = { 0, 0x7ffffff, -0x7fffffful };

	return some[below(3)];
}

static unsigned long argument(char kind)
{
	if (kind != 'P' && kind != 'g' && below(4) == 0)
		return any();
	switch (kind) {
	case 'f':
		return below(16) ? below(24) : (unsigned long)AT_FDCWD;
	case 's':
		return (unsigned long)paths[below(NPATHS)];
	case 'b':
	case 'v':
		return buffer();
	case 'n':
		return length();
	case 'o':
		return below(4) ? below(100000) : length();
	case 'g':
		return below(66);
	case 'i':
		return below(8) ? below(12) : next();
	case 'x':
		return flags();
	case 'P':
		return process();
	case 't':
		return below(4) ? ARENA_AT : buffer();
	case 'm':
		return ARENA_AT + below(ARENA_PAGES) * FUZZ_PAGE;
	default:
		return any();
	}
}

static int excluded(long number, int on_trio)
{
	if (!on_trio && (number == SYS_sync || number == SYS_syncfs || number == SYS_fsync))
		return 1;
	for (unsigned i = 0; i < sizeof never / sizeof never[0]; i++)
		if (never[i] == number)
			return 1;
	return 0;
}

static long number(int on_trio)
{
	/* Each unknown number may be a line of the kernel's log: a few of the wild ones do. */
	static const long beyond[] = {
		451, 511, 512, 1000, 1001, 1023, 1024, 0xffff, 0x40000027, 0x7fffffff, -1, -4096
	};
	long n;

	do {
		unsigned long kind = below(16);

		if (kind == 0)
			n = 424 + (long)below(27);
		else if (kind == 1)
			n = below(4) ? 335 + (long)below(89) : beyond[below(sizeof beyond / sizeof beyond[0])];
		else
			n = (long)below(335);
		/* These end the process, or cost it a while: seldom. */
		if ((n == SYS_exit || n == SYS_exit_group || n == SYS_rt_sigreturn || n == SYS_rt_sigsuspend) &&
		    below(16))
			n = SYS_getpid;
	} while (excluded(n, on_trio));
	return n;
}

/* Keeps what a call does to this process and this folder. */
static void bound(struct call *c)
{
	unsigned long *a = c->argument;

	switch (c->number) {
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
	case SYS_prlimit64:
		a[0] = process();
		a[1] = c->number == SYS_tgkill ? process() : a[1];
		break;
	case SYS_setpriority:
	case SYS_ioprio_get:
		a[0] = 0;
		a[1] = 0;
		break;
	case SYS_sched_setaffinity:
		a[0] = 0;
		break;
	case SYS_socket:
	case SYS_socketpair:
		a[0] = below(8) ? 1 : 77;
		break;
	case SYS_clone:
		/* Children send SIGCHLD, which is ignored: they leave no zombie. */
		a[0] = (a[0] & ~0xfful) | SIGCHLD;
		break;
	case 436: /* close_range: not the log */
		a[1] = below(48);
		break;
	case SYS_rt_sigaction:
		if (a[0] == SIGALRM || a[0] == SIGCHLD)
			a[0] = SIGUSR1;
		break;
	case SYS_setitimer:
	case SYS_alarm:
		if (c->number == SYS_alarm || a[0] == 0)
			a[0] = 1;
		break;
	default:
		break;
	}
}

/* Words of every kind, so that vectors and structures that calls find there lead on. */
void fill_arena(uint64_t seed)
{
	unsigned long *at = (unsigned long *)ARENA_AT;

	state = seed;
	for (unsigned long i = 0; i < ARENA_PAGES * FUZZ_PAGE / sizeof *at; i += 1 + below(3))
		at[i] = below(3) ? below(8) : below(2) ? buffer() : argument('s');
	/* A short time, where most calls that take a time find it. */
	at[0] = 0;
	at[1] = below(2000000);
	at[2] = 0;
	at[3] = below(2000);
}

void random_call(struct call *c, uint64_t seed, unsigned p, uint64_t k, int on_trio)
{
	const char *kind;
	int i = 0;

	state = seed * 0x2545f4914f6cdd1du + p;
	state = next() + k;
	c->number = number(on_trio);
	kind = c->number >= 0 && c->number < 512 && kinds[c->number] ? kinds[c->number] : "wwwwww";
	for (; i < 6; i++)
		c->argument[i] = *kind ? argument(*kind++) : any();
	bound(c);
}
