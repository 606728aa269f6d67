/* operations.c: semop does all operations of a call at once, or none yet. With SEM_UNDO the end of a process undoes its
 * changes. Threads share these; a child begins without any, and a new program keeps them. */
#include "semaphores/semaphores.h"

/* Words of the request's scratch. VALUE is the index of the operation that blocks, and once STATE is SETTLED the
 * answer. COUNT is the number of operations in the page of the thread's slot. */
enum { STATE, VALUE, COUNT };
enum { FRESH, SETTLED, UPDATES };

#define BLOCKED 1
/* The queues of a set. */
enum { CONSTANT, ALTERING };

/* How many sets, with up to SEMMSL semaphores each, one run handles. */
#define SHARE_UNDOS 16U

_Static_assert(SEMOPM * sizeof(struct linux_sembuf) <= PAGE, "a page has the operations of a call");

static size_t undo_pages(const struct semaphore_set *s)
{
	return pages_for(sizeof(struct undo) + s->count * sizeof(int16_t));
}

static struct undo *undo_of(const struct process *p, const struct semaphore_set *s)
{
	struct undo *u = semaphores.undos[p->slot];

	while (u && u->set != s)
		u = u->next_of_process;
	return u;
}

/* Makes sure that an entry exists. Returns false if there is no memory. */
static bool undo_reserve(const struct process *p, struct semaphore_set *s)
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

/* Does one operation and notes its undo. Returns 0, BLOCKED, -EAGAIN or -ERANGE. */
static int64_t apply(struct semaphore_set *s, struct undo *u, const struct linux_sembuf *o)
{
	int32_t value = s->semaphores[o->number].value + o->operation;

	if (value < 0 || (o->operation == 0 && value != 0))
		return o->flags & IPC_NOWAIT ? -EAGAIN : BLOCKED;
	if (value > SEMVMX)
		return -ERANGE;
	if (o->flags & SEM_UNDO) {
		int32_t new = u->adjust[o->number] - o->operation;

		if (new < -SEMAEM - 1 || new > SEMAEM)
			return -ERANGE;
		u->adjust[o->number] = (int16_t)new;
	}
	s->semaphores[o->number].value = value;
	return 0;
}

static void revert(struct semaphore_set *s, struct undo *u, const struct linux_sembuf *o)
{
	s->semaphores[o->number].value -= o->operation;
	if (o->flags & SEM_UNDO)
		u->adjust[o->number] = (int16_t)(u->adjust[o->number] + o->operation);
}

/* Does all operations of a call or none. Returns 0, BLOCKED or a negative errno. */
static int64_t attempt(struct semaphore_set *s, struct request *r)
{
	const struct linux_sembuf *operations = semaphores.operations[r->task];
	const struct process *p = asking(r)->process;
	struct undo *u = undo_of(p, s);
	int64_t result = 0;
	uint64_t done = 0;

	while (done < r->scratch[COUNT] && result == 0)
		result = apply(s, u, &operations[done++]);
	if (result != 0)
		r->scratch[VALUE] = --done;
	else
		s->operated = now();
	while (done-- > 0) {
		if (result != 0)
			revert(s, u, &operations[done]);
		else
			s->semaphores[operations[done].number].process = p->number;
	}
	return result;
}

static void settle_waiting(struct request *r, int64_t result)
{
	r->scratch[STATE] = SETTLED;
	r->scratch[VALUE] = (uint64_t)result;
	unpark_request(r);
}

/* Returns whether the request's operations were done. */
static bool attempt_waiting(struct semaphore_set *s, struct request *r)
{
	int64_t result = attempt(s, r);

	if (result != BLOCKED)
		settle_waiting(r, result);
	return result == 0;
}

static void update_constant(struct semaphore_set *s)
{
	LIST_EACH (struct request, r, &s->waiting[CONSTANT].head, link)
		(void)attempt_waiting(s, r);
}

/* A value has changed: all requests that can proceed do so. Returns false if it is to be called again. After one has
 * proceeded, there may be room for those before it. Only a request with one operation behind others with one each has
 * made no room, because it has decremented. */
