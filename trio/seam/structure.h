/* structure.h: what the kernel leaves to the structure. seam/NAME.c has these, and port.h's functions. */
#ifndef TRIO_STRUCTURE_H
#define TRIO_STRUCTURE_H

#include "core/task.h"
#include NAME_OF_STRUCTURE

/* A bit an endpoint: services that were notified and have not been told. */
extern uint64_t services_notified;
/* They do what they have to, now. */
void deliver_notifications(void);

/* Whether a system call is a trap of a service that is a process, and what it does. */
bool is_service_trap(uint64_t number);
int64_t service_trap(uint64_t number, const uint64_t *arguments);
/* Where a service reads and writes a frame; 0: no memory. */
uint64_t service_address(uint32_t endpoint, uint64_t frame);
/* Services begin, the lowest first. */
void services_begin(void);
/* A parked request of `t`'s ends with -EINTR, or with what is done, if a signal ends it. */
void request_interrupt(struct task *t);
/* Nobody is to answer `t`'s parked request any more. */
void request_forget(struct task *t);
/* The deadline of `who` has passed: a task's request, or (TASKS + endpoint) a service's alarm. */
void deadline_passed(uint32_t who);
/* Whose memory it was that a copy of the kernel's own met a fault in. */
uint32_t copy_owner(void);

#endif
