/* cases.c: what the memory service does at its limits, one case after the other. */
#include <stdio.h>
#include "host.h"
#include "kernel_calls.h"

#define MIB (1UL << 20)
#define ANY (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)
/* That one page needs. */
#define TABLES 3

static int64_t map(uint64_t address, uint64_t length, uint32_t protection, uint32_t flags)
{
	return ASK(1, map_anonymous, address, length, protection, flags);
}

/* As many mappings as Linux allows, none like its neighbour; then one more, and cutting one in two. */
static void many_mappings(void)
{
	uint64_t lowest = 0, first = 0;

	for (uint32_t i = 0; i < REGIONS_MOST; i++) {
		int64_t at = map(0, PAGE, PROT_NONE, ANY);

		CHECK(at > 0 && ASK(1, advise, (uint64_t)at, PAGE, i % 2 ? MADV_DOFORK : MADV_DONTFORK) == 0);
		CHECK(i == 0 || (uint64_t)at == lowest - PAGE);
		first = i == 0 ? (uint64_t)at : first;
		lowest = (uint64_t)at;
	}
	CHECK(map(0, PAGE, PROT_NONE, ANY) == -ENOMEM);
	CHECK(ASK(1, unmap, first, PAGE) == 0);
	CHECK(frames.promised == 0 && map(0, PAGE, READ_WRITE, ANY) == (int64_t)first);
	CHECK(frames.promised == 1 + TABLES && ASK(1, unmap, lowest + 5 * PAGE, (REGIONS_MOST - 10) * PAGE) == 0);
	CHECK(ASK(1, unmap, lowest, first - lowest + PAGE) == 0);
	CHECK(CALL(renew, 1, 0) == 0);
}

/* Linux's order: as high as may be, holes that fit are filled, hints are followed where nothing is. */
static void placing(void)
{
	uint64_t top = (uint64_t)map(0, PAGE, PROT_READ, ANY);

	CHECK(map(0, 3 * PAGE, READ_WRITE, ANY) == (int64_t)(top - 3 * PAGE));
	CHECK(map(0, PAGE, PROT_READ, ANY) == (int64_t)(top - 4 * PAGE));
	CHECK(ASK(1, unmap, top - 3 * PAGE, 3 * PAGE) == 0);
	CHECK(map(0, 4 * PAGE, READ_WRITE, ANY) == (int64_t)(top - 8 * PAGE));
	CHECK(map(0, 2 * PAGE, READ_WRITE, ANY) == (int64_t)(top - 2 * PAGE));
	CHECK(map(top, PAGE, READ_WRITE, ANY | MAP_FIXED_NOREPLACE) == -EEXIST);
	CHECK(map(top - 100 * PAGE + 5, PAGE, READ_WRITE, ANY) == (int64_t)(top - 99 * PAGE));
	CHECK(map(USER_TOP - PAGE, 2 * PAGE, READ_WRITE, ANY | MAP_FIXED) == -ENOMEM);
	CHECK(map(0x1000, PAGE, READ_WRITE, ANY | MAP_FIXED) == -EPERM);
	CHECK(map(top + 1, PAGE, READ_WRITE, ANY | MAP_FIXED) == -EINVAL);
	CHECK(map(0, 0, READ_WRITE, ANY) == -EINVAL && map(0, PAGE, READ_WRITE, MAP_ANONYMOUS) == -EINVAL);
	CHECK(map(0, PAGE, READ_WRITE, ANY | MAP_32BIT) < 1L << 31);
	CHECK(CALL(renew, 1, 0) == 0);
}

