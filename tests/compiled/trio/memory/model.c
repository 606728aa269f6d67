/* model.c: random calls to the memory service, beside a model that is an array of pages: model SEED ROUNDS SPARE. After
 * each call all that a program could see must be as in the model, and so must what is promised; when all have left,
 * every frame is free. SPARE: so many frames are free at the start, 0 for all. With few, calls answer -ENOMEM and
 * change nothing, or unmap what was to be replaced; but a page that is mapped can always be touched. */
#include <stdio.h>
#include <stdlib.h>
#include "host.h"

#define PROCESS_COUNT 6U
#define PAGES 192U
/* Page 64 begins a span of each level of tables. */
#define BASE (0x200000000000UL - 64 * PAGE)
#define OBJECTS 3U
#define OBJECT_PAGES_MOST 24U

struct page {
	bool mapped, shared;
	/* A frame of its own may be wanted; it was accessible once. */
	bool promised, reached;
	/* A child does not get it. */
	bool stays;
	uint32_t protection;
	/* Where its content stands if it is of an object (number + 1) and no private copy. */
	uint32_t object, index;
	bool own;
	uint64_t value;
};

struct process {
	bool alive;
	struct page pages[PAGES];
};

static struct process processes[PROCESS_COUNT];
static struct {
	uint32_t number, pages;
	uint64_t values[OBJECT_PAGES_MOST];
} objects[OBJECTS];
static uint64_t next_value = 1;
static bool scarce;
/* Calls that found no memory. */
static uint64_t refused;

static uint64_t address_of(uint32_t page)
{
	return BASE + page * PAGE;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand() % n;
}

/* What a protection, as mmap or mprotect set it, makes of a page for good. */
static void reach(struct page *p)
{
	p->reached |= p->protection != 0;
	p->promised |=
		p->reached && !p->shared && (p->protection & PROT_WRITE || (p->object == 0 && p->protection != 0));
}

/* A call that says -ENOMEM may do so. */
static bool is_refused(int64_t result)
{
	if (result != -ENOMEM)
		return false;
	CHECK(scarce);
	refused++;
	return true;
}

/* After a call that was refused: what it was to replace is there or not. */
static void see_what_is_left(uint32_t task, uint32_t from, uint32_t count)
{
	for (uint32_t i = from; i < from + count; i++)
		if (region_find(space_of(task), address_of(i)) == NULL)
			processes[task].pages[i] = (struct page){ 0 };
}

static uint64_t *content(struct page *p)
{
	return p->object != 0 && !p->own ? &objects[p->object - 1].values[p->index] : &p->value;
}

static bool is_beyond(const struct page *p)
{
	return p->object != 0 && p->index >= objects[p->object - 1].pages;
}

static void check_page(uint32_t task, uint32_t page)
{
	struct page *p = &processes[task].pages[page];
	uint64_t value;
	int64_t result = user_read(task, address_of(page), &value);

	if (!p->mapped)
		CHECK(result == -EFAULT);
	else if (p->protection == 0)
		CHECK(result == -EACCES);
	else if (is_beyond(p))
		CHECK(result == -ENXIO);
	else
		CHECK(result == 0 && value == *content(p));
}

static void write_page(uint32_t task, uint32_t page)
{
	struct page *p = &processes[task].pages[page];
	int64_t result = user_write(task, address_of(page), next_value);

	if (!p->mapped) {
		CHECK(result == -EFAULT);
	} else if (!(p->protection & PROT_WRITE)) {
		CHECK(result == -EACCES);
	} else if (is_beyond(p)) {
		CHECK(result == -ENXIO);
	} else {
		CHECK(result == 0);
		if (!p->shared)
			p->own = true;
		*content(p) = next_value;
	}
	next_value++;
}

static uint32_t any_protection(void)
{
	static const uint32_t some[] = { 0, 1, 3, 3, 3, 5, 7 };

	return some[below(COUNT_OF(some))];
}

static void op_map(uint32_t task, uint32_t from, uint32_t count)
{
	uint32_t object = below(3) == 0 ? 1 + below(OBJECTS) : 0, protection = any_protection();
	uint32_t flags = MAP_FIXED | (object != 0 && below(2) ? MAP_SHARED : MAP_PRIVATE), first = below(8);
	uint64_t got = address_of(from);
	int64_t result;

	if (object == 0)
		result = ASK(task, map_anonymous, address_of(from), count * PAGE, protection, flags);
	else
		result = CALL(map_object, task, address_of(from), count * PAGE, protection, flags,
			      objects[object - 1].number, first * PAGE, 1, &got);
	if (is_refused(result)) {
		see_what_is_left(task, from, count);
		return;
	}
	CHECK(result == (object == 0 ? (int64_t)address_of(from) : 0) && got == address_of(from));
	for (uint32_t i = 0; i < count; i++) {
		struct page *p = &processes[task].pages[from + i];

		*p = (struct page){ .mapped = true, .shared = flags & MAP_SHARED, .protection = protection };
		p->object = object;
		p->index = first + i;
		reach(p);
	}
}

