/* pm.c: the process service: its table of handlers, and what others notify it of. */
#include "pm_internal.h"

static struct pm pm;

static void start(struct pm *self)
{
	uint32_t leaf = 1, b, c, d;

	table_start(self);
	/* For AT_HWCAP and AT_HWCAP2: what a program may use, as the processor says it. */
	__asm__("cpuid" : "+a"(leaf), "=b"(b), "=c"(c), "=d"(d) : "2"(0));
	self->hardware = d;
	leaf = 7;
	__asm__("cpuid" : "+a"(leaf), "=b"(b), "=c"(c), "=d"(d) : "2"(0));
	/* FSGSBASE. */
	self->hardware_2 = b & 1 ? 2 : 0;
}

static void terminal(struct pm *self)
{
	uint32_t group, signal;

	while (vfs_terminal_signals(&group, &signal) == 1)
		signal_group(self, (int32_t)group, signal);
}

verdict disk_park(struct pm *self, struct request *r)
{
	uint32_t on;

	(void)vfs_disk_waited(&on);
	return park_hard(&self->disk[on % FS_THINGS], r);
}

static void disk_ready(struct pm *self)
{
	uint64_t came;

	(void)vfs_disk_came(&came);
	/* vm and vfs also tell so that they may be asked again. */
	for (came |= 1ULL << FS_ANYTHING; came != 0; came &= came - 1)
		unpark(&self->disk[__builtin_ctzll(came)]);
	if (self->shutting_down)
		shut_down(self);
}

static void notified(struct pm *self, uint64_t bits)
{
	if (bits & NOTIFIED_PM_TERMINAL)
		terminal(self);
	if (bits & NOTIFIED_PM_DISK_READY)
		disk_ready(self);
	if (bits & 1UL << NOTIFY_ALARM)
		timers_pass(self);
}

static verdict pm_getpid(struct pm *self, struct request *r)
{
	return answer(r, asking(self, r)->process->number);
}

static verdict pm_gettid(struct pm *self, struct request *r)
{
	return answer(r, asking(self, r)->number);
}

static verdict pm_getppid(struct pm *self, struct request *r)
{
	const struct process *parent = asking(self, r)->process->parent;

	return answer(r, parent ? parent->number : 0);
}

/* The first process: root, the leader of a group and a session, with everything left to its default. */
static struct thread *first_process(struct pm *self, uint32_t slot)
{
	struct process *p = process_add(self, slot, NULL);
	struct thread *t;

	self->init = p;
	p->number = number_take(self);
	number_use(self, p->number);
	number_of(self, p->number)->process = (uint16_t)(slot + 1);
	group_join(self, p, p->number);
	p->session = p->number;
	number_use(self, p->session);
	p->handlers = handlers_take(self);
	limits_start(p);
	t = thread_add(self, p, slot, p->number);
	memcpy(t->name, "init", sizeof "init");
	process_identify(p);
	thread_label_named(t);
	credentials_tell(p);
	vfs_limit(slot, p->limits[RLIMIT_NOFILE].soft, p->limits[RLIMIT_FSIZE].soft);
	return t;
}

static int64_t begin(struct pm *self, uint32_t task)
{
	int64_t result = vfs_unpack();

	if (result != 0) {
		log_line("pm: the archive is damaged or too large: error %d", (int)-result);
		return result;
	}
	result = vfs_begin(task);
	if (result != 0)
		return result;
	if ((uint32_t)slot_take(self) != task)
		panic("the first task is %u", task);
	return execute_first(self, first_process(self, task), "/init");
}

const struct pm_service pm_service = {
	.self = &pm,
	.start = start,
	.notified = notified,
	.getpid = pm_getpid,
	.gettid = pm_gettid,
	.getppid = pm_getppid,
	.getpgid = pm_getpgid,
	.setpgid = pm_setpgid,
	.getsid = pm_getsid,
	.setsid = pm_setsid,
	.getid = pm_getid,
	.setids = pm_setids,
	.getresids = pm_getresids,
	.getgroups = pm_getgroups,
	.setgroups = pm_setgroups,
	.clone = pm_clone,
	.execute = pm_execute,
	.exit = pm_exit,
	.wait = pm_wait,
	.set_tid_address = pm_set_tid_address,
	.kill = pm_kill,
	.tgkill = pm_tgkill,
	.sigaction = pm_sigaction,
	.sigmask = pm_sigmask,
	.sigpending = pm_sigpending,
	.sigsuspend = pm_sigsuspend,
	.sigmask_wait = pm_sigmask_wait,
	.sigtimedwait = pm_sigtimedwait,
	.sigaltstack = pm_sigaltstack,
	.attend = pm_attend,
	.raise = pm_raise,
	.raised = pm_raised,
	.sigreturn = pm_sigreturn,
	.sigqueue = pm_sigqueue,
	.setitimer = pm_setitimer,
	.getitimer = pm_getitimer,
	.getrlimit = pm_getrlimit,
	.setrlimit = pm_setrlimit,
	.getrusage = pm_getrusage,
	.times = pm_times,
	.getpriority = pm_getpriority,
	.setpriority = pm_setpriority,
	.prctl = pm_prctl,
	.ioperm = pm_ioperm,
	.reboot = pm_reboot,
	.personality = pm_personality,
	.semget = pm_semget,
	.semop = pm_semop,
	.semctl = pm_semctl,
	.begin = begin,
};
