/* grants.c: the table of grants, and copies by them. The kernel makes an entry for each grant in a message, for the
 * domain that gets the message, and ends it with the call. A copy walks the owner's page tables: it enters no address
 * space, and only the server's own side can fault. */
#include "ipc.h"
#include "message.h"
#include "servers.h"
#include "structure.h"
#include "switches.h"
#include "vm.h"
#include "x86/paging.h"

/* How many entries a caller has: for its call under way, and, of a server, for its clients' memory. */
#define CALL_GRANTS 6
#define CLIENT_GRANTS 2
#define GRANTS (CALL_GRANTS + CLIENT_GRANTS)
#define CALLERS (NOTIFIER + 1)
#define OFFSET_MASK 0xffffffffUL
#define TRIES 4

/* `owner`: a task, TASKS + a domain, or TASKS for the kernel. `base`: an address in its space, or in a task's
 * vector. */
static struct entry {
	uint64_t base, length;
	uint32_t owner;
	uint16_t generation;
	uint8_t holder, rights;
	/* It makes the size a power of two, so that an index is a shift. */
	uint64_t unused;
} table[CALLERS * GRANTS];
static uint8_t next_client_grant[DOMAINS];

static uint64_t id_of(uint64_t index, const struct entry *e)
{
	return GRANT_ENTRY | index << GRANT_ENTRY_SHIFT | (uint64_t)e->generation << GRANT_GENERATION_SHIFT;
}

/* Whether an entry is valid: those of a call last as long as the call waits. */
static bool lasts(uint32_t caller, unsigned which)
{
	const struct task *t = NULL;

	if (caller < TASKS)
		t = tasks[caller];
	else if (caller > TASKS && caller < NOTIFIER)
		t = servers[caller - TASKS].task;
	else if (caller == NOTIFIER)
		t = notifier;
	return t && which < t->caller.grants;
}

/* Returns NULL if there is no such entry, if another domain holds it, or if it has ended. */
static inline const struct entry *entry_of(uint64_t id, uint32_t holder, unsigned rights)
{
	uint64_t index = id >> GRANT_ENTRY_SHIFT & 0x3fff;
	unsigned which = index % GRANTS;
	const struct entry *e;

	if (index >= CALLERS * GRANTS)
		return NULL;
	e = &table[index];
	if (e->holder != holder || (e->rights & rights) != rights)
		return NULL;
	if (e->generation != (uint16_t)(id >> GRANT_GENERATION_SHIFT))
		return NULL;
	return (which < CALL_GRANTS ? lasts((uint32_t)(index / GRANTS), which) : has_client(e->owner)) ? e : NULL;
}

/* Finds what a grant in the present task's message stands for; false if the task has no right to that. Only the kernel
 * and its threads may grant the kernel's memory. */
static bool resolve(struct grant g, unsigned rights, struct entry *to)
{
	uint32_t domain = PRESENT_DOMAIN;
	const struct entry *e;

	to->length = g.length;
	to->base = g.id;
	to->owner = domain ? TASKS + domain : current->number;
	if (is_entry(g.id)) {
		uint64_t offset = g.id & OFFSET_MASK;

		e = entry_of(g.id, domain, rights);
		if (!e || offset > e->length || g.length > e->length - offset)
			return false;
		to->base = e->base + offset;
		to->owner = e->owner;
		return true;
	}
	if (is_own(g) && !BY_PROCESS) {
		to->owner = TASKS;
		return true;
	}
	return !domain || !is_vector(g.id);
}

/* Makes one more entry of the caller. */
static inline bool give(struct task *t, struct entry *e, unsigned holder, uint64_t *word, unsigned rights)
{
	uint64_t index = t->number * GRANTS + t->caller.grants++;

	e->rights = (uint8_t)rights;
	e->holder = (uint8_t)holder;
	e->generation++;
	word[0] = id_of(index, e);
	return true;
}

static __attribute__((noinline)) bool grant_give_resolved(struct task *t, unsigned holder, uint64_t *word,
							  unsigned rights)
{
	struct entry *e = &table[t->number * GRANTS + t->caller.grants];

	INVARIANT(t->caller.grants < CALL_GRANTS);
	return resolve((struct grant){ word[0], word[1] }, rights, e) && give(t, e, holder, word, rights);
}

/* Most grants are of a program's own memory, which needs no check. */
bool grant_give(struct task *t, unsigned holder, uint64_t *word, unsigned rights)
{
	uint32_t caller = t->number;
	struct entry *e = &table[caller * GRANTS + t->caller.grants];

	if (caller >= TASKS || (word[0] > USER_END && !is_vector(word[0])))
		return grant_give_resolved(t, holder, word, rights);
	INVARIANT(t->caller.grants < CALL_GRANTS);
	e->base = word[0];
	e->length = word[1];
	e->owner = caller;
	return give(t, e, holder, word, rights);
}

bool grants_give(struct task *t, const struct endpoint *e, uint16_t call, uint64_t *words)
{
	for (const struct shape_grant *g = e->shapes[call].grants; g->rights; g++) {
		if (grant_put(t, e->domain, &words[g->at], g->rights))
			continue;
		grants_end(&t->caller);
		return false;
	}
	return true;
}

