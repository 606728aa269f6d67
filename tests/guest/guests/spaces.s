/* A kernel of 64 bits for tests/guest/guests/test_memory.py. It maps 40 pages in each of two address spaces, pages that
 * both have as global ones, and pages that are mapped at their first use, and touches them in regions; others execute
 * string instructions and branches, or use lines of memory that nothing else uses. Every count of it is arithmetic. Then
 * it resets the machine. */
	.set PAGES, 40
	.set OWN, 0x40000000            /* of each space */
	.set COMMON, 0x40200000         /* global, the same in both */
	.set LATE, 0x40400000           /* mapped by the page fault */
	.set LINES, 0x1000000           /* 4 MiB, mapped where it is */

	.section .multiboot, "a"
	.long 0x1BADB002, 3, -(0x1BADB002 + 3)

	.macro region id
	.byte 0x0f, 0x1f, 0x80, \id, 0, 0x4d, 0x4b
	.endm
	.macro end id
	.byte 0x0f, 0x1f, 0x80, \id, 0, 0x4e, 0x4b
	.endm
	.macro touch from, count=PAGES
	movl $\from, %esi
	movl $\count, %ecx
1:	movb (%rsi), %al
	addl $4096, %esi
	decl %ecx
	jnz 1b
	.endm
	.macro lines from, count, step=64
	movl $\from, %esi
	movl $\count, %ecx
1:	movb (%rsi), %al
	addl $\step, %esi
	decl %ecx
	jnz 1b
	.endm
	.macro enter space
	movl $\space, %eax
	movq %rax, %cr3
	.endm
	.macro times count
	movl $\count, %ebp
9:
	.endm
	.macro again
	decl %ebp
	jnz 9b
	.endm

	.macro nothing
	.endm
	.macro on_a_new_page            /* a fault beside string instructions */
	movl $fresh + 0x50000, %ebx
	movb $1, (%rbx)
	.endm
	.macro fills                    /* leaves eax */
	movl $buffer, %edi
	movl $20, %ecx
	rep stosb
	.endm
	.macro measured id, program, beside=nothing /* what the clock counted goes to the debug port, low byte first */
	region \id
	\beside
	rdtsc
	movl %eax, %r8d
	\program
	rdtsc
	\beside
	end \id
	subl %r8d, %eax
	.rept 4
	outb %al, $0xe9
	shrl $8, %eax
	.endr
	.endm
	.include "strings.s"
	.set fresh, LATE + 0x10000

	.text
	.code32
	.globl _start
_start:
	movl $stack_end, %esp
	movl %cr4, %eax
	orl $0xa0, %eax                 /* PAE, PGE */
	movl %eax, %cr4
	movl $space_a, %eax
	movl %eax, %cr3
	movl $0xc0000080, %ecx
	rdmsr
	orl $0x100, %eax                /* LME */
	wrmsr
	movl %cr0, %eax
	orl $0x80000000, %eax
	movl %eax, %cr0
	lgdt gdt_pointer
	ljmp $0x08, $long_mode
	.code64
long_mode:
	xorl %eax, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl $stack_end, %esp
	movl $page_fault, %eax
	movl $fault_gate, %ebx
	movw %ax, (%rbx)
	shrl $16, %eax
	movw %ax, 6(%rbx)
	movl $idt_pointer, %ebx
	lidt (%rbx)
	cld

	times 5                         /* 2: both spaces in turn */
	region 2
	enter space_a
	touch OWN
	enter space_b
	touch OWN
	end 2
	again

	times 5                         /* 4: one space, written again */
	region 4
	enter space_b
	touch OWN
	end 4
	again

	times 5                         /* 6: no switch */
	region 6
	touch OWN
	end 6
	again

	times 5                         /* 8: global pages in both spaces */
	region 8
	enter space_a
	touch COMMON
	enter space_b
	touch COMMON
	end 8
	again

	times 5                         /* 10: three pages invalidated */
	region 10
	movl $OWN, %ebx
	movl $4, %edi
	invlpg (%rbx)
	invlpg 0x1000(%rbx)
	invlpg 0x5000(%rbx,%rdi,4)
	touch OWN
	end 10
	again

	times 3                         /* 30: two spaces that need 400 lines each */
	region 30
	enter space_a
	lines LINES, 400
	movl $buffer, %edi
	movl $7, %ecx
	rep stosb
	enter space_b
	lines LINES + 0x10000, 400
	end 30
	again

	times 5                         /* 12: the root of the other space becomes that of another one */
	region 12
	enter space_a
	movl $space_b + 8, %ebx
	movl (%rbx), %eax
	movl %eax, (%rbx)
	touch OWN
	enter space_b
	touch OWN
	end 12
	again

	enter space_a
	movl $space_b, %ebx
	movl (%rbx), %eax
	movl %eax, (%rbx)
	times 3                         /* 28: the other space's root was made after counting began */
	region 28
	enter space_b
	touch OWN
	enter space_a
	end 28
	again
	enter space_b

	times 5                         /* 14: string instructions: 0, 1 and 5 iterations; two in a row; a loop; of 8 bytes */
	region 14
	movl $buffer, %edi
	xorl %ecx, %ecx
	rep stosb
	movl $1, %ecx
	rep stosb
	movl $5, %ecx
	rep stosb
	movl $3, %ecx
	rep stosb
	movl $2, %ecx
	rep stosb
	movl $4, %edx
