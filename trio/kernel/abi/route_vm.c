/* route_vm.c: calls about memory, and futexes. Memory is never paged out: locking it is to see that it is there. */
#include "abi/abi.h"
#include "abi/mman.h"
#include "abi/time.h"
#include "clock.h"
#include "vfs_client.h"
#include "vm_client.h"

/* Of struct robust_list_head. */
#define ROBUST_HEAD_BYTES 24

static int64_t run_mmap(struct task *t, const uint64_t *a)
{
	uint32_t protection = (uint32_t)a[2], flags = (uint32_t)a[3];

	if (a[5] % PAGE != 0)
		return -EINVAL;
	if (flags & MAP_ANONYMOUS)
		return client_vm_map_anonymous(&t->request, a[0], a[1], protection, flags);
	return client_vfs_map(&t->request, a[0], a[1], protection, flags, (int32_t)a[4], a[5]);
}

/* FUTEX_WAIT has a time from now on, FUTEX_WAIT_BITSET an instant of the clock since boot or of the calendar. */
static int64_t futex_deadline(uint64_t address, bool instant, bool calendar, nanoseconds *deadline)
{
	struct linux_timespec at;
	uint64_t epoch = 0;

	if (!instant || address == 0)
		return user_deadline(address, false, deadline);
	if (user_get(&at, address, sizeof at) != 0)
		return -EFAULT;
	if (at.seconds < 0 || at.nanoseconds < 0 || (uint64_t)at.nanoseconds >= NS_PER_SECOND)
		return -EINVAL;
	if (calendar)
		(void)clock_epoch(&epoch);
	*deadline = NEVER;
	if ((uint64_t)at.seconds >= NEVER / NS_PER_SECOND)
		return 0;
	*deadline = (uint64_t)at.seconds * NS_PER_SECOND + (uint64_t)at.nanoseconds;
	*deadline -= MIN(*deadline, epoch);
	return 0;
}

static int64_t futex_wait(struct task *t, const uint64_t *a, uint32_t operation, uint32_t mask)
{
	bool instant = (operation & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)) == FUTEX_WAIT_BITSET;
	nanoseconds deadline;
	int64_t result = futex_deadline(a[3], instant, operation & FUTEX_CLOCK_REALTIME, &deadline);

	if (result != 0)
		return result;
	/* A time that began already is not to begin again after a signal's handler. */
	if (a[3] != 0)
		t->system_call = -1;
	return client_vm_futex_wait(&t->request, a[0], (uint32_t)a[2], deadline, mask,
				    (operation & FUTEX_PRIVATE_FLAG) != 0);
}

/* To wake none is to wake one, as on Linux. */
static int64_t futex_wake(struct task *t, const uint64_t *a, uint32_t operation, uint32_t mask)
{
	int32_t count = MAX((int32_t)a[2], 1);

	return client_vm_futex_wake(&t->request, a[0], (uint32_t)count, mask, (operation & FUTEX_PRIVATE_FLAG) != 0);
}

static int64_t futex_requeue(struct task *t, const uint64_t *a, uint32_t operation, int64_t compare)
{
	if ((int32_t)a[2] < 0 || (int32_t)a[3] < 0)
		return -EINVAL;
	return client_vm_futex_requeue(&t->request, a[0], (uint32_t)a[2], a[4], (uint32_t)a[3], compare,
				       (operation & FUTEX_PRIVATE_FLAG) != 0);
}

/* futex(address, operation, value, timeout or second count, other address, mask or value to compare). */
static int64_t run_futex(struct task *t, const uint64_t *a)
{
	uint32_t operation = (uint32_t)a[1], command = operation & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

	if (operation & FUTEX_CLOCK_REALTIME && command != FUTEX_WAIT_BITSET)
		return -ENOSYS;
	switch (command) {
	case FUTEX_WAIT:
		return futex_wait(t, a, operation, FUTEX_BITSET_ALL);
	case FUTEX_WAIT_BITSET:
		return futex_wait(t, a, operation, (uint32_t)a[5]);
	case FUTEX_WAKE:
		return futex_wake(t, a, operation, FUTEX_BITSET_ALL);
	case FUTEX_WAKE_BITSET:
		return futex_wake(t, a, operation, (uint32_t)a[5]);
	case FUTEX_REQUEUE:
		return futex_requeue(t, a, operation, -1);
	case FUTEX_CMP_REQUEUE:
		return futex_requeue(t, a, operation, (uint32_t)a[5]);
	}
	return -ENOSYS;
}

/* What it names matters only to those who share a lock with a task that dies with it; no such lock is offered. */
static int64_t run_set_robust_list(struct task *t, const uint64_t *a)
{
	return a[1] == ROBUST_HEAD_BYTES ? 0 : -EINVAL;
}

ROUTE_TABLE(vm, { 9, true, "mmap", run_mmap }, { 202, true, "futex", run_futex },
	    { 273, false, "set_robust_list", run_set_robust_list }, );
