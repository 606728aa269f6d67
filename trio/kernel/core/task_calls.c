/* task_calls.c: the kernel's calls about tasks and the machine, 1 to 17 of kernel.idl. Nobody else has checked the
 * numbers, so each is checked here: a process may say what it likes. */
#include "abi/abi.h"
#include "core/checked.h"
#include "core/memory.h"
#include "core/task.h"
#include "endpoints.h"
#include "kernel_serve.h"
#include "numbers.h"
#include "structure.h"
#include "x86/cpu.h"
#include "x86/machine.h"
#include "x86/processor.h"

/* Returns NULL if there is no such task. */
static struct task *task_of(uint32_t number)
{
	struct task *t = number < TASKS ? tasks[number] : NULL;

	INVARIANT(t || IS_REFUSED(t));
	return t;
}

int64_t kernel_task_create(uint32_t parent, uint32_t child, uint64_t stack, uint32_t set_tls, uint64_t tls)
{
	if (child >= TASKS || tasks[child] || (parent != child && !task_of(parent)))
		return -ESRCH;
	return task_create(parent, child, stack, set_tls, tls);
}

int64_t kernel_task_start(uint32_t task)
{
	struct task *t = task_of(task);

	if (!t || IS_REFUSED(t->state == NEW))
		return -ESRCH;
	task_start(t);
	return 0;
}

int64_t kernel_task_end(uint32_t task)
{
	struct task *t = task_of(task);

	if (!t || IS_REFUSED(process_may_end(t)))
		return -ESRCH;
	task_end(t);
	return 0;
}

int64_t kernel_task_exec(uint32_t task, uint64_t entry, uint64_t stack)
{
	struct task *t = task_of(task);

	if (!t)
		return -ESRCH;
	task_exec(t, entry, stack);
	return 0;
}

int64_t kernel_task_interrupt(uint32_t task)
{
	struct task *t = task_of(task);

	if (!t)
		return -ESRCH;
	request_interrupt(t);
	return 0;
}

int64_t kernel_task_attend(uint32_t task, uint32_t ends)
{
	struct task *t = task_of(task);

	if (!t)
		return -ESRCH;
	t->work |= ends ? WORK_ATTEND | WORK_END : WORK_ATTEND;
	return 0;
}

/* Divides a task's time on the processor as its ticks were divided. */
static void task_times(struct task *t, uint64_t *user, uint64_t *system)
{
	uint64_t ticks = t->ticks_user + t->ticks_system;

	if (t == payer)
		task_account(t);
	*system = MAX(ticks ? t->time / ticks * t->ticks_system : 0, t->told_system);
	*system = MIN(*system, t->time - t->told_user);
	*user = t->time - *system;
	t->told_system = *system;
	t->told_user = *user;
}

int64_t kernel_task_usage(uint32_t task, uint64_t *user, uint64_t *system, uint64_t *faults, uint64_t *voluntary,
			  uint64_t *involuntary)
{
	struct task *t = task_of(task);

	if (!t)
		return -ESRCH;
	task_times(t, user, system);
	*faults = t->counters->faults;
	*voluntary = t->counters->switches_voluntary;
	*involuntary = t->counters->switches_involuntary;
	return 0;
}

int64_t kernel_task_calls(uint32_t task, uint64_t *reads, uint64_t *writes, uint32_t *waits)
{
	const struct task *t = task_of(task);
	const uint64_t *calls;

	if (!t)
		return -ESRCH;
	calls = t->counters->calls;
	*reads = calls[CALL_VFS_READ] + calls[CALL_VFS_PREAD];
	*writes = calls[CALL_VFS_WRITE] + calls[CALL_VFS_PWRITE];
	*waits = request_is_parked(t);
	return 0;
}

int64_t kernel_task_ports(uint32_t task, uint32_t from, uint32_t count, uint32_t on)
{
	struct task *t = task_of(task);

	if (!t)
		return -ESRCH;
	if (from >= PORTS || count > PORTS - from)
		return -EINVAL;
	if (!t->ports) {
		t->ports = pages_take(PORT_BYTES / PAGE);
		if (!t->ports)
			return -ENOMEM;
		memset(t->ports, 0xff, PORT_BYTES);
		t->rare |= RARE_PORTS;
	}
	for (uint32_t port = from; port < from + count; port++) {
		uint8_t bit = (uint8_t)(1U << port % 8);

		t->ports[port / 8] = (uint8_t)(on ? t->ports[port / 8] & ~bit : t->ports[port / 8] | bit);
	}
	if (t == current)
		processor_set_ports(t);
	return 0;
}

int64_t kernel_machine(struct grant to)
{
	struct machine_numbers m = {
		.build = trio_build,
		.frames = frames.total,
		.free = frames.free,
		.unpromised = frames.unpromised,
		.promised = frames.promised,
		.frequency = cycles_per_second,
		.idle = idle.time,
		.tasks_made = tasks_made,
		.vm_is_asked_by_message = SERVERS && endpoints[ENDPOINT_VM].domain,
	};

	stack_depths(&m.stack_task, &m.stack_first);
	return copy_out(to, 0, &m, sizeof m);
}

int64_t kernel_counters(uint32_t task, struct grant to)
{
	struct counters sum = counters_of_others;

	if (task < TASKS)
		return tasks[task] ? copy_out(to, 0, tasks[task]->counters, sizeof sum) : -ESRCH;
	for (uint32_t i = 0; i < TASKS; i++)
		if (tasks[i])
			counters_add(&sum, tasks[i]->counters);
	if (SERVERS)
		servers_count(&sum);
	return copy_out(to, 0, &sum, sizeof sum);
}

int64_t kernel_shut_down(uint32_t how, uint32_t status)
{
	log_line("%s, status %u", how ? "starting again" : "off", status);
	machine_end(how != 0, status);
}

int64_t kernel_archive(uint64_t offset, struct grant to)
{
	uint64_t n = offset < boot.archive.length ? MIN(to.length, boot.archive.length - offset) : 0;

	if (n > 0 && copy_out(to, 0, physical(boot.archive.base + offset), n) != 0)
		return -EFAULT;
	return (int64_t)n;
}
