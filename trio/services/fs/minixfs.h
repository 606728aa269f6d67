/* minixfs.h: MINIX FS version 3 in memory and on the disk. All files of this service include it and nothing else.
 *
 * Every change has these steps: find and pin what it needs (-EWAIT while a block is missing), check what can fail,
 * reserve, then `committed`: after that nothing fails. A call that returns -EWAIT has changed nothing that a second run
 * would repeat. `write_back.c` explains in which order changes reach the disk. */
#ifndef TRIO_MINIXFS_H
#define TRIO_MINIXFS_H

#include "port.h"
#include "abi/files.h"
#include "block.h"
#include "clock.h"
#include "kernel.h"
#include "endpoints.h"
#include "vfs.h"
#include "fs_serve.h"

#define MAGIC 0x4d5a
#define SUPER_AT 1024
#define ROOT 1
#define NAME_BYTES 60
#define ENTRY 64
#define LINKS_MOST 65530
#define DIRECT 7
#define ZONES_IN_INODE 10
#define SECTOR 512

struct disk_super {
	uint32_t inodes;
	uint16_t pad_0, imap_blocks, zmap_blocks, first_zone, log_zone_size, pad_1;
	uint32_t max_size, zones;
	uint16_t magic, pad_2, block_size;
	uint8_t version;
};

/* The fields of an inode, on the disk and in memory. */
#define INODE_FIELDS                        \
	uint16_t mode, links, owner, group; \
	uint32_t size, accessed, modified, changed, zone[ZONES_IN_INODE];

struct disk_inode {
	INODE_FIELDS
};
_Static_assert(sizeof(struct disk_inode) == 64, "an inode of version 3");

struct disk_entry {
	uint32_t inode;
	char name[NAME_BYTES];
};
_Static_assert(sizeof(struct disk_entry) == ENTRY, "an entry of version 3");

/* What a block contains; the phase in which it is written depends on it. */
enum kind { DATA, MAP, INODES, INDIRECT, DIRECTORY };

/* For a mount: the phase of its write-back. For a dirty buffer: the phase that writes it. They run in this order. */
enum phase { IDLE, GATHER, NEW, TABLE, ENTRIES, REMOVALS, FREES, PHASES };

/* ALONE: reading it with others failed, so it must be read by itself. */
enum state { EMPTY, READING, VALID, FAILED, ALONE };

struct buffer {
	struct buffer *hashed;
	/* All buffers of a mount form a ring, which the search for one to reuse follows. */
	struct buffer *ring;
	/* The link in the mount's list of `phase`, unless that is IDLE. */
	struct link dirty;
	uint8_t *bytes;
	uint32_t block;
	/* The mount's last step that needed it; it is not reused in that step. */
	uint32_t step;
	uint8_t state, phase;
	/* The number of its request, for those who wait. */
	uint8_t thing;
	bool recent, writing;
	/* A new block of a directory that the disk knows: it is first written empty. */
	bool grown;
	/* Bits of slots: entered since the last write-back; removed since, and still on the disk. */
	uint64_t fresh, removed;
};

/* Blocks of a file from `index` on with consecutive zones. */
struct run {
	uint32_t index, zone, count;
};

struct inode {
	struct inode *hashed;
	/* Links in the mount's lists: all inodes, the last used one at the end; those to be written; those without name
	 * and holder whose zones are not yet all freed. */
	struct link used, dirty, doomed;
	/* turn: the mount's last turn that needed it; it is not reused in that turn. */
	uint32_t number, holds, turn;
	union {
		struct disk_inode disk;
		struct {
			INODE_FIELDS
		};
	};
	/* The last run found; valid until blocks are freed. */
	struct run run;
	/* The mount's batch in which it last changed. */
	uint64_t batch;
};

static inline bool is_listed(const struct link *l)
{
	return l->next != NULL;
}

/* The bitmap of used inodes or zones. A bit stands for the number beyond `base`; bit 0 stands for none. */
struct map {
	uint32_t block, bits, base;
	/* No bit below `hint` is free. `free` includes those that become free with the next write-back. */
	uint32_t hint, free;
	/* Allocated since the last write-back, so reusable at once; freed since, and in use on the disk. */
	uint64_t *fresh, *freed;
	uint32_t freed_count;
	size_t pages;
};

/* An entry that was on the disk when it was removed. `inode` 0: the slot had a new file that the disk does not know. */
struct removal {
	uint32_t block, slot, inode;
};

/* A name that the disk has in a slot which now has another name. */
struct vacated {
	uint32_t directory, hash, block, slot;
};

/* block.idl's limit of bytes for one request. */
#define REQUEST_MOST 65536U
#define REQUEST_BLOCKS (REQUEST_MOST / 1024)

