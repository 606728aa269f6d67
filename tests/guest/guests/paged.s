/* A kernel of 32 bits with page tables of two levels, for tests/guest/guests/test_memory.py: 40 pages in each of two
 * address spaces, its own code in a page of 4 MiB, and another such page. Every count of it is arithmetic. Then it resets
 * the machine. */
	.set PAGES, 40
	.set OWN, 0x40000000            /* of each space */
	.set FRAMES, 0x800000
	.set LARGE, 0x1000000           /* 4 MiB, mapped where it is */

	.section .multiboot, "a"
	.long 0x1BADB002, 3, -(0x1BADB002 + 3)

	.macro region id
	movl $3, %ebp
9:	.byte 0x0f, 0x1f, 0x80, \id, 0, 0x4d, 0x4b
	.endm
	.macro end id
	.byte 0x0f, 0x1f, 0x80, \id, 0, 0x4e, 0x4b
	decl %ebp
	jnz 9b
	.endm
	.macro touch
	movl $OWN, %esi
	movl $PAGES, %ecx
1:	movb (%esi), %al
	addl $4096, %esi
	decl %ecx
	jnz 1b
	.endm
	.macro enter space
	movl $\space, %eax
	movl %eax, %cr3
	.endm
	.macro fill table, frames
	movl $\frames + 3, %eax
	movl $\table, %edi
	movl $PAGES, %ecx
1:	stosl
	addl $4096, %eax
	decl %ecx
	jnz 1b
	.endm

	.text
	.globl _start
_start:	fill own_a, FRAMES
	fill own_b, FRAMES+4096*PAGES
	movl $0x83, space_a
	movl $0x83, space_b
	movl $own_a + 3, space_a + 4 * (OWN >> 22)
	movl $own_b + 3, space_b + 4 * (OWN >> 22)
	movl $LARGE + 0x83, space_a + 4 * (LARGE >> 22)
	movl %cr4, %eax
	orl $0x10, %eax                 /* pages of 4 MiB */
	movl %eax, %cr4
	enter space_a
	movl %cr0, %eax
	orl $0x80000000, %eax
	movl %eax, %cr0

	region 2
	enter space_b
	touch
	enter space_a
	touch
	end 2
	region 4                        /* the space that it has */
	enter space_a
	touch
	end 4
	region 6
	touch
	end 6
	movl $1, %ebx
	region 8
	movl $OWN + 4096, %esi
	invlpg (%esi)
	invlpg OWN + 2 * 4096
	invlpg OWN + 4096 - 4(, %ebx, 4)
	invlpg -4096(%esi)
	touch
	end 8
	region 10                       /* the halves of one large page */
	enter space_a
	movb LARGE, %al
	movb LARGE + 0x3ff000, %al
	end 10

	movb $0xfe, %al
	outb %al, $0x64
2:	hlt
	jmp 2b

	.data
	.balign 4096
space_a:	.fill 1024, 4, 0
space_b:	.fill 1024, 4, 0
own_a:	.fill 1024, 4, 0
own_b:	.fill 1024, 4, 0
