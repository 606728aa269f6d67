/* model.c: random calls to the memory service, beside a model that is an array of pages: model SEED ROUNDS. After each
 * call all that a program could see must be as in the model; when all have left, every frame is free. */
#include <stdio.h>
#include <stdlib.h>
#include "host.h"

#define PROCESSES 6U
#define PAGES 192U
#define BASE 0x200000000000UL
#define OBJECTS 3U
#define OBJECT_PAGES_MOST 24U

struct page {
	bool mapped, shared;
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

static struct process processes[PROCESSES];
static struct {
	uint32_t number, pages;
	uint64_t values[OBJECT_PAGES_MOST];
} objects[OBJECTS];
static uint64_t next_value = 1;

static uint64_t address_of(uint32_t page)
{
	return BASE + page * PAGE;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand() % n;
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
	uint64_t got = 0;

	if (object == 0)
		CHECK(ASK(task, map_anonymous, address_of(from), count * PAGE, protection, flags) ==
		      (int64_t)address_of(from));
	else
		CHECK(CALL(map_object, task, address_of(from), count * PAGE, protection, flags,
			   objects[object - 1].number, first * PAGE, 1, &got) == 0 &&
		      got == address_of(from));
	for (uint32_t i = 0; i < count; i++)
		processes[task].pages[from + i] =
			(struct page){ true, flags & MAP_SHARED, protection, object, first + i, false, 0 };
}

static void op_unmap(uint32_t task, uint32_t from, uint32_t count)
{
	CHECK(ASK(task, unmap, address_of(from), count * PAGE) == 0);
	for (uint32_t i = 0; i < count; i++)
		processes[task].pages[from + i] = (struct page){ 0 };
}

static void op_protect(uint32_t task, uint32_t from, uint32_t count)
{
	uint32_t protection = any_protection(), i = 0;
	int64_t result = ASK(task, protect, address_of(from), count * PAGE, protection);

	for (; i < count && processes[task].pages[from + i].mapped; i++)
		processes[task].pages[from + i].protection = protection;
	CHECK(result == (i == count ? 0 : -ENOMEM));
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

static bool are_one_region(const struct page *p, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (p[i].mapped != p->mapped || p[i].shared != p->shared || p[i].protection != p->protection ||
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
	for (uint32_t child = 1; child < PROCESSES; child++) {
		if (processes[child].alive)
			continue;
		CHECK(CALL(fork, task, child, 0) == 0);
		processes[child] = processes[task];
		return;
	}
}

static void op_leave(uint32_t task)
{
	CHECK(CALL(leave, task) == 0);
	processes[task].alive = false;
}

static void op_resize(void)
{
	uint32_t which = below(OBJECTS), pages = below(OBJECT_PAGES_MOST);

	CHECK(CALL(object_resize, objects[which].number, pages * PAGE) == 0);
	for (uint32_t i = pages; i < OBJECT_PAGES_MOST; i++)
		objects[which].values[i] = 0;
	for (uint32_t i = 0; i < PROCESSES && pages < objects[which].pages; i++)
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

	switch (below(16)) {
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

int main(int argc, char **argv)
{
	uint64_t before;
	int rounds;

	CHECK(argc == 3);
	srand((unsigned)atoi(argv[1]));
	rounds = atoi(argv[2]);
	host_start();
	before = frames_free();
	for (uint32_t i = 0; i < OBJECTS; i++)
		CHECK(CALL(object_create, &objects[i].number) == 0);
	CHECK(CALL(renew, 1) == 0);
	processes[1].alive = true;
	for (int round = 0; round < rounds; round++) {
		uint32_t task = 1 + below(PROCESSES - 1);

		if (!processes[task].alive)
			continue;
		step(task);
		for (uint32_t i = 1; i < PROCESSES; i++) {
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
	for (uint32_t i = 1; i < PROCESSES; i++)
		if (processes[i].alive)
			CHECK(CALL(leave, i) == 0);
	for (uint32_t i = 0; i < OBJECTS; i++)
		CHECK(CALL(object_drop, objects[i].number) == 0);
	printf("free before %lu, after %lu\n", before, frames_free());
	CHECK(frames_free() == before);
	return 0;
}