static void heap(void)
{
	uint64_t value;

	CHECK(CALL(set_limits, 1, 0x500123, USER_TOP - PAGE, 8 * MIB, 33 * PAGE) == 0);
	CHECK(ASK(1, break_at, 0) == 0x500123 && ASK(1, break_at, 0x400000) == 0x500123);
	CHECK(ASK(1, break_at, 0x503001) == 0x503001);
	CHECK(user_write(1, 0x503ff8, 7) == 0 && user_write(1, 0x504000, 7) == -EFAULT);
	CHECK(ASK(1, break_at, 0x501000) == 0x501000 && user_read(1, 0x503ff8, &value) == -EFAULT);
	CHECK(ASK(1, break_at, 0x504000) == 0x504000 && user_read(1, 0x503ff8, &value) == 0 && value == 0);
	CHECK(map(0x600000, PAGE, READ_WRITE, ANY | MAP_FIXED) == 0x600000);
	CHECK(ASK(1, break_at, 0x700000) == 0x504000);
	CHECK(CALL(limit, 1, UINT64_MAX, 64 * PAGE) == 0 && ASK(1, break_at, 0x550000) == 0x504000);
	CHECK(CALL(limit, 1, UINT64_MAX, UINT64_MAX) == 0 && ASK(1, break_at, 0x550000) == 0x550000);
}

static void heap_and_stack(void)
{
	uint64_t top = USER_TOP - PAGE, value;

	heap();
	CHECK(user_write(1, top - 8, 1) == 0 && user_write(1, top - 6 * MIB, 2) == 0);
	CHECK(user_read(1, top - 3 * MIB, &value) == 0 && value == 0);
	CHECK(user_write(1, top - 8 * MIB - 8, 2) == -EFAULT && user_write(1, top - 8 * MIB, 2) == 0);
	CHECK(CALL(renew, 1, 0) == 0);
	/* Near another mapping it stops before its limit. */
	CHECK(CALL(set_limits, 1, 0x500000, top, 8 * MIB, 33 * PAGE) == 0);
	CHECK(map(top - 4 * MIB, PAGE, READ_WRITE, ANY | MAP_FIXED) > 0);
	CHECK(user_write(1, top - 4 * MIB + STACK_GAP, 2) == -EFAULT);
	CHECK(user_write(1, top - 4 * MIB + STACK_GAP + PAGE, 2) == 0);
	CHECK(CALL(renew, 1, 0) == 0);
}

/* More than there is is refused, also to who says that he does not mind; what is only reserved is not. */
static void sizes(void)
{
	uint64_t at;

	CHECK(map(0, 1UL << 40, READ_WRITE, ANY) == -ENOMEM && map(0, UINT64_MAX, READ_WRITE, ANY) == -ENOMEM);
	CHECK(map(0, 1UL << 40, READ_WRITE, ANY | MAP_NORESERVE) == -ENOMEM);
	CHECK(map(0, 1UL << 40, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS) == -ENOMEM);
	at = (uint64_t)map(0, 1UL << 40, PROT_NONE, ANY);
	CHECK((int64_t)at > 0 && map(0, 1UL << 40, PROT_NONE, ANY) > 0 && frames.promised == 0);
	at = (at + 2 * MIB) & -(2 * MIB);
	CHECK(ASK(1, protect, at, 1UL << 30, READ_WRITE) == -ENOMEM);
	CHECK(ASK(1, protect, at, MIB, READ_WRITE) == 0 && ASK(1, protect, at, MIB, PROT_NONE) == 0);
	CHECK(frames.promised == MIB / PAGE + TABLES);
	CHECK(CALL(limit, 1, 2UL << 40, UINT64_MAX) == 0 && map(0, PAGE, READ_WRITE, ANY) == -ENOMEM);
	CHECK(CALL(limit, 1, UINT64_MAX, UINT64_MAX) == 0 && CALL(renew, 1, 0) == 0);
}

