/* absent.c: services that the thin slice does without: they start, and nobody asks them anything. */
#include "block_serve.h"
#include "clock_serve.h"
#include "console_serve.h"
#include "framebuffer_serve.h"
#include "fs_serve.h"
#include "vfs_serve.h"

#define ABSENT(interface, name)                                            \
	static void name##_start(struct interface *self)                   \
	{                                                                  \
		(void)self;                                                \
	}                                                                  \
	static void name##_notified(struct interface *self, uint64_t bits) \
	{                                                                  \
		(void)self;                                                \
		(void)bits;                                                \
	}                                                                  \
	const struct interface##_service name##_service = { .start = name##_start, .notified = name##_notified }

ABSENT(vfs, vfs);
ABSENT(fs, fs);
ABSENT(block, ram_block);
ABSENT(block, virtio_blk);
ABSENT(console, serial);
ABSENT(clock, clock);
ABSENT(framebuffer, framebuffer);
