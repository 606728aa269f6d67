/* km_fault.c: one fault in a Linux kernel, in the context that enters a function for the n-th time.
 *
 * A kprobe at the function's entry counts. At the n-th entry it sets the instruction pointer to km_struck, which runs
 * as if the function's caller had called it: the same task or interrupt, the same stack, locks and flags of interrupts;
 * no handler of a trap is on the stack. There the fault happens, or the registers change and the function goes on.
 * What happens is first told on a debug port of its own, as printk may need the driver that is faulty. With
 * kind=count there is no fault: ftrace counts the entries of the functions that are written to `add`. */
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
#define COUNTED 8192 /* a power of two: functions */
#define LEAKED 8 /* order of the pages that an entry leaks: 1 MiB */

static char *symbol = "";
static char *kind = "";
static unsigned long n = 1;
static unsigned long seed = 1;
module_param(symbol, charp, 0444);
module_param(kind, charp, 0444);
module_param(n, ulong, 0444);
module_param(seed, ulong, 0444);

/* As km_struck pushes them. */
struct registers {
	unsigned long ax, argument[ARGUMENTS], caller;
};

static atomic_long_t entries = ATOMIC_LONG_INIT(0);
static unsigned long resume_at;

static void tell(const char *format, ...) __printf(1, 2);
static void tell(const char *format, ...)
{
	char line[400];
	va_list words;

	va_start(words, format);
	vscnprintf(line, sizeof line, format, words);
	va_end(words);
	for (const char *c = line; *c; c++)
		outb(*c, PORT);
}

/* What entered the function. A breakpoint's handler, in which a kretprobe may run, counts as an NMI. */
static const char *context(void)
{
	unsigned long count = preempt_count();

	if (count & NMI_MASK)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
	return count & HARDIRQ_MASK ? "interrupt" : count & SOFTIRQ_OFFSET ? "softirq" : "task";
}

/* Each call gives another number from the seed (Steele, Lea and Flood's splitmix64). */
static unsigned long draw(void)
{
	unsigned long z = seed += 0x9e3779b97f4a7c15UL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
	return z ^ (z >> 31);
}

static noinline void null_write(struct registers *r)
{
	*(volatile unsigned long *)(draw() % 64 * 8) = r->ax;
}

/* To any address of the half that is the kernel's: most have no page. */
static noinline void wild_jump(struct registers *r)
{
	void (*nowhere)(void) = (void *)(draw() | 1UL << 63);

	nowhere();
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

static bool is_slab_object(unsigned long address)
{
	return virt_addr_valid(address) && address % sizeof(long) == 0 && PageSlab(virt_to_head_page((void *)address));
}

/* The first argument that is an object of the allocator is freed, and the function goes on to use it. Without one the
 * function frees an object of its own and writes to it. */
static noinline void use_after_free(struct registers *r)
{
	unsigned long *own;

	for (int i = 0; i < ARGUMENTS; i++)
		if (is_slab_object(r->argument[i])) {
			kfree((void *)r->argument[i]);
			return;
		}
	own = kmalloc(256, GFP_ATOMIC);
	kfree(own);
	OPTIMIZER_HIDE_VAR(own);
	if (own)
		for (int i = 0; i < 256 / sizeof *own; i++)
			own[i] = draw();
}

/* One bit of one of the first four arguments. */
static noinline void bad_message(struct registers *r)
{
	r->argument[draw() % 4] ^= 1UL << draw() % 48;
}

/* Answers the block driver's request without doing it; any other function only returns 0. */
static noinline void not_done(struct registers *r)
{
	if (strcmp(symbol, "virtio_blk:virtio_queue_rq") == 0) {
		struct request *request = ((const struct blk_mq_queue_data *)r->argument[1])->rq;

		blk_mq_start_request(request);
		blk_mq_end_request(request, BLK_STS_OK);
	}
}

static const struct {
	const char *name;
	void (*act)(struct registers *r);
	bool again, returns; /* at each later entry too; from the function, which does not run */
} kinds[] = {
	{ "null-write", null_write },
	{ "wild-jump", wild_jump },
	{ "infinite-loop", infinite_loop },
	{ "leak", leak, .again = true },
	{ "stack-overflow", stack_overflow },
	{ "use-after-free", use_after_free },
	{ "bad-message", bad_message },
	{ "not-done", not_done, .returns = true },
};
static int chosen = -1;

static void tell_struck(unsigned long caller)
{
	tell("{\"event\":\"struck\",\"symbol\":\"%s\",\"kind\":\"%s\",\"n\":%lu,\"ns\":%llu,\"task\":\"%s\",\"pid\":%d,"
	     "\"context\":\"%s\",\"caller\":\"%ps\"}\n",
	     symbol, kind, n, ktime_get_mono_fast_ns(), current->comm, current->pid, context(), (void *)caller);
}

/* The address at which the caller's thread continues; NULL: after the call, with the answer 0. */
__used static void *strike(struct registers *r)
{
	static atomic_t told = ATOMIC_INIT(0);

	if (atomic_xchg(&told, 1) == 0)
		tell_struck(r->caller);
	kinds[chosen].act(r);
	return kinds[chosen].returns ? NULL : (void *)resume_at;
}

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
    "	movq %rax, %r11\n"
    "	popq %rax\n"
    "	popq %rdi\n"
    "	popq %rsi\n"
    "	popq %rdx\n"
    "	popq %rcx\n"
    "	popq %r8\n"
    "	popq %r9\n"
    "	testq %r11, %r11\n"
    "	jz 1f\n"
    "	jmp __x86_indirect_thunk_r11\n"
    "1:	xorl %eax, %eax\n"
    "	jmp __x86_return_thunk\n"
    ".size km_struck, . - km_struck\n"
    ".popsection\n");