/* A read or write of consecutive blocks that the device has accepted and not ended. */
struct transfer {
	/* NULL: a read. For a write the first block's contents; further blocks are written from their buffers. */
	const uint8_t *from;
	uint32_t count;
	struct buffer *buffers[REQUEST_BLOCKS];
};

#define TRANSFERS 8
#define REMOVALS_MOST 128
#define VACATED_MOST 16
/* What one change may need of each. */
#define LOG_ROOM 4
#define BUFFERS_LEAST 128
#define CACHE_BYTES (8UL << 20)
#define BUCKETS 2048
#define INODE_BUCKETS 512
#define INODES_MOST 2048

/* Buffers and inodes by number; and a directory's block as it is written while the disk must keep removed entries. */
struct tables {
	struct buffer *buffers[BUCKETS];
	struct inode *inodes[INODE_BUCKETS];
	uint8_t shadow[PAGE];
};

/* RETURNING: it was mounted when the service's last process ended; the first call for it mounts it again. */
enum use { FREE, MOUNTING, RETURNING, LIVE };

struct mount {
	uint8_t use;
	bool read_only;
	/* A write failed; nothing is changed or written any more. */
	bool failed;
	uint32_t device;
	uint32_t block_size, block_shift;
	uint32_t zones, first_zone, table;
	uint64_t max_size;
	struct map inodes_map, zones_map;
	/* During mounting: bitmap blocks below this one are counted. */
	uint32_t counted;

	struct tables *tables;
	struct buffer *clock;
	/* A turn is one call of the service. A step is a part of it that needs its buffers at the same time. */
	uint32_t turn, step, buffer_count, buffer_most, dirty_count;
	struct link dirty[PHASES];

	struct link used, dirty_inodes, doomed;
	uint32_t inode_count;

	uint8_t phase;
	/* Something was written in this phase; the shadow is being written. */
	bool wrote, shadow_busy;
	/* The number of ended write-backs. */
	uint64_t batch;
	struct transfer transfers[TRANSFERS];
	uint32_t transfer_count;
	/* How often in a row the device told to go on, and nothing had ended. */
	uint32_t rounds;
	struct removal removals[REMOVALS_MOST];
	struct vacated vacated[VACATED_MOST];
	uint32_t removal_count, vacated_count;
	/* A list of pages for room_take, and the used bytes of the first one. */
	struct room_page *room_pages;
	size_t room_used;
};

#define MOUNTS 4
struct fs {
	struct mount mounts[MOUNTS];
	bool alarm_set;
	/* The number of this service's process, from 1. */
	uint16_t starts;
};
extern struct fs fs;

struct name {
	uint32_t length, hash;
	/* Padded with zeros. */
	char bytes[NAME_BYTES];
};

/* The things that calls which return -EWAIT wait for, by number, so that callers wake exactly those who wait for a
 * thing that has come. Whoever returns it sets the thing; the last one set counts. */
enum thing { REQUESTS = 61, WRITE_BACK = REQUESTS, ROOM = FS_ROOM, ANYTHING = FS_ANYTHING };
_Static_assert(MOUNTS *TRANSFERS < REQUESTS, "no two that are under way have the same");
struct waits {
	uint32_t on;
	/* The last started request's number, below REQUESTS. */
	uint8_t request;
	/* A bit for each thing: it was ever waited for; it has come since vfs last asked. */
	uint64_t ever, came;
};
extern struct waits waits;
/* Returns -EWAIT. */
static inline int64_t wait_for(uint32_t thing)
{
	waits.on = thing;
	waits.ever |= 1ULL << thing;
	return -EWAIT;
}
/* main.c */
void has_come(uint32_t thing);

/* cache.c: buffers stay in place until the step ends (step_begin), dirty ones until they are written. */
static inline void step_begin(struct mount *m)
{
	m->step++;
}
int64_t cache_start(struct mount *m);
/* Adds a page of buffers, up to CACHE_BYTES and if there is memory. Returns its last buffer, or NULL. */
struct buffer *cache_grow(struct mount *m);
/* Gets the block's contents. Returns 0, -EWAIT (it is being read), -EIO or -ENOMEM. */
int64_t cache_read(struct mount *m, uint32_t block, struct buffer **out);
/* Gets the first buffer of those blocks from `block` on whose contents are consecutive in memory, and their number, at
 * most *count. Returns as cache_read. If it must read, it also reads as many of the `ahead` blocks as possible. */