static void op_unmap(uint32_t task, uint32_t from, uint32_t count)
{
	int64_t result = ASK(task, unmap, address_of(from), count * PAGE);

	if (is_refused(result))
		return;
	CHECK(result == 0);
	for (uint32_t i = 0; i < count; i++)
		processes[task].pages[from + i] = (struct page){ 0 };
}

static void op_protect(uint32_t task, uint32_t from, uint32_t count)
{
	uint32_t protection = any_protection(), i = 0;
	int64_t result = ASK(task, protect, address_of(from), count * PAGE, protection);

	for (; i < count && processes[task].pages[from + i].mapped; i++) {
		struct page *p = &processes[task].pages[from + i];

		/* As far as it went. */
		if (scarce && result != 0)
			protection = region_find(space_of(task), address_of(from + i))->bits & PROT_ALL;
		p->protection = protection;
		reach(p);
	}
	CHECK(result == (i == count ? 0 : -ENOMEM) || is_refused(result));
}

/* Private pages come again as zeros or as the object's. */
static void op_forget(uint32_t task, uint32_t from, uint32_t count)
{
	bool gap = false;
	int64_t result = ASK(task, advise, address_of(from), count * PAGE, MADV_DONTNEED);

	for (uint32_t i = 0; i < count; i++) {
		struct page *p = &processes[task].pages[from + i];

		gap |= !p->mapped;
		p->own = false;
		p->value = 0;
	}
	CHECK(result == (gap ? -ENOMEM : 0));
}

/* What is behind a gap too, as on Linux. */
static void op_stay(uint32_t task, uint32_t from, uint32_t count)
{
	bool stays = below(4) == 0, gap = false;
	int64_t result = ASK(task, advise, address_of(from), count * PAGE, stays ? MADV_DONTFORK : MADV_DOFORK);

	for (uint32_t i = from; i < from + count; i++) {
		struct page *p = &processes[task].pages[i];

		gap |= !p->mapped;
		/* As far as it went. */
		if (scarce && p->mapped && result != 0)
			p->stays = region_find(space_of(task), address_of(i))->bits & REGION_NO_FORK;
		else
			p->stays = p->mapped && stays;
	}
	CHECK(result == (gap ? -ENOMEM : 0) || is_refused(result));
}

static bool are_one_region(const struct page *p, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (p[i].promised != p->promised || p[i].reached != p->reached || p[i].stays != p->stays)
			return false;
		else if (p[i].mapped != p->mapped || p[i].shared != p->shared || p[i].protection != p->protection ||
			 p[i].object != p->object || (p->object != 0 && p[i].index != p->index + i))
			return false;
	return p->mapped;
}

static void op_remap(uint32_t task, uint32_t from, uint32_t count)
{
	struct page *p = processes[task].pages, moved[PAGES];
	uint32_t wanted = 1 + below(20), to = below(PAGES - 20);
	bool overlaps = to < from + count && from < to + wanted;
	int64_t result = ASK(task, remap, address_of(from), count * PAGE, wanted * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			     address_of(to));

	if (!are_one_region(&p[from], count) || overlaps) {
		CHECK(result == (are_one_region(&p[from], count) ? -EINVAL : -EFAULT));
		return;
	}
	if (is_refused(result)) {
		see_what_is_left(task, to, wanted);
		return;
	}
	CHECK(result == (int64_t)address_of(to));
	for (uint32_t i = 0; i < wanted; i++) {
		moved[i] = p[from + (i < count ? i : 0)];
		if (i < count)
			continue;
		moved[i].index = p[from].index + i;
		moved[i].own = false;
		moved[i].value = 0;
	}
	memset(&p[from], 0, count * sizeof *p);
	memcpy(&p[to], moved, wanted * sizeof *p);
}

static void op_fork(uint32_t task)
{
	for (uint32_t child = 1; child < PROCESS_COUNT; child++) {
		if (processes[child].alive)
			continue;
		if (is_refused(CALL(fork, task, child, 0)))
			return;
		CHECK(space_of(child) != NULL);
		processes[child] = processes[task];
		for (uint32_t i = 0; i < PAGES; i++)
			if (processes[task].pages[i].stays)
				processes[child].pages[i] = (struct page){ 0 };
		return;
	}
}

static void op_leave(uint32_t task)
{
	CHECK(LEAVE(task) == 0);
	processes[task].alive = false;
}

/* Without memory a hole of an object cannot be read: where memory is scarce there are none. Pages that are there. */
static uint32_t fill(uint32_t which, uint32_t pages)
{
	uint64_t at;

	for (uint32_t i = 0; scarce && i < pages; i++)
		if (CALL(object_page, objects[which].number, i, 1, 0, &at) != 0)
			return i;
	return pages;
}

