/* minixfs.h: MINIX FS version 3 in memory and on the disk. All files of this service include it and nothing else.
 *
 * Every change is: find and pin what it needs (-EWAIT while a block is missing), check what can fail, reserve, then
 * `committed`: from there on nothing fails. Whatever says -EWAIT has changed nothing that a second run would do twice.
 * `write_back.c` says in which order changes reach the disk. */
#ifndef TRIO_MINIXFS_H
#define TRIO_MINIXFS_H

#include "port.h"
#include "abi/files.h"
#include "block.h"
#include "clock.h"
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

/* What is known of a file, on the disk as in memory. */
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

/* What a block is: by it, it is written in its turn. */
enum kind { DATA, MAP, INODES, INDIRECT, DIRECTORY };

/* Of a mount: what is being written back; of a dirty buffer: when its turn is. In this order. */
enum phase { IDLE, GATHER, NEW, TABLE, ENTRIES, REMOVALS, FREES, PHASES };

/* ALONE: it could not be read with others, and must be read by itself. */
enum state { EMPTY, READING, VALID, FAILED, ALONE };

struct buffer {
	struct buffer *hashed;
	/* All buffers of a mount are a ring, round which the search for one to reuse goes. */
	struct buffer *ring;
	/* On the mount's list `phase`, where that is not IDLE. */
	struct link dirty;
	uint8_t *bytes;
	uint32_t block;
	/* The mount's step that needed it last: it is not reused in that step. */
	uint32_t step;
	uint8_t state, phase;
	/* What its request is to those who wait for it. */
	uint8_t thing;
	bool recent, writing;
	/* A new block of a directory that the disk knows: first written empty. */
	bool grown;
	/* Of a directory's block, by slot: entered since the last write-back; removed since, and still on the disk. */
	uint64_t fresh, removed;
};

/* Blocks of a file from `index` on whose zones follow each other. */
struct run {
	uint32_t index, zone, count;
};

struct inode {
	struct inode *hashed;
	/* All of a mount's, the one used last at the end; those to be written; those without name or holder whose zones
	 * are not yet all free. */
	struct link used, dirty, doomed;
	/* turn: the mount's in which it was needed last; it is not reused in that turn. */
	uint32_t number, holds, turn;
	union {
		struct disk_inode disk;
		struct {
			INODE_FIELDS
		};
	};
	/* Found last; true until blocks are freed. */
	struct run run;
	/* The mount's batch in which it was changed last. */
	uint64_t batch;
};

static inline bool is_listed(const struct link *l)
{
	return l->next != NULL;
}

/* Inodes or zones: which are in use. A bit is that of the number beyond `base`; bit 0 stands for none. */
struct map {
	uint32_t block, bits, base;
	/* No free bit is below; free ones, those included that are free only after the next write-back. */
	uint32_t hint, free;
	/* Allocated since the last write-back: free at once when freed. Freed, and in use on the disk till then. */
	uint64_t *fresh, *freed;
	uint32_t freed_count;
	size_t pages;
};

/* An entry that was on the disk when it was removed. `inode` 0: its slot had got a new file, which the disk has not. */
struct removal {
	uint32_t block, slot, inode;
};

/* A name that the disk has in that slot, where another one stands now. */
struct vacated {
	uint32_t directory, hash, block, slot;
};

/* Of block.idl: bytes that one request may have. */
#define REQUEST_MOST 65536U
#define REQUEST_BLOCKS (REQUEST_MOST / 1024)

