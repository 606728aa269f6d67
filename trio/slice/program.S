/* program.S: the thin slice's two tasks, in user mode. The first asks for an answer, then waits for the second, which first
 * touches a page that is not there. The machine ends with status 42 if all was right, else with the step that was not. */
#define SCHED_YIELD 24
#define GETPID 39
#define KILL 62
#define RT_SIGSUSPEND 130
#define REBOOT 169

.macro system_call number
	mov $\number, %eax
	syscall
.endm

.macro expect value, step
	mov $\step, %r12d
	cmp $\value, %rax
	jne failed
.endm

	.section .rodata
	.globl slice_program
slice_program:
	system_call GETPID
	expect 1, 1
	push %rax
	mov %rsp, %rdi
	mov $8, %esi
	system_call RT_SIGSUSPEND
	expect 7, 2
	mov 0x500000, %rax
	expect 0x1234, 3
	pop %rax
	expect 1, 4
	mov $42, %r12d
failed:
	mov %r12d, %edx
	system_call REBOOT
	ud2

	.org slice_program + 0x800
	system_call GETPID
	expect 2, 5
	movl $0x1234, 0x500000
	mov $1, %edi
	mov $10, %esi
	system_call KILL
	expect 0, 6
	/* The first, which was woken, ends the machine. */
1:	system_call SCHED_YIELD
	jmp 1b
	.globl slice_program_end
slice_program_end:
	.section .note.GNU-stack, "", @progbits
