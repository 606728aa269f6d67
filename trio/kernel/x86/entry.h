/* entry.h: what entry.S and boot.S have, and whom they call. */
#ifndef TRIO_ENTRY_H
#define TRIO_ENTRY_H

/* Segments of user mode, as the GDT in processor.c has them. */
#define USER_CS 0x23
#define USER_SS 0x1b
/* Of a page fault. */
#define TRAP_PAGE 14
/* As a trap's number, which no processor raises: a system call. */
#define TRAP_SYSCALL 256

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct registers;

/* Ways into the kernel, an exception's or interrupt's by its vector. */
void entry_system_call(void);
extern uint8_t entry_vectors[][16];
/* A new task's first words in the kernel: calls what is in rbx, if anything, and goes to user mode. */
void task_first(void);
/* The present stack's pointer into *from; continues where `to` was left. */
void task_switch_stacks(uint64_t *from, uint64_t to);

/* The same, but on in user mode with the registers of a program, or of a server that waits for a message. */
void task_leave_for_program(uint64_t *from, struct registers *to);
void task_leave_for_process(uint64_t *from, struct registers *to);

/* Between user memory and the kernel's. 0, or not where a fault could not be served. */
long user_copy(void *to, const void *from, size_t n);
long user_zero(void *to, size_t n);
/* A string of at most `n` bytes: its length, `n` where it has no NUL by then, negative after a fault. */
long user_copy_string(char *to, const char *from, size_t n);
/* Where those three may fault, and where they continue then. */
extern const uint8_t user_access_begin[], user_access_end[], user_access_failed[];
/* Instructions that a processor without SMAP does not have. */
extern uint8_t *const smap_places_begin[], *const smap_places_end[];

/* Called by entry.S and boot.S. */
_Noreturn void kernel_main(uint64_t start_info);
void system_call(struct registers *r);
void trap(struct registers *r);
/* On a task's own stack, after a switch to it. */
void task_switched(void);
#endif

#endif
