/* credentials.c: users and groups of a process, all its threads alike, and who may signal whom. Rights beyond an
 * ordinary user's are those of effective user 0; there are no capabilities beside that. */
#include "people/people.h"

#define KEEP UINT32_MAX

/* SIGCONT may be sent to all of one's session. */
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

static bool is_own(const struct ids *ids, uint32_t id)
{
	return id == KEEP || id == ids->real || id == ids->effective || id == ids->saved;
}

/* setresuid. */
static int64_t set_three(struct ids *ids, const struct ids *new, bool root)
{
	if (!root && (!is_own(ids, new->real) || !is_own(ids, new->effective) || !is_own(ids, new->saved)))
		return -EPERM;
	if (new->real != KEEP)
		ids->real = new->real;
	if (new->effective != KEEP)
		ids->effective = new->effective;
	if (new->saved != KEEP)
		ids->saved = new->saved;
	return 0;
}

/* setuid: root sets all three. */
static int64_t set_one(struct ids *ids, uint32_t id, bool root)
{
	if (id == KEEP)
		return -EINVAL;
	if (!root && id != ids->real && id != ids->saved)
		return -EPERM;
	return set_three(ids, root ? &(struct ids){ id, id, id } : &(struct ids){ KEEP, id, KEEP }, root);
}

/* setreuid: the saved one becomes the effective one where the real one is set, or the effective one to another value
 * than the real one has. */
static int64_t set_two(struct ids *ids, uint32_t real, uint32_t effective, bool root)
{
	bool saves = real != KEEP || (effective != KEEP && effective != ids->real);
	uint32_t saved = effective != KEEP ? effective : ids->effective;

	if (!root && real != KEEP && real != ids->real && real != ids->effective)
		return -EPERM;
	return set_three(ids, &(struct ids){ real, effective, saves ? saved : KEEP }, root);
}

verdict pm_setids(struct request *r, uint32_t group, uint32_t exact, uint32_t real, uint32_t effective, uint32_t saved)
{
	struct process *p = asking(r)->process;
	struct ids *ids = group ? &p->identity.group : &p->identity.user, new = { real, effective, saved };
	int64_t result;

	if (exact == 2)
		result = set_one(ids, real, is_root(p));
	else if (exact == 1)
		result = set_three(ids, &new, is_root(p));
	else
		result = set_two(ids, real, effective, is_root(p));
	if (result == 0)
		credentials_tell(p);
	return settle(r, result);
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
