/* main.c: from boot to the first process. */
#include "abi/abi.h"
#include "core/checked.h"
#include "core/memory.h"
#include "core/task.h"
#include "numbers.h"
#include "pm.h"
#include "structure.h"
#include "x86/cpu.h"
#include "x86/entry.h"
#include "x86/machine.h"
#include "x86/processor.h"

/* The image is loaded at the address at which it is linked, less KERNEL_BASE. */
extern uint8_t image_end[];
/* -fstack-protector compares with this. It is read from the cycle counter before the first function that is
 * protected. */
uint64_t __stack_chk_guard;

_Noreturn void __stack_chk_fail(void);
_Noreturn void __stack_chk_fail(void)
{
	panic("a kernel stack was overwritten");
}

/* The first task begins here, on its own stack: pm makes its process, and it goes to user mode as /init. */
static void begin(void)
{
	int64_t result = pm_begin(current->number);

	if (result != 0)
		panic("the first process cannot begin: error %d", (int)-result);
}

/* boot.S calls this with the physical address of PVH's start information, which lies in the first GiB. */
__attribute__((optimize("no-stack-protector"))) _Noreturn void kernel_main(uint64_t start_info)
{
	__stack_chk_guard = cpu_cycles() * 0x9e3779b97f4a7c15UL & ~0xffUL;
	stack_paint_first();
	log_start();
	log_line("%s", trio_build.text);
	boot_read(start_info);
	processor_start();
	frames_start(boot.ram, boot.ram_count, (uint64_t)image_end - KERNEL_BASE, boot.archive);
	kernel_map_start();
	frames_reach_all();
	interrupts_start();
	clock_start();
	routes_start();
	services_begin();
	if (task_create(FIRST_TASK, FIRST_TASK, 0, 0, 0) != 0)
		panic("no memory for the first task");
	task_begins_with(tasks[FIRST_TASK], begin);
	task_start(tasks[FIRST_TASK]);
	idle_loop();
}
