/* platform.c: what this platform has and can tell, in functions, so that no other file tests for its name. */
#include "engine.h"

#if HAVE_PDEATHSIG
#include <sys/prctl.h>
#endif
#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
#include <cpuid.h>
#endif

volatile double km_kept_double;
#if !defined(__GNUC__) && !defined(__clang__)
volatile uintptr_t km_kept;
#endif

static const struct {
	unsigned cap;
	int have;
	const char *name; /* in the header's list */
	const char *missing;
} capabilities[] = {
	{ CAP_MMAP, HAVE_MMAP, "mmap", "this platform has no mmap" },
	{ CAP_MPROTECT, HAVE_MPROTECT, "mprotect", "this platform has no mprotect" },
	{ CAP_GETRUSAGE, HAVE_GETRUSAGE, "getrusage", "this platform has no getrusage" },
	{ CAP_POSIX_SPAWN, HAVE_POSIX_SPAWN, "posix_spawn", "this platform has no posix_spawn" },
	{ CAP_PTHREAD, HAVE_PTHREAD, "pthread", "this platform has no POSIX threads" },
	{ CAP_VFORK, HAVE_VFORK, "vfork", "this platform has no vfork" },
	{ CAP_SYSCALL, HAVE_SYSCALL, "syscall", "this platform has no syscall(2): libc's caches cannot be bypassed" },
	{ CAP_FADVISE, HAVE_FADVISE, "fadvise", "this platform has no posix_fadvise" },
	{ CAP_AFFINITY, HAVE_AFFINITY, "affinity", "this platform has no CPU affinity" },
	{ CAP_MSYNC, HAVE_MMAP, "msync", "this platform has no msync" },
	{ CAP_SCHED_YIELD, HAVE_SCHED_YIELD, "sched_yield", "this platform has no sched_yield" },
	{ CAP_SETITIMER, HAVE_SETITIMER, "setitimer", "this platform has no setitimer" },
	{ CAP_UNIX_SOCKETS, HAVE_UNIX_SOCKETS, "unix_sockets", "this platform has no UNIX-domain sockets" },
	{ CAP_INET_SOCKETS, HAVE_INET_SOCKETS, "inet_sockets", "this platform has no Internet sockets" },
	{ CAP_SYSV_MSG, HAVE_SYSV_MSG, "sysv_msg", "this platform has no System V message queues" },
	{ CAP_POSIX_MQ, HAVE_POSIX_MQ, "posix_mq", "this platform has no POSIX message queues" },
	{ CAP_EVENTFD, HAVE_EVENTFD, "eventfd", "this platform has no eventfd" },
	{ CAP_EPOLL, HAVE_EPOLL, "epoll", "this platform has no epoll" },
	{ CAP_SENDFILE, HAVE_SENDFILE, "sendfile", "this platform has no sendfile as Linux has" },
	{ CAP_STATVFS, HAVE_STATVFS, "statvfs", "this platform has no statvfs" },
	{ CAP_FUTEX, HAVE_FUTEX, "futex", "this platform has no futex" },
	{ CAP_SHARED_MAP, HAVE_SHARED_MAP, "shared_map", "this platform has no memory that stays shared after fork" },
	{ CAP_FRAME_BUFFER, HAVE_FRAME_BUFFER, "frame_buffer",
	  "this platform has no frame buffer device as Linux has" },
	{ CAP_CLOCK_GETTIME, HAVE_CLOCK_GETTIME, "clock_gettime", "this platform has no clock_gettime" },
	{ CAP_CLOCK_RAW, HAVE_CLOCK_RAW, "clock_raw", "this platform has no CLOCK_MONOTONIC_RAW" },
	{ CAP_CYCLES, KM_CYCLES, "cycles", "no cycle counter that user mode may read is known for this processor" },
};

static char self_path[KM_PATH];

unsigned platform_capabilities(void)
{
	unsigned have = self_path[0] ? CAP_SELF : 0;

	for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++)
		if (capabilities[i].have)
			have |= capabilities[i].cap;
	return have;
}

const char *platform_capability(unsigned number)
{
	for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++)
		if (capabilities[i].have && number-- == 0)
			return capabilities[i].name;
	return number == 0 && self_path[0] ? "self" : NULL;
}

const char *platform_missing(unsigned wanted)
{
	unsigned missing = wanted & ~platform_capabilities();

	for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++)
		if (missing & capabilities[i].cap)
			return capabilities[i].missing;
	return missing & CAP_SELF ? "the program cannot find its own file to execute it" : NULL;
}

const char *platform_name(void)
{
	return KM_PLATFORM;
}

/* Searches PATH as the shell that started us did: fork-exec rows must not search. */
static int find_on_path(const char *name)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		const char *colon = strchr(path, ':');
		int n = colon ? (int)(colon - path) : (int)strlen(path);
		int wanted = snprintf(self_path, sizeof self_path, "%.*s/%s", n, path, name);

		if (n > 0 && wanted < (int)sizeof self_path && access(self_path, X_OK) == 0)
			return 1;
		path = colon ? colon + 1 : NULL;
	}
	self_path[0] = '\0';
	return 0;
}

