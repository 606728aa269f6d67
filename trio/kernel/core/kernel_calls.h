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
int64_t kernel_call_space_move(struct kernel *self, uint32_t space, uint64_t address, uint64_t to, uint64_t pages);
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

/* task_calls.c */
int64_t kernel_call_task_create(struct kernel *self, uint32_t parent, uint32_t child, uint64_t stack, uint32_t set_tls,
				uint64_t tls);
int64_t kernel_call_task_start(struct kernel *self, uint32_t task);
int64_t kernel_call_task_end(struct kernel *self, uint32_t task);
int64_t kernel_call_task_exec(struct kernel *self, uint32_t task, uint64_t entry, uint64_t stack);
int64_t kernel_call_task_interrupt(struct kernel *self, uint32_t task);
int64_t kernel_call_task_attend(struct kernel *self, uint32_t task);
int64_t kernel_call_task_label(struct kernel *self, uint32_t task, struct grant name, uint32_t thread, uint32_t parent,
			       uint32_t process, uint32_t group, uint32_t session, uint32_t state);
int64_t kernel_call_task_usage(struct kernel *self, uint32_t task, uint64_t *user, uint64_t *system, uint64_t *faults,
			       uint64_t *voluntary, uint64_t *involuntary);
int64_t kernel_call_task_ports(struct kernel *self, uint32_t task, uint32_t from, uint32_t count, uint32_t on);
int64_t kernel_call_task_priority(struct kernel *self, uint32_t task, int32_t nice);
int64_t kernel_call_task_yield(struct kernel *self, uint32_t task);
int64_t kernel_call_shut_down(struct kernel *self, uint32_t how, uint32_t status);
int64_t kernel_call_random_bytes(struct kernel *self, struct grant to);
int64_t kernel_call_archive(struct kernel *self, uint64_t offset, struct grant to);

/* report.c */
int64_t kernel_call_task_report(struct kernel *self, uint32_t task, uint32_t kind, struct grant to);
int64_t kernel_call_machine_report(struct kernel *self, uint32_t kind, struct grant to);
int64_t kernel_call_counters_report(struct kernel *self, uint32_t task, struct grant to);

#endif
