/* credentials.c: users and groups of a process, the same for all its threads, and who may signal whom. A process with
 * effective user 0 has all rights; there are no capabilities. */
#include "processes/processes.h"

#define KEEP UINT32_MAX

/* A process may send SIGCONT to all processes of its session. */
bool may_signal(const struct process *from, const struct process *to, uint32_t signal)
{
	const struct ids *a = &from->identity.user, *b = &to->identity.user;

	if (is_root(from) || from == to)
		return true;
	if (a->effective == b->saved || a->effective == b->real || a->real == b->saved || a->real == b->real)
		return true;
	return signal == SIGCONT && from->session == to->session;
}

void credentials_tell(struct process *p)
{
	const struct identity *who = &p->identity;
	struct grant groups = grant_read(who->groups, who->group_count * sizeof who->groups[0]);

	EACH_THREAD (p, t)
		vfs_credentials(t->slot, who->user.effective, who->group.effective, who->user.real, who->group.real,
				groups);
}

verdict pm_getid(struct request *r, uint32_t which)
{
	const struct identity *who = &asking(r)->process->identity;
	const uint32_t ids[] = { who->user.real, who->user.effective, who->group.real, who->group.effective };

	return which < COUNT_OF(ids) ? answer(r, ids[which]) : refuse(r, EINVAL);
}

/* Which of its own ids a process that is not root may take. Each id may be kept. */
enum { REAL = 1, EFFECTIVE = 2, SAVED = 4, ANY = REAL | EFFECTIVE | SAVED };

static bool may_take(const struct ids *ids, uint32_t id, uint32_t which)
{
	return id == KEEP || (which & REAL && id == ids->real) || (which & EFFECTIVE && id == ids->effective) ||
	       (which & SAVED && id == ids->saved);
}

verdict pm_setids(struct request *r, uint32_t group, uint32_t by, uint32_t real, uint32_t effective, uint32_t saved)
{
	struct process *p = asking(r)->process;
	struct ids *ids = group ? &p->identity.group : &p->identity.user, new = { real, effective, saved };
	uint32_t as_real = ANY, as_effective = ANY;

	if (by == PM_SET_ONE) {
		/* setuid: root sets all three ids. */
		if (real == KEEP)
			return refuse(r, EINVAL);
		new = is_root(p) ? (struct ids){ real, real, real } : (struct ids){ KEEP, real, KEEP };
		as_effective = REAL | SAVED;
	} else if (by == PM_SET_RE) {
		/* setreuid: the saved id becomes the effective one if the real id is set, or if the effective id is set
		 * to another value than the real one. */
		new.saved = KEEP;
		if (real != KEEP || (effective != KEEP && effective != ids->real))
			new.saved = effective != KEEP ? effective : ids->effective;
		as_real = REAL | EFFECTIVE;
	}
	if (!is_root(p) && !(may_take(ids, new.real, as_real) && may_take(ids, new.effective, as_effective) &&
			     may_take(ids, new.saved, ANY)))
		return refuse(r, EPERM);
	/* committed */
	ids->real = new.real != KEEP ? new.real : ids->real;
	ids->effective = new.effective != KEEP ? new.effective : ids->effective;
	ids->saved = new.saved != KEEP ? new.saved : ids->saved;
	credentials_tell(p);
	return answer(r, 0);
}

verdict pm_getresids(struct request *r, uint32_t group, struct grant real, struct grant effective, struct grant saved)
{
	const struct identity *who = &asking(r)->process->identity;
	const struct ids *ids = group ? &who->group : &who->user;

	TRY_ANSWER(r, copy_out(real, 0, &ids->real, sizeof ids->real));
	TRY_ANSWER(r, copy_out(effective, 0, &ids->effective, sizeof ids->effective));
	return answer_with(r, 0, saved, &ids->saved, sizeof ids->saved);
}

verdict pm_getgroups(struct request *r, uint32_t size, struct grant to)
{
	const struct identity *who = &asking(r)->process->identity;

	if ((int32_t)size < 0)
		return refuse(r, EINVAL);
	if (size == 0)
		return answer(r, who->group_count);
	if (size < who->group_count)
		return refuse(r, EINVAL);
	return answer_with(r, who->group_count, to, who->groups, who->group_count * sizeof who->groups[0]);
}

verdict pm_setgroups(struct request *r, uint32_t count, struct grant from)
{
	struct process *p = asking(r)->process;
	uint32_t groups[GROUPS];

	if (!is_root(p))
		return refuse(r, EPERM);
	if (count > GROUPS)
		return refuse(r, EINVAL);
	TRY_ANSWER(r, copy_in(groups, from, 0, count * sizeof groups[0]));
	/* committed */
	memcpy(p->identity.groups, groups, count * sizeof groups[0]);
	p->identity.group_count = count;
	credentials_tell(p);
	return answer(r, 0);
}
