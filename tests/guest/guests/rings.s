/* A kernel of 32 bits with one user program, for tests/guest/guests/test_plugin.py: in region 2 the program executes 20 nops,
 * enters the kernel, which executes 10 nops and returns, and one nop more. Then the kernel resets the machine. */
	.section .multiboot, "a"
	.long 0x1BADB002, 3, -(0x1BADB002 + 3)

	.text
	.globl _start
_start:
	movl $stack_end, %esp
	movl $tss, %eax                 /* its address goes into the descriptor in three parts */
	movw %ax, tss_descriptor + 2
	shrl $16, %eax
	movb %al, tss_descriptor + 4
	movb %ah, tss_descriptor + 7
	lgdt gdt_pointer
	ljmp $0x08, $1f
1:	movw $0x10, %ax
	movw %ax, %ss
	movw %ax, %ds
	movw $0x28, %ax
	ltr %ax
	movl $enter, %eax
	movw %ax, gates
	shrl $16, %eax
	movw %ax, gates + 6
	movl $leave, %eax
	movw %ax, gates + 8
	shrl $16, %eax
	movw %ax, gates + 14
	lidt idt_pointer
	pushl $0x23                     /* user stack, flags, user code */
	pushl $stack_end
	pushl $2
	pushl $0x1b
	pushl $user
	iret

user:	.byte 0x0f, 0x1f, 0x80, 2, 0, 0x4d, 0x4b
	.rept 20
	nop
	.endr
	int $0x80
	nop
	.byte 0x0f, 0x1f, 0x80, 2, 0, 0x4e, 0x4b
	int $0x81

enter:	.rept 10
	nop
	.endr
	iret

leave:	movb $0xfe, %al
	outb %al, $0x64
2:	hlt
	jmp 2b

	.data
	.align 8
gdt:	.quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff, 0x00cffa000000ffff, 0x00cff2000000ffff
tss_descriptor:
	.quad 0x0000890000000067
gdt_pointer:
	.word . - gdt - 1
	.long gdt
gates:	.quad 0x0000ee0000080000, 0x0000ee0000080000
idt_pointer:
	.word 0x82 * 8 - 1
	.long gates - 0x80 * 8
	.align 4
tss:	.long 0, stack_end, 0x10        /* the kernel's stack */
	.fill 23, 4, 0
	.lcomm stack, 4096
	.set stack_end, stack + 4096
