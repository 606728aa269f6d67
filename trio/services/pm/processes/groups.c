/* groups.c: process groups and sessions. */
#include "processes/processes.h"

bool group_is_orphaned(int32_t group)
{
	EACH_PROCESS (p) {
		const struct process *parent = p->parent;

		if (p->group == group && !p->zombie && parent && !parent->zombie && parent != pm.init &&
		    parent->group != group && parent->session == p->session)
			return false;
	}
	return true;
}

static struct process *named(const struct request *r, int32_t pid)
{
	return pid ? process_numbered(pid) : asking(r)->process;
}

verdict pm_getpgid(struct request *r, int32_t pid)
{
	const struct process *p = named(r, pid);

	return p ? answer(r, p->group) : refuse(r, ESRCH);
}

verdict pm_getsid(struct request *r, int32_t pid)
{
	const struct process *p = named(r, pid);

	return p ? answer(r, p->session) : refuse(r, ESRCH);
}

static struct process *member_of(int32_t group)
{
	EACH_PROCESS (p)
		if (p->group == group)
			return p;
	return NULL;
}

verdict pm_setpgid(struct request *r, int32_t pid, int32_t group)
{
	struct process *self = asking(r)->process, *p = named(r, pid), *member;

	if (group < 0)
		return refuse(r, EINVAL);
	if (!p || (p != self && p->parent != self))
		return refuse(r, ESRCH);
	if (p->session != self->session || p->session == p->number)
		return refuse(r, EPERM);
	if (p != self && p->executed)
		return refuse(r, EACCES);
	if (group == 0)
		group = p->number;
	member = group == p->number ? p : member_of(group);
	if (!member || member->session != self->session)
		return refuse(r, EPERM);
	if (group == p->group)
		return answer(r, 0);
	/* committed */
	number_set(&p->group, group);
	process_identify(p);
	return answer(r, 0);
}

verdict pm_setsid(struct request *r)
{
	struct process *p = asking(r)->process;

	if (p->group == p->number || member_of(p->number))
		return refuse(r, EPERM);
	/* committed */
	number_set(&p->group, p->number);
	number_set(&p->session, p->number);
	process_identify(p);
	return answer(r, p->number);
}
