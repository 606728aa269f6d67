/* kernel_port.c: port.h's functions for all that runs in the kernel, except parking and notifications: copies, grants,
 * pages. */
#include "core/memory.h"
#include "ipc.h"
#include "message.h"
#include "structure.h"
#include "vm.h"

static uint64_t kept_words[ENDPOINTS];

void keep(uint32_t endpoint, uint64_t word)
{
	kept_words[endpoint] = word;
}

uint64_t kept(uint32_t endpoint)
{
	return kept_words[endpoint];
}

/* Copies by an entry of the table of grants, which a server passed to the kernel or to a service in it. */
static long copy_by_entry(enum copy_kind kind, struct grant g, uint64_t offset, uint64_t own, size_t n)
{
	struct copying c = { .grant = g, .offset = offset, .own = own, .n = n, .kind = kind };
	int64_t result;

	while ((result = grants_copy(&c, true)) == -EAGAIN)
		c.why = vm_fault(c.task, c.address, c.access);
	return (long)result;
}

/* A grant of a client's memory has the address there as its id; with VECTOR_BIT it stands for the iovec that the task's
 * route has read. */
static long copy_vector(enum copy_kind kind, struct grant g, uint64_t offset, uint64_t own, size_t n)
{
	while (n > 0) {
		struct segment piece = vector_piece(&current->vector, g.id, offset);
		size_t part = MIN(n, piece.length);

		if (part == 0 || !is_user(piece.address, part) || copy_user(kind, piece.address, own, part) != 0)
			return -EFAULT;
		own += part;
		offset += part;
		n -= part;
	}
	return 0;
}

static inline __attribute__((always_inline)) long copy(enum copy_kind kind, struct grant g, uint64_t offset,
						       uint64_t own, size_t n)
{
	uint64_t address = g.id + offset;

	if (is_beyond(g, offset, n))
		return -EFAULT;
	if (SERVERS && is_entry(g.id))
		return copy_by_entry(kind, g, offset, own, n);
	if (kind == COPY_IN)
		COUNT(bytes_in, n);
	else
		COUNT(bytes_out, n);
	if (is_user(address, n))
		return copy_user(kind, address, own, n) ? -EFAULT : 0;
	if (is_own(g)) {
		copy_own(kind, address, own, n);
		return 0;
	}
	return is_vector(g.id) ? copy_vector(kind, g, offset, own, n) : -EFAULT;
}

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	return copy(COPY_IN, from, offset, (uint64_t)to, n);
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	return copy(COPY_OUT, to, offset, (uint64_t)from, n);
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	return copy(COPY_ZEROS, to, offset, 0, n);
}

/* No more than the grant's length, which is the longest that such a string may be. */
long copy_string(char *to, size_t size, struct grant from)
{
	long length;

	if (is_own(from))
		return copy_own_string(to, size, (const char *)from.id);
	size = MIN(size, from.length);
	if (SERVERS && is_entry(from.id))
		return copy_by_entry(COPY_STRING, from, 0, (uint64_t)to, size);
	if (from.id >= USER_END)
		return -EFAULT;
	size = MIN(size, USER_END - from.id);
	length = user_copy_string(to, (const char *)from.id, size);
	if (length < 0)
		return -EFAULT;
	COUNT(bytes_in, (uint64_t)length);
	return (size_t)length == size ? -ENAMETOOLONG : length;
}

struct grant grant_caller(uint32_t task, uint64_t address, uint64_t length)
{
	return (struct grant){ MIN(address, USER_END), length };
}

void *pages_take(size_t count)
{
	uint64_t frame = count == 1 ? frame_take() : frames_take(count);

	return frame ? physical(frame) : NULL;
}

void pages_give(void *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		frame_drop(physical_of(pages) + i * PAGE);
}
