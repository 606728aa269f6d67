/* vfs_seam.h: what a test on the host steers and sees of the mock of the file service's seam. */
#ifndef TRIO_TESTS_VFS_SEAM_H
#define TRIO_TESTS_VFS_SEAM_H

#include "vfs_internal.h"

/* Taken and not given back. */
extern unsigned pages_out, objects_out;
/* The how manyeth allocation from now on has no memory; 0: none. */
extern unsigned fail_at;
extern bool alarm_is_set;
/* Until none is set. */
void alarms_ring(void);

#endif
