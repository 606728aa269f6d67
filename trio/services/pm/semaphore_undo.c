/* semaphore_undo.c: SEM_UNDO: what the operations of a process took from semaphores, or gave, is undone at its end. Its
 * threads share that; a child begins with nothing, and a new program keeps it. */
#include "pm_internal.h"

/* Sets that one run sees to. */
#define SHARE_UNDOS 64U

#define PER_WORD (sizeof(uint64_t) / sizeof(int16_t))

static size_t undo_pages(const struct semaphore_set *s)
{
	return pages_for(sizeof(struct undo) + s->count * sizeof(int16_t));
}

struct undo *undo_of(const struct process *p, const struct semaphore_set *s)
{
	struct undo *u = pm.semaphores.undos[p->slot];

	while (u && u->set != s)
		u = u->next_of_process;
	return u;
}

bool undo_reserve(const struct process *p, struct semaphore_set *s)
{
	struct undo **first = &pm.semaphores.undos[p->slot], *u = undo_of(p, s);

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

void undo_forget(struct semaphore_set *s, uint32_t number)
{
	LIST_EACH (struct undo, u, &s->undos, of_set)
		u->adjust[number] = 0;
}

void undo_forget_all(struct semaphore_set *s)
{
	LIST_EACH (struct undo, u, &s->undos, of_set)
		memset(u->adjust, 0, s->count * sizeof u->adjust[0]);
}

static void undo_drop(struct undo *u)
{
	struct undo **at = &pm.semaphores.undos[u->slot];

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

/* The first from `from` on that has something to undo, or their count. Most have not: a set may have thousands. */
static uint32_t next_adjusted(const struct undo *u, uint32_t from)
{
	uint64_t word;

	for (; from + PER_WORD <= u->set->count; from += PER_WORD) {
		memcpy(&word, &u->adjust[from], sizeof word);
		if (word != 0)
			break;
	}
	while (from < u->set->count && u->adjust[from] == 0)
		from++;
	return from;
}

/* As far as it can be done: a value is never below 0, nor above what it may be. */
static void give_back(const struct undo *u, int32_t number)
{
	struct semaphore_set *s = u->set;

	for (uint32_t i = next_adjusted(u, 0); i < s->count; i = next_adjusted(u, i + 1)) {
		s->semaphores[i].value = MIN(MAX(s->semaphores[i].value + u->adjust[i], 0), SEMVMX);
		s->semaphores[i].process = number;
	}
	s->operated = now();
}

bool undo_do(const struct process *p)
{
	struct undo *u;

	for (uint32_t left = SHARE_UNDOS; (u = pm.semaphores.undos[p->slot]); left--) {
		if (left == 0)
			return false;
		if (!u->given_back)
			give_back(u, p->number);
		u->given_back = true;
		if (!set_update(u->set))
			return false;
		undo_drop(u);
	}
	return true;
}