/* mremap that moves takes the pages with it. */
static void moving(void)
{
	uint64_t at = (uint64_t)map(0, 700 * PAGE, READ_WRITE, ANY), value;
	int64_t to;

	for (uint64_t i = 0; i < 700; i += 3)
		CHECK(user_write(1, at + i * PAGE, i) == 0);
	CHECK(ASK(1, remap, at, 700 * PAGE, 701 * PAGE, 0, 0) > 0 || map(at + 700 * PAGE, PAGE, PROT_READ, ANY) > 0);
	CHECK(map(at + 701 * PAGE, PAGE, PROT_READ, ANY | MAP_FIXED) > 0);
	CHECK(ASK(1, remap, at, 701 * PAGE, 900 * PAGE, 0, 0) == -ENOMEM);
	to = ASK(1, remap, at, 701 * PAGE, 900 * PAGE, MREMAP_MAYMOVE, 0);
	CHECK(to > 0 && (uint64_t)to != at && user_read(1, at, &value) == -EFAULT);
	for (uint64_t i = 0; i < 900; i++)
		CHECK(user_read(1, (uint64_t)to + i * PAGE, &value) == 0 && value == (i < 700 && i % 3 == 0 ? i : 0));
	CHECK(ASK(1, remap, at, PAGE, PAGE, 0, 0) == -EFAULT && ASK(1, remap, (uint64_t)to, PAGE, 0, 0, 0) == -EINVAL);
	CHECK(CALL(renew, 1, 0) == 0);
}

/* All that nobody has is mapped, in few pages at last. Returns where, the largest first. */
static uint64_t take_all(void)
{
	uint64_t first = 0;

	for (uint64_t length = 64 * MIB; length >= PAGE; length /= 2)
		for (int64_t at; (at = map(0, length, READ_WRITE, ANY)) > 0;)
			first = first == 0 ? (uint64_t)at : first;
	CHECK(map(0, PAGE, READ_WRITE, ANY) == -ENOMEM && frames.unpromised <= TABLES);
	return first;
}

/* Without memory each call says so, changes nothing that is seen, and leaves nothing behind. */
static void each_call_refused(uint64_t at, uint64_t hog)
{
	uint64_t promised = frames.promised, free = frames.free, value;
	uint32_t object;

	CHECK(CALL(fork, 1, 2, 0) == -ENOMEM && space_of(2) == NULL);
	CHECK(ASK(1, break_at, 0x600000) == 0x500000);
	CHECK(ASK(1, remap, at, MIB, 2 * MIB, MREMAP_MAYMOVE, 0) == -ENOMEM);
	CHECK(ASK(1, remap, at, 3 * PAGE, 2 * MIB, MREMAP_MAYMOVE, 0) == -ENOMEM);
	CHECK(map(0, MIB, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS) == -ENOMEM);
	CHECK(map(0, MIB, PROT_READ, ANY) == -ENOMEM);
	/* A stack is larger without a call. */
	CHECK(user_write(1, USER_TOP - 3 * MIB, 1) == -EFAULT);
	CHECK(CALL(object_create, &object) == -ENOMEM || CALL(object_drop, object) == 0);
	CHECK(frames.promised == promised && frames.free == free);
	CHECK(user_write(1, USER_TOP - PAGE - 8, 1) == 0 && user_write(1, hog, 1) == 0);
	for (uint64_t i = 0; i < MIB; i += PAGE)
		CHECK(user_read(1, at + i, &value) == 0 && value == i);
}

static void out_of_memory(void)
{
	uint64_t at = (uint64_t)map(0, MIB, READ_WRITE, ANY), hog, value;

	for (uint64_t i = 0; i < MIB; i += PAGE)
		CHECK(user_write(1, at + i, i) == 0);
	CHECK(CALL(set_limits, 1, 0x500000, USER_TOP - PAGE, 8 * MIB, 33 * PAGE) == 0);
	hog = take_all();
	each_call_refused(at, hog);
	/* What is promised is there, to the last page. */
	REGION_EACH (r, space_of(1))
		for (uint64_t i = r->begin; i < r->end; i += PAGE)
			CHECK(user_write(1, i, i) == 0);
	CHECK(frames.free == frames.unpromised);
	CHECK(ASK(1, unmap, hog, MIB) == 0 && map(0, MIB, READ_WRITE, ANY) == (int64_t)hog);
	CHECK(user_read(1, hog + MIB - PAGE, &value) == 0 && value == 0);
	CHECK(CALL(renew, 1, 0) == 0 && frames.promised == 0);
}

