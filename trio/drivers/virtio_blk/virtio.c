/* virtio.c: access to a virtio device: registers, found by capabilities in configuration space, and a queue. */
#include "virtio.h"
#include "bus.h"
#include "kernel.h"

#define VENDOR 0x1af4

/* The PCI capability that describes virtio's registers. */
#define CAPABILITY_OF_VENDOR 9
/* Fields of the capability: in its head the kind of registers; then their base address's number, their offset, their
 * length; for doorbells the distance. */
#define KIND_SHIFT 24
enum { BASE = 4, OFFSET = 8, LENGTH = 12, DISTANCE = 16 };
enum { KIND_COMMON = 1, KIND_DOORBELL = 2, KIND_OWN = 4 };

/* The stages of the device's start. */
enum { STATUS_SEEN = 1, STATUS_DRIVER = 2, STATUS_RUNS = 4, STATUS_AGREED = 8 };
#define FEATURE_VERSION_1 (1ULL << 32)
#define NO_VECTOR 0xffff
#define MESSAGE_LINE 16
/* A reset may take long; one that takes this many looks has failed. */
#define LOOKS 1000000

/* The device takes an address in halves. */
static void set_address(volatile uint32_t *halves, uint64_t address)
{
	halves[0] = (uint32_t)address;
	halves[1] = (uint32_t)(address >> 32);
}

/* Reads a word of virtio's capability number `index`; 0: there is none. */
static uint32_t word(const struct virtio *v, uint32_t index, uint32_t at)
{
	uint32_t value = 0;

	bus_capability(v->place, CAPABILITY_OF_VENDOR, index, at, &value);
	return value;
}

/* Finds the first registers of that kind that can be mapped; a device names first what it prefers. Returns NULL if
 * there are none. */
static volatile void *registers_find(const struct virtio *v, uint32_t kind, uint32_t *distance)
{
	uint64_t base, bytes, address;
	uint32_t head;

	for (uint32_t i = 0; (head = word(v, i, 0)) != 0; i++)
		if (head >> KIND_SHIFT == kind && bus_base(v->place, word(v, i, BASE) & 0xff, &base, &bytes) == 0 &&
		    kernel_device_map(base + word(v, i, OFFSET), word(v, i, LENGTH), &address) == 0) {
			*distance = word(v, i, DISTANCE);
			return (volatile void *)address;
		}
	return NULL;
}

static bool reset(struct virtio *v)
{
	v->common->status = 0;
	for (unsigned looks = 0; v->common->status != 0; looks++)
		if (looks == LOOKS)
			return false;
	return true;
}

static bool agree(struct virtio *v, uint64_t features)
{
	volatile struct virtio_common *c = v->common;
	uint64_t has = 0;

	c->status = STATUS_SEEN | STATUS_DRIVER;
	for (uint32_t half = 0; half < 2; half++) {
		c->device_feature_select = half;
		has |= (uint64_t)c->device_feature << 32 * half;
	}
	v->features = has & (features | FEATURE_VERSION_1);
	for (uint32_t half = 0; half < 2; half++) {
		c->driver_feature_select = half;
		c->driver_feature = (uint32_t)(v->features >> 32 * half);
	}
	c->status = STATUS_SEEN | STATUS_DRIVER | STATUS_AGREED;
	return c->status & STATUS_AGREED && v->features & FEATURE_VERSION_1;
}

static bool queue_start(struct virtio *v, uint32_t distance)
{
	volatile struct virtio_common *c = v->common;
	uint64_t address, physical;

	_Static_assert(sizeof(struct virtio_queue) <= PAGE, "a queue fits into a page");
	c->queue_select = 0;
	v->size = c->queue_size;
	if (v->size == 0 || kernel_dma_take(1, &address, &physical) != 0)
		return false;
	v->size = MIN(v->size, VIRTIO_DESCRIPTORS);
	v->queue = (struct virtio_queue *)address;
	c->queue_size = v->size;
	c->config_vector = NO_VECTOR;
	c->queue_vector = 0;
	set_address(c->queue_descriptors, physical + offsetof(struct virtio_queue, descriptors));
	set_address(c->queue_available, physical + offsetof(struct virtio_queue, available));
	set_address(c->queue_used, physical + offsetof(struct virtio_queue, used));
	v->doorbell += (uint64_t)c->queue_doorbell * distance;
	c->queue_enable = 1;
	return c->queue_vector == 0;
}

bool virtio_start(struct virtio *v, uint32_t device, uint64_t features, uint32_t endpoint, uint32_t bit)
{
	uint32_t distance, vector;

	*v = (struct virtio){ 0 };
	if (bus_find(VENDOR, device, &v->place) != 0)
		return false;
	v->common = registers_find(v, KIND_COMMON, &distance);
	v->own = registers_find(v, KIND_OWN, &distance);
	v->doorbell = registers_find(v, KIND_DOORBELL, &distance);
	if (!v->common || !v->own || !v->doorbell || !reset(v) || !agree(v, features))
		return false;
	if (kernel_irq_attach(MESSAGE_LINE, endpoint, bit, &vector) != 0 || bus_interrupt(v->place, vector) != 0) {
		log_line("virtio: the device at %x has no MSI-X and cannot be driven", v->place);
		return false;
	}
	if (!queue_start(v, distance))
		return false;
	v->common->status = STATUS_SEEN | STATUS_DRIVER | STATUS_AGREED | STATUS_RUNS;
	return true;
}

void virtio_submit(struct virtio *v, uint16_t first)
{
	struct virtio_available *a = &v->queue->available;

	a->ring[a->index % v->size] = first;
	/* The device must not see the index before the entry, nor the doorbell before the index. */
	__atomic_store_n(&a->index, (uint16_t)(a->index + 1), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint16_t *)v->doorbell = 0;
}

bool virtio_done(struct virtio *v, uint32_t *first)
{
	struct virtio_used *u = &v->queue->used;

	if (v->used == __atomic_load_n(&u->index, __ATOMIC_ACQUIRE))
		return false;
	*first = u->ring[v->used++ % v->size].first;
	return true;
}
