/* pipe.h: a pipe, as pipes and FIFOs share it. */
#ifndef TRIO_VFS_PIPE_H
#define TRIO_VFS_PIPE_H

#include "io.h"

/* Those who read, or those who write. */
struct pipe_side {
	/* Open files. */
	uint32_t files;
	/* Of a FIFO: opens so far, and who waits for the other side. While one who waited is on the way to open, his
	 * side is `expected`: whoever met him may already read or write. */
	uint32_t opens;
	bool expected;
	struct queue opening;
};

struct pipe {
	struct ring ring;
	struct pipe_side readers, writers;
	struct watch readable, writable;
	/* A FIFO's: it goes with the node. */
	bool has_name;
	/* For fstat: nanoseconds since 1970. */
	int64_t made;
	uint64_t inode;
	uint32_t owner, group;
};

extern const struct file_operations pipe_files;
/* Without readers and writers yet; NULL without memory. */
struct pipe *pipe_make(uint32_t task);
/* Nobody has it open any more; with its bytes. */
void pipe_end(struct pipe *p);

#endif
