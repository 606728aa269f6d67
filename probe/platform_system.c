/* platform_system.c: what the system tells of itself, and of this program as it was loaded. */
#include "engine.h"

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

/* musl's headers tell no version; who builds the probe may (KM_LIBC). They are known by their guards. */
void platform_libc(char *to, size_t n)
{
#if defined(__UCLIBC__) /* which says __GLIBC__ too */
	snprintf(to, n, "uclibc %d.%d.%d", __UCLIBC_MAJOR__, __UCLIBC_MINOR__, __UCLIBC_SUBLEVEL__);
#elif defined(__GLIBC__) && HAVE_AUXV
	snprintf(to, n, "glibc %s", gnu_get_libc_version());
#elif defined(__GLIBC__)
	snprintf(to, n, "glibc %d.%d", __GLIBC__, __GLIBC_MINOR__);
#elif defined(__DEFINED_time_t) && defined(KM_LIBC)
	snprintf(to, n, "%s", KM_LIBC);
#elif defined(__DEFINED_time_t)
	snprintf(to, n, "musl");
#else
	snprintf(to, n, "unknown");
#endif
}

/* Whether the kernel was told to load an interpreter, which links the libraries; a static program that can be moved in
 * memory has a dynamic section too. */
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
#else
	return "unknown";
#endif
}
