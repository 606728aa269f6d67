/* memory_calls.c: the kernel's calls about spaces and frames (kernel.idl, 20, 22 and 29 to 36); the others are in
 * x86/spaces.c. A service that errs gets -EINVAL; it reaches nothing beyond user memory and no space that is absent. */
#include "core/frames.h"
#include "core/memory.h"
#include "endpoints.h"
#include "ipc.h"
#include "kernel_serve.h"
#include "structure.h"
#include "x86/paging.h"
#include "x86/tags.h"

static bool is_space(uint32_t space)
{
	return space < TASKS && space_roots[space] != 0;
}

int64_t kernel_space_create(uint32_t space, int64_t pages)
{
	int64_t result;

	if (space >= TASKS || space_roots[space] != 0)
		return -EINVAL;
	TRY(kernel_memory_promise(pages));
	result = space_create(space);
	if (result != 0)
		kernel_memory_promise(-pages);
	return result;
}

uint32_t space_tasks[SPACES];

void space_leave(const struct task *t)
{
	if (t->cr3 != kernel_cr3)
		space_tasks[t->space]--;
}

int64_t kernel_space_use(uint32_t task, uint32_t space)
{
	struct task *t = task < TASKS ? tasks[task] : NULL;

	if (t == NULL || (space != TASKS && !is_space(space)))
		return -EINVAL;
	space_leave(t);
	space_tasks[space] += space != TASKS;
	t->space = space;
	t->cr3 = space == TASKS ? kernel_cr3 : space_cr3(space, space_roots[space]);
	if (t == current && cr3_loaded != t->cr3) {
		space_load(t->cr3);
		COUNT(space_switches, 1);
	}
	return 0;
}

int64_t kernel_space_find(uint32_t space, uint64_t address, uint64_t *out_frame, uint32_t *out_protection)
{
	return is_space(space) && address < USER_END ? space_find(space, address, out_frame, out_protection) : -EFAULT;
}

int64_t kernel_frame_take(uint32_t promised, uint64_t *out_frame)
{
	*out_frame = promised ? frame_take_promised() : frame_take();
	if (DISTRUST && *out_frame != 0)
		frame_hold_own(*out_frame);
	return *out_frame == 0 ? -ENOMEM : 0;
}

int64_t kernel_frame_drop(uint64_t frame, uint32_t promised)
{
	if (IS_REFUSED(frame_drop_own(frame)))
		return -EINVAL;
	if (promised)
		frame_drop_promised(frame);
	else
		frame_drop(frame);
	return 0;
}

/* A service in the kernel reaches all memory where the kernel does. */
int64_t kernel_frame_address(uint64_t frame, uint32_t endpoint, uint64_t *out_address)
{
	if (IS_REFUSED(endpoint > ENDPOINT_KERNEL && endpoint < ENDPOINTS && frame_is_lent(frame)))
		return -EINVAL;
	*out_address = service_address(endpoint, frame);
	return *out_address ? 0 : -ENOMEM;
}

int64_t kernel_frame_device(uint64_t frame, uint64_t count)
{
	if (IS_REFUSED(process_may_memory(frame, MIN(count, USER_END / PAGE) * PAGE)))
		return -EPERM;
	frames_are_device(frame, count);
	return 0;
}

int64_t kernel_memory_free(uint64_t *out_free, uint64_t *out_total)
{
	*out_free = frames.unpromised;
	*out_total = frames.total;
	return 0;
}
