/* powers.c: the kernel's calls that a service has a right to, with what it has no right to: tasks, memory, devices. */
#include "hostile.h"

enum {
	TASK_CREATE = 1,
	TASK_START = 2,
	TASK_END = 3,
	TASK_EXEC = 4,
	TASK_PORTS = 9,
	MACHINE = 13,
	COUNTERS = 14,
	ARCHIVE = 17,
	SPACE_CREATE = 20,
	SPACE_DESTROY = 21,
	SPACE_USE = 22,
	SPACE_ZERO = 23,
	SPACE_MAP = 24,
	SPACE_SHARE = 28,
	SPACE_FIND = 29,
	FRAME_TAKE = 30,
	FRAME_DROP = 31,
	FRAME_ADDRESS = 32,
	FRAME_DEVICE = 33,
	SPACE_MOVE = 35,
	MEMORY_PROMISE = 36,
	DEVICE_MEMORY = 40,
	SHUT_DOWN_BY = 41,
	DEVICE_MAP = 42,
	IRQ_ATTACH = 44,
	PORT_IN = 46,
	PORT_OUT = 47,
	SERVER_STUCK = 56,
};

#define NO_TASK 900
#define NO_SPACE 900
#define USER_END 0x7ffffffff000UL
#define KERNEL_FRAME 0x200000UL
#define ALL_PAGES (1UL << 52)

int64_t kernel_call(unsigned call, const uint64_t words[MESSAGE_WORDS], uint64_t *out)
{
	uint64_t sent[REGISTER_WORDS];
	int64_t result;

	memcpy(sent, words, sizeof sent);
	result = trap_by_registers(SEND(ENDPOINT_KERNEL, call), sent);
	if (out)
		*out = sent[0];
	return result;
}
#define ASK(call, ...) kernel_call(call, (const uint64_t[MESSAGE_WORDS]){ __VA_ARGS__ }, NULL)

/* One that the service has, but not as programs' memory. */
static uint64_t own_frame(void)
{
	return (uint64_t)TRAP(TRAP_PAGES_TAKE, 1, 0, 0) - PROCESS_PAGES;
}

static int64_t frames_dropped(void)
{
	int64_t result = ASK(FRAME_DROP, own_frame(), 0);

	for (uint64_t frame = 0x100000; frame < 0x400000; frame += PAGE)
		result = same(result, ASK(FRAME_DROP, frame, frame / PAGE & 1));
	result = same(result, ASK(FRAME_DROP, UINT64_MAX & ~(PAGE - 1), 0));
	return same(result, ASK(FRAME_DROP, 1UL << 40, 1));
}

static int64_t frame_dropped_twice(void)
{
	uint64_t frame;

	if (kernel_call(FRAME_TAKE, (const uint64_t[MESSAGE_WORDS]){ 0 }, &frame) != 0 || ASK(FRAME_DROP, frame, 0))
		return 0;
	return ASK(FRAME_DROP, frame, 0);
}

static int64_t frames_reached(void)
{
	int64_t result = ASK(FRAME_ADDRESS, own_frame(), ENDPOINT_VM);

	result = same(result, ASK(FRAME_ADDRESS, KERNEL_FRAME, ENDPOINT_VM));
	result = same(result, ASK(FRAME_ADDRESS, UINT64_MAX, ENDPOINT_VM));
	result = same(result, ASK(FRAME_ADDRESS, KERNEL_FRAME, ENDPOINTS));
	return same(result, ASK(FRAME_ADDRESS, KERNEL_FRAME, 0));
}

static int64_t frames_mapped(void)
{
	int64_t result = ASK(SPACE_MAP, 1, 0x10000000, own_frame(), 1, 3);

	result = same(result, ASK(SPACE_MAP, 1, 0x10000000, KERNEL_FRAME, 1, 3));
	result = same(result, ASK(SPACE_MAP, 1, 0x10000000, 0, ALL_PAGES, 3));
	result = same(result, ASK(SPACE_MAP, 1, 0x10000000, 0xfee00000, 1, 3));
	result = same(result, ASK(SPACE_MAP, 1, 0x10000000, UINT64_MAX & ~(PAGE - 1), 2, 3));
	return same(result, ASK(SPACE_MAP, 1, 0x10000000, 1UL << 52, 1, 3));
}

