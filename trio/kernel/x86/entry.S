/* entry.S: the ways into the kernel and out of it, the switch between tasks, and copies that may fault. There is one
 * processor, and the kernel runs without interrupts, so two words stand for registers that are needed. The pushes have
 * the order of struct registers. */

#include "abi/errno.h"
#include "domains.h"
#include "message.h"
#include "x86/entry.h"

/* Offsets in struct registers. */
#define REGISTERS_RAX 64
#define REGISTERS_TRAP 120
#define REGISTERS_RIP 136
/* An offset in struct processor_state. */
#define STATE_RSP 4
/* Offsets in struct task. */
#define TASK_SERVES 16
#define TASK_WORK 28

/* Instructions that a processor without SMAP lacks: processor.c puts a no-op into the places noted here. */
.macro smap instruction
9:	\instruction
	.pushsection .smap_places, "a"
	.quad 9b
	.popsection
.endm

.macro push_each registers:vararg
	.irp register, \registers
	pushq %\register
	.endr
.endm

.macro pop_each registers:vararg
	.irp register, \registers
	popq %\register
	.endr
.endm

/* The words of a message. */
.macro push_words
	push_each r12, rbx, r9, r8, r10, rdx, rsi, rdi
.endm

.macro pop_words
	pop_each rdi, rsi, rdx, r10, r8, r9, rbx, r12
.endm

.macro push_registers
	push_each rcx, r11, r15, r14, r13, rbp, rax
	push_words
.endm

.macro pop_registers
	pop_words
	pop_each rax, rbp, r13, r14, r15, r11, rcx
.endm

	.text
	.globl entry_system_call
	.type entry_system_call, @function
entry_system_call:
	movq %rsp, entry_user_rsp(%rip)
	movq processor_state + STATE_RSP(%rip), %rsp
	pushq $USER_SS
	pushq entry_user_rsp(%rip)
	pushq %r11
	pushq $USER_CS
	pushq %rcx
#if PROCESSES
	movq current(%rip), %rcx
	cmpq $0, TASK_SERVES(%rcx)
	jne process
	movq (%rsp), %rcx
#endif
	pushq %rax
	pushq $TRAP_SYSCALL
	push_registers
	movq %rsp, %rdi
	call system_call
	/* A server that replies returns here, too (ipc.c): rsp is as it was, and rax is the result. */
	movq %rax, REGISTERS_RAX(%rsp)
#if PROCESSES
	cmpq $-EIO, %rax
	je 1f
#endif
	movq current(%rip), %rcx
	movl TASK_WORK(%rcx), %ecx
	orq services_notified(%rip), %rcx
	jnz 1f
	/* A new task begins here; its registers are on its stack. */
	.globl entry_return
entry_return:
	cmpl $TRAP_SYSCALL, REGISTERS_TRAP(%rsp)
	jne return_all
	pop_registers
	/* rcx and r11 hold rip and rflags, as the system call left them. */
	movq 40(%rsp), %rsp
	sysretq

1:	movq %rsp, %rdi
	call system_call_work
	jmp entry_return

return_all:
	pop_registers
	addq $16, %rsp
	iretq

#if PROCESSES
/* A server's request: the words of a message are saved; C keeps the other registers. */
process:
	subq $REGISTERS_RIP - 64, %rsp
	push_words
	cmpq $TRAP_REPLY_AND_WAIT, %rax
	je 1f
	cmpq $TRAP_COPY_DIRECTLY, %rax
	je 2f
	movq %rax, %rdi
	movq %rsp, %rsi
	call process_trap
3:	pop_words
	movq REGISTERS_RIP - 64(%rsp), %rcx
	movq REGISTERS_RIP - 48(%rsp), %r11
	movq REGISTERS_RIP - 40(%rsp), %rsp
	sysretq
	/* Without a call: ipc.c says why. */
1:	leaq 16(%rsp), %rdx
	pushq $3b
	jmp server_reply_and_wait
2:	movq %r10, %rcx
	call grants_copy_short
	jmp 3b
#endif
	.size entry_system_call, . - entry_system_call

/* A trap from user mode or from the kernel itself. */
entry_trap:
	push_registers
	cld
	smap clac
	movq %rsp, %rdi
	call trap
	jmp return_all

.macro entry has_error
	.align 16
	.if \has_error == 0
	pushq $0
	.endif
	pushq $vector
	jmp entry_trap
.endm

/* 256 entries, 16 bytes each. */
	.globl entry_vectors
	.align 16
entry_vectors:
	.set vector, 0
	.rept 256
	.if vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21
	entry 1
	.else
	entry 0
	.endif
	.set vector, vector + 1
	.endr
	.align 16