/* A read or a write of blocks in a row, that the device has accepted and not ended. */
struct transfer {
	/* NULL: a read. Of several blocks written: the first's content; each goes as it is in its buffer. */
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

/* Buffers and inodes by number; and a directory's block as it is written while the disk has to keep removed entries. */
struct tables {
	struct buffer *buffers[BUCKETS];
	struct inode *inodes[INODE_BUCKETS];
	uint8_t shadow[PAGE];
};

/* RETURNING: it was mounted when the service ended; whoever asks for it first has it mounted again. */
enum use { FREE, MOUNTING, RETURNING, LIVE };

struct mount {
	uint8_t use;
	bool read_only;
	/* A write failed: nothing is changed or written any more. */
	bool failed;
	uint32_t device;
	uint32_t block_size, block_shift;
	uint32_t zones, first_zone, table;
	uint64_t max_size;
	struct map inodes_map, zones_map;
	/* Of the mount that is under way: up to this block, the bitmaps are counted. */
	uint32_t counted;

	struct tables *tables;
	struct buffer *clock;
	/* A turn is one call of this service's; within it, a step is what needs its buffers at the same time. */
	uint32_t turn, step, buffer_count, buffer_most, dirty_count;
	struct link dirty[PHASES];

	struct link used, dirty_inodes, doomed;
	uint32_t inode_count;

