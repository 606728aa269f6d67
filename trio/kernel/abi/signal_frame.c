/* signal_frame.c: what a signal's handler finds on its stack, as Linux has it on x86-64: the address to return to (the
 * restorer, which calls rt_sigreturn), the machine's state, siginfo; above them the FPU's state as FXSAVE writes it,
 * without Linux's magic words, since no XSAVE area follows it. */
#include "abi/abi.h"
#include "abi/signal.h"
#include "core/frames.h"
#include "pm_client.h"
#include "x86/processor.h"

/* System V ABI, AMD64, 3.2.2: a function may use that much below its stack pointer. */
#define RED_ZONE 128
#define FPU_BYTES 512
#define FPU_ALIGN 64
/* In the FXSAVE area: MXCSR, and which of its bits exist (0: the oldest set). */
#define MXCSR 24
#define MXCSR_MASK 28
#define MXCSR_MASK_OLDEST 0xffbf
/* Bits of uc_flags: ss is saved, and has to be restored as it is. */
#define UC_SS 6
/* The bits of rflags that a program may set: carry to overflow, trap, direction, resume, alignment check. */
#define FLAGS_OWN 0x50dd5UL
#define FLAG_TRAP 0x100UL
#define FLAG_DIRECTION 0x400UL
#define FLAG_RESUME 0x10000UL
#define FLAGS_BASE 0x202UL

struct linux_sigcontext {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2;
	uint64_t fpu;
	uint64_t reserved[8];
};

struct linux_ucontext {
	uint64_t flags, link;
	struct linux_stack stack;
	struct linux_sigcontext machine;
	uint64_t mask;
};

struct frame {
	uint64_t restorer;
	struct linux_ucontext context;
	struct linux_siginfo information;
};
_Static_assert(sizeof(struct linux_sigcontext) == 256 && sizeof(struct linux_ucontext) == 304, "as Linux has them");

static bool is_on_stack(const uint64_t *out, uint64_t sp)
{
	return sp > out[OUT_PM_ATTEND_STACK] && sp - out[OUT_PM_ATTEND_STACK] <= out[OUT_PM_ATTEND_STACK_SIZE];
}

static bool is_fault(int signal, int32_t code)
{
	return code > 0 && code != SI_KERNEL &&
	       (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP);
}

static void information_fill(struct linux_siginfo *to, const uint64_t *out, int signal)
{
	to->signal = signal;
	to->code = (int32_t)out[OUT_PM_ATTEND_CODE_AND_PID];
	if (is_fault(signal, to->code)) {
		to->address = out[OUT_PM_ATTEND_VALUE];
		return;
	}
	to->pid = (int32_t)(out[OUT_PM_ATTEND_CODE_AND_PID] >> 32);
	to->uid = (uint32_t)(out[OUT_PM_ATTEND_FLAGS] >> 32);
	to->value = out[OUT_PM_ATTEND_VALUE];
}

/* The registers that both structures have, by the same names. */
#define EACH_REGISTER(of)                                                                                             \
	of(r8) of(r9) of(r10) of(r11) of(r12) of(r13) of(r14) of(r15) of(rdi) of(rsi) of(rbp) of(rbx) of(rdx) of(rax) \
		of(rcx) of(rsp) of(rip)

static void machine_fill(struct linux_sigcontext *to, const struct registers *r)
{
#define FILL(name) to->name = r->name;
	EACH_REGISTER(FILL)
#undef FILL
	to->rflags = r->rflags;
	to->cs = (uint16_t)r->cs;
	to->ss = (uint16_t)r->ss;
	to->error = r->error;
}

static void context_fill(struct linux_ucontext *to, const struct task *t, const struct request *r, int signal)
{
	const uint64_t *out = r->out;

	to->flags = UC_SS;
	to->link = 0;
	to->stack = (struct linux_stack){ .sp = out[OUT_PM_ATTEND_STACK], .size = out[OUT_PM_ATTEND_STACK_SIZE] };
	if (to->stack.size == 0)
		to->stack.flags = SS_DISABLE;
	else if (is_on_stack(out, t->user->rsp))
		to->stack.flags = SS_ONSTACK;
	machine_fill(&to->machine, t->user);
	if (signal == SIGSEGV && is_fault(signal, (int32_t)out[OUT_PM_ATTEND_CODE_AND_PID])) {
		to->machine.trap = TRAP_PAGE;
		to->machine.cr2 = out[OUT_PM_ATTEND_VALUE];
	}
	to->mask = to->machine.old_mask = out[OUT_PM_ATTEND_MASK];
}

