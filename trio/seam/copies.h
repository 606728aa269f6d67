/* copies.h: of port.h's copies, what is the same in every structure's kernel. */
#ifndef TRIO_COPIES_H
#define TRIO_COPIES_H

#include "core/memory.h"
#include "core/task.h"
#include "x86/entry.h"

/* A grant of a service's own memory is its address in the kernel. */
static inline bool is_own(struct grant g)
{
	return g.id >= DIRECT_MAP;
}

static inline bool is_beyond(struct grant g, uint64_t offset, size_t n)
{
	return offset > g.length || n > g.length - offset;
}

static inline bool is_user(uint64_t address, size_t n)
{
	return address < USER_END && n <= USER_END - address;
}

/* Copies one piece between user memory and one's own. 0: done. */
typedef long (*piece_copy)(uint64_t user, uint64_t own, size_t n);

static inline long copy_in_piece(uint64_t user, uint64_t own, size_t n)
{
	return user_copy((void *)own, (const void *)user, n);
}

static inline long copy_out_piece(uint64_t user, uint64_t own, size_t n)
{
	return user_copy((void *)user, (const void *)own, n);
}

static inline long zero_piece(uint64_t user, uint64_t own, size_t n)
{
	return user_zero((void *)user, n);
}

/* As copy_string answers. */
static inline long copy_own_string(char *to, size_t size, const char *from)
{
	size_t length = strlen(from);

	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(to, from, length + 1);
	return (long)length;
}

/* Of the memory of the loaded space, at `address` in it. */
static inline long copy_user_string(char *to, size_t size, uint64_t address)
{
	size_t most;
	long length;

	if (address >= USER_END)
		return -EFAULT;
	most = MIN(size, USER_END - address);
	length = user_copy_string(to, (const char *)address, most);
	if (length < 0)
		return -EFAULT;
	COUNT(bytes_in, (uint64_t)length);
	return (size_t)length == most ? -ENAMETOOLONG : length;
}

#endif
