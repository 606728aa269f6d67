/* boot.S: from the loader's 32-bit protected mode (PVH: Xen's boot protocol, docs/misc/pvh) to C in 64-bit mode. A
 * temporary map shows the first GiB of memory three times: at 0, where this code runs; at DIRECT_MAP; at
 * KERNEL_BASE. */

#define PRESENT_WRITABLE 3
#define LARGE_PAGE 0x80
#define ENTRIES 512
#define CR0_PROTECTION 0x1
#define CR0_PAGING 0x80000000
#define CR4_PAE 0x20
#define MSR_EFER 0xc0000080
/* Long mode, no-execute, system calls. */
#define EFER_BITS 0x901

	.section .note.pvh, "a", @note
	.align 4
	.long 4, 4, 18
	.asciz "Xen"
	.long pvh_entry

	.section .boot.text, "ax"
	.code32
	.globl pvh_entry
pvh_entry:
	cli
	cld
	mov %ebx, %ebp
	/* One directory of 2-MiB pages is reached in three ways. */
	mov $boot_directory, %edi
	mov $PRESENT_WRITABLE | LARGE_PAGE, %eax
	mov $ENTRIES, %ecx
1:	mov %eax, (%edi)
	add $0x200000, %eax
	add $8, %edi
	loop 1b
	movl $boot_directory + PRESENT_WRITABLE, boot_low
	movl $boot_directory + PRESENT_WRITABLE, boot_high + 510 * 8
	movl $boot_low + PRESENT_WRITABLE, boot_root
	movl $boot_low + PRESENT_WRITABLE, boot_root + 256 * 8
	movl $boot_high + PRESENT_WRITABLE, boot_root + 511 * 8

	mov %cr4, %eax
	or $CR4_PAE, %eax
	mov %eax, %cr4
	mov $boot_root, %eax
	mov %eax, %cr3
	mov $MSR_EFER, %ecx
	rdmsr
	or $EFER_BITS, %eax
	wrmsr
	mov %cr0, %eax
	or $CR0_PAGING | CR0_PROTECTION, %eax
	mov %eax, %cr0
	lgdt boot_gdt_pointer
	ljmp $8, $1f
	.code64
1:	mov $16, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %fs
	mov %eax, %gs
	mov $boot_stack_end, %rsp
	mov %ebp, %edi
	mov $kernel_main, %rax
	call *%rax
2:	hlt
	jmp 2b

	.section .boot.data, "aw"
	.align 8
boot_gdt:
	.quad 0
	.quad 0x00af9b000000ffff
	.quad 0x00cf93000000ffff
boot_gdt_pointer:
	.word . - boot_gdt - 1
	.long boot_gdt

	.section .boot.bss, "aw", @nobits
	.align 4096
boot_root:
	.skip 4096
boot_low:
	.skip 4096
boot_high:
	.skip 4096
boot_directory:
	.skip 4096

	.section .boot_stack, "aw", @nobits
	.align 4096
	.globl boot_stack, boot_stack_end
boot_stack:
	.skip 16384
boot_stack_end:
	.section .note.GNU-stack, "", @progbits
