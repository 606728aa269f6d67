/* platform_system.c: what the system tells about itself, and about this program as it was loaded. */
#include "engine.h"

#if HAVE_PROC
#include <sys/sysmacros.h>
#endif
#if HAVE_AUXV
#include <elf.h>
#include <sys/auxv.h>
#if UINTPTR_MAX > 0xffffffff
typedef Elf64_Phdr program_header;
#else
typedef Elf32_Phdr program_header;
#endif
#endif
#if HAVE_AUXV && defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif
#if defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
#include <sys/param.h>
#endif

void platform_prepare(void)
{
#if HAVE_GETRUSAGE
	static const struct {
		int what;
		unsigned least;
	} needs[] = {
		{ RLIMIT_NOFILE, 1024 },
		{ RLIMIT_STACK, 8u << 20 },
		{ RLIMIT_DATA, 1u << 30 },
#if defined(RLIMIT_NPROC)
		{ RLIMIT_NPROC, 512 },
#endif
	};
	struct rlimit limit;

	for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
		if (getrlimit(needs[i].what, &limit) == 0 && limit.rlim_cur < needs[i].least) {
			limit.rlim_cur = limit.rlim_max < needs[i].least ? limit.rlim_max : needs[i].least;
			(void)setrlimit(needs[i].what, &limit);
		}
#endif
#if defined(SIGSYS) && !KM_LINUX
	signal(SIGSYS, SIG_IGN);
#endif
}

/* musl's headers do not tell its version; the builder may (KM_LIBC). Their include guards identify musl. */
void platform_libc(char *to, size_t n)
{
#if defined(__dietlibc__)
	snprintf(to, n, "dietlibc");
#elif defined(__UCLIBC__) /* which defines __GLIBC__ too */
	snprintf(to, n, "uclibc %d.%d.%d", __UCLIBC_MAJOR__, __UCLIBC_MINOR__, __UCLIBC_SUBLEVEL__);
#elif defined(__GLIBC__) && HAVE_AUXV
	snprintf(to, n, "glibc %s", gnu_get_libc_version());
#elif defined(__GLIBC__)
	snprintf(to, n, "glibc %d.%d", __GLIBC__, __GLIBC_MINOR__);
#elif defined(__DEFINED_time_t) && defined(KM_LIBC)
	snprintf(to, n, "%s", KM_LIBC);
#elif defined(__DEFINED_time_t)
	snprintf(to, n, "musl");
#elif defined(__FreeBSD__)
	snprintf(to, n, "FreeBSD libc %d", __FreeBSD_version);
#elif defined(__NetBSD__)
	snprintf(to, n, "NetBSD libc %d", __NetBSD_Version__);
#elif defined(__OpenBSD__)
	snprintf(to, n, "OpenBSD libc %d", OpenBSD);
#else
	snprintf(to, n, "unknown");
#endif
}

#if !HAVE_AUXV && defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))
/* The linker's name for the file's first bytes, if they are in memory. */
extern const unsigned char __ehdr_start[] __attribute__((weak));

/* Program headers as e_phoff, e_phentsize and e_phnum tell; each begins with its type. */
static const char *linkage_of_file(void)
{
	const unsigned char *file = __ehdr_start;
	const size_t sizes = sizeof(void *) == 8 ? 54 : 42;
	uintptr_t at;
	uint16_t size, n;
	uint32_t type;

	if (!file || memcmp(file, "\177ELF", 4) != 0)
		return "unknown";
	memcpy(&at, file + (sizeof at == 8 ? 32 : 28), sizeof at);
	memcpy(&size, file + sizes, sizeof size);
	memcpy(&n, file + sizes + 2, sizeof n);
	for (; n > 0; n--, at += size) {
		memcpy(&type, file + at, sizeof type);
		if (type == 3) /* PT_INTERP */
			return "dynamic";
	}
	return "static";
}
#endif

/* Dynamic if the kernel loaded an interpreter; a static position-independent program has a dynamic section too. */
const char *platform_linkage(void)
{
#if HAVE_AUXV
	const program_header *header = (const void *)(uintptr_t)getauxval(AT_PHDR);
	unsigned long n = getauxval(AT_PHNUM);

	if (!header || n == 0)
		return "unknown";
	for (; n > 0; n--, header++)
		if (header->p_type == PT_INTERP)
			return "dynamic";
	return "static";
#elif defined(__ELF__) && (defined(__GNUC__) || defined(__clang__))
	return linkage_of_file();
#else
	return "unknown";
#endif
}

static const struct {
	unsigned setting;
	const char *name, *file; /* the value is the file's first line, or its word in brackets */
} settings[] = {
	{ SET_GOVERNOR, "governor", KM_SYS "/devices/system/cpu/cpu0/cpufreq/scaling_governor" },
	{ SET_CLOCK_SOURCE, "clocksource", KM_SYS "/devices/system/clocksource/clocksource0/current_clocksource" },
	{ SET_HUGE_PAGES, "transparent_hugepage", KM_SYS "/kernel/mm/transparent_hugepage/enabled" },
	{ SET_OVERCOMMIT, "overcommit_memory", KM_PROC "/sys/vm/overcommit_memory" },
	{ SET_ADDRESS_RANDOM, "randomize_va_space", KM_PROC "/sys/kernel/randomize_va_space" },
	{ SET_FOLDER, "folder", NULL },
	{ SET_DEVICE, "device", NULL },
	{ SET_VDSO, "vdso", NULL },
};