static bool set_update(struct semaphore_set *s)
{
	bool several = false;

	s->updating = true;
	update_constant(s);
	LIST_EACH (struct request, r, &s->waiting[ALTERING].head, link) {
		several |= r->scratch[COUNT] > 1;
		if (!attempt_waiting(s, r))
			continue;
		update_constant(s);
		if (several)
			return false;
	}
	s->updating = false;
	return true;
}

void set_refuse(struct semaphore_set *s)
{
	for (struct queue *q = s->waiting; q < s->waiting + COUNT_OF(s->waiting); q++)
		while (is_waited_for(q))
			settle_waiting(CONTAINER(q->head.next, struct request, link), -EIDRM);
}

int64_t set_waiting(struct semaphore_set *s, uint32_t number, bool zero)
{
	int64_t count = 0;

	for (struct queue *q = s->waiting; q < s->waiting + COUNT_OF(s->waiting); q++)
		LIST_EACH (struct request, r, &q->head, link) {
			const struct linux_sembuf *o = &semaphores.operations[r->task][r->scratch[VALUE]];

			count += o->number == number && (zero ? o->operation == 0 : o->operation < 0);
		}
	return count;
}

/* Checks a call before anything is done. `alters` and `undoes` say whether any operation does so. */
static int64_t check(const struct semaphore_set *s, const struct request *r, bool *alters, bool *undoes)
{
	bool beyond = false;

	*alters = *undoes = false;
	for (uint32_t i = 0; i < r->scratch[COUNT]; i++) {
		const struct linux_sembuf *o = &semaphores.operations[r->task][i];

		*alters |= o->operation != 0;
		*undoes |= (o->flags & SEM_UNDO) != 0;
		beyond |= o->number >= s->count;
	}
	if (beyond)
		return -EFBIG;
	return may_use(asking(r)->process, s, *alters ? ALTER : READ) ? 0 : -EACCES;
}

void operations_drop(uint32_t slot)
{
	pages_give(semaphores.operations[slot], 1);
	semaphores.operations[slot] = NULL;
}

verdict update_share(struct request *r, struct semaphore_set *s)
{
	if (!s || set_update(s))
		return answer(r, 0);
	r->scratch[STATE] = UPDATES;
	return give_way(r, BY_NOTHING);
}

static verdict begin(struct request *r, struct semaphore_set *s, nanoseconds deadline)
{
	bool alters, undoes;
	int64_t result = check(s, r, &alters, &undoes);

	/* Requests that already wait come first. */
	if (s->updating && !set_update(s))
		return give_way(r, BY_A_SIGNAL);
	if (result != 0)
		return answer(r, result);
	if (undoes && !undo_reserve(asking(r)->process, s))
		return refuse(r, ENOMEM);
	result = attempt(s, r);
	if (result == 0 && alters)
		return update_share(r, s);
	if (result != BLOCKED)
		return answer(r, result);
	return park_until(&s->waiting[alters ? ALTERING : CONSTANT], r, deadline);
}

verdict pm_semop(struct request *r, int32_t id, struct grant operations, uint32_t count, uint64_t deadline)
{
	struct linux_sembuf **own = &semaphores.operations[r->task];
	struct semaphore_set *s;

	if (r->scratch[STATE] == SETTLED)
		return answer(r, (int64_t)r->scratch[VALUE]);
	if (r->scratch[STATE] == UPDATES)
		return update_share(r, set_of(id));
	if (r->late)
		return refuse(r, EAGAIN);
	if (count == 0 || id < 0)
		return refuse(r, EINVAL);
	if (count > SEMOPM)
		return refuse(r, E2BIG);
	if (!*own)
		*own = pages_take(1);
	if (!*own)
		return refuse(r, ENOMEM);
	TRY_ANSWER(r, copy_in(*own, operations, 0, count * sizeof **own));
	r->scratch[COUNT] = count;
	s = set_of(id);
	return s ? begin(r, s, deadline) : refuse(r, EINVAL);
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

/* Applies the adjustments, keeping each value between 0 and SEMVMX. */
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
