/* virtio.h: a virtio device on PCI with one queue, after "Virtual I/O Device" version 1.0 (chapters 2.4, 4.1). */
#ifndef TRIO_VIRTIO_H
#define TRIO_VIRTIO_H

#include "port.h"

/* The queue's size; the device may have room for fewer. */
#define VIRTIO_DESCRIPTORS 32

#define DESCRIPTOR_NEXT 1
/* The device writes to this memory. */
#define DESCRIPTOR_WRITE 2

/* A piece of a request's memory, and the number of the next piece. */
struct virtio_descriptor {
	uint64_t address;
	uint32_t length;
	uint16_t flags, next;
};

struct virtio_available {
	uint16_t flags, index;
	uint16_t ring[VIRTIO_DESCRIPTORS];
};

struct virtio_used {
	uint16_t flags, index;
	struct {
		uint32_t first, length;
	} ring[VIRTIO_DESCRIPTORS];
};

/* The queue as shared with the device, in one page. */
struct virtio_queue {
	struct virtio_descriptor descriptors[VIRTIO_DESCRIPTORS];
	struct virtio_available available;
	struct virtio_used used __attribute__((aligned(64)));
};

/* The registers that all devices have. */
struct virtio_common {
	uint32_t device_feature_select, device_feature, driver_feature_select, driver_feature;
	uint16_t config_vector, queues;
	uint8_t status, generation;
	uint16_t queue_select, queue_size, queue_vector, queue_enable, queue_doorbell;
	uint32_t queue_descriptors[2], queue_available[2], queue_used[2];
};
_Static_assert(sizeof(struct virtio_common) == 56, "as the standard has them");

struct virtio {
	uint32_t place;
	/* The features that device and driver have agreed on. */
	uint64_t features;
	volatile struct virtio_common *common;
	/* The registers of this kind of device, and the register that announces new requests. */
	volatile uint8_t *own, *doorbell;
	struct virtio_queue *queue;
	uint16_t size, used;
};

/* Starts the first device with that PCI number, with those of `features` that it has. Interrupts set `bit` of
 * `endpoint`. Returns false if there is no device or this driver cannot drive it. */
bool virtio_start(struct virtio *v, uint32_t device, uint64_t features, uint32_t endpoint, uint32_t bit);
/* Gives the device the request whose first descriptor is `first`. */
void virtio_submit(struct virtio *v, uint16_t first);
/* Returns whether a request is done, and its first descriptor. */
bool virtio_done(struct virtio *v, uint32_t *first);

#endif
