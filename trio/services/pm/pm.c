/* pm.c: the table of handlers of the process service, and what other services notify it of. */
#include "processes/processes.h"
#include "signals/signals.h"

struct pm pm;

void pm_start(void)
{
	uint32_t leaf = 1, b, c, d;

	table_start();
	/* AT_HWCAP and AT_HWCAP2 tell a program which instructions it may use, as the processor reports them. */
	__asm__("cpuid" : "+a"(leaf), "=b"(b), "=c"(c), "=d"(d) : "2"(0));
	pm.hardware = d;
	leaf = 7;
	__asm__("cpuid" : "+a"(leaf), "=b"(b), "=c"(c), "=d"(d) : "2"(0));
	/* Bit 0 says FSGSBASE. */
	pm.hardware_2 = b & 1 ? 2 : 0;
}

void pm_notified(uint64_t bits)
{
	uint32_t group, signal;

	while (bits & NOTIFIED_PM_TERMINAL && vfs_terminal_signals(&group, &signal) == 1)
		signal_group((int32_t)group, signal);
	if (bits & NOTIFIED_PM_DISK_READY) {
		unpark(&pm.disk);
		/* The machine is shutting down and waits until all data is on the disks. */
		if (pm.init && pm.init->zombie)
			shut_down();
	}
	if (bits & 1UL << NOTIFY_ALARM)
		timers_pass();
}

verdict pm_getpid(struct request *r)
{
	return answer(r, asking(r)->process->number);
}

verdict pm_gettid(struct request *r)
{
	return answer(r, asking(r)->number);
}

verdict pm_getppid(struct request *r)
{
	const struct process *parent = asking(r)->process->parent;

	return answer(r, parent ? parent->number : 0);
}

/* The first process is root, leads its group and its session, and leaves all signals to their default. */
static struct thread *first_process(uint32_t slot)
{
	static const struct handlers all_default;
	struct process *p = process_add(slot, number_take(), NULL);
	struct thread *t;

	pm.init = p;
	number_set(&p->group, p->number);
	number_set(&p->session, p->number);
	p->handlers = handlers_take(&all_default);
	limits_start(p);
	t = thread_add(p, slot, p->number);
	memcpy(t->name, "init", sizeof "init");
	thread_identify(t);
	credentials_tell(p);
	vfs_limit(slot, p->limits[RLIMIT_NOFILE].soft, p->limits[RLIMIT_FSIZE].soft);
	return t;
}

int64_t pm_begin(uint32_t task)
{
	int64_t result = vfs_unpack();

	if (result != 0) {
		log_line("pm: the archive is damaged or too large: error %d", (int)-result);
		return result;
	}
	TRY(vfs_begin(task));
	if ((uint32_t)slot_take() != task)
		panic("the first task is %u", task);
	return execute_first(first_process(task), "/init");
}

const struct pm_service pm_service = PM_HANDLERS;
