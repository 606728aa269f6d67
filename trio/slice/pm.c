/* pm.c: the thin slice's process manager: the least that shows an answer at once (getpid), a request that must wait
 * until another one comes (sigsuspend, kill), and the end of the machine with a status. The slice proves the seam
 * in each structure before services stand on it. */
#include "kernel.h"
#include "pm_serve.h"
#include "vm.h"

/* Of the program in vm.c. */
#define ENTRY 0x400000UL
#define SECOND_ENTRY 0x400800UL
#define FIRST_STACK 0x600ff0UL
#define SECOND_STACK 0x700ff0UL
#define SECOND 2

struct pm {
	struct queue waiting;
	uint64_t signals;
};

static struct pm pm;

static void start(struct pm *self)
{
	(void)self;
}

static void notified(struct pm *self, uint64_t bits)
{
	(void)self;
	(void)bits;
}

static int64_t begin(struct pm *self, uint32_t task)
{
	int64_t result;

	(void)self;
	result = vm_renew(task, 0);
	if (result == 0)
		result = vm_fork(task, SECOND, 1);
	if (result == 0)
		result = kernel_task_create(SECOND, SECOND, 0, 0, 0);
	if (result != 0)
		return result;
	/* committed */
	kernel_task_exec(task, ENTRY, FIRST_STACK);
	kernel_space_use(SECOND, task);
	kernel_task_exec(SECOND, SECOND_ENTRY, SECOND_STACK);
	return kernel_task_start(SECOND);
}

static verdict getpid(struct pm *self, struct request *r)
{
	(void)self;
	return answer(r, r->task);
}

static verdict sigsuspend(struct pm *self, struct request *r, uint64_t mask)
{
	(void)mask;
	if (!self->signals)
		return park(&self->waiting, r);
	self->signals--;
	return answer(r, 7);
}

static verdict kill(struct pm *self, struct request *r, int32_t pid, uint32_t signal)
{
	(void)pid;
	(void)signal;
	self->signals++;
	unpark(&self->waiting);
	return answer(r, 0);
}

static verdict reboot(struct pm *self, struct request *r, uint32_t magic, uint32_t magic_2, uint32_t command)
{
	(void)self;
	(void)magic;
	(void)magic_2;
	return settle(r, kernel_shut_down(0, command));
}

static verdict attend(struct pm *self, struct request *r, uint64_t stack_pointer)
{
	(void)self;
	(void)stack_pointer;
	return answer(r, 0);
}

static verdict raise(struct pm *self, struct request *r, uint32_t signal, uint32_t code, uint64_t address)
{
	(void)self;
	(void)code;
	log_line("slice: signal %u at %lx", signal, address);
	return settle(r, kernel_shut_down(0, 100 + signal));
}

const struct pm_service pm_service = {
	.self = &pm,
	.start = start,
	.notified = notified,
	.begin = begin,
	.getpid = getpid,
	.sigsuspend = sigsuspend,
	.kill = kill,
	.reboot = reboot,
	.attend = attend,
	.raise = raise,
};
