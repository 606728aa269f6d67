/* undo.c: SEM_UNDO: what the operations of a process took from semaphores, or gave, is undone at its end. Its
 * threads share that; a child begins with nothing, and a new program keeps it. */
#include "semaphores/semaphores.h"

/* Sets, each of SEMMSL semaphores at most, that one run sees to. */
#define SHARE_UNDOS 16U

static size_t undo_pages(const struct semaphore_set *s)
{
	return pages_for(sizeof(struct undo) + s->count * sizeof(int16_t));
}

struct undo *undo_of(const struct process *p, const struct semaphore_set *s)
{
	struct undo *u = semaphores.undos[p->slot];

	while (u && u->set != s)
		u = u->next_of_process;
	return u;
}

bool undo_reserve(const struct process *p, struct semaphore_set *s)
{
	struct undo **first = &semaphores.undos[p->slot], *u = undo_of(p, s);

	if (u)
		return true;
	u = pages_take(undo_pages(s));
	if (!u)
		return false;
	u->set = s;
	u->slot = p->slot;
	u->next_of_process = *first;
	*first = u;
	list_add(&s->undos, &u->of_set);
	return true;
}

void undo_forget(struct semaphore_set *s, uint32_t first, uint32_t count)
{
	LIST_EACH (struct undo, u, &s->undos, of_set)
		memset(&u->adjust[first], 0, count * sizeof u->adjust[0]);
}

static void undo_drop(struct undo *u)
{
	struct undo **at = &semaphores.undos[u->slot];

	while (*at != u)
		at = &(*at)->next_of_process;
	*at = u->next_of_process;
	list_remove(&u->of_set);
	pages_give(u, undo_pages(u->set));
}

void undo_remove(struct semaphore_set *s)
{
	LIST_EACH (struct undo, u, &s->undos, of_set)
		undo_drop(u);
}

/* As far as it can be done: a value is never below 0, nor above what it may be. */
static void give_back(struct undo *u, int32_t number)
{
	struct semaphore_set *s = u->set;

	for (uint32_t i = 0; i < s->count; i++) {
		if (u->adjust[i] == 0)
			continue;
		s->semaphores[i].value = MIN(MAX(s->semaphores[i].value + u->adjust[i], 0), SEMVMX);
		s->semaphores[i].process = number;
		u->adjust[i] = 0;
	}
	s->operated = now();
}

bool undo_do(const struct process *p)
{
	struct undo *u;

	for (uint32_t left = SHARE_UNDOS; (u = semaphores.undos[p->slot]); left--) {
		if (left == 0)
			return false;
		give_back(u, p->number);
		if (!set_update(u->set))
			return false;
		undo_drop(u);
	}
	return true;
}