static int64_t frames_of_devices(void)
{
	int64_t result = ASK(FRAME_DEVICE, 0, ALL_PAGES);

	result = same(result, ASK(FRAME_DEVICE, KERNEL_FRAME, 1));
	return same(result, ASK(FRAME_DEVICE, 0xfee00000, 1));
}

static int64_t spaces_of_nobody(void)
{
	int64_t result = ASK(SPACE_CREATE, TASKS);

	result = same(result, ASK(SPACE_CREATE, TASKS + 1));
	result = same(result, ASK(SPACE_CREATE, UINT32_MAX));
	result = same(result, ASK(SPACE_DESTROY, TASKS + 2));
	result = same(result, ASK(SPACE_USE, NO_TASK, TASKS));
	result = same(result, ASK(SPACE_USE, 1, TASKS + 1));
	result = same(result, ASK(SPACE_ZERO, 1, USER_END, 3));
	result = same(result, ASK(SPACE_ZERO, 1, 0xffff888000000000, 3));
	result = same(result, ASK(SPACE_ZERO, TASKS + 1, PAGE, 3));
	result = same(result, ASK(SPACE_SHARE, 1, TASKS + 1, PAGE, 1, 0));
	result = same(result, ASK(SPACE_SHARE, TASKS + 1, 1, PAGE, 1, 0));
	return same(result, ASK(SPACE_MOVE, 1, 0, PAGE, USER_END / PAGE - 1));
}

static int64_t promises(void)
{
	int64_t result = ASK(MEMORY_PROMISE, 1UL << 63);

	result = same(result, ASK(MEMORY_PROMISE, 0 - (1UL << 40)));
	result = same(result, ASK(MEMORY_PROMISE, 0 - (1UL << 24)));
	if (ASK(SPACE_CREATE, NO_SPACE, 0) != 0)
		return 0;
	result = same(result, ASK(SPACE_DESTROY, NO_SPACE, 1UL << 63));
	result = same(result, ASK(SPACE_DESTROY, NO_SPACE, 1UL << 24));
	result = same(result, ASK(SPACE_DESTROY, NO_SPACE, UINT64_MAX));
	return ASK(SPACE_DESTROY, NO_SPACE, 0) == 0 ? result : 0;
}

static int64_t tasks_of_nobody(void)
{
	static const unsigned calls[] = { TASK_START, TASK_END, TASK_EXEC, 5, 6, 8, 9, 10 };
	static const uint64_t far[] = { 0, NO_TASK, TASKS, TASKS + 1, UINT32_MAX, 1UL << 31 };
	int64_t result = ASK(TASK_CREATE, NO_TASK, NO_TASK + 1);

	result = same(result, ASK(TASK_CREATE, 1, TASKS));
	result = same(result, ASK(TASK_CREATE, 1, 1));
	result = same(result, ASK(TASK_START, 1));
	for (unsigned i = 0; i < COUNT_OF(calls); i++)
		for (unsigned j = 0; j < COUNT_OF(far) && orders.kernel >> calls[i] & 1; j++)
			result = same(result, ASK(calls[i], far[j]));
	return result;
}

static int64_t thread_pointers(void)
{
	int64_t result = ASK(TASK_CREATE, 1, NO_TASK, 0, 1, USER_END);

	return same(result, ASK(TASK_CREATE, 1, NO_TASK, 0, 1, 0x8000000000000000));
}

static int64_t ports(void)
{
	static const uint64_t others[] = { 0,     0x20, 0x60, 0x64,   0xcf7,   0x3f7,
					   0x400, 0x72, 0xf4, 0xffff, 0x103f8, UINT32_MAX };
	int64_t result = -EPERM;

	for (unsigned i = 0; i < COUNT_OF(others); i++)
		for (uint64_t size = 1; size <= 4; size *= 2) {
			result = same(result, ASK(PORT_IN, others[i], size));
			result = same(result, ASK(PORT_OUT, others[i], size, 0xff));
		}
	/* At the edges of what is somebody's, and of no size. */
	result = same(result, ASK(PORT_IN, 0x3ff, 2));
	result = same(result, ASK(PORT_IN, 0x71, 4));
	result = same(result, ASK(PORT_IN, 0x3f8, 3));
	return same(result, ASK(PORT_IN, 0x70, 0));
}

