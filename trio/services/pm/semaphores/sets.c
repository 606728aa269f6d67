/* sets.c: sets of System V semaphores: found, made, removed, and who may use them. */
#include "semaphores/semaphores.h"

struct semaphores semaphores;

/* Of a mode: what one of owner, group and others may. */
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

	if (who->user.effective == 0)
		return true;
	if (who->user.effective == s->cuid || who->user.effective == s->uid)
		granted >>= 6;
	else if (is_in_group(who, s->cgid) || is_in_group(who, s->gid))
		granted >>= 3;
	return !(wanted & ~granted & MODE_ONE);
}

static struct semaphore_set *set_keyed(int32_t key)
{
	const struct semaphores *all = &semaphores;

	for (uint32_t place = 0; place < all->top; place++)
		if (all->sets[place] && all->sets[place]->key == key)
			return all->sets[place];
	return NULL;
}

/* A place for a new set, of which there is one, and its id: the numbers above the place change before a place comes
 * again. */
static int32_t place_take(struct semaphores *all, struct semaphore_set *s)
{
	uint32_t place = all->lowest;

	while (all->sets[place])
		place++;
	if (place <= all->last_place)
		all->sequence = (all->sequence + 1) % SEQUENCES;
	all->last_place = place;
	all->lowest = place + 1;
	all->top = MAX(all->top, place + 1);
	all->sets[place] = s;
	return (int32_t)(all->sequence << SEMAPHORE_PLACE_BITS | place);
}

static verdict make(struct request *r, int32_t key, uint32_t count, uint32_t flags)
{
	const struct identity *who = &asking(r)->process->identity;
	struct semaphores *all = &semaphores;
	struct semaphore_set *s;

	if (count == 0)
		return refuse(r, EINVAL);
	if (all->count == SEMMNI || count > SEMMNS - all->total)
		return refuse(r, ENOSPC);
	s = pages_take(set_pages(count));
	if (!s)
		return refuse(r, ENOMEM);
	/* committed */
	s->key = key;
	s->uid = s->cuid = who->user.effective;
	s->gid = s->cgid = who->group.effective;
	s->mode = flags & MODE_ALL;
	s->changed = now();
	s->count = count;
	list_start(&s->undos);
	list_start(&s->waiting[0].head);
	list_start(&s->waiting[1].head);
	s->id = place_take(all, s);
	all->count++;
	all->total += count;
	return answer(r, s->id);
}

void set_remove(struct semaphore_set *s)
{
	struct semaphores *all = &semaphores;
	uint32_t place = place_of(s->id);

	set_refuse(s);
	undo_remove(s);
	all->sets[place] = NULL;
	all->lowest = MIN(all->lowest, place);
	while (all->top > 0 && !all->sets[all->top - 1])
		all->top--;
	all->count--;
	all->total -= s->count;
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