.macro leave_stack
	push_each rbx, rbp, r12, r13, r14, r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
.endm

/* void task_switch_stacks(uint64_t *from, uint64_t to) */
	.globl task_switch_stacks
	.type task_switch_stacks, @function
task_switch_stacks:
	leave_stack
	pop_each r15, r14, r13, r12, rbp, rbx
	ret
	.size task_switch_stacks, . - task_switch_stacks

/* `from` goes on behind this some time. The task whose stack has at `to` where entry_system_call called system_call is in
 * user mode again, with the result in rax; what else was on its stack is given up. */
	.globl task_leave_for_program
	.type task_leave_for_program, @function
task_leave_for_program:
	leave_stack
#if PROCESSES
	ret
#else
	/* A server that is a thread came by calls: no return would be predicted. */
	addq $8, %rsp
	movq %rax, REGISTERS_RAX(%rsp)
	jmp entry_return
#endif
	.size task_leave_for_program, . - task_leave_for_program

#if PROCESSES
/* The same for a server that waits for a message, which is in the first registers and rax. The server expects nothing
 * in the others. */
	.globl task_leave_for_process
	.type task_leave_for_process, @function
task_leave_for_process:
	leave_stack
	pop_words
	popq %rax
	xorl %ebp, %ebp
	xorl %r13d, %r13d
	xorl %r14d, %r14d
	xorl %r15d, %r15d
	movq REGISTERS_RIP - 72(%rsp), %rcx
	movq REGISTERS_RIP - 56(%rsp), %r11
	movq REGISTERS_RIP - 48(%rsp), %rsp
	sysretq
	.size task_leave_for_process, . - task_leave_for_process
#endif

/* A new task's kernel stack returns to this first. rbx is a function, or 0. */
	.globl task_first
task_first:
	call task_switched
	testq %rbx, %rbx
	jz 1f
	call *%rbx
	/* Signals may have come before the task's first instruction. */
1:	call task_work
	jmp entry_return

/* long user_copy(void *to, const void *from, size_t n): one side is a program's memory. Returns 0, or not 0 if that is
 * absent. */
	.globl user_copy
	.type user_copy, @function
user_copy:
	smap stac
	movq %rdx, %rcx
	shrq $3, %rcx
	.globl user_access_begin
user_access_begin:
	rep movsq
	movl %edx, %ecx
	andl $7, %ecx
	jz 1f
	rep movsb
1:	smap clac
	xorl %eax, %eax
	ret

/* long user_zero(void *to, size_t n) */
	.globl user_zero
user_zero:
	smap stac
	movq %rsi, %rcx
	xorl %eax, %eax
	shrq $3, %rcx
	rep stosq
	movl %esi, %ecx
	andl $7, %ecx
	jz 1f
	rep stosb
1:	smap clac
	ret

/* long user_copy_string(char *to, const char *from, size_t n): copies up to a NUL or `n` bytes, maybe some behind the
 * NUL too. Returns the length, n without a NUL, -1 if the memory is absent. */
	.globl user_copy_string
user_copy_string:
	smap stac
	xorl %eax, %eax
	movabsq $0x0101010101010101, %r8
	movabsq $0x8080808080808080, %r9
	/* Copies eight bytes while they lie in one page and within n, else one. */
1:	leaq 8(%rax), %rcx
	cmpq %rdx, %rcx
	ja 2f
	leal (%rsi,%rax), %r10d
	andl $4095, %r10d
	cmpl $4088, %r10d
	ja 2f
	movq (%rsi,%rax), %r10
	movq %r10, (%rdi,%rax)
	/* The lowest bit that stays set is in the first byte that is 0. */
	movq %r10, %r11
	subq %r8, %r10
	notq %r11
	andq %r9, %r10
	andq %r11, %r10
	jnz 3f
	movq %rcx, %rax
	jmp 1b
2:	cmpq %rdx, %rax
	je 4f
	movb (%rsi,%rax), %cl
	movb %cl, (%rdi,%rax)
	testb %cl, %cl
	jz 4f
	incq %rax
	jmp 1b
3:	bsfq %r10, %r10
	shrl $3, %r10d
	addq %r10, %rax
4:	smap clac
	ret
	.globl user_access_end
user_access_end:
	.globl user_access_failed
user_access_failed:
	smap clac
	movq $-1, %rax
	ret
	.size user_copy, . - user_copy

	.bss
	.align 8
entry_user_rsp:
	.skip 8
	.section .note.GNU-stack, "", @progbits
