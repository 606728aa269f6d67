/* control.c: a process's small settings, ports, processors and priorities, and the end of the machine. */
#include "processes/processes.h"
#include "numbers.h"

#define PORTS 65536
/* personality() with this value only returns the present persona. */
#define ASK UINT32_MAX
#define ADDR_NO_RANDOMIZE 0x40000U

static verdict set_name(struct thread *t, struct request *r, struct grant name)
{
	char new[NAME_BYTES] = { 0 };
	long length = copy_string(new, sizeof new, name);

	/* A name that is too long is cut. */
	if (length == -ENAMETOOLONG)
		length = copy_in(new, name, 0, sizeof new - 1);
	TRY_ANSWER(r, length);
	new[NAME_BYTES - 1] = '\0';
	memcpy(t->name, new, sizeof new);
	thread_identify(t);
	return answer(r, 0);
}

verdict pm_prctl(struct request *r, uint32_t option, uint64_t value, struct grant name, struct grant to)
{
	struct thread *t = asking(r);
	struct process *p = t->process;

	switch (option) {
	case PR_SET_PDEATHSIG:
		if (value > SIGNALS)
			return refuse(r, EINVAL);
		p->death_signal = (uint32_t)value;
		return answer(r, 0);
	case PR_GET_PDEATHSIG:
		return answer(r, copy_out(to, 0, &p->death_signal, sizeof p->death_signal));
	case PR_GET_DUMPABLE:
		return answer(r, p->dumpable);
	case PR_SET_DUMPABLE:
		if (value > 1)
			return refuse(r, EINVAL);
		p->dumpable = value != 0;
		return answer(r, 0);
	case PR_SET_NAME:
		return set_name(t, r, name);
	case PR_GET_NAME:
		return answer(r, copy_out(to, 0, t->name, sizeof t->name));
	case PR_SET_NO_NEW_PRIVS:
		if (value != 1)
			return refuse(r, EINVAL);
		p->no_new_rights = true;
		return answer(r, 0);
	case PR_GET_NO_NEW_PRIVS:
		return answer(r, p->no_new_rights);
	}
	return refuse(r, EINVAL);
}

verdict pm_ioperm(struct request *r, uint64_t from, uint64_t count, uint32_t on)
{
	const struct thread *t = asking(r);

	if (from >= PORTS || count == 0 || count > PORTS - from)
		return refuse(r, EINVAL);
	if (on && !is_root(t->process))
		return refuse(r, EPERM);
	return answer(r, kernel_task_ports(t->slot, (uint32_t)from, (uint32_t)count, on != 0));
}

/* Data that is not yet on a disk is written back first: the handler runs again until that is done. */
verdict pm_reboot(struct request *r, uint32_t magic, uint32_t magic_2, uint32_t command)
{
	if (!is_root(asking(r)->process))
		return refuse(r, EPERM);
	if (magic != REBOOT_MAGIC || (magic_2 != REBOOT_MAGIC_2A && magic_2 != REBOOT_MAGIC_2B &&
				      magic_2 != REBOOT_MAGIC_2C && magic_2 != REBOOT_MAGIC_2D))
		return refuse(r, EINVAL);
	if (command == REBOOT_CAD_ON || command == REBOOT_CAD_OFF)
		return answer(r, 0);
	if (command != REBOOT_RESTART && command != REBOOT_HALT && command != REBOOT_POWER_OFF)
		return refuse(r, EINVAL);
	if (vfs_write_back() == -EWAIT)
		return park_hard(&pm.disk, r);
	kernel_shut_down(command == REBOOT_RESTART ? KERNEL_ENDING_AGAIN : KERNEL_ENDING_OFF, 0);
	return answer(r, 0);
}

/* Returns the number of the service's process with that name. Only root may ask. */
static int64_t server_named(const struct request *r, struct grant name)
{
	char wanted[sizeof((struct server_numbers *)0)->name];
	struct server_numbers server;
	int64_t result;

	if (!is_root(asking(r)->process))
		return -EPERM;
	TRY(copy_string(wanted, sizeof wanted, name));
	for (uint32_t number = 1; (result = kernel_server(number, grant_write(&server, sizeof server))) != -ESRCH;
	     number++)
		if (result == 0 && strcmp(server.name, wanted) == 0)
			return number;
	return -ENOENT;
}

verdict pm_server_replace(struct request *r, struct grant image, struct grant name)
{
	int64_t number = server_named(r, name);

	return answer(r, number < 0 ? number : kernel_server_replace((uint32_t)number, image));
}

verdict pm_server_stop(struct request *r, struct grant name)
{
	int64_t number = server_named(r, name);

	return answer(r, number < 0 ? number : kernel_server_stop((uint32_t)number));
}

verdict pm_personality(struct request *r, uint32_t persona)
{
	struct process *p = asking(r)->process;
	uint32_t old = p->persona;

	/* Addresses are never randomised, so this flag changes nothing. */
	if (persona != ASK && persona & ~ADDR_NO_RANDOMIZE)
		return refuse(r, EINVAL);
	if (persona != ASK)
		p->persona = persona;
	return answer(r, old);
}

static bool is_thread(int32_t number)
{
	return number == 0 || thread_numbered(number);
}

/* There is one processor, so a thread's set is always {0}. */
verdict pm_affinity(struct request *r, int32_t thread, struct grant to)
{
	uint64_t set = 1;

	if (!is_thread(thread))
		return refuse(r, ESRCH);
	if (to.length < sizeof set || to.length % sizeof set)
		return refuse(r, EINVAL);
	return answer_with(r, sizeof set, to, &set, sizeof set);
}

verdict pm_set_affinity(struct request *r, int32_t thread, struct grant from)
{
	uint64_t set = 0;

	TRY_ANSWER(r, copy_in(&set, from, 0, MIN(from.length, sizeof set)));
	if (!is_thread(thread))
		return refuse(r, ESRCH);
	return set & 1 ? answer(r, 0) : refuse(r, EINVAL);
}

verdict pm_scheduler(struct request *r, int32_t thread, struct grant priority)
{
	return is_thread(thread) ? answer(r, copy_zeros(priority, 0, priority.length)) : refuse(r, ESRCH);
}

verdict pm_getcpu(struct request *r, struct grant processor, struct grant node)
{
	int64_t result = copy_zeros(processor, 0, processor.length);

	return answer(r, result != 0 ? result : copy_zeros(node, 0, node.length));
}