/* Where all memory is in use a mapping can be moved still, with tables for both places and no page more. */
static void moving_without_memory(void)
{
	uint64_t at = (uint64_t)map(0, 4 * MIB, READ_WRITE, ANY), to = at - (1UL << 39), value;

	for (uint64_t i = 0; i < 4 * MIB; i += PAGE)
		CHECK(user_write(1, at + i, i) == 0);
	while (frames.unpromised > 0)
		CHECK(kernel_memory_promise(1) == 0);
	CHECK(ASK(1, remap, at, 4 * MIB, 4 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, to) == -ENOMEM);
	CHECK(user_read(1, at + PAGE, &value) == 0 && value == PAGE && kernel_memory_promise(-5) == 0);
	CHECK(ASK(1, remap, at, 4 * MIB, 4 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, to) == (int64_t)to);
	for (uint64_t i = 0; i < 4 * MIB; i += PAGE)
		CHECK(user_read(1, to + i, &value) == 0 && value == i);
	CHECK(user_read(1, at, &value) == -EFAULT && frames.unpromised >= 5 - 2);
	CHECK(CALL(renew, 1, 0) == 0 && kernel_call_memory_promise(-(int64_t)frames.promised) == 0);
}

/* Its pages and the tables that lead to them are promised as one, and go with the last who maps them. */
static void shared_memory(void)
{
	uint64_t pages = 1030, at = (uint64_t)map(0, pages * PAGE, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS), value;
	uint64_t promised = frames.promised, own = (uint64_t)space_of(1)->promised;

	CHECK((int64_t)at > 0 && promised == pages + 3 + 1 + own && CALL(fork, 1, 2, 0) == 0);
	CHECK(frames.promised == promised + own);
	while (frames.unpromised > 0)
		CHECK(kernel_memory_promise(1) == 0);
	for (uint64_t i = pages; i-- > 0;)
		CHECK(user_write(i % 2 + 1, at + i * PAGE, i) == 0);
	for (uint64_t i = 0; i < pages; i++)
		CHECK(user_read(i % 2 + 1, at + i * PAGE, &value) == 0 && value == i);
	/* Also a space's page and its root, and the page that objects are in. */
	CHECK(LEAVE(2) == 0 && CALL(renew, 1, 0) == 0 && frames.unpromised == pages + 4 + 2 * own + 3);
	CHECK(kernel_call_memory_promise(-(int64_t)frames.promised) == 0);
}

/* A page that a file has not yet is promised to nobody; who has a page of his own promised reads zeros from that. */
static void holes(void)
{
	uint64_t at = 0x10000000, other = 0x20000000, got, value;
	uint32_t object;

	CHECK(CALL(object_create, &object) == 0 && CALL(object_resize, object, 4 * PAGE) == 0);
	CHECK(CALL(map_object, 1, at, 4 * PAGE, READ_WRITE, MAP_SHARED | MAP_FIXED, object, 0, 1, &got) == 0);
	CHECK(CALL(map_object, 1, other, 4 * PAGE, READ_WRITE, MAP_PRIVATE | MAP_FIXED, object, 0, 1, &got) == 0);
	CHECK(user_write(1, at, 1) == 0);
	while (frames.unpromised > 0)
		CHECK(kernel_memory_promise(1) == 0);
	CHECK(user_write(1, at + PAGE, 1) == -ENOMEM && user_read(1, at + PAGE, &value) == -ENOMEM);
	CHECK(user_read(1, other + PAGE, &value) == 0 && value == 0 && user_write(1, other + 2 * PAGE, 1) == 0);
	CHECK(user_read(1, other, &value) == 0 && value == 1 && user_write(1, other, 2) == 0);
	CHECK(user_write(1, other + PAGE, 1) == 0 && user_read(1, at, &value) == 0 && value == 1);
	CHECK(CALL(object_drop, object) == 0 && CALL(renew, 1, 0) == 0);
	CHECK(kernel_call_memory_promise(-(int64_t)frames.promised) == 0);
}