	uint8_t phase;
	/* Something was written in this phase; the shadow is on its way to the disk. */
	bool wrote, shadow_busy;
	/* Write-backs ended. */
	uint64_t batch;
	struct transfer transfers[TRANSFERS];
	uint32_t transfer_count;
	struct removal removals[REMOVALS_MOST];
	struct vacated vacated[VACATED_MOST];
	uint32_t removal_count, vacated_count;
	/* Pages of rooms, a list; the first's has so many bytes that are taken. */
	struct room_page *room_pages;
	size_t room_used;
};

#define MOUNTS 4
struct fs {
	struct mount mounts[MOUNTS];
	bool alarm_set;
	/* Processes of this service, from 1. */
	uint16_t starts;
};
extern struct fs fs;

struct name {
	uint32_t length, hash;
	/* Padded with zeros. */
	char bytes[NAME_BYTES];
};

/* What a call waits for that says -EWAIT, by number, so that those above wake who waits for what has come, and
 * nobody else. Each place that says it names the thing, and the last one counts. */
enum thing { REQUESTS = 61, WRITE_BACK = REQUESTS, ROOM = FS_ROOM, ANYTHING = FS_ANYTHING };
_Static_assert(MOUNTS *TRANSFERS < REQUESTS, "no two that are under way have the same");
struct waits {
	uint32_t on;
	/* Of the request that was begun last, below REQUESTS. */
	uint8_t request;
	/* A bit each: what was ever waited for; what has come since those above asked. */
	uint64_t ever, came;
};
extern struct waits waits;
/* -EWAIT. */
static inline int64_t wait_for(uint32_t thing)
{
	waits.on = thing;
	waits.ever |= 1ULL << thing;
	return -EWAIT;
}
/* main.c */
void has_come(uint32_t thing);

/* cache.c. Buffers stay where they are until the step ends (step_begin), dirty ones until they are written. */
static inline void step_begin(struct mount *m)
{
	m->step++;
}
int64_t cache_start(struct mount *m);
/* One page more, up to CACHE_BYTES and as there is memory: its last buffer, or NULL. */
struct buffer *cache_grow(struct mount *m);
/* The block's content. 0, -EWAIT (it is being read), -EIO, -ENOMEM. */
int64_t cache_read(struct mount *m, uint32_t block, struct buffer **out);
/* Of blocks from `block` on, *count at the most, those whose content lies in memory one after the other: the first's
 * buffer, and how many. As cache_read; what must be read is read with as many of the `ahead` blocks as may be. */
int64_t cache_run(struct mount *m, uint32_t block, uint32_t ahead, uint32_t *count, struct buffer **out);
/* A buffer for a block of which all will be written; `clear`: zeros. 0, -EWAIT, -ENOMEM. */
int64_t cache_blank(struct mount *m, uint32_t block, bool clear, struct buffer **out);
/* The buffer of a block that this step has read already, or that is dirty. */
struct buffer *cache_present(struct mount *m, uint32_t block);
/* Of a block that is no longer in use: it needs no writing. */
void cache_forget(struct mount *m, uint32_t block);
/* To be written in that phase. */
void cache_list(struct mount *m, struct buffer *b, enum phase phase);
void cache_unlist(struct mount *m, struct buffer *b);
/* Begins one, for which there is room: 0, -EWAIT, -EIO. */
int64_t cache_transfer(struct mount *m, const struct transfer *t);
/* Asks the device for what it has ended. */
void cache_poll(struct mount *m);

/* write_back.c */
/* Before a change: 0; -EROFS, -EIO; -EWAIT while a write-back is under way. Begins a step. */
int64_t change_begin(struct mount *m);
/* All that is dirty. 0; -EWAIT: under way; -EIO: the mount has failed. */
int64_t write_back(struct mount *m);
/* In the middle of a change that has not committed: it is begun anew when all is written. -EWAIT, -EIO. */
static inline int64_t write_back_first(struct mount *m)
{
	(void)wait_for(WRITE_BACK);
	TRY(write_back(m));
	return wait_for(WRITE_BACK);
}
bool has_changes(const struct mount *m);
/* Nothing is written to this disk any more. */
void write_failed(struct mount *m);
/* Marks a buffer; `owner`: of a directory's block, the directory. */
void dirty_buffer(struct mount *m, struct buffer *b, enum kind kind, const struct inode *owner);
/* A block written: buffers that have a further phase get on its list. */
void buffer_written(struct mount *m, struct buffer *b);

/* zones.c: both bitmaps. */
int64_t map_start(struct map *map);
void map_end(struct map *map);
/* A free one, from `from` on where there is one. 0, -ENOSPC, -EWAIT, -EIO. Nothing is taken. */
int64_t map_find(struct mount *m, struct map *map, uint32_t from, uint32_t *number);
/* Of one found in this step. */
void map_take(struct mount *m, struct map *map, uint32_t number);
void map_give(struct mount *m, struct map *map, uint32_t number);
static inline bool bit_of(const uint64_t *words, uint32_t bit)
{
	return words[bit / 64] >> (bit % 64) & 1;
}
/* Whether the disk does not know it yet. */
static inline bool is_fresh(const struct map *map, uint32_t number)
{
	return bit_of(map->fresh, number - map->base);
}
/* Whether it was freed and the disk has it in use. */
static inline bool is_freed(const struct map *map, uint32_t number)
{
	return bit_of(map->freed, number - map->base);
}
/* Clears what was freed, in the bitmap and the inode table. 0, -EWAIT, -EIO. */
int64_t map_settle(struct mount *m, struct map *map);
static inline bool is_zone(const struct mount *m, uint32_t zone)
{
	return zone >= m->first_zone && zone < m->zones;
}
void zone_give(struct mount *m, uint32_t zone);

/* mapping.c: a file's blocks. */
/* The zone of the file's block `index`, 0: a hole, which stands alone; and of *count blocks, at the most `most`, whose
 * zones follow each other. 0, -EWAIT, -EIO. */
int64_t block_run(struct mount *m, struct inode *i, uint32_t index, uint32_t most, uint32_t *zone, uint32_t *count);
/* Of one. */
static inline int64_t block_zone(struct mount *m, struct inode *i, uint32_t index, uint32_t *zone)
{
	return block_run(m, i, index, 1, zone, &(uint32_t){ 0 });
}
/* A block for a hole, with the zones that it takes: its buffer (with `clear` zeros), which is to be marked dirty. 0,
 * -EWAIT, -EIO, -ENOSPC. */
int64_t block_make(struct mount *m, struct inode *i, uint32_t index, bool clear, struct buffer **fresh);
/* Frees all blocks from `index` on, by pieces. 0, -EWAIT, -EIO; begun anew it continues. */
int64_t blocks_trim(struct mount *m, struct inode *i, uint32_t index);
uint64_t blocks_512(const struct mount *m, const struct inode *i);

/* inode.c */
/* 0, -EIO, -EWAIT, -ENOMEM, -ESTALE (it is no file). Valid until the turn ends, if not held. */
int64_t inode_get(struct mount *m, uint32_t number, struct inode **out);
/* The same, and it is a directory: -ENOTDIR. With a name: -ENOENT. */
int64_t inode_directory(struct mount *m, uint32_t number, struct inode **out);
/* A place for a new inode: 0, -ENOSPC, …; nothing is taken. */
int64_t inode_reserve(struct mount *m, uint32_t *number, struct inode **out);
void inode_commit(struct mount *m, struct inode *i, uint32_t number);
void inode_release(struct mount *m, struct inode *i);
/* Looks after one that may have lost its last name. */
void inode_settle(struct mount *m, struct inode *i);
/* Goes on with those that could not be freed at once. */
void inodes_reap(struct mount *m);
void inode_dirty(struct mount *m, struct inode *i);
/* What is known of it changed now; or its content too. */
void inode_changed(struct mount *m, struct inode *i);
void inode_modified(struct mount *m, struct inode *i);
/* Into the table's blocks. 0, -EWAIT, -EIO. */
int64_t inodes_gather(struct mount *m);
/* The file has no name any more, and no way to get one. */
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
	/* Without one: where one may be put; `buffer` NULL: a new slot is needed at the end. */
	struct place room;
	/* `room` held that very name on the disk: the new entry replaces it. */
	bool replaces;
	/* `room` is a new slot at the end. */
	bool appends;
};
/* What an entry names. A damaged disk's may name anything. */
int64_t place_inode(struct mount *m, const struct place *p, struct inode **i);
/* The entry of that name, and what it names: 0, -ENOENT, -EWAIT, -EIO. */
int64_t directory_find(struct mount *m, struct inode *d, const struct name *name, struct place *p, struct inode **i);
/* 0, found or not; -EWAIT, -EIO. Without a name: any entry but "." and "..". Begins steps. */
int64_t directory_search(struct mount *m, struct inode *d, const struct name *name, bool for_room, struct search *s);
/* Makes room certain: 0, -ENOSPC, -EWAIT, -EIO, -EFBIG. */
int64_t directory_reserve(struct mount *m, struct inode *d, const struct name *name, struct search *s);
void directory_enter(struct mount *m, struct inode *d, const struct search *s, const struct name *name, uint32_t inode);
void directory_replace(struct mount *m, struct inode *d, const struct place *p, uint32_t inode);
void directory_remove(struct mount *m, struct inode *d, const struct place *p);
/* Another name in the same slot. 0, or -EWAIT, -EIO: nothing is done. */
int64_t directory_rename(struct mount *m, struct inode *d, const struct place *p, const struct name *name);
void directory_first(struct mount *m, struct inode *d, struct buffer *b, uint32_t parent);
/* Its "..". 0, -EIO, -EWAIT. */
int64_t directory_parent(struct mount *m, struct inode *d, struct place *p);
/* Where other buffers were needed since: 0, -EWAIT, -EIO. */
int64_t place_keep(struct mount *m, struct place *p);
int64_t name_take(struct grant from, struct name *name);

/* super.c: room for what lasts as long as the mount, zeros, less than a page. NULL: no memory. */
void *room_take(struct mount *m, size_t size);

/* main.c: the mount of that number, for a turn of this call's. 0 or -EINVAL. */
int64_t mount_of(uint32_t number, struct mount **out);
/* super.c: at the start, what was mounted when the service ended; and one of those, when it is asked for. */
void mounts_return(void);
int64_t mount_return(struct mount *m);
/* And a file there: as inode_get. */
int64_t file_of(uint32_t mount, uint32_t number, struct mount **m, struct inode **i);
/* The same for a change: as change_begin. */
int64_t file_to_change(uint32_t mount, uint32_t number, struct mount **m, struct inode **i);
/* The one alarm. */
void alarm_wanted(void);

#endif