int64_t cache_run(struct mount *m, uint32_t block, uint32_t ahead, uint32_t *count, struct buffer **out);
/* Gets a buffer for a block that will be written whole; `clear`: filled with zeros. Returns 0, -EWAIT or -ENOMEM. */
int64_t cache_blank(struct mount *m, uint32_t block, bool clear, struct buffer **out);
/* The buffer of a block that this step has read or that is dirty. */
struct buffer *cache_present(struct mount *m, uint32_t block);
/* A freed block need not be written. */
void cache_forget(struct mount *m, uint32_t block);
/* Lists the buffer to be written in that phase. */
void cache_list(struct mount *m, struct buffer *b, enum phase phase);
void cache_unlist(struct mount *m, struct buffer *b);
/* Starts a transfer, for which there is room. Returns 0, -EWAIT or -EIO. */
int64_t cache_transfer(struct mount *m, const struct transfer *t);
/* Asks the device which transfers have ended; of a lost device all have, with EIO. */
void cache_poll(struct mount *m);
/* Whether the device was stuck and has no next process. It may answer again. */
static inline bool is_lost(const struct mount *m)
{
	return m->rounds >= ROUNDS_MOST;
}
/* The device has told to go on. Returns -EIO if it is lost, or -EWAIT. */
int64_t round_begins(struct mount *m);

/* write_back.c: to be called before a change; starts a step. Returns 0, -EROFS, -EIO, or -EWAIT during a write-back. */
int64_t change_begin(struct mount *m);
/* Writes all that is dirty. Returns 0, -EWAIT while it runs, or -EIO if the mount has failed. */
int64_t write_back(struct mount *m);
/* To be called in a change before it commits: it starts again when all is written. Returns -EWAIT or -EIO. */
static inline int64_t write_back_first(struct mount *m)
{
	(void)wait_for(WRITE_BACK);
	TRY(write_back(m));
	return wait_for(WRITE_BACK);
}
bool has_changes(const struct mount *m);
/* Stops all writing to this disk. */
void write_failed(struct mount *m);
/* Marks a buffer dirty; `owner` is the directory of a directory's block. */
void dirty_buffer(struct mount *m, struct buffer *b, enum kind kind, const struct inode *owner);
/* Called when a block was written: lists its buffer for its next phase, if it has one. */
void buffer_written(struct mount *m, struct buffer *b);

/* zones.c: both bitmaps. */
int64_t map_start(struct map *map);
void map_end(struct map *map);
/* Finds a free number, if possible from `from` on, without taking it. Returns 0, -ENOSPC, -EWAIT or -EIO. */
int64_t map_find(struct mount *m, struct map *map, uint32_t from, uint32_t *number);
/* Takes a number that this step has found. */
void map_take(struct mount *m, struct map *map, uint32_t number);
void map_give(struct mount *m, struct map *map, uint32_t number);
static inline bool bit_of(const uint64_t *words, uint32_t bit)
{
	return words[bit / 64] >> (bit % 64) & 1;
}
/* Whether the disk does not know that it is in use. */
static inline bool is_fresh(const struct map *map, uint32_t number)
{
	return bit_of(map->fresh, number - map->base);
}
/* Whether it was freed and the disk still has it in use. */
static inline bool is_freed(const struct map *map, uint32_t number)
{
	return bit_of(map->freed, number - map->base);
}
/* Frees what was freed in the bitmap and the inode table. Returns 0, -EWAIT or -EIO. */
int64_t map_settle(struct mount *m, struct map *map);
static inline bool is_zone(const struct mount *m, uint32_t zone)
{
	return zone >= m->first_zone && zone < m->zones;
}
void zone_give(struct mount *m, uint32_t zone);

/* mapping.c: finds the zone of a file's block `index` (0: a hole, with *count 1) and the number of blocks with
 * consecutive zones from there on, at most `most`. Returns 0, -EWAIT or -EIO. */
int64_t block_run(struct mount *m, struct inode *i, uint32_t index, uint32_t most, uint32_t *zone, uint32_t *count);
/* block_run() for one block. */
static inline int64_t block_zone(struct mount *m, struct inode *i, uint32_t index, uint32_t *zone)
{
	return block_run(m, i, index, 1, zone, &(uint32_t){ 0 });
}
/* Allocates a block for a hole, with its indirect blocks. Returns its buffer (zeroed with `clear`), which the caller
 * marks dirty. Returns 0, -EWAIT, -EIO or -ENOSPC. */
int64_t block_make(struct mount *m, struct inode *i, uint32_t index, bool clear, struct buffer **fresh);
/* Frees all blocks from `index` on, in pieces. Returns 0, -EWAIT or -EIO; a repeated call continues. */
int64_t blocks_trim(struct mount *m, struct inode *i, uint32_t index);
uint64_t blocks_512(const struct mount *m, const struct inode *i);

