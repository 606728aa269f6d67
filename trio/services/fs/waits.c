/* waits.c: what calls wait for, and what has come of it: a block that is read or written, the end of a write-back, a
 * request that the disk can take. */
#include "minixfs.h"

struct waits waits;

/* A disk that never makes anybody wait tells nobody. */
void has_come(uint32_t thing)
{
	if (!(waits.ever >> thing & 1))
		return;
	waits.came |= 1ULL << thing;
	notify(ENDPOINT_VFS, VFS_DISK_READY);
}

int64_t fs_waited(uint32_t *out_on)
{
	*out_on = waits.on;
	return 0;
}

int64_t fs_came(uint64_t *out_what, uint32_t *out_room)
{
	*out_what = waits.came;
	*out_room = 0;
	for (const struct mount *m = fs.mounts; m < fs.mounts + MOUNTS; m++)
		if (m->use != FREE)
			*out_room += TRANSFERS - m->transfer_count;
	waits.came = 0;
	return 0;
}
