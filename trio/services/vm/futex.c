/* futex.c: waiting for a word of memory to change. Requests are parked in queues by the hash of the word's key: its
 * address in a space or, for shared memory, its place in the object, which is the same for all who map it. */
#include "vm_internal.h"

#define QUEUES 256U

/* Words of a waiting request's scratch. */
enum { STATE, KEY_OWNER, KEY_PLACE, MASK };
enum { FRESH, WAITS, WOKEN };

struct key {
	uint64_t owner, place;
};

/* A key's owner is a space's number, or OWNER_OBJECT with an object's number. */
#define OWNER_OBJECT (1UL << 32)

static struct queue queues[QUEUES];

/* Returns 0, -EINVAL (not aligned) or -EFAULT (not mapped). */
static int64_t key_of(struct space *s, uint64_t address, uint32_t own, struct key *key)
{
	const struct region *r;
	uint64_t place;

	if (address % sizeof(uint32_t) != 0)
		return -EINVAL;
	if (address >= USER_TOP)
		return -EFAULT;
	*key = (struct key){ s->number, address };
	if (own)
		return 0;
	/* Linux finds shared words by their page, so the page has to be accessible. */
	r = region_find(s, address);
	if (r == NULL || !(r->bits & PROT_ALL))
		return -EFAULT;
	if (r->object == 0)
		return 0;
	place = r->index * PAGE + (address - r->begin);
	if (!object_reaches(object_of(r->object), place / PAGE))
		return -EFAULT;
	if (r->bits & REGION_SHARED)
		*key = (struct key){ OWNER_OBJECT | r->object, place };
	return 0;
}

static struct queue *queue_of(const struct key *key)
{
	uint64_t mixed = (key->owner * 31 + key->place / 4) * 0x9e3779b97f4a7c15UL;

	return &queues[mixed >> 56];
}

verdict vm_futex_wait(struct request *r, uint64_t address, uint32_t value, uint64_t deadline, uint32_t mask,
		      uint32_t own)
{
	struct space *s = space_of(r->task);
	struct key key;
	int64_t result;
	void *word;

	if (r->scratch[STATE] == WOKEN)
		return answer(r, 0);
	if (r->late)
		return refuse(r, ETIMEDOUT);
	if (r->scratch[STATE] == WAITS)
		return park_until(queue_of(&(struct key){ r->scratch[KEY_OWNER], r->scratch[KEY_PLACE] }), r, deadline);
	if (mask == 0)
		return refuse(r, EINVAL);
	result = key_of(s, address, own, &key);
	if (result != 0)
		return answer(r, result);
	result = user_place(s, address, false, &word);
	if (result != 0)
		return answer_or_wait(r, result, BY_A_SIGNAL);
	if (*(const uint32_t *)word != value)
		return refuse(r, EAGAIN);
	r->scratch[STATE] = WAITS;
	r->scratch[KEY_OWNER] = key.owner;
	r->scratch[KEY_PLACE] = key.place;
	r->scratch[MASK] = mask;
	return park_until(queue_of(&key), r, deadline);
}

static bool waits_for(const struct request *r, const struct key *key, uint32_t mask)
{
	return r->scratch[KEY_OWNER] == key->owner && r->scratch[KEY_PLACE] == key->place && r->scratch[MASK] & mask;
}

/* Moves a parked request to the end of another queue. Its end or wake-up unlinks it from whatever list it is in. */
static void move_to(struct link *waiter, struct queue *to)
{
	list_remove(waiter);
	if (to->head.next == NULL)
		list_start(&to->head);
	list_add(&to->head, waiter);
}

/* Takes the first `count` waiters for the key: wakes them if `to` is NULL, else makes them wait for `to`. Returns their
 * number. Requests that move to the end of the same queue are not looked at twice. */
static uint32_t take_waiters(const struct key *key, uint32_t count, uint32_t mask, const struct key *to)
{
	struct queue *q = queue_of(key);
	struct link *next, *at = is_waited_for(q) ? q->head.next : &q->head;
	uint32_t taken = 0;

	for (uint32_t seen = 0; at != &q->head && taken < count && seen < TASKS; at = next, seen++) {
		struct request *r = CONTAINER(at, struct request, link);

		next = at->next;
		if (!waits_for(r, key, mask))
			continue;
		taken++;
		if (to == NULL) {
			r->scratch[STATE] = WOKEN;
			unpark_request(r);
			continue;
		}
		r->scratch[KEY_OWNER] = to->owner;
		r->scratch[KEY_PLACE] = to->place;
		move_to(at, queue_of(to));
	}
	return taken;
}

/* The size of struct robust_list_head. */
#define ROBUST_HEAD_BYTES 24

verdict vm_robust_list(struct request *r, uint64_t size)
{
	return size == ROBUST_HEAD_BYTES ? answer(r, 0) : refuse(r, EINVAL);
}

verdict vm_futex_wake(struct request *r, uint64_t address, uint32_t count, uint32_t mask, uint32_t own)
{
	struct key key;
	int64_t result;

	if (mask == 0)
		return refuse(r, EINVAL);
	result = key_of(space_of(r->task), address, own, &key);
	return answer(r, result != 0 ? result : take_waiters(&key, count, mask, NULL));
}

verdict vm_futex_requeue(struct request *r, uint64_t address, uint32_t count, uint64_t other, uint32_t more,
			 int64_t compare, uint32_t own)
{
	struct space *s = space_of(r->task);
	struct key from, to;
	uint32_t woken;
	int64_t result = key_of(s, address, own, &from);

	if (result == 0)
		result = key_of(s, other, own, &to);
	if (result != 0)
		return answer(r, result);
	if (compare != -1) {
		void *word;

		result = user_place(s, address, false, &word);
		if (result != 0)
			return answer_or_wait(r, result, BY_THE_END);
		if (*(const uint32_t *)word != (uint32_t)compare)
			return refuse(r, EAGAIN);
	}
	woken = take_waiters(&from, count, FUTEX_BITSET_ALL, NULL);
	/* If both words are the same, the waiters stay and count as moved. */
	return answer(r, woken + take_waiters(&from, more, FUTEX_BITSET_ALL, &to));
}

int64_t vm_clear_and_wake(uint32_t task, uint64_t address)
{
	struct space *s = space_of(task);
	struct key key;
	void *word;

	/* Nobody else could look, and the write might copy the page in vain. */
	if (s == NULL || s->users < 2 || key_of(s, address, 0, &key) != 0)
		return 0;
	if (user_place(s, address, true, &word) == 0) {
		*(uint32_t *)word = 0;
		(void)take_waiters(&key, 1, FUTEX_BITSET_ALL, NULL);
	}
	return 0;
}
