/* poll.c: poll and select. Each run of the handler looks at every file once and sets its task's bit in each watch. If
 * none is ready, it is parked in the queue of that bit; a watch that changes wakes the queues of its bits. */
#include "abi/poll.h"
#include "files/files.h"
#include "polling/poll.h"

/* The events of select's three sets. */
#define SELECT_READ (POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR)
#define SELECT_WRITE (POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR)
#define SELECT_EXCEPT POLLPRI

void watch_wake(struct watch *w)
{
	uint64_t tasks = w->tasks;

	w->tasks = 0;
	while (tasks != 0) {
		unpark(&vfs.pollers[__builtin_ctzll(tasks)]);
		tasks &= tasks - 1;
	}
}

uint32_t file_ready(struct file *f)
{
	uint32_t ready = READY_IN | READY_OUT;

	if (f->operations->poll != NULL) {
		vfs.watches = vfs.changes = 0;
		ready = f->operations->poll(f);
		if (vfs.watches == 0)
			watch(&vfs.any);
	}
	return ready | (ready & READY_IN ? POLLRDNORM : 0) | (ready & READY_OUT ? POLLWRNORM : 0);
}

verdict poll_end(struct request *r, int64_t ready_count, nanoseconds deadline)
{
	vfs.polling = 0;
	if (ready_count != 0 || r->late || deadline == 0)
		return answer(r, ready_count);
	return park_until(&vfs.pollers[r->task % 64], r, deadline);
}

/* The readiness of the file at a descriptor; POLLNVAL: none. */
static uint32_t descriptor_ready(uint32_t task, int32_t fd)
{
	struct file *f = file_of(task, fd);

	return f == NULL || (f->flags & O_PATH) != 0 ? POLLNVAL : file_ready(f);
}

verdict vfs_poll(struct request *r, struct grant polls, uint32_t count, uint64_t deadline)
{
	struct linux_pollfd some[32];
	int64_t ready_count = 0;

	if (count > vfs.tasks[r->task].files_most)
		return refuse(r, EINVAL);
	poll_begin(r->task);
	for (uint32_t i = 0; i < count; i += COUNT_OF(some)) {
		uint32_t n = MIN(count - i, (uint32_t)COUNT_OF(some));

		if (copy_in(some, polls, i * sizeof some[0], n * sizeof some[0]) != 0)
			return poll_end(r, -EFAULT, 0);
		for (struct linux_pollfd *p = some; p < some + n; p++) {
			uint32_t ready = p->fd < 0 ? 0 : descriptor_ready(r->task, p->fd);

			p->revents = (int16_t)(ready & ((uint16_t)p->events | POLLERR | POLLHUP | POLLNVAL));
			ready_count += p->revents != 0;
		}
		if (copy_out(polls, i * sizeof some[0], some, n * sizeof some[0]) != 0)
			return poll_end(r, -EFAULT, 0);
	}
	return poll_end(r, ready_count, deadline);
}

/* Clears in `asked` (read, write, except) the bits of descriptors from `first` on that are not ready. Returns the
 * number of bits left, or -EBADF. */
static int64_t select_word(uint32_t task, unsigned first, uint64_t asked[3])
{
	static const uint32_t events[3] = { SELECT_READ, SELECT_WRITE, SELECT_EXCEPT };
	unsigned ready_count = 0;

	for (uint64_t left = asked[0] | asked[1] | asked[2]; left != 0; left &= left - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(left);
		uint32_t ready = descriptor_ready(task, (int32_t)(first + bit));

		if (ready == POLLNVAL)
			return -EBADF;
		for (unsigned set = 0; set < 3; set++) {
			if ((ready & events[set]) == 0)
				asked[set] &= ~(1ULL << bit);
			ready_count += (unsigned)(asked[set] >> bit & 1);
		}
	}
	return ready_count;
}

verdict vfs_select(struct request *r, uint32_t count, struct grant readable, struct grant writable, struct grant except,
		   uint64_t deadline)
{
	uint64_t answers[DESCRIPTORS_MOST / 64][3] = { 0 };
	const struct grant sets[3] = { readable, writable, except };
	int64_t ready_count = 0;
	unsigned words;

	if (count > INT32_MAX)
		return refuse(r, EINVAL);
	count = MIN(count, vfs.tasks[r->task].descriptors->size);
	words = (count + 63) / 64;
	poll_begin(r->task);
	for (unsigned i = 0; i < words; i++) {
		uint64_t *asked = answers[i];
		int64_t n;

		for (unsigned set = 0; set < 3; set++) {
			if (sets[set].length == 0)
				continue;
			if (copy_in(&asked[set], sets[set], i * 8, 8) != 0)
				return poll_end(r, -EFAULT, 0);
			if (i == count / 64)
				asked[set] &= (1ULL << count % 64) - 1;
		}
		n = select_word(r->task, i * 64, asked);
		if (n < 0)
			return poll_end(r, n, 0);
		ready_count += n;
	}
	if (poll_end(r, ready_count, deadline) == PARKED)
		return PARKED;
	for (unsigned i = 0; i < words; i++)
		for (unsigned set = 0; set < 3; set++)
			if (sets[set].length != 0 && copy_out(sets[set], i * 8, &answers[i][set], 8) != 0)
				return refuse(r, EFAULT);
	return answer(r, ready_count);
}
