/* One program of strings.s (--defsym PROGRAM=N) between the markers of a region, as a process. */
	.include "strings.s"
	.text
	.globl _start
	.altmacro
	.macro run number
	program_\number
	.endm
_start:
	.byte 0x0f, 0x1f, 0x80, 2, 0, 0x4d, 0x4b
	run %PROGRAM
	.byte 0x0f, 0x1f, 0x80, 2, 0, 0x4e, 0x4b
	movl $60, %eax
	xorl %edi, %edi
	syscall
	.data
	.align 64
buffer:	.fill 256, 1, 0
	.lcomm fresh, 0x60000
	.section .note.GNU-stack, "", @progbits