const char *platform_setting_name(unsigned setting)
{
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		if (settings[i].setting == setting)
			return settings[i].name;
	return NULL;
}

/* Type and options of the mount that `dir` is on, from the list of mounts; the last of two on one point. */
static void mount_of(const char *dir, char *to, size_t n)
{
#if HAVE_PROC
	char line[2048], point[1024], type[64], options[512], *whole = realpath(dir, NULL);
	FILE *f = whole ? fopen(KM_PROC "/self/mounts", "r") : NULL;
	size_t longest = 0;

	while (f && fgets(line, sizeof line, f)) {
		size_t length;

		if (sscanf(line, "%*s %1023s %63s %511s", point, type, options) != 3)
			continue;
		length = strcmp(point, "/") == 0 ? 0 : strlen(point);
		if (length < longest || strncmp(whole, point, length) != 0 || (whole[length] && whole[length] != '/'))
			continue;
		longest = length;
		snprintf(to, n, "%s %s", type, options);
	}
	if (f)
		fclose(f);
	free(whole);
#else
	(void)dir;
	(void)to;
	(void)n;
#endif
}

static void setting_line(const char *file, char *to, size_t n)
{
	char line[256], *word = line;

	if (!km_file_line(file, line, sizeof line))
		return;
	if (strchr(line, '[')) {
		word = strchr(line, '[') + 1;
		word[strcspn(word, "]")] = '\0';
	}
	snprintf(to, n, "%.*s", (int)n - 1, word);
}

/* The block device that `dir` is on, or a part of, and its queue; a file system on several devices has none. */
static void device_of(const char *dir, char *to, size_t n)
{
#if HAVE_PROC
	static const char *const told[] = { "scheduler", "nr_requests", "rotational", "write_cache" };
	char file[KM_PATH], value[64], *device;
	struct stat s;

	if (stat(dir, &s) != 0)
		return;
	snprintf(file, sizeof file, KM_SYS "/dev/block/%u:%u", major(s.st_dev), minor(s.st_dev));
	device = realpath(file, NULL);
	snprintf(to, n, "%s", device ? strrchr(device, '/') + 1 : "");
	for (size_t i = 0; device && i < sizeof told / sizeof told[0]; i++) {
		value[0] = '\0';
		for (int part = 0; part < 2 && !value[0]; part++) {
			snprintf(file, sizeof file, "%s%s/queue/%s", device, part ? "/.." : "", told[i]);
			setting_line(file, value, sizeof value);
		}
		snprintf(to + strlen(to), n - strlen(to), ", %s %s", told[i], value);
	}
	free(device);
#else
	(void)dir;
	(void)to;
	(void)n;
#endif
}

/* Whether the CPU is in the file's list: "0-3,8". */
static int cpu_listed(const char *file, int cpu)
{
	char line[1024], *at = line;

	if (!km_file_line(file, line, sizeof line))
		return 0;
	while (*at >= '0' && *at <= '9') {
		long first = strtol(at, &at, 10), last = *at == '-' ? strtol(at + 1, &at, 10) : first;

		if (first <= cpu && cpu <= last)
			return 1;
		at += *at == ',';
	}
	return 0;
}

static long package_of(int cpu)
{
	char file[128], line[32];

	snprintf(file, sizeof file, KM_SYS "/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
	return km_file_line(file, line, sizeof line) ? strtol(line, NULL, 10) : -1;
}

const char *platform_cpu_relation(int cpu, int other)
{
	static const char *const lists[] = { "topology/thread_siblings_list", "cache/index0/shared_cpu_list",
					     "cache/index1/shared_cpu_list",  "cache/index2/shared_cpu_list",
					     "cache/index3/shared_cpu_list",  "cache/index4/shared_cpu_list" };
	long package = package_of(cpu), others = package_of(other);
	char file[128];

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		snprintf(file, sizeof file, KM_SYS "/devices/system/cpu/cpu%d/%s", cpu, lists[i]);
		if (cpu_listed(file, other))
			return i == 0 ? "sibling" : "same-cache";
	}
	if (package < 0 || others < 0)
		return "unknown";
	return package == others ? "same-package" : "other-package";
}

void platform_setting(unsigned setting, const char *dir, char *to, size_t n)
{
	to[0] = '\0';
	if (setting == SET_FOLDER)
		mount_of(dir, to, n);
	if (setting == SET_DEVICE)
		device_of(dir, to, n);
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		if (settings[i].setting == setting && settings[i].file)
			setting_line(settings[i].file, to, n);
#if HAVE_AUXV
	if (setting == SET_VDSO)
		snprintf(to, n, "%s", getauxval(AT_SYSINFO_EHDR) ? "present" : "absent");
#endif
}
