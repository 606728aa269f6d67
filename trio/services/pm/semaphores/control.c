/* control.c: semctl: a set and its semaphores are asked about, changed and removed. */
#include "clock.h"
#include "semaphores/semaphores.h"

/* Linux tells them, and limits nothing by them. */
#define UNDO_BYTES 20

static verdict inform(struct request *r, bool used, struct grant to)
{
	const struct semaphores *all = &semaphores;
	struct linux_seminfo info = {
		.map = SEMMNS,
		.sets = SEMMNI,
		.semaphores = SEMMNS,
		.undos = SEMMNS,
		.of_a_set = SEMMSL,
		.operations = SEMOPM,
		.undos_of_a_process = SEMOPM,
		.undo_bytes = used ? (int32_t)all->count : UNDO_BYTES,
		.greatest = SEMVMX,
		.adjustment = used ? (int32_t)all->total : SEMAEM,
	};

	if (copy_out(to, 0, &info, sizeof info) != 0)
		return refuse(r, EFAULT);
	return answer(r, all->top > 0 ? all->top - 1 : 0);
}

/* Of a time since boot, which is never 0 for what has happened. */
static int64_t time_of_day(nanoseconds at)
{
	uint64_t epoch;

	if (at == 0)
		return 0;
	clock_epoch(&epoch);
	return (int64_t)((epoch + at) / NS_PER_SECOND);
}

static verdict status(struct request *r, const struct semaphore_set *s, int64_t value, struct grant to)
{
	struct linux_semid_ds out = {
		.perm = { s->key, s->uid, s->gid, s->cuid, s->cgid, s->mode },
		.operated = time_of_day(s->operated),
		.changed = time_of_day(s->changed),
		.count = s->count,
	};

	out.perm.sequence = (uint16_t)(s->id >> SEMAPHORE_PLACE_BITS);
	return copy_out(to, 0, &out, sizeof out) != 0 ? refuse(r, EFAULT) : answer(r, value);
}

static bool is_owner(const struct process *p, const struct semaphore_set *s)
{
	uint32_t user = p->identity.user.effective;

	return user == 0 || user == s->uid || user == s->cuid;
}

static verdict set_owner(struct request *r, struct semaphore_set *s, const struct linux_ipc_perm *new)
{
	/* No user and no group has this number. */
	if (new->uid == UINT32_MAX || new->gid == UINT32_MAX)
		return refuse(r, EINVAL);
	s->uid = new->uid;
	s->gid = new->gid;
	s->mode = new->mode & MODE_ALL;
	s->changed = now();
	return answer(r, 0);
}

/* What only its owner may. */
static verdict control_set(struct request *r, struct semaphore_set *s, bool remove, struct grant from)
{
	struct linux_semid_ds new;

	if (!remove && copy_in(&new, from, 0, sizeof new) != 0)
		return refuse(r, EFAULT);
	if (!s)
		return refuse(r, EINVAL);
	if (!is_owner(asking(r)->process, s))
		return refuse(r, EPERM);
	if (!remove)
		return set_owner(r, s, &new.perm);
	set_remove(s);
	return answer(r, 0);
}

static int64_t values_set(struct semaphore_set *s, uint16_t *values, struct grant from, int32_t process)
{
	if (copy_in(values, from, 0, s->count * sizeof *values) != 0)
		return -EFAULT;
	for (uint32_t i = 0; i < s->count; i++)
		if (values[i] > SEMVMX)
			return -ERANGE;
	/* committed */
	for (uint32_t i = 0; i < s->count; i++)
		s->semaphores[i] = (struct semaphore){ values[i], process };
	undo_forget(s, 0, s->count);
	s->changed = now();
	return 0;
}

static verdict all_values(struct request *r, struct semaphore_set *s, bool set, struct grant memory)
{
	size_t pages = pages_for(s->count * sizeof(uint16_t));
	uint16_t *values = pages_take(pages);
	int64_t result;

	if (!values)
		return refuse(r, ENOMEM);
	if (set) {
		result = values_set(s, values, memory, asking(r)->process->number);
	} else {
		for (uint32_t i = 0; i < s->count; i++)
			values[i] = (uint16_t)s->semaphores[i].value;
		result = copy_out(memory, 0, values, s->count * sizeof *values);
	}
	pages_give(values, pages);
	return set && result == 0 ? update_share(r, s) : settle(r, result);
}

static verdict set_value(struct request *r, struct semaphore_set *s, uint32_t number, int32_t value)
{
	s->semaphores[number] = (struct semaphore){ value, asking(r)->process->number };
	undo_forget(s, number, 1);
	s->changed = now();
	return update_share(r, s);
}

verdict pm_semctl(struct request *r, int32_t id, int32_t number, uint32_t command, int32_t value, struct grant memory)
{
	bool by_place = command == SEM_STAT || command == SEM_STAT_ANY, sets = command == SETVAL || command == SETALL;
	struct semaphore_set *s = by_place ? set_at(id) : set_of(id);

	if (r->again)
		return update_share(r, s);
	if (id < 0 || command > SEM_STAT_ANY || (command > IPC_INFO && command < GETPID))
		return refuse(r, EINVAL);
	if (command == IPC_INFO || command == SEM_INFO)
		return inform(r, command == SEM_INFO, memory);
	if (command == IPC_SET || command == IPC_RMID)
		return control_set(r, s, command == IPC_RMID, memory);
	if (command == SETVAL && (value < 0 || value > SEMVMX))
		return refuse(r, ERANGE);
	if (!s || (command == SETVAL && (uint32_t)number >= s->count))
		return refuse(r, EINVAL);
	if (command != SEM_STAT_ANY && !may_use(asking(r)->process, s, sets ? ALTER : READ))
		return refuse(r, EACCES);
	if (by_place || command == IPC_STAT)
		return status(r, s, by_place ? s->id : 0, memory);
	if (command == GETALL || command == SETALL)
		return all_values(r, s, sets, memory);
	if ((uint32_t)number >= s->count)
		return refuse(r, EINVAL);
	switch (command) {
	case SETVAL:
		return set_value(r, s, (uint32_t)number, value);
	case GETVAL:
		return answer(r, s->semaphores[number].value);
	case GETPID:
		return answer(r, s->semaphores[number].process);
	default:
		return answer(r, set_waiting(s, (uint32_t)number, command == GETZCNT));
	}
}