int64_t signal_frame_push(struct task *t, const struct request *r, int signal)
{
	const uint64_t *out = r->out;
	uint64_t sp = t->user->rsp - RED_ZONE, flags = out[OUT_PM_ATTEND_FLAGS], fpu;
	bool on_stack = is_on_stack(out, t->user->rsp);
	struct frame frame = { .restorer = out[OUT_PM_ATTEND_RESTORER] };

	/* The processor would refuse such an address only when it is in the kernel. */
	if (!(flags & SA_RESTORER) || (DISTRUST && out[OUT_PM_ATTEND_HANDLER] >= USER_END))
		return -EFAULT;
	if (flags & SA_ONSTACK && out[OUT_PM_ATTEND_STACK_SIZE] && !on_stack)
		sp = out[OUT_PM_ATTEND_STACK] + out[OUT_PM_ATTEND_STACK_SIZE];
	fpu = (sp - FPU_BYTES) & ~(uint64_t)(FPU_ALIGN - 1);
	/* As after a call instruction: 8 less than a multiple of 16. */
	sp = ((fpu - sizeof frame) & ~15UL) - 8;
	if (on_stack && !is_on_stack(out, sp))
		return -EFAULT;
	context_fill(&frame.context, t, r, signal);
	frame.context.machine.fpu = fpu;
	information_fill(&frame.information, out, signal);
	processor_fpu_save(t);
	if (user_put(fpu, t->fpu, FPU_BYTES) != 0 || user_put(sp, &frame, sizeof frame) != 0)
		return -EFAULT;
	/* committed */
	processor_fpu_fresh(t);
	processor_fpu_load(t);
	t->user->rip = out[OUT_PM_ATTEND_HANDLER];
	t->user->rsp = sp;
	t->user->rax = 0;
	t->user->rdi = (uint64_t)signal;
	t->user->rsi = sp + offsetof(struct frame, information);
	t->user->rdx = sp + offsetof(struct frame, context);
	t->user->rflags &= ~(FLAG_TRAP | FLAG_DIRECTION | FLAG_RESUME);
	/* All registers have to be loaded, not only those that a system call keeps. */
	t->user->trap = 0;
	return 0;
}

/* Loads the FPU from the frame, without bits that the processor lacks and would refuse. */
static int64_t fpu_get(struct task *t, uint64_t address)
{
	uint8_t state[FPU_BYTES] __attribute__((aligned(16)));
	uint32_t *mxcsr = (uint32_t *)(state + MXCSR), mask;

	if (address == 0) {
		processor_fpu_fresh(t);
		return 0;
	}
	if (user_get(state, address, sizeof state) != 0)
		return -EFAULT;
	processor_fpu_save(t);
	memcpy(&mask, t->fpu + MXCSR_MASK, sizeof mask);
	*mxcsr &= mask ? mask : MXCSR_MASK_OLDEST;
	memcpy(t->fpu, state, sizeof state);
	return 0;
}

static void registers_get(struct registers *r, const struct linux_sigcontext *m)
{
#define GET(name) r->name = m->name;
	EACH_REGISTER(GET)
#undef GET
	r->rflags = (m->rflags & FLAGS_OWN) | FLAGS_BASE;
	/* All registers have to be loaded. */
	r->trap = r->error = 0;
}

int64_t signal_frame_pop(struct task *t)
{
	struct linux_ucontext context;
	const struct linux_stack *stack = &context.stack;

	/* The handler's return took the restorer's address off the stack. */
	if (user_get(&context, t->user->rsp, sizeof context) != 0)
		return -EFAULT;
	/* The processor would refuse such an address only when it is in the kernel. */
	if (context.machine.rip >= USER_END)
		return -EFAULT;
	if (fpu_get(t, context.machine.fpu) != 0)
		return -EFAULT;
	/* committed */
	processor_fpu_load(t);
	registers_get(t->user, &context.machine);
	client_pm_sigreturn(&t->request, context.mask, stack->sp, stack->size, (uint32_t)stack->flags);
	return 0;
}