/* inode.c: 0, -EIO, -EWAIT, -ENOMEM or -ESTALE (no such file). Without a hold it is valid until the turn ends. */
int64_t inode_get(struct mount *m, uint32_t number, struct inode **out);
/* Does so for a directory (-ENOTDIR) that has a name (-ENOENT). */
int64_t inode_directory(struct mount *m, uint32_t number, struct inode **out);
/* Finds a place for a new inode without taking it. Returns 0, -ENOSPC and so on. */
int64_t inode_reserve(struct mount *m, uint32_t *number, struct inode **out);
void inode_commit(struct mount *m, struct inode *i, uint32_t number);
void inode_release(struct mount *m, struct inode *i);
/* Frees the inode if it has neither a name nor a holder. */
void inode_settle(struct mount *m, struct inode *i);
/* Continues with inodes that could not be freed at once. */
void inodes_reap(struct mount *m);
void inode_dirty(struct mount *m, struct inode *i);
/* Its attributes have changed; its contents have changed too. */
void inode_changed(struct mount *m, struct inode *i);
void inode_modified(struct mount *m, struct inode *i);
/* Copies dirty inodes into the table's blocks. Returns 0, -EWAIT or -EIO. */
int64_t inodes_gather(struct mount *m);
/* Whether the file has no name and cannot get one. */
bool inode_is_dead(struct mount *m, uint32_t number);
void touch_access(struct mount *m, struct inode *i);
static inline bool is_directory(const struct inode *i)
{
	return S_ISDIR(i->mode);
}
int64_t table_block(struct mount *m, uint32_t number, struct buffer **b, struct disk_inode **d);

/* directory.c */
struct place {
	struct buffer *buffer;
	uint32_t block, slot, inode;
};
struct search {
	/* The entry, or `inode` 0. */
	struct place found;
	/* If there is no entry: where to put one; `buffer` NULL: a new slot at the end is needed. */
	struct place room;
	/* `room` has that very name on the disk, so the new entry replaces it. */
	bool replaces;
	/* `room` is a new slot at the end. */
	bool appends;
};
/* Gets the inode that an entry names, which on a damaged disk may be anything. */
int64_t place_inode(struct mount *m, const struct place *p, struct inode **i);
/* Finds an entry and its inode. Returns 0, -ENOENT, -EWAIT or -EIO. */
int64_t directory_find(struct mount *m, struct inode *d, const struct name *name, struct place *p, struct inode **i);
/* Returns 0, found or not, -EWAIT or -EIO. Without a name it finds any entry but "." and "..". Starts steps. */
int64_t directory_search(struct mount *m, struct inode *d, const struct name *name, bool for_room, struct search *s);
/* Reserves room. Returns 0, -ENOSPC, -EWAIT, -EIO or -EFBIG. */
int64_t directory_reserve(struct mount *m, struct inode *d, const struct name *name, struct search *s);
void directory_enter(struct mount *m, struct inode *d, const struct search *s, const struct name *name, uint32_t inode);
void directory_replace(struct mount *m, struct inode *d, const struct place *p, uint32_t inode);
void directory_remove(struct mount *m, struct inode *d, const struct place *p);
/* Changes the name in its slot. Returns 0, or -EWAIT or -EIO without a change. */
int64_t directory_rename(struct mount *m, struct inode *d, const struct place *p, const struct name *name);
void directory_first(struct mount *m, struct inode *d, struct buffer *b, uint32_t parent);
/* Finds the entry "..". Returns 0, -EIO or -EWAIT. */
int64_t directory_parent(struct mount *m, struct inode *d, struct place *p);
/* Gets the place's buffer again after other buffers were needed. Returns 0, -EWAIT or -EIO. */
int64_t place_keep(struct mount *m, struct place *p);
int64_t name_take(struct grant from, struct name *name);

/* super.c: allocates less than a page of zeroed memory for the mount's lifetime. Returns NULL if memory is short. */
void *room_take(struct mount *m, size_t size);

/* main.c: finds the mount and begins a turn. Returns 0 or -EINVAL. */
int64_t mount_of(uint32_t number, struct mount **out);
/* super.c: at the start, notes what was mounted when the last process ended; mounts one of these again. */
void mounts_return(void);
int64_t mount_return(struct mount *m);
/* mount_of() and inode_get(). */
int64_t file_of(uint32_t mount, uint32_t number, struct mount **m, struct inode **i);
/* Does so for a change, with change_begin(). */
int64_t file_to_change(uint32_t mount, uint32_t number, struct mount **m, struct inode **i);
/* Sets the alarm, unless it is set. */
void alarm_wanted(void);

#endif
