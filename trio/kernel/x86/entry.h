/* entry.h: what entry.S and boot.S define, and whom they call. */
#ifndef TRIO_ENTRY_H
#define TRIO_ENTRY_H

/* Segments of user mode, in the GDT of processor.c. */
#define USER_CS 0x23
#define USER_SS 0x1b
/* The number of a page fault. */
#define TRAP_PAGE 14
/* In the place of a trap's number: a system call. No processor raises it. */
#define TRAP_SYSCALL 256

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct registers;

/* The ways into the kernel; an exception or interrupt enters by its vector. */
void entry_system_call(void);
extern uint8_t entry_vectors[][16];
/* A new task begins here in the kernel: calls the function in rbx, if any, and goes to user mode. */
void task_first(void);
/* Saves the present stack's pointer in *from and goes on where `to` was left. */
void task_switch_stacks(uint64_t *from, uint64_t to);

/* The same, but goes on in user mode: behind a program's system call, whose return address is at `to`, or with the
 * registers of a server that waits for a message. */
void task_leave_for_program(uint64_t *from, uint64_t to);
void task_leave_for_process(uint64_t *from, struct registers *to);

/* Copy between a program's memory and the kernel's. Return 0, or another value if a fault could not be resolved. */
long user_copy(void *to, const void *from, size_t n);
long user_zero(void *to, size_t n);
/* Copies a string of at most `n` bytes. Returns its length, `n` if it has no NUL by then, a negative number after a
 * fault. */
long user_copy_string(char *to, const char *from, size_t n);
/* Where these three may fault, and where they go on then. */
extern const uint8_t user_access_begin[], user_access_end[], user_access_failed[];
/* Where instructions are that a processor without SMAP lacks. */
extern uint8_t *const smap_places_begin[], *const smap_places_end[];

/* entry.S and boot.S call these. */
_Noreturn void kernel_main(uint64_t start_info);
int64_t system_call(struct registers *r);
void system_call_work(struct registers *r);
void trap(struct registers *r);
/* Called on a task's own stack, after a switch to it. */
void task_switched(void);
#endif

#endif
