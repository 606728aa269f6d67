/* files.h: Linux's numbers and structures of files on x86-64, and what services tell each other of files. */
#ifndef TRIO_ABI_FILES_H
#define TRIO_ABI_FILES_H

#include <stdint.h>

#define O_ACCMODE 03
#define O_RDONLY 00
#define O_WRONLY 01
#define O_RDWR 02
#define O_CREAT 0100
#define O_EXCL 0200
#define O_NOCTTY 0400
#define O_TRUNC 01000
#define O_APPEND 02000
#define O_NONBLOCK 04000
#define O_DSYNC 010000
#define O_ASYNC 020000
#define O_DIRECT 040000
#define O_LARGEFILE 0100000
#define O_DIRECTORY 0200000
#define O_NOFOLLOW 0400000
#define O_NOATIME 01000000
#define O_CLOEXEC 02000000U
#define O_SYNC 04010000
#define O_PATH 010000000
#define O_TMPFILE 020200000

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFLNK 0120000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define S_ISUID 04000
#define S_ISGID 02000
#define S_ISVTX 01000
#define S_ISSOCK(mode) (((mode) & S_IFMT) == S_IFSOCK)
#define S_ISLNK(mode) (((mode) & S_IFMT) == S_IFLNK)
#define S_ISREG(mode) (((mode) & S_IFMT) == S_IFREG)
#define S_ISBLK(mode) (((mode) & S_IFMT) == S_IFBLK)
#define S_ISDIR(mode) (((mode) & S_IFMT) == S_IFDIR)
#define S_ISCHR(mode) (((mode) & S_IFMT) == S_IFCHR)
#define S_ISFIFO(mode) (((mode) & S_IFMT) == S_IFIFO)

/* Modes of access(2), and the permissions that a walk along a path needs. */
#define MAY_READ 4
#define MAY_WRITE 2
#define MAY_EXECUTE 1

#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_EACCESS 0x200
#define AT_REMOVEDIR 0x200
#define AT_SYMLINK_FOLLOW 0x400
#define AT_NO_AUTOMOUNT 0x800
#define AT_EMPTY_PATH 0x1000
#define AT_STATX_SYNC_TYPE 0x6000

#define UTIME_NOW 0x3fffffff
#define UTIME_OMIT 0x3ffffffe

#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define SEEK_DATA 3
#define SEEK_HOLE 4

#define NAME_MAX 255
/* It counts the NUL. */
#define PATH_MAX 4096
#define LINKS_FOLLOWED 40
#define READ_WRITE_MOST 0x7ffff000UL

#define F_DUPFD 0
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define F_GETLK 5
#define F_SETLK 6
#define F_SETLKW 7
#define F_SETOWN 8
#define F_GETOWN 9
#define F_DUPFD_CLOEXEC 1030
#define F_SETPIPE_SZ 1031
#define F_GETPIPE_SZ 1032
#define FD_CLOEXEC 1
#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2
#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

#define FALLOC_FL_KEEP_SIZE 1
#define CLOSE_RANGE_CLOEXEC 4U
#define MFD_CLOEXEC 1U

#define RENAME_NOREPLACE 1

#define MS_RDONLY 1
#define MS_NOSUID 2
#define MS_NODEV 4
#define MS_NOEXEC 8
#define MS_SYNCHRONOUS 16
#define MS_REMOUNT 32
#define MS_NOATIME 1024
#define MS_NODIRATIME 2048
#define MS_SILENT 32768
#define MS_RELATIME (1 << 21)
#define MS_STRICTATIME (1 << 24)
#define MNT_FORCE 1
#define MNT_DETACH 2

#define DT_UNKNOWN 0
#define DT_FIFO 1
#define DT_CHR 2
#define DT_DIR 4
#define DT_BLK 6
#define DT_REG 8
#define DT_LNK 10
#define DT_SOCK 12

/* A device's number as programs see it, of 32 bits. */
#define DEVICE(major, minor) (((uint32_t)(major) << 8) | ((minor) & 0xff) | (((uint32_t)(minor) & ~0xffU) << 12))
#define DEVICE_MAJOR(device) ((uint32_t)(device) >> 8 & 0xfff)
#define DEVICE_MINOR(device) (((uint32_t)(device) & 0xff) | ((uint32_t)(device) >> 12 & 0xfff00))

struct linux_stat {
	uint64_t device;
	uint64_t inode;
	uint64_t links;
	uint32_t mode;
	uint32_t owner;
	uint32_t group;
	uint32_t pad;
	uint64_t special;
	int64_t size;
	int64_t block_size;
	/* Of 512 bytes each. */
	int64_t blocks;
	uint64_t access_s, access_ns;
	uint64_t modify_s, modify_ns;
	uint64_t change_s, change_ns;
	int64_t unused[3];
};
_Static_assert(sizeof(struct linux_stat) == 144, "struct stat of x86-64");

/* `length` is the whole entry's, a multiple of 8; `next` is where to go on after it. */
struct linux_dirent64 {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
} __attribute__((packed));

struct linux_statx_time {
	int64_t seconds;
	uint32_t nanoseconds, pad;
};

#define STATX_BASIC_STATS 0x7ff

struct linux_statx {
	uint32_t mask, block_size;
	uint64_t attributes;
	uint32_t links, owner, group;
	uint16_t mode, pad;
	uint64_t inode, size, blocks, attributes_mask;
	struct linux_statx_time accessed, born, changed, modified;
	uint32_t special_major, special_minor, device_major, device_minor;
	uint64_t spare[14];
};
_Static_assert(sizeof(struct linux_statx) == 256, "struct statx");

struct linux_statfs {
	int64_t type, block_size;
	uint64_t blocks, blocks_free, blocks_available, files, files_free;
	int32_t id[2];
	int64_t name_length, fragment_size, flags, spare[4];
};
_Static_assert(sizeof(struct linux_statfs) == 120, "struct statfs of x86-64");

struct linux_flock {
	int16_t type, whence;
	int32_t pad;
	int64_t start, length;
	int32_t pid, pad_2;
};

/* What services tell each other of an inode. Times are in nanoseconds since 1970; a block has 512 bytes. */
struct file_attributes {
	uint64_t inode, size, blocks;
	int64_t accessed, modified, changed;
	uint32_t mode, owner, group, links;
	/* The device's number, of a special file. */
	uint32_t device;
	uint32_t block_size;
};

/* Which fields of a struct file_attributes fs.set_attributes and its like set. */
#define SET_MODE 1
#define SET_OWNER 2
#define SET_GROUP 4
#define SET_ACCESSED 8
#define SET_MODIFIED 16

/* The things that a call of a file system on a disk may wait for, by number. FS_ROOM: the disk takes one more request.
 * FS_ANYTHING comes whenever any other does. */
#define FS_THINGS 64U
#define FS_ROOM 62U
#define FS_ANYTHING 63U

#endif