bool grants_are_own(const struct shape *shape, const uint64_t *words)
{
	for (const struct shape_grant *g = shape->grants; g->rights; g++)
		if (!is_entry(words[g->at]) && !is_process_memory(words[g->at], words[g->at + 1]))
			return false;
	return true;
}

void grants_revoke(uint32_t holder, uint32_t owner)
{
	for (unsigned i = 0; i < CALLERS * GRANTS; i++)
		if (table[i].holder == holder || table[i].owner == owner)
			table[i].holder = 0;
}

uint64_t grant_of_client(uint32_t task, uint64_t address, uint64_t length)
{
	uint32_t domain = PRESENT_DOMAIN;
	unsigned which = CALL_GRANTS + next_client_grant[domain]++ % CLIENT_GRANTS;
	uint64_t index = (TASKS + domain) * GRANTS + which;
	struct entry *e = &table[index];

	if (!(domains[domain].has_clients_memory || DECODED_BY_SERVICES) || !has_client(task))
		return NO_GRANT;
	*e = (struct entry){ .base = MIN(address, USER_END),
			     .length = length,
			     .owner = task,
			     .generation = (uint16_t)(e->generation + 1),
			     .holder = (uint8_t)domain,
			     .rights = RIGHT_READ | RIGHT_WRITE };
	return id_of(index, e);
}

/* Copies ---------------------------------------------------------------------------------------------------------- */

/* Finds the byte at `address` of an owner's space in the direct map; NULL: it is absent, or not writable. `access`:
 * what vm is to be asked about it if it is a task's. */
static char *find(uint32_t owner, uint64_t address, bool write, uint32_t *access)
{
	uint64_t frame;
	uint32_t protection;
	/* A task has the space that it lives in, and may have ended. */
	uint32_t space = owner < TASKS && tasks[owner] ? tasks[owner]->space : TASKS;

	if (PROCESSES && owner > TASKS)
		return process_place(owner - TASKS, address, write);
	*access = write ? VM_ACCESS_USER | VM_ACCESS_WRITE : VM_ACCESS_USER;
	if (space == TASKS || space_roots[space] == 0 ||
	    space_find(space, address & ~(PAGE - 1), &frame, &protection) != 0)
		return NULL;
	*access |= VM_ACCESS_PRESENT;
	return protection & (write ? 2 : 1) ? (char *)physical(frame) + address % PAGE : NULL;
}

/* Finds the part of a copy that lies in one page of the owner. Returns 0 and its place, -EFAULT, or -EAGAIN if the page
 * is absent. */
static int64_t place_of(const struct entry *e, struct copying *c, uint64_t offset, char **there, uint64_t *room)
{
	struct segment piece = { e->base + offset, e->length - offset };
	bool write = c->kind >= COPY_OUT;

	if (e->owner == TASKS || (e->owner > TASKS && !is_process(e->owner - TASKS))) {
		*there = (char *)piece.address;
		*room = piece.length;
		return 0;
	}
	if (e->owner < TASKS && is_vector(e->base))
		piece = vector_piece(&tasks[e->owner]->vector, e->base, offset);
	if (piece.length == 0 || (piece.address >= USER_END && e->owner < TASKS))
		return -EFAULT;
	*room = MIN(piece.length, PAGE - piece.address % PAGE);
	*there = find(e->owner, piece.address, write, &c->access);
	if (*there)
		return 0;
	if (e->owner > TASKS)
		return -EFAULT;
	c->task = e->owner;
	c->address = piece.address;
	return -EAGAIN;
}

/* The server asked again, and the page is still absent: it has to be read first, and the client's call to be made
 * again; or no such page can be had. */
static int64_t absent(struct copying *c, uint64_t before)
{
	struct task *t = c->task < TASKS ? tasks[c->task] : NULL;

	if (c->address != before)
		c->tries = 0;
	else if (c->why != 0 || ++c->tries == TRIES) {
		if (t && c->why == -EWAIT) {
			t->absent = c->address;
			t->absent_access = c->access;
			t->work |= WORK_ABSENT;
		}
		return -EFAULT;
	}
	return -EAGAIN;
}

static size_t string_within(const char *from, size_t most)
{
	size_t n = 0;

	while (n < most && from[n])
		n++;
	return n;
}

/* Counts as mono does: for the program whose memory it is. The bytes of a service's own strings are not counted, nor a
 * string's end. */
static inline void count_copy(uint64_t kind, uint32_t owner, size_t n)
{
	struct task *t = owner < TASKS ? tasks[owner] : current;

	if (kind == COPY_STRING)
		COUNT_FOR(t, copies_strings, 1);
	else
		COUNT_FOR(t, copies, 1);
	if (kind >= COPY_OUT)
		COUNT_FOR(t, bytes_out, n);
	else if (kind == COPY_IN || owner < TASKS)
		COUNT_FOR(t, bytes_in, n);
}

