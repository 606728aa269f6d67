/* virtio_blk.c: a virtio disk. Several requests are under way at once, each in a slot with memory of its own that the
 * device reads or writes. A call that finds no slot with its answer starts one and says EWAIT; when the device is done,
 * whoever may have asked is notified, asks again, and finds it.
 *
 * Nobody is sure to come back for an answer. So an answer is given only where it still holds: what is read has not been
 * written since, what is to be written is what the slot wrote, and nothing was written since a flush. */
#include "block_serve.h"
#include "fs.h"
#include "kernel.h"
#include "vfs.h"
#include "virtio.h"

#define DEVICE 0x1042
/* The same with the interface of before 1.0 beside ours. */
#define DEVICE_OLD_TOO 0x1001
#define FEATURE_FLUSH (1ULL << 9)
#define INTERRUPT_BIT 0

#define SECTOR 512UL
/* Of block.idl: bytes a call. */
#define MOST 65536UL
#define SLOTS 8
#define PIECES 3
_Static_assert(SLOTS *PIECES <= VIRTIO_DESCRIPTORS, "each slot has its own descriptors");

/* Numbers of the device's. */
enum kind { READ = 0, WRITE = 1, FLUSH = 4 };
enum slot_state { FREE, BUSY, DONE };

/* What the device reads and writes beside the data. */
struct head {
	uint32_t kind, reserved;
	uint64_t sector;
	uint8_t status, pad[15];
};
#define STATUS_GOOD 0

struct slot {
	enum slot_state state;
	enum kind kind;
	/* A flush: something was written since it began. */
	bool stale;
	uint64_t sector, length;
	struct head *head;
	uint8_t *data;
	uint64_t head_physical, data_physical;
};

static struct {
	/* 0: there is no disk. */
	uint64_t sectors;
	struct virtio device;
	/* Slots looked at for one to be used; the one whose turn was longest ago is the next. */
	uint32_t turns;
	struct slot slots[SLOTS];
} virtio;

static bool memory_take(void)
{
	uint64_t heads, heads_physical, data, data_physical;

	if (kernel_dma_take(1, &heads, &heads_physical) != 0)
		return false;
	if (kernel_dma_take(SLOTS * MOST / PAGE, &data, &data_physical) != 0)
		return false;
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *s = &virtio.slots[i];

		s->head_physical = heads_physical + i * sizeof *s->head;
		s->head = (struct head *)heads + i;
		s->data_physical = data_physical + i * MOST;
		s->data = (uint8_t *)data + i * MOST;
	}
	return true;
}

void block_start(void)
{
	struct virtio *v = &virtio.device;

	if (!virtio_start(v, DEVICE, FEATURE_FLUSH, ENDPOINT_VIRTIO_BLK, INTERRUPT_BIT) &&
	    !virtio_start(v, DEVICE_OLD_TOO, FEATURE_FLUSH, ENDPOINT_VIRTIO_BLK, INTERRUPT_BIT))
		return;
	if (v->size < SLOTS * PIECES || !memory_take()) {
		log_line("virtio_blk: the disk's queue is too short, or there is no memory for it");
		return;
	}
	/* Its own registers begin with how long it is. */
	virtio.sectors = *(volatile uint32_t *)v->own | (uint64_t)*(volatile uint32_t *)(v->own + 4) << 32;
}

void block_notified(uint64_t bits)
{
	uint32_t first;

	if (!(bits & 1ULL << INTERRUPT_BIT) || !virtio.sectors)
		return;
	while (virtio_done(&virtio.device, &first)) {
		struct slot *s = &virtio.slots[first / PIECES];

		if (first < SLOTS * PIECES && s->state == BUSY)
			s->state = s->stale ? FREE : DONE;
	}
	notify(ENDPOINT_FS, FS_BLOCK_READY);
	notify(ENDPOINT_VFS, VFS_BLOCK_READY);
}

static bool overlaps(const struct slot *s, uint64_t sector, uint64_t length)
{
	return s->length && s->sector < sector + length / SECTOR && sector < s->sector + s->length / SECTOR;
}

/* The slot of that very request, or NULL. */
static struct slot *slot_of(enum kind kind, uint64_t sector, uint64_t length)
{
	for (struct slot *s = virtio.slots; s < virtio.slots + SLOTS; s++)
		if (s->state != FREE && s->kind == kind && s->sector == sector && s->length == length)
			return s;
	return NULL;
}

