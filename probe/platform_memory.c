/* platform_memory.c: what differs between platforms in mappings, the page cache, free space and malloc. */
#include "km.h"

#if HAVE_STATVFS
#include <sys/statvfs.h>
#endif
#if HAVE_STATFS_MAGIC
#include <sys/vfs.h>
#endif
#if HAVE_MALLOPT
#include <malloc.h>
#endif

#if HAVE_MMAP

#if !defined(MAP_ANONYMOUS) && defined(MAP_ANON)
#define MAP_ANONYMOUS MAP_ANON
#endif
#if !defined(MAP_FAILED)
#define MAP_FAILED ((void *)-1)
#endif

int km_unmap(void *at, size_t bytes)
{
	return munmap(at, bytes);
}

static void *memory_map(void *where, int fd, off_t offset, size_t bytes, int protection, int flags)
{
	void *at = mmap(where, bytes, protection, flags, fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

void *km_map_file(void *where, int fd, off_t offset, size_t bytes)
{
	return memory_map(where, fd, offset, bytes, PROT_READ, MAP_SHARED | (where ? MAP_FIXED : 0));
}

#if defined(MAP_ANONYMOUS)
static void *memory_private(size_t bytes, int protection)
{
	return memory_map(NULL, -1, 0, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS);
}
#else
static void *memory_private(size_t bytes, int protection)
{
	int fd = open("/dev/zero", O_RDWR), error;
	void *at = fd < 0 ? NULL : memory_map(NULL, fd, 0, bytes, protection, MAP_PRIVATE);

	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return at;
}
#endif

void *km_map_plain(size_t bytes)
{
	return memory_private(bytes, PROT_READ | PROT_WRITE);
}

/* A kernel built without huge pages returns EINVAL: it gives none anyway. */
static int memory_refuse_huge(void *at, size_t bytes)
{
#if HAVE_NOHUGEPAGE
	return madvise(at, bytes, MADV_NOHUGEPAGE) == 0 || errno == EINVAL ? 0 : -1;
#else
	(void)at;
	(void)bytes;
	return 0;
#endif
}

void *km_map_fresh(size_t bytes, int writable)
{
	void *at = memory_private(bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ);

	if (at && memory_refuse_huge(at, bytes) != 0) {
		int error = errno;

		munmap(at, bytes);
		errno = error;
		return NULL;
	}
	return at;
}

#else

KM_LACKS(int, km_unmap, (void *at KM_UNUSED, size_t bytes KM_UNUSED), -1)
KM_LACKS(void *, km_map_file, (void *where KM_UNUSED, int fd KM_UNUSED, off_t offset KM_UNUSED, size_t bytes KM_UNUSED),
	 NULL)
KM_LACKS(void *, km_map_fresh, (size_t bytes KM_UNUSED, int writable KM_UNUSED), NULL)
KM_LACKS(void *, km_map_plain, (size_t bytes KM_UNUSED), NULL)

#endif

#define HUGE_PAGES KM_SYS "/kernel/mm/transparent_hugepage/"

const char *km_huge_missing(size_t *page)
{
	char line[64];

	*page = 0;
	if (!HAVE_MMAP || !HAVE_NOHUGEPAGE || !km_file_line(HUGE_PAGES "enabled", line, sizeof line))
		return "this system has no transparent huge pages";
	if (strstr(line, "[never]"))
		return "transparent_hugepage is set to never here: echo madvise >" HUGE_PAGES "enabled";
	if (km_file_line(HUGE_PAGES "hpage_pmd_size", line, sizeof line))
		*page = (size_t)strtoul(line, NULL, 10);
	return *page > 0 ? NULL : "this system does not tell the size of a huge page";
}

void *km_map_huge(size_t bytes, size_t page)
{
#if HAVE_MMAP && HAVE_NOHUGEPAGE
	char *all = memory_private(bytes + page, PROT_READ | PROT_WRITE);
	size_t before = all ? (page - (uintptr_t)all % page) % page : 0;

	if (!all)
		return NULL;
	if (before > 0)
		munmap(all, before);
	munmap(all + before + bytes, page - before);
	if (madvise(all + before, bytes, MADV_HUGEPAGE) == 0)
		return all + before;
	munmap(all + before, bytes);
#else
	(void)bytes;
	(void)page;
#endif
	errno = ENOSYS;
	return NULL;
}

long km_huge_bytes(const void *at)
{
	long found = -1;
#if HAVE_PROC
	FILE *f = fopen(KM_PROC "/self/smaps", "r");
	char line[512];
	unsigned long begin, end, kib;
	int here = 0;

	while (f && found < 0 && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			here = begin == (uintptr_t)at;
		else if (here && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			found = (long)(kib * 1024);
	if (f)
		fclose(f);
#else
	(void)at;
#endif
	return found;
}

#if HAVE_MMAP && HAVE_MPROTECT
int km_protect(void *at, size_t bytes, int writable)
{
	return mprotect(at, bytes, PROT_READ | (writable ? PROT_WRITE : 0));
}
#else
KM_LACKS(int, km_protect, (void *at KM_UNUSED, size_t bytes KM_UNUSED, int writable KM_UNUSED), -1)
#endif

/* Not by sbrk, which moves nothing in musl. Linux answers a refusal with the old end. */
#if HAVE_SYSCALL && defined(SYS_brk)
void *km_break(void *to)
{
	long got = syscall(SYS_brk, to);

	if (to && (uintptr_t)got != (uintptr_t)to) {
		errno = got == -1 ? errno : ENOMEM;
		return NULL;
	}
	return got == -1 ? NULL : (void *)got;
}
#else
KM_LACKS(void *, km_break, (void *to KM_UNUSED), NULL)
#endif

#if HAVE_FADVISE
int km_cache_drop(int fd)
{
	int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);

	errno = error;
	return error ? -1 : 0;
}
#else
KM_LACKS(int, km_cache_drop, (int fd KM_UNUSED), -1)
#endif

/* Maps the file for this question alone: a lasting mapping keeps no page in memory, but a touch of one does. */
long km_cache_resident(int fd, size_t bytes)
{
#if HAVE_MMAP && HAVE_MINCORE
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
	void *at = km_map_file(NULL, fd, 0, bytes);
	char *state = malloc(pages);
	long resident = at && state && mincore(at, bytes, (void *)state) == 0 ? 0 : -1;

	for (size_t i = 0; resident >= 0 && i < pages; i++)
		resident += state[i] & 1;
	free(state);
	if (at)
		munmap(at, bytes);
	return resident;
#else
	(void)fd;
	(void)bytes;
	return -1;
#endif
}

#if HAVE_STATVFS
int km_free_space(const char *path, uint64_t *bytes)
{
	struct statvfs s;

	if (statvfs(path, &s) != 0)
		return -1;
	*bytes = (uint64_t)s.f_bavail * (s.f_frsize ? s.f_frsize : s.f_bsize);
	return 0;
}
#else
KM_LACKS(int, km_free_space, (const char *path KM_UNUSED, uint64_t *bytes KM_UNUSED), -1)
#endif

void km_file_system(const char *path, char *to, size_t n)
{
#if HAVE_STATFS_MAGIC
	static const struct {
		unsigned long magic;
		const char *name;
	} names[] = {
		{ 0xef53, "ext2, ext3 or ext4" },
		{ 0x01021994, "tmpfs" },
		{ 0x858458f6, "ramfs" },
		{ 0x58465342, "xfs" },
		{ 0x9123683e, "btrfs" },
		{ 0x794c7630, "overlayfs" },
		{ 0xf2f52010, "f2fs" },
		{ 0x2fc12fc1, "zfs" },
		{ 0x4d44, "vfat" },
		{ 0x137f, "minix" },
		{ 0x138f, "minix" },
		{ 0x2468, "minix" },
		{ 0x4d5a, "minix" },
		{ 0x6969, "nfs" },
		{ 0x01021997, "9p" },
		{ 0x6a656a63, "virtiofs" },
		{ 0x00c0ffee, "hostfs" },
	};
	struct statfs s;

	to[0] = '\0';
	if (statfs(path, &s) != 0)
		return;
	snprintf(to, n, "type 0x%lx", (unsigned long)s.f_type & 0xffffffff);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i].magic == ((unsigned long)s.f_type & 0xffffffff))
			snprintf(to, n, "%s", names[i].name);
#elif HAVE_STATVFS_NAME
	struct statvfs s;

	to[0] = '\0';
	if (statvfs(path, &s) == 0)
		snprintf(to, n, "%s", s.f_fstypename);
#else
	(void)path;
	(void)n;
	to[0] = '\0';
#endif
}

int km_on_file_system(const char *path, const char *kind)
{
#if HAVE_STATFS_MAGIC
	static const struct {
		const char *kind;
		unsigned long magic;
	} kinds[] = { { "ext4", 0xef53 }, { "minix", 0x4d5a } };
	struct statfs s;

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].kind, kind) == 0 && statfs(path, &s) == 0)
			return ((unsigned long)s.f_type & 0xffffffff) == kinds[i].magic;
