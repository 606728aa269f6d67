/* cases.c: what the memory service does at its limits, one case after the other. */
#include <stdio.h>
#include "host.h"

#define MIB (1UL << 20)
#define ANY (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)

static int64_t map(uint64_t address, uint64_t length, uint32_t protection, uint32_t flags)
{
	return ASK(1, map_anonymous, address, length, protection, flags);
}

/* As many mappings as Linux allows, none like its neighbour; then one more, and cutting one in two. */
static void many_mappings(void)
{
	uint64_t lowest = 0, first = 0;

	for (uint32_t i = 0; i < REGIONS_MOST; i++) {
		int64_t at = map(0, PAGE, i % 2 ? PROT_READ : READ_WRITE, ANY);

		CHECK(at > 0);
		CHECK(i == 0 || (uint64_t)at == lowest - PAGE);
		first = i == 0 ? (uint64_t)at : first;
		lowest = (uint64_t)at;
	}
	CHECK(map(0, PAGE, PROT_NONE, ANY) == -ENOMEM);
	CHECK(ASK(1, unmap, first, PAGE) == 0);
	CHECK(map(0, PAGE, READ_WRITE, ANY) == (int64_t)first);
	CHECK(ASK(1, unmap, lowest + 5 * PAGE, (REGIONS_MOST - 10) * PAGE) == 0);
	CHECK(ASK(1, unmap, lowest, first - lowest + PAGE) == 0);
	CHECK(CALL(renew, 1) == 0);
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
	CHECK(CALL(renew, 1) == 0);
}

static void heap(void)
{
	uint64_t value;

	CHECK(CALL(set_limits, 1, 0x500123, USER_TOP - PAGE, 8 * MIB) == 0);
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
	CHECK(CALL(renew, 1) == 0);
	/* Near another mapping it stops before its limit. */
	CHECK(CALL(set_limits, 1, 0x500000, top, 8 * MIB) == 0);
	CHECK(map(top - 4 * MIB, PAGE, READ_WRITE, ANY | MAP_FIXED) > 0);
	CHECK(user_write(1, top - 4 * MIB + STACK_GAP, 2) == -EFAULT);
	CHECK(user_write(1, top - 4 * MIB + STACK_GAP + PAGE, 2) == 0);
	CHECK(CALL(renew, 1) == 0);
}

/* Absurd sizes are refused; what is only reserved is not. */
static void sizes(void)
{
	CHECK(map(0, 1UL << 40, READ_WRITE, ANY) == -ENOMEM && map(0, UINT64_MAX, READ_WRITE, ANY) == -ENOMEM);
	CHECK(map(0, 1UL << 40, READ_WRITE, ANY | MAP_NORESERVE) > 0);
	CHECK(map(0, 1UL << 40, PROT_NONE, ANY) > 0);
	CHECK(CALL(limit, 1, 2UL << 40, UINT64_MAX) == 0 && map(0, PAGE, READ_WRITE, ANY) == -ENOMEM);
	CHECK(CALL(limit, 1, UINT64_MAX, UINT64_MAX) == 0 && CALL(renew, 1) == 0);
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
	CHECK(CALL(renew, 1) == 0);
}

/* Without memory each call says so, changes nothing that is seen, and leaves nothing behind. */
static void out_of_memory(void)
{
	uint64_t at = (uint64_t)map(0, 6 * MIB, READ_WRITE, ANY),
		 hog = (uint64_t)map(0, 1UL << 30, READ_WRITE, ANY | MAP_NORESERVE);
	uint64_t before, value;
	uint32_t object;

	for (uint64_t i = 0; i < 6 * MIB; i += PAGE)
		CHECK(user_write(1, at + i, i) == 0);
	for (uint64_t i = 0; user_write(1, hog + i, 1) == 0; i += PAGE)
		continue;
	before = frames_free();
	CHECK(before < 4 && user_write(1, hog + 900 * MIB, 1) == -ENOMEM);
	for (uint64_t spared = 0; spared < 12; spared++) {
		before = frames_free();
		if (CALL(fork, 1, 2, 0) == 0)
			CHECK(CALL(leave, 2) == 0);
		CHECK(frames_free() == before && space_of(2) == NULL);
		CHECK(ASK(1, advise, hog + 4 * MIB + spared * PAGE, PAGE, MADV_DONTNEED) == 0 &&
		      frames_free() == before + 1);
	}
	CHECK(CALL(object_create, &object) == 0 && CALL(object_drop, object) == 0);
	for (uint64_t i = 0; i < 6 * MIB; i += PAGE)
		CHECK(user_read(1, at + i, &value) == 0 && value == i);
	CHECK(CALL(renew, 1) == 0);
}

static struct request waiting[4];

static verdict futex_wait(unsigned which, uint64_t address, uint32_t value, uint32_t mask)
{
	return vm_service.futex_wait(vm_service.self, &waiting[which], address, value, NEVER, mask, 0);
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
	CHECK(CALL(leave, 2) == 0 && CALL(renew, 1) == 0);
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
	CHECK(CALL(report, 9, 0, 0, (struct grant){ (uint64_t)text, sizeof text }) == -ESRCH && CALL(renew, 1) == 0);
}

int main(void)
{
	static void (*const cases[])(void) = { many_mappings, placing,       heap_and_stack, sizes,
					       moving,        out_of_memory, futexes,        reports };
	uint64_t before;

	host_start();
	CHECK(CALL(renew, 1) == 0);
	before = frames_free();
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		cases[i]();
		printf("case %u: free %lu of %lu\n", i, frames_free(), before);
		CHECK(frames_free() == before);
	}
	return 0;
}
