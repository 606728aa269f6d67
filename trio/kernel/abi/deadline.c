/* deadline.c: how long a program is willing to wait, as an instant. */
#include "abi/abi.h"
#include "abi/time.h"

#define MICRO_PER_SECOND 1000000

int64_t user_deadline(uint64_t address, bool micro, nanoseconds *deadline)
{
	struct linux_timespec t;
	int64_t most = micro ? MICRO_PER_SECOND : (int64_t)NS_PER_SECOND;
	nanoseconds wait, at = now();

	*deadline = NEVER;
	if (address == 0)
		return 0;
	if (user_get(&t, address, sizeof t) != 0)
		return -EFAULT;
	if (t.seconds < 0 || t.nanoseconds < 0 || t.nanoseconds >= most)
		return -EINVAL;
	if ((uint64_t)t.seconds >= (NEVER - at) / NS_PER_SECOND - 1)
		return 0;
	wait = (uint64_t)t.seconds * NS_PER_SECOND + (uint64_t)t.nanoseconds * (micro ? 1000 : 1);
	*deadline = at + wait;
	return 0;
}
