/* kernel_port.c: port.h for all that runs in the kernel, but parking and notifications: copies, grants, clock, pages.
 * */
#include "structure.h"
#include "copies.h"
#include "vm.h"
#include "x86/machine.h"

/* By an entry of the table of grants, which a server passed to a service in the kernel or to the kernel. */
static long copy_by_entry(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind)
{
	struct copying c = { .grant = g, .offset = offset, .own = own, .n = n, .kind = kind };
	int64_t result;

	while ((result = grants_copy(&c, true)) == -EAGAIN)
		c.why = vm_fault(c.task, c.address, c.access);
	return (long)result;
}

/* A grant of a client's memory is the address there, or that with VECTOR for the iovec that the task's route took
 * apart. */
static long copy_vector(struct grant g, uint64_t offset, uint64_t own, size_t n, piece_copy copy)
{
	while (n > 0) {
		struct piece piece = vector_piece(&current->vector, g.id, offset);
		size_t part = MIN(n, piece.length);

		if (part == 0 || !is_user(piece.address, part) || copy(piece.address, own, part) != 0)
			return -EFAULT;
		own += part;
		offset += part;
		n -= part;
	}
	return 0;
}

long copy_in(void *to, struct grant from, uint64_t offset, size_t n)
{
	uint64_t address = from.id + offset;

	if (is_beyond(from, offset, n))
		return -EFAULT;
	if (SERVERS && is_entry(from.id))
		return copy_by_entry(from, offset, (uint64_t)to, n, COPY_IN);
	COUNT(bytes_in, n);
	if (is_user(address, n))
		return user_copy(to, (const void *)address, n) ? -EFAULT : 0;
	if (is_own(from)) {
		memcpy(to, (const void *)address, n);
		return 0;
	}
	return is_vector(from.id) ? copy_vector(from, offset, (uint64_t)to, n, copy_in_piece) : -EFAULT;
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	uint64_t address = to.id + offset;

	if (is_beyond(to, offset, n))
		return -EFAULT;
	if (SERVERS && is_entry(to.id))
		return copy_by_entry(to, offset, (uint64_t)from, n, COPY_OUT);
	COUNT(bytes_out, n);
	if (is_user(address, n))
		return user_copy((void *)address, from, n) ? -EFAULT : 0;
	if (is_own(to)) {
		memcpy((void *)address, from, n);
		return 0;
	}
	return is_vector(to.id) ? copy_vector(to, offset, (uint64_t)from, n, copy_out_piece) : -EFAULT;
}

long copy_zeros(struct grant to, uint64_t offset, size_t n)
{
	uint64_t address = to.id + offset;

	if (is_beyond(to, offset, n))
		return -EFAULT;
	if (SERVERS && is_entry(to.id))
		return copy_by_entry(to, offset, 0, n, COPY_OUT);
	COUNT(bytes_out, n);
	if (is_user(address, n))
		return user_zero((void *)address, n) ? -EFAULT : 0;
	if (is_own(to)) {
		memset((void *)address, 0, n);
		return 0;
	}
	return is_vector(to.id) ? copy_vector(to, offset, 0, n, zero_piece) : -EFAULT;
}

/* Not beyond the grant, whose length for a string is as much as a string may have. */
long copy_string(char *to, size_t size, struct grant from)
{
	if (is_own(from))
		return copy_own_string(to, size, (const char *)from.id);
	if (SERVERS && is_entry(from.id))
		return copy_by_entry(from, 0, (uint64_t)to, MIN(size, from.length), COPY_STRING);
	return copy_user_string(to, MIN(size, from.length), from.id);
}

struct grant grant_caller(uint32_t task, uint64_t address, uint64_t length)
{
	return (struct grant){ MIN(address, USER_END), length };
}

struct grant grant_read(const void *own, size_t length)
{
	return (struct grant){ (uint64_t)own, length };
}

struct grant grant_write(void *own, size_t length)
{
	return (struct grant){ (uint64_t)own, length };
}

struct grant grant_part(struct grant whole, uint64_t offset, uint64_t length)
{
	uint64_t rest = offset < whole.length ? whole.length - offset : 0;

	return (struct grant){ whole.id + offset, MIN(length, rest) };
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
