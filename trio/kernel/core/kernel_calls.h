/* kernel_calls.h: what stands behind kernel.idl, by the file that has it; gathered into the table kernel_service. */
#ifndef TRIO_KERNEL_CALLS_H
#define TRIO_KERNEL_CALLS_H

#include "core/task.h"
#include "kernel_serve.h"

/* memory_calls.c */
int64_t kernel_call_space_create(struct kernel *self, uint32_t space);
int64_t kernel_call_space_destroy(struct kernel *self, uint32_t space);
int64_t kernel_call_space_use(struct kernel *self, uint32_t task, uint32_t space);
int64_t kernel_call_space_zero(struct kernel *self, uint32_t space, uint64_t address, uint32_t protection);
int64_t kernel_call_space_map(struct kernel *self, uint32_t space, uint64_t address, uint64_t frame, uint64_t count,
			      uint32_t protection);
int64_t kernel_call_space_private(struct kernel *self, uint32_t space, uint64_t address, uint32_t protection);
int64_t kernel_call_space_unmap(struct kernel *self, uint32_t space, uint64_t address, uint64_t pages);
int64_t kernel_call_space_protect(struct kernel *self, uint32_t space, uint64_t address, uint64_t pages,
				  uint32_t protection, uint32_t private);
int64_t kernel_call_space_share(struct kernel *self, uint32_t from, uint32_t to, uint64_t address, uint64_t pages,
				uint32_t private);
int64_t kernel_call_space_find(struct kernel *self, uint32_t space, uint64_t address, uint64_t *out_frame,
			       uint32_t *out_protection);
int64_t kernel_call_frame_take(struct kernel *self, uint64_t *out_frame);
int64_t kernel_call_frame_drop(struct kernel *self, uint64_t frame);
int64_t kernel_call_frame_address(struct kernel *self, uint64_t frame, uint32_t endpoint, uint64_t *out_address);
int64_t kernel_call_frame_device(struct kernel *self, uint64_t frame, uint64_t count);
int64_t kernel_call_memory_free(struct kernel *self, uint64_t *out_free, uint64_t *out_total);

/* device_calls.c */
int64_t kernel_call_pci_find(struct kernel *self, uint32_t vendor, uint32_t device, uint32_t index, struct grant bars,
			     uint32_t *out_place);
int64_t kernel_call_pci_command(struct kernel *self, uint32_t place, uint32_t offset, uint32_t size, uint32_t write,
				uint32_t value, uint32_t *out_value);
int64_t kernel_call_device_map(struct kernel *self, uint64_t physical, uint64_t length, uint64_t *out_address);
int64_t kernel_call_dma_take(struct kernel *self, uint32_t pages, uint64_t *out_address, uint64_t *out_physical);
int64_t kernel_call_irq_attach(struct kernel *self, uint32_t line, uint32_t endpoint, uint32_t bit);
int64_t kernel_call_irq_done(struct kernel *self, uint32_t line);
int64_t kernel_call_port_in(struct kernel *self, uint32_t port, uint32_t size, uint32_t *out_value);
int64_t kernel_call_port_out(struct kernel *self, uint32_t port, uint32_t size, uint32_t value);
int64_t kernel_call_port_write(struct kernel *self, uint32_t port, struct grant from);

#endif
