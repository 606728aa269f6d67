/* vm.c: the thin slice's memory: one address space with a program, whose pages of stack and data come by faults. */
#include "kernel.h"
#include "vm_serve.h"

#define TEXT 0x400000UL
#define FAULTS_BEGIN 0x500000UL
#define FAULTS_END 0x800000UL
/* Pages that may come, and tables: three levels, of the lowest one two. */
#define PROMISED ((int64_t)((FAULTS_END - FAULTS_BEGIN) / PAGE) + 4)
#define READ_WRITE 3
#define READ_EXECUTE 5

struct vm {
	uint32_t space;
};

static struct vm vm;

extern const uint8_t slice_program[], slice_program_end[];

static void start(struct vm *self)
{
	(void)self;
}

static void notified(struct vm *self, uint64_t bits)
{
	(void)self;
	(void)bits;
}

static int64_t renew(struct vm *self, uint32_t task, uint64_t pages)
{
	uint64_t frame, address;
	int64_t result = kernel_space_create(task);

	(void)pages;
	if (result == 0)
		result = kernel_memory_promise(PROMISED);
	if (result == 0)
		result = kernel_frame_take(0, &frame);
	if (result == 0)
		result = kernel_frame_address(frame, ENDPOINT_VM, &address);
	if (result != 0)
		return result;
	memcpy((void *)address, slice_program, (size_t)(slice_program_end - slice_program));
	self->space = task;
	result = kernel_space_map(task, TEXT, frame, 1, READ_EXECUTE);
	return result < 0 ? result : kernel_space_use(task, task);
}

static int64_t fork(struct vm *self, uint32_t parent, uint32_t child, uint32_t share)
{
	(void)self;
	(void)parent;
	(void)child;
	return share ? 0 : -ENOMEM;
}

static int64_t fault(struct vm *self, uint32_t task, uint64_t address, uint32_t access)
{
	(void)task;
	(void)access;
	if (address < FAULTS_BEGIN || address >= FAULTS_END)
		return -EFAULT;
	return kernel_space_zero(self->space, address & ~(PAGE - 1), READ_WRITE);
}

const struct vm_service vm_service = {
	.self = &vm,
	.start = start,
	.notified = notified,
	.renew = renew,
	.fork = fork,
	.fault = fault,
};