/* The device does as it likes with requests that are under way at once: those whose order matters must not be. */
static bool must_wait(enum kind kind, uint64_t sector, uint64_t length)
{
	for (const struct slot *s = virtio.slots; s < virtio.slots + SLOTS; s++)
		if (s->state == BUSY && (kind == WRITE || s->kind == WRITE) && overlaps(s, sector, length))
			return true;
	return false;
}

/* NULL: all are under way. An answer for which nobody has come is given up: who still wants it starts again. */
static struct slot *slot_take(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *s = &virtio.slots[virtio.turns++ % SLOTS];

		if (s->state != BUSY)
			return s;
	}
	return NULL;
}

/* Answers that what is now written makes untrue. */
static void answers_forget(uint64_t sector, uint64_t length)
{
	for (struct slot *s = virtio.slots; s < virtio.slots + SLOTS; s++) {
		if (s->kind == FLUSH && s->state == BUSY)
			s->stale = true;
		if (s->state == DONE && (s->kind == FLUSH || overlaps(s, sector, length)))
			s->state = FREE;
	}
}

/* The head, the data if any, and a byte for how it went. */
static void submit(struct slot *s, enum kind kind, uint64_t sector, uint64_t length)
{
	uint16_t first = (uint16_t)((s - virtio.slots) * PIECES);
	struct virtio_descriptor *d = &virtio.device.queue->descriptors[first];
	uint16_t last = length ? 2 : 1;

	s->state = BUSY;
	s->kind = kind;
	s->stale = false;
	s->sector = sector;
	s->length = length;
	*s->head = (struct head){ .kind = kind, .sector = sector, .status = 0xff };
	d[0] = (struct virtio_descriptor){ s->head_physical, offsetof(struct head, status), DESCRIPTOR_NEXT,
					   (uint16_t)(first + 1) };
	d[1] = (struct virtio_descriptor){ s->data_physical, (uint32_t)length,
					   DESCRIPTOR_NEXT | (kind == READ ? DESCRIPTOR_WRITE : 0),
					   (uint16_t)(first + 2) };
	d[last] =
		(struct virtio_descriptor){ s->head_physical + offsetof(struct head, status), 1, DESCRIPTOR_WRITE, 0 };
	virtio_submit(&virtio.device, first);
}

int64_t block_capacity(uint64_t *out_sectors)
{
	*out_sectors = virtio.sectors;
	return virtio.sectors ? 0 : -ENODEV;
}

/* 1: what the slot wrote is what `from` holds now; 0: it is not; -EFAULT. */
static int64_t wrote(const struct slot *s, struct grant from)
{
	uint8_t now[SECTOR];

	for (uint64_t at = 0; at < from.length; at += SECTOR) {
		if (copy_in(now, from, at, SECTOR))
			return -EFAULT;
		if (memcmp(now, s->data + at, SECTOR) != 0)
			return 0;
	}
	return 1;
}

/* The answer, if a slot has it. Else one begins it, if one is free and nothing forbids. */
static int64_t ask(enum kind kind, uint64_t sector, struct grant data)
{
	int64_t same = 0;
	struct slot *s;

	if (!virtio.sectors)
		return -ENODEV;
	if (data.length % SECTOR || data.length > MOST)
		return -EINVAL;
	if (sector > virtio.sectors || data.length / SECTOR > virtio.sectors - sector)
		return kind == WRITE ? -ENOSPC : -EINVAL;
	/* A disk without a cache has on its medium what it has answered. */
	if (kind == FLUSH ? !(virtio.device.features & FEATURE_FLUSH) : data.length == 0)
		return 0;
	s = slot_of(kind, sector, data.length);
	if (s && s->state == BUSY)
		return -EWAIT;
	if (s) {
		same = kind == WRITE ? wrote(s, data) : 1;
		TRY(same);
		s->state = FREE;
	}
	if (same && *(volatile uint8_t *)&s->head->status != STATUS_GOOD)
		return -EIO;
	if (same)
		return kind == READ ? copy_out(data, 0, s->data, data.length) : 0;
	s = must_wait(kind, sector, data.length) ? NULL : slot_take();
	if (!s)
		return -EWAIT;
	s->state = FREE;
	if (kind == WRITE) {
		if (copy_in(s->data, data, 0, data.length))
			return -EFAULT;
		answers_forget(sector, data.length);
	}
	submit(s, kind, sector, data.length);
	return -EWAIT;
}

int64_t block_read(uint64_t sector, struct grant to)
{
	return ask(READ, sector, to);
}

int64_t block_write(uint64_t sector, struct grant from)
{
	return ask(WRITE, sector, from);
}

int64_t block_flush(void)
{
	return ask(FLUSH, 0, (struct grant){ 0 });
}

const struct block_service virtio_blk_service = BLOCK_HANDLERS;
