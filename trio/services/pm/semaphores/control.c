/* control.c: semctl reads, changes and removes a set and its semaphores. */
#include "clock.h"
#include "semaphores/semaphores.h"

/* Linux reports these numbers and enforces none of them. */
#define UNDO_BYTES 20

static verdict inform(struct request *r, bool used, struct grant to)
{
	struct linux_seminfo info = {
		.map = SEMMNS,
		.sets = SEMMNI,
		.semaphores = SEMMNS,
		.undos = SEMMNS,
		.of_a_set = SEMMSL,
		.operations = SEMOPM,
		.undos_of_a_process = SEMOPM,
		.undo_bytes = UNDO_BYTES,
		.greatest = SEMVMX,
		.adjustment = SEMAEM,
	};

	if (used)
		info.undo_bytes = info.adjustment = 0;
	for (uint32_t place = 0; used && place < semaphores.top; place++) {
		const struct semaphore_set *s = semaphores.sets[place];

		/* SEM_INFO reports the numbers of sets and of semaphores in these fields. */
		info.undo_bytes += s != NULL;
		info.adjustment += s ? (int32_t)s->count : 0;
	}
	return answer_with(r, semaphores.top > 0 ? semaphores.top - 1 : 0, to, &info, sizeof info);
}

/* Converts a time since boot. 0 means never. */
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
	return answer_with(r, value, to, &out, sizeof out);
}

/* Only the owner may do this. */
static verdict control_set(struct request *r, struct semaphore_set *s, bool remove, struct grant from)
{
	uint32_t user = asking(r)->process->identity.user.effective;
	struct linux_semid_ds new;

	if (!remove)
		TRY_ANSWER(r, copy_in(&new, from, 0, sizeof new));
	if (!s)
		return refuse(r, EINVAL);
	if (user != 0 && user != s->uid && user != s->cuid)
		return refuse(r, EPERM);
	if (remove) {
		set_remove(s);
		return answer(r, 0);
	}
	/* This number names no user and no group. */
	if (new.perm.uid == UINT32_MAX || new.perm.gid == UINT32_MAX)
		return refuse(r, EINVAL);
	s->uid = new.perm.uid;
	s->gid = new.perm.gid;
	s->mode = new.perm.mode & MODE_ALL;
	s->changed = now();
	return answer(r, 0);
}

static verdict values_set(struct request *r, struct semaphore_set *s, uint32_t first, uint32_t count,
			  const uint16_t *values)
{
	for (uint32_t i = 0; i < count; i++)
		if (values[i] > SEMVMX)
			return refuse(r, ERANGE);
	/* committed */
	for (uint32_t i = 0; i < count; i++)
		s->semaphores[first + i] = (struct semaphore){ values[i], asking(r)->process->number };
	undo_forget(s, first, count);
	s->changed = now();
	return update_share(r, s);
}

static verdict all_values(struct request *r, struct semaphore_set *s, bool set, struct grant memory)
{
	size_t bytes = s->count * sizeof(uint16_t), pages = pages_for(bytes);
	uint16_t *values = pages_take(pages);
	verdict v;

	if (!values)
		return refuse(r, ENOMEM);
	if (!set) {
		for (uint32_t i = 0; i < s->count; i++)
			values[i] = (uint16_t)s->semaphores[i].value;
		v = answer(r, copy_out(memory, 0, values, bytes));
	} else if (copy_in(values, memory, 0, bytes) != 0) {
		v = refuse(r, EFAULT);
	} else {
		v = values_set(r, s, 0, s->count, values);
	}
	pages_give(values, pages);
	return v;
}

verdict pm_semctl(struct request *r, int32_t id, int32_t number, uint32_t command, int32_t value, struct grant memory)
{
	bool by_place = command == SEM_STAT || command == SEM_STAT_ANY, sets = command == SETVAL || command == SETALL;
	struct semaphore_set *s = by_place ? set_at(id) : set_of(id);
	uint16_t new_value = (uint16_t)value;

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
		return values_set(r, s, (uint32_t)number, 1, &new_value);
	case GETVAL:
		return answer(r, s->semaphores[number].value);
	case GETPID:
		return answer(r, s->semaphores[number].process);
	default:
		return answer(r, set_waiting(s, (uint32_t)number, command == GETZCNT));
	}
}