/* A new program's memory is kept for it before the old one's goes; without it the old one stays. */
static void renewing(void)
{
	uint64_t at = (uint64_t)map(0, MIB, READ_WRITE, ANY), all, value;

	CHECK(user_write(1, at, 7) == 0);
	all = frames.unpromised + frames.promised;
	CHECK(CALL(renew, 1, all + 1) == -ENOMEM && CALL(renew, 1, UINT64_MAX) == -EINVAL);
	CHECK(user_read(1, at, &value) == 0 && value == 7);
	/* Of one that others live in too nothing comes back. */
	CHECK(CALL(fork, 1, 2, 1) == 0 && CALL(renew, 2, all) == -ENOMEM && space_of(2) == space_of(1));
	CHECK(CALL(renew, 2, 500) == 0 && space_of(2)->promised == 500 && LEAVE(2) == 0);
	CHECK(CALL(renew, 1, all) == 0 && frames.unpromised == 0 && frames.promised == all);
	CHECK(CALL(map_zeros, 1, 0x400000, 9 * MIB, READ_WRITE) == 0 && frames.promised == all);
	CHECK(CALL(set_limits, 1, 0x2000000, USER_TOP - PAGE, 8 * MIB, 40 * PAGE) == 0);
	CHECK(frames.promised == 9 * MIB / PAGE + 40 + 5 + 2 + TABLES);
	CHECK(user_write(1, USER_TOP - 41 * PAGE, 1) == 0 && frames.promised == 9 * MIB / PAGE + 40 + 5 + 2 + TABLES);
	CHECK(CALL(renew, 1, 0) == 0 && frames.promised == 0);
}

static struct request waiting[4];

static verdict futex_wait(unsigned which, uint64_t address, uint32_t value, uint32_t mask)
{
	return vm_service.futex_wait(&waiting[which], address, value, NEVER, mask, 0);
}

/* Woken in the order of their coming, by mask, from the other word where they were sent to. */
static void futexes(void)
{
	uint64_t at = (uint64_t)map(0, PAGE, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS), other = at + 64;

	for (unsigned i = 0; i < COUNT_OF(waiting); i++) {
		waiting[i] = (struct request){ .task = 1 };
		CHECK(futex_wait(i, at, 0, 1U << i) == PARKED);
	}
	CHECK(ASK(1, futex_wait, at, 5, NEVER, 1, 0) == -EAGAIN &&
	      ASK(1, futex_wait, at + 2, 0, NEVER, 1, 0) == -EINVAL);
	CHECK(ASK(1, futex_wait, 0x5000, 0, NEVER, 1, 0) == -EFAULT &&
	      ASK(1, futex_wait, at, 0, NEVER, 0, 0) == -EINVAL);
	CHECK(ASK(1, futex_wake, at, 9, 4, 0) == 1 && futex_wait(2, at, 0, 4) == ANSWERED && waiting[2].result == 0);
	CHECK(ASK(1, futex_requeue, at, 1, other, 1, 7, 0) == -EAGAIN);
	CHECK(ASK(1, futex_requeue, at, 1, other, 1, 0, 0) == 2 && futex_wait(0, at, 0, 1) == ANSWERED);
	/* The key is the object's: a child that has it mapped wakes who waits here. */
	CHECK(CALL(fork, 1, 2, 0) == 0);
	CHECK(ASK(2, futex_wake, other, 9, ~0U, 0) == 1 && futex_wait(1, at, 0, 2) == ANSWERED);
	CHECK(ASK(2, futex_wake, at, 9, ~0U, 1) == 0 && ASK(1, futex_wake, at, 9, ~0U, 0) == 1);
	CHECK(LEAVE(2) == 0 && CALL(renew, 1, 0) == 0);
}

