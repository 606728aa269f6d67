/* sets.c: sets of System V semaphores: how they are found, made and removed, and who may use them. */
#include "semaphores/semaphores.h"

struct semaphores semaphores;

/* One of the three parts of a mode. */
#define MODE_ONE 07U
#define SEQUENCES (1U << (31 - SEMAPHORE_PLACE_BITS))

static size_t set_pages(uint32_t count)
{
	return pages_for(sizeof(struct semaphore_set) + count * sizeof(struct semaphore));
}

struct semaphore_set *set_at(int32_t place)
{
	return place >= 0 && (uint32_t)place < SEMMNI ? semaphores.sets[place] : NULL;
}

static uint32_t place_of(int32_t id)
{
	return (uint32_t)id & ((1U << SEMAPHORE_PLACE_BITS) - 1);
}

struct semaphore_set *set_of(int32_t id)
{
	struct semaphore_set *s = set_at((int32_t)place_of(id));

	return s && s->id == id ? s : NULL;
}

static bool is_in_group(const struct identity *who, uint32_t group)
{
	for (uint32_t i = 0; i < who->group_count; i++)
		if (who->groups[i] == group)
			return true;
	return who->group.effective == group;
}

bool may_use(const struct process *p, const struct semaphore_set *s, uint32_t wanted)
{
	const struct identity *who = &p->identity;
	uint32_t granted = s->mode;

	if (is_root(p))
		return true;
	if (who->user.effective == s->cuid || who->user.effective == s->uid)
		granted >>= 6;
	else if (is_in_group(who, s->cgid) || is_in_group(who, s->gid))
		granted >>= 3;
	return !(wanted & ~granted & MODE_ONE);
}

static struct semaphore_set *set_keyed(int32_t key)
{
	for (uint32_t place = 0; place < semaphores.top; place++)
		if (semaphores.sets[place] && semaphores.sets[place]->key == key)
			return semaphores.sets[place];
	return NULL;
}

/* Each new set in a place gets another sequence number. */
static verdict make(struct request *r, int32_t key, uint32_t count, uint32_t flags)
{
	static uint32_t sequence;
	const struct identity *who = &asking(r)->process->identity;
	struct semaphore_set *s;
	uint32_t place = 0;

	if (count == 0)
		return refuse(r, EINVAL);
	while (place < SEMMNI && semaphores.sets[place])
		place++;
	if (place == SEMMNI)
		return refuse(r, ENOSPC);
	s = pages_take(set_pages(count));
	if (!s)
		return refuse(r, ENOMEM);
	/* committed */
	s->id = (int32_t)(sequence++ % SEQUENCES << SEMAPHORE_PLACE_BITS | place);
	s->key = key;
	s->uid = s->cuid = who->user.effective;
	s->gid = s->cgid = who->group.effective;
	s->mode = flags & MODE_ALL;
	s->changed = now();
	s->count = count;
	list_start(&s->undos);
	list_start(&s->waiting[0].head);
	list_start(&s->waiting[1].head);
	semaphores.sets[place] = s;
	semaphores.top = MAX(semaphores.top, place + 1);
	return answer(r, s->id);
}

void set_remove(struct semaphore_set *s)
{
	set_refuse(s);
	undo_remove(s);
	semaphores.sets[place_of(s->id)] = NULL;
	while (semaphores.top > 0 && !semaphores.sets[semaphores.top - 1])
		semaphores.top--;
	pages_give(s, set_pages(s->count));
}

verdict pm_semget(struct request *r, int32_t key, uint32_t count, uint32_t flags)
{
	const struct semaphore_set *s;

	if (count > SEMMSL)
		return refuse(r, EINVAL);
	s = key == IPC_PRIVATE ? NULL : set_keyed(key);
	if (!s && key != IPC_PRIVATE && !(flags & IPC_CREAT))
		return refuse(r, ENOENT);
	if (!s)
		return make(r, key, count, flags);
	if (flags & IPC_CREAT && flags & IPC_EXCL)
		return refuse(r, EEXIST);
	if (count > s->count)
		return refuse(r, EINVAL);
	if (!may_use(asking(r)->process, s, flags >> 6 | flags >> 3 | flags))
		return refuse(r, EACCES);
	return answer(r, s->id);
}
