/* Ten programs of string instructions, which spaces.s executes in regions and stepped.s as a process of the host. They
 * use `buffer` (256 bytes) and `fresh` (pages that nobody has touched), and change any register but %rbp and %r8. */
	.macro program_0                /* counts of 0, 1 and 5 */
	movl $buffer, %edi
	xorl %ecx, %ecx
	rep stosb
	movl $1, %ecx
	rep stosb
	movl $5, %ecx
	rep stosb
	.endm
	.macro program_1                /* neighbours, of which the second has nothing to do, or is the same again */
	movl $buffer, %esi
	movl $buffer + 64, %edi
	movl $9, %ecx
	rep movsb
	rep movsb
	movl $2, %ecx
	rep stosb
	rep stosb
	.endm
	.macro program_2                /* in a loop */
	movl $4, %edx
1:	movl $buffer, %edi
	movl $7, %ecx
	rep stosb
	decl %edx
	jnz 1b
	.endm
	.macro program_3                /* at the target of a jump, with counts of 0, 1, 2 */
	movl $3, %edx
	movl $buffer, %edi
	xorl %ecx, %ecx
	jmp 1f
2:	movl $3, %ecx
	subl %edx, %ecx
1:	rep stosw
	decl %edx
	jnz 2b
	.endm
	.macro program_4                /* ends at what it looks for, before the count does */
	movl $buffer, %edi
	movl $40, %ecx
	movl $0x5a, %eax
	rep stosb
	movl $buffer + 13, %ebx
	movb $0xa5, (%rbx)
	movl $0xa5, %eax
	movl $buffer, %edi
	movl $40, %ecx
	repne scasb
	.endm
	.macro program_5                /* ends at a difference; and at none */
	movl $buffer, %edi
	movl $128, %ecx
	xorl %eax, %eax
	rep stosb
	movl $buffer, %esi
	movl $buffer + 64, %edi
	movl $20, %ecx
	movl $buffer + 7, %ebx
	movb $1, (%rbx)
	movb $2, 64(%rbx)
	repe cmpsb
	movl $buffer, %esi
	movl $buffer, %edi
	movl $20, %ecx
	repe cmpsb
	.endm
	.macro program_6                /* backwards */
	movl $buffer + 31, %esi
	movl $buffer + 95, %edi
	movl $32, %ecx
	std
	rep movsb
	cld
	.endm
	.macro program_7                /* into three pages that nobody has touched */
	movl $fresh, %edi
	movl $3 * 4096 / 8, %ecx
	rep stosq
	.endm
	.macro program_8                /* from such pages to such pages, neither at the begin of one */
	movl $fresh + 0x10100, %esi
	movl $fresh + 0x20c00, %edi
	movl $2 * 4096 / 4, %ecx
	rep movsl
	.endm
	.macro program_9                /* over the edge of two such pages, in one iteration and with its first */
	movl $fresh + 0x30ffc, %edi
	movl $3, %ecx
	rep stosq
	movl $fresh + 0x40fff, %esi
	movl $4, %ecx
	rep lodsl
	.endm