static int64_t lines(void)
{
	int64_t result = -EPERM;

	for (uint64_t line = 0; line < 300; line++) {
		result = same(result, ASK(IRQ_ATTACH, line, ENDPOINT_PM, 0));
		result = same(result, ASK(IRQ_ATTACH, line, UINT32_MAX, 0));
	}
	return result;
}

/* The display's. */
static int64_t memory_told(void)
{
	int64_t result = ASK(DEVICE_MEMORY, 0x11111234, KERNEL_FRAME, PAGE);

	result = same(result, ASK(DEVICE_MEMORY, 0x11111234, 0xfec00000, PAGE));
	return same(result, ASK(DEVICE_MEMORY, 0x11111234, 0xc0000000, UINT64_MAX));
}

static int64_t endings(void)
{
	int64_t result = ASK(SHUT_DOWN_BY, 0, KERNEL_FRAME, 1, 0);

	result = same(result, ASK(SHUT_DOWN_BY, 1, 0xfee00000, 1, 0));
	result = same(result, ASK(SHUT_DOWN_BY, 0, UINT64_MAX, 1, 0));
	return same(result, ASK(SHUT_DOWN_BY, 2, 0x604, 2, 0));
}

static int64_t device_memory(void)
{
	int64_t result = ASK(DEVICE_MAP, 0, PAGE);

	result = same(result, ASK(DEVICE_MAP, KERNEL_FRAME, PAGE));
	result = same(result, ASK(DEVICE_MAP, 0xfee00000, PAGE));
	result = same(result, ASK(DEVICE_MAP, 0xfec00000, PAGE));
	return same(result, ASK(DEVICE_MAP, 0, 0xffffffff));
}

/* By the kernel, which takes a grant for it. */
static int64_t memory_written(void)
{
	static const uint64_t others[] = {
		0xffffffff80200000, 0xffff888000001000, USER_END - PAGE, NO_GRANT, GRANT_ENTRY, UINT64_MAX - 7,
	};
	int64_t result = -EFAULT;

	for (unsigned i = 0; i < COUNT_OF(others); i++) {
		result = same(result, ASK(MACHINE, others[i], 4 * PAGE));
		result = same(result, ASK(COUNTERS, TASKS, others[i], 4 * PAGE));
		result = same(result, ASK(ARCHIVE, 0, others[i], 4 * PAGE));
	}
	return result;
}

/* Nobody may call these. */
static int64_t servers_stuck(void)
{
	static const uint64_t others[] = { 0, ENDPOINT_PM, ENDPOINT_VFS, ENDPOINT_RS, ENDPOINTS, UINT32_MAX };
	int64_t result = -EPERM;

	for (unsigned i = 0; i < COUNT_OF(others); i++)
		result = same(result, ASK(SERVER_STUCK, others[i]));
	return result;
}

static const struct {
	const char *name;
	int64_t (*run)(void);
	/* The service has the right to this call. */
	unsigned call;
} attacks[] = {
	{ "frames dropped that are not its own", frames_dropped, FRAME_DROP },
	{ "a frame dropped twice", frame_dropped_twice, FRAME_DROP },
	{ "frames reached that are not programs'", frames_reached, FRAME_ADDRESS },
	{ "frames mapped that are not its own", frames_mapped, SPACE_MAP },
	{ "frames of no device of its own", frames_of_devices, FRAME_DEVICE },
	{ "address spaces that are nobody's", spaces_of_nobody, SPACE_CREATE },
	{ "promises taken back that were not made", promises, MEMORY_PROMISE },
	{ "tasks that are nobody's", tasks_of_nobody, TASK_CREATE },
	{ "thread pointers to the kernel", thread_pointers, TASK_CREATE },
	{ "memory written that is not its own", memory_written, MACHINE },
	{ "ports that are not its own", ports, PORT_IN },
	{ "interrupts that are not its own", lines, IRQ_ATTACH },
	{ "memory told of that is no device's", memory_told, DEVICE_MEMORY },
	{ "ends of the machine in memory", endings, SHUT_DOWN_BY },
	{ "device memory that is not its own", device_memory, DEVICE_MAP },
	{ "servers stuck that it may not call", servers_stuck, SERVER_STUCK },
};

void powers_tried(void)
{
	for (unsigned i = 0; i < COUNT_OF(attacks); i++)
		if (orders.kernel >> attacks[i].call & 1)
			outcome(attacks[i].name, attacks[i].run());
}
