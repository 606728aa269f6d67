/* virtio.h: a virtio device on PCI with one queue, after "Virtual I/O Device" version 1.0 (chapters 2.4, 4.1). */
#ifndef TRIO_VIRTIO_H
#define TRIO_VIRTIO_H

#include "port.h"

/* Of the queue; the device may have room for fewer. */
#define VIRTIO_DESCRIPTORS 32

#define DESCRIPTOR_NEXT 1
/* The device writes there. */
#define DESCRIPTOR_WRITE 2

/* One piece of memory of a request, and the piece after it. */
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

/* Both sides' view of the queue, in one page. */
struct virtio_queue {
	struct virtio_descriptor descriptors[VIRTIO_DESCRIPTORS];
	struct virtio_available available;
	struct virtio_used used __attribute__((aligned(64)));
};

/* Registers that all devices have. */
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
	/* What it and the driver have agreed on. */
	uint64_t features;
	volatile struct virtio_common *common;
	/* This device's kind's registers, and where it is told of new requests. */
	volatile uint8_t *own, *doorbell;
	struct virtio_queue *queue;
	uint16_t size, used;
};

/* The first device with that PCI number: reset, agreed on those of `features` that it has.
 * Interrupts set `bit` of `endpoint`. False: there is none, or none that this driver can drive. */
bool virtio_start(struct virtio *v, uint32_t device, uint64_t features, uint32_t endpoint, uint32_t bit);
/* Gives the device the request whose first descriptor is `first`. */
void virtio_submit(struct virtio *v, uint16_t first);
/* True: the request that began with descriptor `first` is done. False: no more are. */
bool virtio_done(struct virtio *v, uint32_t *first);

#endif