1:	movl $buffer, %edi
	movl $7, %ecx
	rep stosb
	decl %edx
	jnz 1b
	movl $buffer, %esi
	movl $buffer + 64, %edi
	movl $6, %ecx
	rep movsq
	end 14
	again

	region 16                       /* 16: one, through three page faults */
	movl $LATE, %edi
	movl $3 * 4096 / 8, %ecx
	rep stosq
	end 16

	times 8                         /* 18: a branch taken nine times of ten */
	region 18
	movl $10, %ecx
1:	decl %ecx
	jnz 1b
	end 18
	again

	times 4                         /* 20: calls twenty deep, with sixteen return addresses kept */
	region 20
	call deep_1
	end 20
	again

	times 5                         /* 22: 16 pages line by line, twice what L1 has; then downward */
	region 22
	movl $OWN, %esi
	movl $1024, %ecx
1:	movb (%rsi), %al
	addl $64, %esi
	decl %ecx
	jnz 1b
	movl $1024, %ecx
1:	subl $64, %esi
	movb (%rsi), %al
	decl %ecx
	jnz 1b
	end 22
	again

	times 3                         /* 24: twelve lines of code of one set */
	region 24
	call apart_1
	end 24
	again

	times 3                         /* 26: ten lines of data of one set of L2 */
	region 26
	lines LINES, 10, 0x10000
	end 26
	again

	times 3                         /* 32: two lines, 64 KiB apart */
	region 32
	lines LINES, 2, 0x10000
	end 32
	again

	.macro around id count          /* as many lines as a size has, and one more */
	times 2
	region \id
	lines LINES, \count
	end \id
	again
	times 2
	region (\id+1)
	lines LINES, (\count+1)
	end (\id+1)
	again
	.endm
	.altmacro
	.set i, 0
	.rept 10
	around %(100+2*i), %(64<<i)
	.set i, i + 1
	.endr
	.noaltmacro

	measured 130, nothing
	measured 132, on_a_new_page
	.set i, 0
	.altmacro
	.macro next number
	measured %(134 + 2 * \number), program_\number
	.endm
	.rept 10                        /* 134, 136, …: the programs of strings.s */
	next %i
	.set i, i + 1
	.endr
	.noaltmacro
	measured 154, nothing, fills

	movb $0xfe, %al
	outb %al, $0x64
2:	hlt
	jmp 2b

	.macro deep from, to
deep_\from: call deep_\to
	ret
	.endm
	.altmacro
	.set i, 1
	.rept 19
	deep %i, %(i + 1)
	.set i, i + 1
	.endr
	.noaltmacro
deep_20: ret

	.macro apart from, to
	.align 4096
apart_\from: jmp apart_\to
	.endm
	.altmacro
	.set i, 1
	.rept 12
	apart %i, %(i + 1)
	.set i, i + 1
	.endr
	.noaltmacro
apart_13: ret

page_fault:                             /* maps a page of LATE at the frame that lies 4 MiB above the first 8 */
	pushq %rax
	pushq %rbx
	movq %cr2, %rax
	andl $0xfffff000, %eax
	movl %eax, %ebx
	subl $LATE, %ebx
	shrl $9, %ebx
	subl $LATE - 0xc00000, %eax
	orl $3, %eax
	addl $late_table, %ebx
	movq %rax, (%rbx)
	popq %rbx
	popq %rax
	addq $8, %rsp
	iretq

	.data
	.align 4096
space_a: .long upper_a + 3, 0
	.fill 511, 8, 0
space_b: .long upper_b + 3, 0
	.fill 511, 8, 0
upper_a: .long identity + 3, 0, middle_a + 3, 0
	.fill 510, 8, 0
upper_b: .long identity + 3, 0, middle_b + 3, 0
	.fill 510, 8, 0
identity:
	.set i, 0
	.rept 512
	.quad i * 0x200000 + 0x83
	.set i, i + 1
	.endr
middle_a: .long own_a + 3, 0, common_table + 3, 0, late_table + 3, 0
	.fill 509, 8, 0
middle_b: .long own_b + 3, 0, common_table + 3, 0, late_table + 3, 0
	.fill 509, 8, 0
	.macro table name first bits
\name:
	.set i, 0
	.rept 512
	.quad \first + i * 4096 + \bits
	.set i, i + 1
	.endr
	.endm
	table own_a 0x400000 3
	table own_b 0x600000 3
	table common_table 0x800000 0x103
late_table: .fill 512, 8, 0
	.align 8
gdt:	.quad 0, 0x00af9a000000ffff
gdt_pointer:
	.word . - gdt - 1
	.long gdt
fault_gate:
	.quad 0x00008e0000080000, 0
idt_pointer:
	.word 0xffff
	.long fault_gate - 14 * 16, 0
	.align 64
buffer:	.fill 256, 1, 0
	.lcomm stack, 4096
	.set stack_end, stack + 4096
