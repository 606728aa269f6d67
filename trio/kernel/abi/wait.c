/* wait.c: what a system call that waits has beside its service's arguments: a time, which becomes an instant, and a
 * signal mask. */
#include "abi/abi.h"
#include "abi/time.h"
#include "clock.h"
#include "pm_client.h"

/* The bytes of a signal set, which calls pass beside its address. */
#define SIGNAL_SET 8

/* Reads a time in nanoseconds. A time of more than 64 bits is never. */
static int64_t time_get(uint64_t address, uint64_t unit, uint64_t *ns)
{
	struct linux_timespec time;

	if (user_get(&time, address, sizeof time) != 0)
		return -EFAULT;
	if (time.seconds < 0 || time.nanoseconds < 0 || (uint64_t)time.nanoseconds >= NS_PER_SECOND / unit)
		return -EINVAL;
	*ns = NEVER;
	if ((uint64_t)time.seconds < NEVER / NS_PER_SECOND)
		*ns = (uint64_t)time.seconds * NS_PER_SECOND + (uint64_t)time.nanoseconds * unit;
	return 0;
}

int64_t deadline_after(uint64_t address, uint64_t unit, nanoseconds *deadline)
{
	nanoseconds at = now();
	uint64_t wait = NEVER;
	int64_t result = address ? time_get(address, unit, &wait) : 0;

	*deadline = wait >= NEVER - at ? NEVER : wait ? at + wait : 0;
	return result;
}

int64_t deadline_at(uint64_t address, nanoseconds *deadline)
{
	*deadline = NEVER;
	return address ? time_get(address, 1, deadline) : 0;
}

int64_t deadline_at_calendar(uint64_t address, nanoseconds *deadline)
{
	int64_t result = deadline_at(address, deadline);
	uint64_t epoch = 0;

	(void)clock_epoch(&epoch);
	if (*deadline != NEVER)
		*deadline -= MIN(*deadline, epoch);
	return result;
}

long deadline_left(uint64_t address, uint64_t unit, nanoseconds deadline)
{
	nanoseconds at = now();
	uint64_t ns = deadline > at ? deadline - at : 0;
	struct linux_timespec time = { (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND / unit) };

	return address ? user_put(address, &time, sizeof time) : 0;
}

int64_t mask_begin(struct task *t, uint64_t address, uint64_t size)
{
	if (address == 0)
		return 0;
	if (size != SIGNAL_SET)
		return -EINVAL;
	TRY(client_pm_sigmask_wait(&t->request, user_grant(address, SIGNAL_SET)));
	return 1;
}

int64_t mask_begin_at(struct task *t, uint64_t address)
{
	uint64_t mask[2] = { 0, 0 };

	if (address != 0 && user_get(mask, address, sizeof mask) != 0)
		return -EFAULT;
	return mask_begin(t, mask[0], mask[1]);
}

int64_t mask_end(struct task *t, int64_t masked, int64_t result)
{
	if (masked && result != -EINTR)
		client_pm_sigmask_waited(&t->request);
	return result;
}