#else
	(void)path;
	(void)kind;
#endif
	return -1;
}

void km_sync(const char *path)
{
#if HAVE_SYNCFS
	int fd = open(path, O_RDONLY);

	if (fd >= 0) {
		(void)syncfs(fd);
		close(fd);
	}
#else
	(void)path;
	sync();
#endif
}

#if HAVE_GETRUSAGE && defined(RLIMIT_FSIZE)
int km_file_limit(uint64_t *bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
		return -1;
	*bytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
	return 0;
}
#else
KM_LACKS(int, km_file_limit, (uint64_t *bytes KM_UNUSED), -1)
#endif

#if HAVE_GETRUSAGE && defined(RLIMIT_AS)
int km_limit_memory(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) != 0)
		return -1;
	if (limit.rlim_cur == RLIM_INFINITY || (uint64_t)limit.rlim_cur > bytes)
		limit.rlim_cur = (rlim_t)bytes;
	return setrlimit(RLIMIT_AS, &limit);
}
#else
KM_LACKS(int, km_limit_memory, (uint64_t bytes KM_UNUSED), -1)
#endif

#if HAVE_GETRUSAGE && defined(RLIMIT_NPROC)
#define NOBODY 65534
int km_limit_processes(uint64_t most)
{
	struct rlimit limit;

	if ((geteuid() == 0 && setuid(NOBODY) != 0) || getrlimit(RLIMIT_NPROC, &limit) != 0)
		return -1;
	limit.rlim_cur = (rlim_t)most;
	return setrlimit(RLIMIT_NPROC, &limit);
}
#else
KM_LACKS(int, km_limit_processes, (uint64_t most KM_UNUSED), -1)
#endif

long km_faults(void)
{
#if HAVE_GETRUSAGE
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt + usage.ru_majflt : -1;
#else
	return -1;
#endif
}

int km_fix_malloc(void)
{
#if HAVE_MALLOPT
	return mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#else
	return 0;
#endif
}

void km_trim_malloc(void)
{
#if HAVE_MALLOPT
	(void)malloc_trim(0);
#endif
}

/* The heap ends at the break; mappings, where they lie below it at all, are much further away than this. */
#define HEAP_AT_MOST ((uintptr_t)1 << 30)
int km_from_heap(void *block)
{
#if HAVE_SBRK
	const void *end = sbrk(0);

	if (end == (const void *)-1)
		return -1;
	return (uintptr_t)block < (uintptr_t)end && (uintptr_t)end - (uintptr_t)block < HEAP_AT_MOST;
#else
	(void)block;
	return -1;
#endif
}