const char *platform_self(const char *argv0)
{
	char here[KM_PATH / 2];

	if (self_path[0])
		return self_path;
#if HAVE_PROC
	{
		ssize_t n = readlink("/proc/self/exe", self_path, sizeof self_path - 1);

		if (n > 0) {
			self_path[n] = '\0';
			if (access(self_path, X_OK) == 0)
				return self_path;
			self_path[0] = '\0'; /* of a file that is gone, or never had a name */
		}
	}
#endif
	if (!argv0 || strlen(argv0) >= sizeof self_path / 2)
		return NULL;
	if (argv0[0] == '/')
		strcpy(self_path, argv0);
	else if (strchr(argv0, '/') && getcwd(here, sizeof here))
		sprintf(self_path, "%s/%s", here, argv0);
	else if (find_on_path(argv0))
		return self_path;
	if (access(self_path, X_OK) != 0)
		self_path[0] = '\0';
	return self_path[0] ? self_path : NULL;
}

int platform_online_cpus(void)
{
#if defined(KM_ONLINE_CPUS) /* a test: this system stands in for another */
	return KM_ONLINE_CPUS;
#elif defined(_SC_NPROCESSORS_ONLN)
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (int)n : 1;
#else
	return 1;
#endif
}

#if HAVE_CPUSET
typedef cpuset_t cpu_bits;
#define affinity(get_or_set, to) cpuset_##get_or_set##affinity(CPU_LEVEL_WHICH, CPU_WHICH_TID, -1, sizeof *(to), to)
#elif HAVE_AFFINITY
typedef cpu_set_t cpu_bits;
#define affinity(get_or_set, to) sched_##get_or_set##affinity(0, sizeof *(to), to)
#endif

#if HAVE_AFFINITY
int platform_allowed_cpus(int cpus[MAX_CPUS])
{
	cpu_bits set;
	int n = 0;

	CPU_ZERO(&set);
	if (affinity(get, &set) != 0)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && n < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	return n;
}

int platform_allow(const int *cpus, int n)
{
	cpu_bits set;

	CPU_ZERO(&set);
	for (int i = 0; i < n; i++)
		CPU_SET(cpus[i], &set);
	return affinity(set, &set);
}

int platform_pin(int cpu)
{
	return platform_allow(&cpu, 1);
}

#else
int platform_allowed_cpus(int cpus[MAX_CPUS])
{
	(void)cpus;
	return 0;
}

KM_LACKS(int, platform_pin, (int cpu KM_UNUSED), -1)
KM_LACKS(int, platform_allow, (const int *cpus KM_UNUSED, int n KM_UNUSED), -1)
#endif

int platform_current_cpu(void)
{
#if HAVE_AFFINITY && !HAVE_CPUSET
	return sched_getcpu();
#else
	return -1;
#endif
}

void platform_lead_group(pid_t process)
{
#if HAVE_SETPGID
	(void)setpgid(process, process);
#else
	if (process == 0) /* a new session is a new group, which a process can make for itself alone */
		(void)setsid();
#endif
}

void platform_die_with_parent(void)
{
#if HAVE_PDEATHSIG
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

/* Stores the name that an x86 processor gives itself; "" for others. */
static void cpu_brand(char *to, size_t n)
{
	char brand[49] = "", *at = brand;
#if defined(bit_SSE2) /* cpuid.h is included */
	unsigned words[12];

	for (unsigned i = 0; i < 3; i++)
		if (!__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
				 &words[4 * i + 3]))
			return;
	memcpy(brand, words, sizeof words);
#endif
	while (*at == ' ')
		at++;
	snprintf(to, n, "%s", at);
}

void platform_cpu_model(char *to, size_t n)
{
	to[0] = '\0';
#if HAVE_PROC
	{
		static const char *const keys[] = { "model name", "Model", "Hardware", "cpu model", "cpu" };
		char line[512];
		FILE *f = fopen("/proc/cpuinfo", "r");

		while (f && !to[0] && fgets(line, sizeof line, f))
			for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
				const char *value = strstr(line, ": ");
				size_t key = strlen(keys[k]);

				if (!value || strncmp(line, keys[k], key) != 0 ||
				    line + key + strspn(line + key, " \t") != value)
					continue;
				snprintf(to, n, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
				break;
			}
		if (f)
			fclose(f);
	}
#endif
	if (!to[0])
		cpu_brand(to, n);
}

const char *errno_name(int error)
{
#define NAMED(error)          \
	{                     \
		error, #error \
	}
	static const struct {
		int value;
		const char *name;
	} names[] = { NAMED(EPERM),        NAMED(ENOENT),  NAMED(ESRCH),   NAMED(EINTR),     NAMED(EIO),
		      NAMED(E2BIG),        NAMED(ENOEXEC), NAMED(EBADF),   NAMED(ECHILD),    NAMED(EAGAIN),
		      NAMED(ENOMEM),       NAMED(EACCES),  NAMED(EFAULT),  NAMED(EBUSY),     NAMED(EEXIST),
		      NAMED(EXDEV),        NAMED(ENODEV),  NAMED(ENOTDIR), NAMED(EISDIR),    NAMED(EINVAL),
		      NAMED(ENFILE),       NAMED(EMFILE),  NAMED(EFBIG),   NAMED(ENOSPC),    NAMED(ESPIPE),
		      NAMED(EROFS),        NAMED(EPIPE),   NAMED(ENOSYS),  NAMED(ETIMEDOUT), NAMED(EDEADLK),
		      NAMED(ENAMETOOLONG), NAMED(ENOTSUP) };
	static char other[24];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i].value == error)
			return names[i].name;
	sprintf(other, "errno %d", error);
	return other;
}
