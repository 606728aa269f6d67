/* km_fault.c: one fault in a Linux kernel, in the context that enters a function for the n-th time.
 *
 * A kprobe at the function's entry counts. At the n-th entry it sets the instruction pointer to km_struck, which then
 * runs as if the function's caller had called it: the same task or interrupt, the same stack, locks and interrupt flag;
 * no handler of a trap is on the stack. There the fault happens, or the arguments or the answer become wrong. Before
 * that km_struck reports on a debug port of its own, since printk may need the faulty driver. */
#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/ftrace.h>
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#define PORT 0xea
#define ARGUMENTS 6
#define LEAKED 6 /* order of the pages that an entry leaks: 64 of them */
/* Where a driver's read can be spoiled: brd copies there; virtio_blk hands finished requests back there. */
#define BRD "brd:brd_do_bvec"
#define VIRTIO "virtio_blk:virtblk_request_done"

static char *symbol = "";
static char *kind = "";
static unsigned long n = 1;
static unsigned long seed = 1;
module_param(symbol, charp, 0444);
module_param(kind, charp, 0444);
module_param(n, ulong, 0444);
module_param(seed, ulong, 0444);

/* As km_struck pushes them, and above them what the caller pushed. */
struct registers {
	unsigned long ax, argument[ARGUMENTS], caller, stack[4];
};

static unsigned long resume_at;

/* Each call gives another number from the seed (Steele, Lea and Flood's splitmix64). */
static unsigned long draw(void)
{
	unsigned long z = seed += 0x9e3779b97f4a7c15UL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
	return z ^ (z >> 31);
}

/* Writes to one of the first 64 words, as through a null pointer to a structure. */
static noinline void null_write(struct registers *r)
{
	*(volatile unsigned long *)(draw() % 64 * 8) = r->ax;
}

/* Jumps into the code at and behind the function, or anywhere in the kernel's half, most of which has no page. */
static noinline void wild_jump(struct registers *r)
{
	unsigned long near = draw() % 2;
	void (*wild)(void) = (void *)(near ? resume_at + draw() % PAGE_SIZE : draw() | 0xffff800000000000UL);

	wild();
}

static noinline void infinite_loop(struct registers *r)
{
	for (;;)
		cpu_relax();
}