/* Which pages are there, told by bytes in pages that are not, from one page into the next, as far as may be. */
static void residents(void)
{
	uint64_t at = (uint64_t)map(0, 6000 * PAGE, PROT_NONE, ANY), to = (uint64_t)map(0, 3 * PAGE, READ_WRITE, ANY);
	uint64_t value;

	CHECK(ASK(1, protect, at + 5000 * PAGE, PAGE, READ_WRITE) == 0 && user_write(1, at + 5000 * PAGE, 1) == 0);
	CHECK(ASK(1, resident, at, 6000 * PAGE, to + 96) == 0);
	for (uint64_t page = 0; page < 6000; page += 8)
		CHECK(user_read(1, to + 96 + page, &value) == 0 && value == (page == 5000));
	CHECK(ASK(1, resident, at, 6000 * PAGE, to + 2 * PAGE) == -EFAULT);
	CHECK(ASK(1, resident, at, PAGE, at) == -EFAULT && ASK(1, resident, at, PAGE, UINT64_MAX) == -EFAULT);
	CHECK(ASK(1, resident, at, PAGE, USER_TOP - 1) == -EFAULT && ASK(1, resident, at, 0, UINT64_MAX) == 0);
	CHECK(ASK(1, resident, at + 1, PAGE, to) == -EINVAL && ASK(1, resident, 0, PAGE, UINT64_MAX) == -ENOMEM);
	CHECK(CALL(renew, 1, 0) == 0);
}

static void reports(void)
{
	char text[256] = "", part[256] = "";
	int64_t length;

	CHECK(map(0x10000, PAGE, PROT_READ | PROT_EXEC, ANY | MAP_FIXED) > 0);
	CHECK(map(0x20000, 2 * PAGE, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED) > 0);
	length = CALL(report, 1, 0, 0, (struct grant){ (uint64_t)text, sizeof text });
	CHECK(length > 0 &&
	      strncmp(text, "00010000-00011000 r-xp 00000000 00:00 0 \n00020000-00022000 rw-s 0", 60) == 0);
	for (int64_t at = 0; at < length; at += 7)
		CHECK(CALL(report, 1, 0, (uint64_t)at, (struct grant){ (uint64_t)part + (uint64_t)at, 7 }) ==
		      MIN(7, length - at));
	CHECK(strcmp(text, part) == 0);
	CHECK(CALL(report, 1, 0, (uint64_t)length, (struct grant){ (uint64_t)part, 7 }) == 0);
	CHECK(CALL(report, 1, 1, 0, (struct grant){ (uint64_t)text, sizeof text }) == 14 &&
	      !strncmp(text, "3 0 0 0 0 0 0\n", 14));
	CHECK(CALL(report, 9, 0, 0, (struct grant){ (uint64_t)text, sizeof text }) == -ESRCH && CALL(renew, 1, 0) == 0);
}

/* A heap that is becoming lower by shares does so whatever its limit becomes, and then others may change the space. */
static void lowering(void)
{
	struct request lower = { .task = 1 };
	uint64_t heap = 0x500000, end = heap + 1500 * PAGE;

	CHECK(CALL(renew, 1, 0) == 0);
	CHECK(CALL(set_limits, 1, heap, USER_TOP - PAGE, 8 * MIB, 33 * PAGE) == 0);
	CHECK(ASK(1, break_at, end) == (int64_t)end);
	for (uint64_t at = heap; at < end; at += PAGE)
		CHECK(user_write(1, at, at) == 0);
	CHECK(vm_service.break_at(&lower, heap + 10 * PAGE) == PARKED);
	CHECK(CALL(limit, 1, UINT64_MAX, PAGE) == 0);
	while (vm_service.break_at(&lower, heap + 10 * PAGE) == PARKED)
		continue;
	CHECK(lower.result == (int64_t)(heap + 10 * PAGE) && space_of(1)->changer == 0);
	CHECK(CALL(limit, 1, UINT64_MAX, UINT64_MAX) == 0 && CALL(renew, 1, 0) == 0);
}

int main(void)
{
	static void (*const cases[])(void) = {
		many_mappings, placing,  heap_and_stack, sizes,   moving,    out_of_memory, moving_without_memory,
		shared_memory, renewing, holes,          futexes, residents, reports,       lowering
	};

	host_run(cases, COUNT_OF(cases));
	return 0;
}