/* Copies one piece. Sets `*done` if it contained a string's end. */
static int64_t copy_piece(struct copying *c, uint32_t owner, char *there, size_t n, bool *end)
{
	if (c->kind == COPY_STRING) {
		size_t length = string_within(there, n);

		*end = length < n;
		n = length + *end;
	}
	if (copy_user(c->kind, (uint64_t)there, c->own, n))
		return -EFAULT;
	count_copy(c->kind, owner, n - *end);
	c->own += n;
	c->offset += n;
	c->n -= n;
	return 0;
}

int64_t grants_copy(struct copying *c, bool trusted)
{
	const struct entry *e = entry_of(c->grant.id, PRESENT_DOMAIN, c->kind >= COPY_OUT ? RIGHT_WRITE : RIGHT_READ);
	uint64_t begin = c->grant.id & OFFSET_MASK, before = c->address;
	bool end = false;

	if (c->kind > COPY_ZEROS || !e || begin > e->length || c->grant.length > e->length - begin ||
	    is_beyond(c->grant, c->offset, c->n))
		return -EFAULT;
	if (!trusted && !is_process_memory(c->own, c->n))
		return -EFAULT;
	while (c->n > 0 && !end) {
		uint64_t room = 0;
		char *there = NULL;
		int64_t result = place_of(e, c, begin + c->offset, &there, &room);

		if (result == 0)
			result = copy_piece(c, e->owner, there, MIN(room, c->n), &end);
		if (result == -EAGAIN)
			return absent(c, before);
		if (result != 0)
			return result;
	}
	if (c->kind != COPY_STRING)
		return 0;
	return end ? (int64_t)c->offset - 1 : -ENAMETOOLONG;
}

/* Finds the page of a program's that contains the address in the direct map; NULL: it is absent, or not writable. */
static inline char *present_page(uint64_t cr3, uint64_t address, bool write)
{
	uint64_t entry = table_below(cr3)[ENTRY_OF(address, 3)];

#pragma GCC unroll 3
	for (int level = 2; level >= 0; level--) {
		if (!(entry & PAGE_PRESENT))
			return NULL;
		entry = table_below(entry)[ENTRY_OF(address, level)];
	}
	if (!(entry & PAGE_PRESENT) || (write && !(entry & PAGE_WRITE)))
		return NULL;
	return (char *)table_below(entry);
}

/* Copies within one page of a program. Returns -EAGAIN if that page is absent or not writable. */
static inline int64_t copy_in_page(const struct task *t, uint64_t kind, uint64_t address, uint64_t own, size_t n)
{
	char *page = present_page(t->cr3, address, kind >= COPY_OUT);

	if (!page)
		return -EAGAIN;
	return copy_user((enum copy_kind)kind, (uint64_t)page + address % PAGE, own, n) ? -EFAULT : 0;
}

static __attribute__((noinline)) int64_t copy_in_pages(const struct task *t, uint64_t kind, uint64_t address,
						       uint64_t own, size_t n)
{
	for (size_t piece; n > 0; address += piece, own += piece, n -= piece) {
		piece = MIN(n, PAGE - address % PAGE);
		TRY(copy_in_page(t, kind, address, own, piece));
	}
	return 0;
}

/* With the switch by-mapping the server copies itself. */
static int64_t map_page(struct server *s, const struct task *t, uint64_t kind, uint64_t address, size_t n)
{
	char *page = present_page(t->cr3, address, kind >= COPY_OUT);

	if (!page)
		return -EAGAIN;
	count_copy(kind, t->number, kind == COPY_STRING ? 0 : MIN(n, PAGE - address % PAGE));
	window_open(s, physical_of(page), kind >= COPY_OUT);
	return (int64_t)(PROCESS_MAPPED + address % PAGE);
}

int64_t grants_copy_short(uint64_t id, uint64_t length, uint64_t offset, uint64_t own, uint64_t n, uint64_t kind)
{
	struct server *s = current->serves;
	bool maps = BY_MAPPING && s->task->user;
	const struct entry *e;
	uint64_t begin = id & OFFSET_MASK, address;
	struct task *t;
	int64_t result;

	COUNT(server_traps, 1);
	if (maps && kind == COPY_DONE)
		return window_close(s) ? 0 : -EAGAIN;
	e = entry_of(id, s->domain, kind >= COPY_OUT ? RIGHT_WRITE : RIGHT_READ);
	if (!e || e->owner >= TASKS || (kind == COPY_STRING && !maps) || kind > COPY_ZEROS)
		return -EAGAIN;
	t = tasks[e->owner];
	address = e->base + begin + offset;
	if (!t || offset > length || n > length - offset || begin + length > e->length || length > e->length ||
	    address >= USER_END || (s->task->user && kind != COPY_ZEROS && !is_process_memory(own, n)))
		return -EAGAIN;
	if (maps)
		return map_page(s, t, kind, address, n);
	if (address % PAGE + n <= PAGE)
		result = copy_in_page(t, kind, address, own, n);
	else
		result = copy_in_pages(t, kind, address, own, n);
	if (result == 0)
		count_copy(kind, t->number, n);
	return result;
}
