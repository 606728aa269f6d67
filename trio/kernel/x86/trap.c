/* trap.c: exceptions and interrupts, in user mode and in the few places of the kernel that may have them. */
#include "abi/abi.h"
#include "abi/signal.h"
#include "core/frames.h"
#include "core/task.h"
#include "pm_client.h"
#include "structure.h"
#include "vm.h"
#include "vm_client.h"
#include "x86/cpu.h"
#include "x86/entry.h"
#include "x86/machine.h"

/* Numbers of exceptions. */
enum { TRAP_DIVIDE, TRAP_DEBUG, TRAP_BREAKPOINT = 3, TRAP_INVALID = 6, TRAP_X87 = 16, TRAP_ALIGNMENT, TRAP_SIMD = 19 };
#define EXCEPTIONS 32

static bool from_user(const struct registers *r)
{
	return (r->cs & 3) == 3;
}

static void force(unsigned signal, unsigned code, uint64_t address)
{
	int64_t result = client_pm_raise(&current->request, signal, code, address);

	end_without_pm(result, signal);
}

/* vm says what is wrong with an address; the program gets the signal for that. */
static void force_for_fault(int64_t why, uint64_t address)
{
	if (why == -EFAULT || why == -EACCES)
		force(SIGSEGV, why == -EFAULT ? SEGV_MAPERR : SEGV_ACCERR, address);
	else
		force(SIGBUS, BUS_ADRERR, address);
}

/* The page has to be read first: the program waits, and touches it again. A signal ends the wait, too. */
static __attribute__((noinline)) int64_t fault_awaits(uint64_t address, uint64_t access)
{
	int64_t why = client_vm_await(&current->request, address, (uint32_t)access);

	return why == -EINTR ? 0 : why;
}

/* A copy cannot wait: it fails, and the call that made it waits when its handler is through (absent.c). */
static void fault_of_copy(struct registers *r, int64_t why, uint64_t address)
{
	struct task *t = current;

	if (why == -EWAIT) {
		t->absent = address;
		t->absent_access = (uint32_t)r->error;
		t->work |= WORK_ABSENT;
	}
	r->rip = (uint64_t)user_access_failed;
}

/* Whether vm decides about a fault at that address. */
static bool is_vms(uint64_t address)
{
	return address < USER_END && !is_server(current);
}

/* Handles a fault that vm has not resolved. */
static __attribute__((noinline)) void fault_left(struct registers *r, uint64_t address, int64_t why)
{
	uint64_t rip = r->rip;

	if (!is_vms(address))
		COUNT(faults_kernel, 1);
	else if (why == -EWAIT)
		COUNT(faults_paged, 1);
	else
		COUNT(faults_refused, 1);
	if (is_server(current) && from_user(r))
		server_end("exception %lu at %lx, address %lx", r->trap, rip, address);
	if (from_user(r)) {
		if (why == -EWAIT)
			why = fault_awaits(address, r->error);
		if (why != 0)
			force_for_fault(why, address);
	} else if (rip >= (uint64_t)user_access_begin && rip < (uint64_t)user_access_end) {
		fault_of_copy(r, why, address);
	} else {
		panic("page fault in the kernel at %lx, address %lx, error %lx", rip, address, r->error);
	}
}

static void page_fault(struct registers *r)
{
	uint64_t address = cpu_cr2();
	int64_t why = -EFAULT;

	COUNT(faults, 1);
	if (is_vms(address))
		why = vm_fault(current->number, address, (uint32_t)r->error);
	if (why != 0)
		fault_left(r, address, why);
}

/* A program's signals; SIGSEGV for all other exceptions. */
static const struct {
	uint8_t signal, code;
} signals[EXCEPTIONS] = {
	[TRAP_DIVIDE] = { SIGFPE, FPE_INTDIV },      [TRAP_DEBUG] = { SIGTRAP, TRAP_TRACE },
	[TRAP_BREAKPOINT] = { SIGTRAP, TRAP_BRKPT }, [TRAP_INVALID] = { SIGILL, ILL_ILLOPN },
	[TRAP_X87] = { SIGFPE, FPE_FLTINV },         [TRAP_ALIGNMENT] = { SIGBUS, BUS_ADRALN },
	[TRAP_SIMD] = { SIGFPE, FPE_FLTINV },
};

static void exception(struct registers *r)
{
	if (r->trap == TRAP_PAGE) {
		page_fault(r);
		return;
	}
	if (is_server(current) && from_user(r))
		server_end("exception %lu at %lx", r->trap, r->rip);
	if (!from_user(r))
		panic("exception %lu in the kernel at %lx, error %lx", r->trap, r->rip, r->error);
	if (signals[r->trap].signal)
		force(signals[r->trap].signal, signals[r->trap].code, r->trap == TRAP_ALIGNMENT ? 0 : r->rip);
	else
		force(SIGSEGV, SI_KERNEL, 0);
}

static void interrupt(const struct registers *r)
{
	COUNT(interrupts, 1);
	if (r->trap == VECTOR_SPURIOUS)
		return;
	if (r->trap == VECTOR_TIMER)
		timers_expired(r);
	else
		interrupt_arrived((unsigned)r->trap);
	interrupt_end();
}

/* entry.S calls this. In the kernel it does no more: the interrupted code looks for work itself. */
void trap(struct registers *r)
{
	if (r->trap < EXCEPTIONS)
		exception(r);
	else
		interrupt(r);
	if (from_user(r) && (services_notified | current->work))
		task_work();
}