static void op_resize(void)
{
	uint32_t which = below(OBJECTS), pages = fill(which, below(OBJECT_PAGES_MOST));

	CHECK(CALL(object_resize, objects[which].number, pages * PAGE) == 0);
	for (uint32_t i = pages; i < OBJECT_PAGES_MOST; i++)
		objects[which].values[i] = 0;
	for (uint32_t i = 0; i < PROCESS_COUNT && pages < objects[which].pages; i++)
		for (uint32_t page = 0; page < PAGES; page++) {
			struct page *p = &processes[i].pages[page];

			if (p->object == which + 1 && p->index >= pages)
				p->own = false;
		}
	objects[which].pages = pages;
}

static void op_service_writes(void)
{
	uint32_t which = below(OBJECTS), index;
	uint64_t at;

	if (objects[which].pages == 0)
		return;
	index = below(objects[which].pages);
	CHECK(CALL(object_page, objects[which].number, index, 1, 0, &at) == 0 && at != 0);
	*(uint64_t *)at = objects[which].values[index] = next_value++;
}

static void step(uint32_t task)
{
	uint32_t from = below(PAGES - 20), count = 1 + below(20);

	switch (below(17)) {
	case 0:
	case 1:
		op_map(task, from, count);
		break;
	case 2:
		op_unmap(task, from, count);
		break;
	case 3:
		op_protect(task, from, count);
		break;
	case 4:
		op_forget(task, from, count);
		break;
	case 5:
		op_remap(task, from, count / 4 + 1);
		break;
	case 6:
		op_fork(task);
		break;
	case 7:
		if (task != 1)
			op_leave(task);
		break;
	case 8:
		op_resize();
		break;
	case 9:
		op_service_writes();
		break;
	case 10:
		op_stay(task, from, count);
		break;
	default:
		for (uint32_t i = 0; i < count; i++)
			write_page(task, from + i);
	}
}

/* What the service accounts is what there is. */
static void check_accounts(uint32_t task)
{
	uint64_t pages, resident, peak, count = 0, there = 0, frame;
	uint32_t protection;

	CHECK(CALL(usage, task, &pages, &resident, &peak) == 0);
	for (uint32_t i = 0; i < PAGES; i++) {
		count += processes[task].pages[i].mapped;
		there += kernel_space_find(space_of(task)->number, address_of(i), &frame, &protection) == 0;
	}
	CHECK(pages == count && resident == there && peak >= resident);
}

/* Pages, and for each level of tables the spans that these are in. */
static uint64_t promised_to(uint32_t task)
{
	uint64_t sum = 0, last[3] = { 0 };

	for (uint32_t i = 0; i < PAGES; i++) {
		const struct page *p = &processes[task].pages[i];

		sum += p->promised;
		for (unsigned level = 0; p->reached && level < 3; level++) {
			uint64_t span = address_of(i) >> (21 + 9 * level);

			sum += span != last[level];
			last[level] = span;
		}
	}
	return sum;
}

static void check_promises(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < PROCESS_COUNT; i++) {
		uint64_t own = processes[i].alive ? promised_to(i) : 0;

		CHECK(!processes[i].alive || (uint64_t)space_of(i)->promised == own);
		sum += own;
	}
	CHECK(frames.promised == sum);
}

int main(int argc, char **argv)
{
	uint64_t before;
	int rounds;

	CHECK(argc == 4);
	srand((unsigned)atoi(argv[1]));
	rounds = atoi(argv[2]);
	scarce = atoi(argv[3]) != 0;
	host_start();
	while (scarce && frames.free > (uint64_t)atoi(argv[3]))
		CHECK(frame_take() != 0);
	before = frames.free;
	for (uint32_t i = 0; i < OBJECTS; i++)
		CHECK(CALL(object_create, &objects[i].number) == 0);
	CHECK(CALL(renew, 1, 0) == 0);
	processes[1].alive = true;
	for (int round = 0; round < rounds; round++) {
		uint32_t task = 1 + below(PROCESS_COUNT - 1);

		if (!processes[task].alive)
			continue;
		step(task);
		check_promises();
		for (uint32_t i = 1; i < PROCESS_COUNT; i++) {
			uint32_t page = below(PAGES);

			if (processes[i].alive)
				check_page(i, page);
		}
		if (round % 64 != 0 || !processes[task].alive)
			continue;
		check_accounts(task);
		for (uint32_t page = 0; page < PAGES; page++)
			check_page(task, page);
	}
	for (uint32_t i = 1; i < PROCESS_COUNT; i++)
		if (processes[i].alive)
			CHECK(LEAVE(i) == 0);
	for (uint32_t i = 0; i < OBJECTS; i++)
		CHECK(CALL(object_drop, objects[i].number) == 0);
	printf("free before %lu, after %lu, %lu refused\n", before, frames.free, refused);
	CHECK(frames.free == before && frames.unpromised == before && scarce == (refused > 0));
	return 0;
}
