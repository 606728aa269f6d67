/* virtio_blk.c: a virtio disk. Several requests can run at once, each in a slot with its own memory. A call that finds
 * no slot with its answer starts one and returns -EWAIT. When the device is done, all who may have asked are notified,
 * ask again, and find the answer.
 *
 * Nobody is guaranteed to fetch an answer. So it is given only if it still holds: a read was not followed by a write of
 * the same sectors, a write's data are what the slot has written, and a flush was not followed by a write. */
#include "block_serve.h"
#include "fs.h"
#include "kernel.h"
#include "vfs.h"
#include "virtio.h"

#define DEVICE 0x1042
/* A device with the interface from before 1.0 beside the new one. */
#define DEVICE_OLD_TOO 0x1001
#define FEATURE_FLUSH (1ULL << 9)
#define INTERRUPT_BIT 0

#define SECTOR 512UL
/* The most bytes of a call in block.idl. */
#define MOST 65536UL
#define SLOTS 8
#define PIECES 3
_Static_assert(SLOTS *PIECES <= VIRTIO_DESCRIPTORS, "each slot has its own descriptors");

/* The device's numbers. */
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
	/* A flush since whose start something was written. */
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
	/* Counts the slots that slot_take() has looked at, so that they take turns. */
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
	/* The disk's own registers begin with its length. */
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

/* The slot of exactly this request, or NULL. */
static struct slot *slot_of(enum kind kind, uint64_t sector, uint64_t length)
{
	for (struct slot *s = virtio.slots; s < virtio.slots + SLOTS; s++)
		if (s->state != FREE && s->kind == kind && s->sector == sector && s->length == length)
			return s;
	return NULL;
}

/* The device may reorder running requests, so requests whose order matters must not run at once. */
static bool must_wait(enum kind kind, uint64_t sector, uint64_t length)
{
	for (const struct slot *s = virtio.slots; s < virtio.slots + SLOTS; s++)
		if (s->state == BUSY && (kind == WRITE || s->kind == WRITE) && overlaps(s, sector, length))
			return true;
	return false;
}

/* Returns NULL if all slots are busy. An answer that nobody has fetched is given up; who still wants it asks again. */
static struct slot *slot_take(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *s = &virtio.slots[virtio.turns++ % SLOTS];

		if (s->state != BUSY)
			return s;
	}
	return NULL;
}

/* Forgets answers that this write makes wrong. */
static void answers_forget(uint64_t sector, uint64_t length)
{
	for (struct slot *s = virtio.slots; s < virtio.slots + SLOTS; s++) {
		if (s->kind == FLUSH && s->state == BUSY)
			s->stale = true;
		if (s->state == DONE && (s->kind == FLUSH || overlaps(s, sector, length)))
			s->state = FREE;
	}
}

/* A request has a head, data if any, and a byte for its status. */
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

/* Returns 1 if the slot has written what `from` holds now, 0 if not, or -EFAULT. */
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

/* Answers if a slot has the answer. Otherwise starts the request if a slot is free and the order permits it. */
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
	/* A disk without a cache has written what it has answered. */
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