static noinline void leak(struct registers *r)
{
	__get_free_pages(GFP_ATOMIC | __GFP_NOWARN, LEAKED);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static noinline void stack_overflow(struct registers *r)
{
	volatile unsigned long frame[64] = { draw() };

	stack_overflow(r);
	frame[1] = frame[0]; /* after the call, or the compiler makes it a jump */
}
#pragma GCC diagnostic pop

/* Frees the first argument that is an object of the allocator; the function goes on to use it. Without such an argument
 * it frees an object of its own and writes to it. */
static noinline void use_after_free(struct registers *r)
{
	unsigned long *own;

	for (int i = 0; i < ARGUMENTS; i++) {
		unsigned long address = r->argument[i];

		if (virt_addr_valid(address) && address % 8 == 0 && PageSlab(virt_to_head_page((void *)address))) {
			kfree((void *)address);
			return;
		}
	}
	own = kmalloc(256, GFP_ATOMIC);
	kfree(own);
	OPTIMIZER_HIDE_VAR(own);
	for (int i = 0; own && i < 256 / sizeof *own; i++)
		own[i] = draw();
}

/* Flips one bit of one of the first four arguments. */
static noinline void bad_message(struct registers *r)
{
	r->argument[draw() % 4] ^= 1UL << draw() % 48;
}

/* Does nothing: the answer is 0, and a request to virtio_blk is completed as successful. */
static noinline void not_done(struct registers *r)
{
	r->ax = 0;
	if (strcmp(symbol, "virtio_blk:virtio_queue_rq") == 0) {
		struct request *request = ((const struct blk_mq_queue_data *)r->argument[1])->rq;

		blk_mq_start_request(request);
		blk_mq_end_request(request, BLK_STS_OK);
	}
}

/* Runs the function, with as many arguments on the stack as any has. */
static void run(struct registers *r)
{
	typedef unsigned long function(unsigned long, ...);
	const unsigned long *a = r->argument, *s = r->stack;

	r->ax = ((function *)resume_at)(a[0], a[1], a[2], a[3], a[4], a[5], s[0], s[1], s[2], s[3]);
}

/* Flips one bit of the lower half of the answer. */
static noinline void wrong_value(struct registers *r)
{
	run(r);
	r->ax ^= 1UL << draw() % 32;
}

/* Flips one bit of what the disk contained. */
static void flip(struct page *page, unsigned offset, unsigned length)
{
	char *at = kmap_local_page(page);
	unsigned long bit = draw();

	at[offset + bit / 8 % length] ^= 1 << bit % 8;
	kunmap_local(at);
}

static noinline void wrong_data(struct registers *r)
{
	run(r);
	flip((struct page *)r->argument[1], r->argument[3], r->argument[2]);
}

static const struct kind {
	const char *name;
	void (*act)(struct registers *r);
	bool again, answers; /* at each later entry too; instead of the function */
} kinds[] = {
	{ "null-write", null_write },
	{ "wild-jump", wild_jump },
	{ "infinite-loop", infinite_loop },
	{ "leak", leak, .again = true },
	{ "stack-overflow", stack_overflow },
	{ "use-after-free", use_after_free },
	{ "bad-message", bad_message },
	{ "not-done", not_done, .answers = true },
	{ "wrong-value", wrong_value, .answers = true },
	{ "wrong-data", wrong_data, .answers = true },
};
static const struct kind *chosen;

/* A breakpoint's handler, from which a request of virtio_blk is spoiled, counts as an NMI. */
static const char *context(void)
{
	unsigned long count = preempt_count();

	if (count & NMI_MASK)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
	return count & HARDIRQ_MASK ? "interrupt" : count & SOFTIRQ_OFFSET ? "softirq" : "task";
}

static void tell(unsigned long caller)
{
	char line[400];

	scnprintf(line, sizeof line,
		  "{\"event\":\"struck\",\"symbol\":\"%s\",\"kind\":\"%s\",\"n\":%lu,\"seconds\":%llu.%09u,"
		  "\"task\":\"%s\",\"pid\":%d,\"context\":\"%s\",\"caller\":\"%ps\"}\n",
		  symbol, kind, n, ktime_get_mono_fast_ns() / NSEC_PER_SEC,
		  (unsigned)(ktime_get_mono_fast_ns() % NSEC_PER_SEC), current->comm, current->pid, context(),
		  (void *)caller);
	for (const char *c = line; *c; c++)
		outb(*c, PORT);
}

/* Returns whether the caller's thread goes on in the function; otherwise it goes on after the call. */
__used static bool strike(struct registers *r)
{
	static atomic_t told = ATOMIC_INIT(0);

	if (atomic_xchg(&told, 1) == 0)
		tell(r->caller);
	chosen->act(r);
	return !chosen->answers;
}

/* The unwinder sees a function of its own: otherwise the trace in an oops would end here. */
asm(".pushsection .text\n"
    ".type km_struck, @function\n"
    "km_struck:\n"
    "	pushq %r9\n"
    "	pushq %r8\n"
    "	pushq %rcx\n"
    "	pushq %rdx\n"
    "	pushq %rsi\n"
    "	pushq %rdi\n"
    "	pushq %rax\n"
    "	movq %rsp, %rdi\n"
    "	call strike\n"
    "	testb %al, %al\n"
    "	popq %rax\n"
    "	popq %rdi\n"
    "	popq %rsi\n"
    "	popq %rdx\n"
    "	popq %rcx\n"
    "	popq %r8\n"
    "	popq %r9\n"
    "	jz 1f\n"
    "	movq resume_at(%rip), %r11\n"
    "	jmp __x86_indirect_thunk_r11\n"
    "1:	jmp __x86_return_thunk\n"
    ".size km_struck, . - km_struck\n"
    ".popsection\n");
void km_struck(void);

static int entered(struct kprobe *p, struct pt_regs *regs)
{
	static atomic_long_t entries = ATOMIC_LONG_INIT(0);
	static bool spoiled;
	unsigned long entry = atomic_long_inc_return(&entries);
	struct request *request = (struct request *)regs->di;

	if (chosen->act == wrong_data) { /* at the first read from the n-th entry on */
		bool virtio = strcmp(p->symbol_name, VIRTIO) == 0;
		bool read = virtio ? req_op(request) == REQ_OP_READ && request->bio : !op_is_write(regs->r8);

		if (entry < n || !read || spoiled)
			return 0;
		spoiled = true;
		if (virtio) {
			struct bio_vec v = req_bvec(request);

			tell(*(unsigned long *)regs->sp);
			flip(v.bv_page, v.bv_offset, v.bv_len);
			return 0;
		}
	} else if (entry != n && !(chosen->again && entry > n)) {
		return 0;
	}
	regs->ip = (unsigned long)km_struck;
	return 1;
}

/* With this handler the kernel never makes the probe a jump, and no other user of ftrace may change the pointer. */
static void passed(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe = { .pre_handler = entered, .post_handler = passed };

static int __init km_fault_init(void)
{
	int status;

	for (int i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kind, kinds[i].name) == 0)
			chosen = &kinds[i];
	if (!chosen)
		return -EINVAL;
	probe.symbol_name = symbol;
	if (chosen->act == wrong_data && strcmp(symbol, BRD) != 0)
		probe.symbol_name = VIRTIO;
	status = register_kprobe(&probe);
	if (status != 0)
		return status;
	if (!kprobe_ftrace(&probe) && strcmp(probe.symbol_name, VIRTIO) != 0) {
		unregister_kprobe(&probe); /* its first instruction is not a call to ftrace, which could be left out */
		return -EOPNOTSUPP;
	}
	resume_at = (unsigned long)probe.addr + MCOUNT_INSN_SIZE;
	return 0;
}
module_init(km_fault_init);

MODULE_DESCRIPTION("One fault in the context that enters a function");
MODULE_LICENSE("GPL");