void km_struck(void);

static int entered(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long entry = atomic_long_inc_return(&entries);

	if (entry != n && !(kinds[chosen].again && entry > n))
		return 0;
	regs->ip = (unsigned long)km_struck;
	return 1;
}

/* With it the probe is never optimised to a jump, and ftrace keeps others from changing the pointer too. */
static void passed(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe at_entry = { .pre_handler = entered, .post_handler = passed };

/* A wrong value is made where the function returns. Wrong data are a bit that the disk did not contain, in what a read
 * brings: of brd after its copying, of virtio_blk before the request is handed back. Only reads count as entries then. */
struct call {
	struct page *page;
	unsigned offset, length;
};

static void flip(struct page *page, unsigned offset, unsigned length)
{
	char *at = kmap_local_page(page);
	unsigned long bit = draw();

	at[offset + bit / 8 % length] ^= 1 << bit % 8;
	kunmap_local(at);
}

static bool is_count(void)
{
	return strcmp(kind, "count") == 0;
}

static bool is_wrong_data(void)
{
	return strcmp(kind, "wrong-data") == 0 || is_count();
}

static bool is_brd(void)
{
	return strcmp(symbol, "brd:brd_do_bvec") == 0;
}

/* Whether the call is to be spoiled; returning 1 leaves it alone. */
static int called(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (struct call *)instance->data;
	struct request *request = (struct request *)regs->di;

	if (is_wrong_data() && (is_brd() ? op_is_write(regs->r8) : req_op(request) != REQ_OP_READ || !request->bio))
		return 1;
	if (atomic_long_inc_return(&entries) != n || is_count())
		return 1;
	tell_struck(*(unsigned long *)regs->sp);
	if (is_wrong_data() && !is_brd()) {
		struct bio_vec v = req_bvec(request);

		flip(v.bv_page, v.bv_offset, v.bv_len);
		return 1;
	}
	*call = (struct call){ (struct page *)regs->si, regs->cx, regs->dx };
	return 0;
}

static int answered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (struct call *)instance->data;

	if (is_wrong_data())
		flip(call->page, call->offset, call->length);
	else
		regs->ax ^= 1UL << draw() % 32;
	return 0;
}

static struct kretprobe at_return = { .entry_handler = called, .handler = answered, .data_size = sizeof(struct call) };

/* Counting: a table by address, filled before ftrace is switched on. */
static struct counted {
	unsigned long address;
	atomic_long_t entries, in_tasks;
} counted[COUNTED];

static struct counted *place_of(unsigned long address)
{
	size_t at = address / 16 % COUNTED;

	while (counted[at].address != address && counted[at].address)
		at = (at + 1) % COUNTED;
	return &counted[at];
}

static void notrace count(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	struct counted *place = place_of(ip);

	atomic_long_inc(&place->entries);
	if (in_task())
		atomic_long_inc(&place->in_tasks);
}

static struct ftrace_ops counting = { .func = count, .flags = FTRACE_OPS_FL_RECURSION };

/* "ADDRESS,ADDRESS,…", in hexadecimal: functions to count. One that ftrace does not know is left out. */
static int set_add(const char *given, const struct kernel_param *parameter)
{
	static unsigned known;
	unsigned long address;
	int length;

	for (; sscanf(given, "%lx%n", &address, &length) == 1; given += length + (given[length] == ',')) {
		if (known == COUNTED / 2)
			return -ENOSPC;
		if (ftrace_set_filter_ip(&counting, address, 0, 0) == 0) {
			place_of(address)->address = address;
			known++;
		}
	}
	return 0;
}

/* 1 begins to count, 0 ends it and tells each function's entries, and how many reads passed `symbol`. */
static int set_counting(const char *given, const struct kernel_param *parameter)
{
	if (given[0] == '1')
		return register_ftrace_function(&counting);
	unregister_ftrace_function(&counting);
	for (size_t at = 0; at < COUNTED; at++)
		if (counted[at].address)
			tell("{\"event\":\"entries\",\"symbol\":\"%ps\",\"entries\":%ld,\"in_tasks\":%ld}\n",
			     (void *)counted[at].address, atomic_long_read(&counted[at].entries),
			     atomic_long_read(&counted[at].in_tasks));
	tell("{\"event\":\"reads\",\"symbol\":\"%s\",\"reads\":%ld}\n", symbol, atomic_long_read(&entries));
	return 0;
}

static const struct kernel_param_ops add_ops = { .set = set_add }, counting_ops = { .set = set_counting };
module_param_cb(add, &add_ops, NULL, 0200);
module_param_cb(counting, &counting_ops, NULL, 0200);

static int __init km_fault_init(void)
{
	int status;

	if (is_count() && !*symbol)
		return 0;
	if (strcmp(kind, "wrong-value") == 0 || is_wrong_data()) {
		at_return.kp.symbol_name = symbol;
		return register_kretprobe(&at_return);
	}
	for (int i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kind, kinds[i].name) == 0)
			chosen = i;
	if (chosen < 0)
		return -EINVAL;
	at_entry.symbol_name = symbol;
	status = register_kprobe(&at_entry);
	if (status != 0)
		return status;
	if (!kprobe_ftrace(&at_entry)) { /* its first instruction would have to be emulated */
		unregister_kprobe(&at_entry);
		return -EOPNOTSUPP;
	}
	resume_at = (unsigned long)at_entry.addr + MCOUNT_INSN_SIZE;
	return 0;
}
module_init(km_fault_init);

MODULE_DESCRIPTION("One fault in the context that enters a function");
MODULE_LICENSE("GPL");
