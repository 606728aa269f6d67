/* paged.c: objects whose pages a service above brings, played here: at every moment a page may come, or may not. */
#include <stdio.h>
#include "host.h"

#define PAGES 40UL
#define AT 0x10000000UL
#define OTHER 0x20000000UL
#define NAME 77
#define READ_ONLY PROT_READ
#define READ_WRITE (PROT_READ | PROT_WRITE)

enum news { NOTHING, WANTED, UNHELD };

static uint32_t object;
static uint64_t name, wanted, count;

static int64_t news(void)
{
	return CALL(object_wanted, &name, &wanted, &count);
}

static uint64_t *bring(uint64_t index)
{
	uint64_t address;

	CHECK(CALL(object_bring, object, index, 0, &address) == 0);
	return (uint64_t *)address;
}

static void make(void)
{
	CHECK(CALL(object_paged, NAME, &object) == 0 && CALL(object_resize, object, PAGES * PAGE) == 0);
}

static void map(uint32_t task, uint64_t at, uint32_t protection, uint32_t flags)
{
	uint64_t got;

	CHECK(CALL(map_object, task, at, PAGES * PAGE, protection, flags | MAP_FIXED, object, 0, 0, &got) == 0);
	CHECK(got == at);
}

/* The first mapping takes the only hold over; a further one comes with a hold of its own. */
static void make_mapped(void)
{
	make();
	map(1, AT, READ_WRITE, MAP_PRIVATE);
	CHECK(CALL(object_drop, object) == 0 && news() == NOTHING);
}

static void end(void)
{
	CHECK(CALL(renew, 1, 0) == 0);
	CHECK(news() == UNHELD && name == NAME && news() == NOTHING);
	CHECK(CALL(object_end, object) == 0);
}

static verdict await(struct request *r, uint32_t task, uint64_t address, uint32_t access)
{
	*r = (struct request){ .task = task };
	return vm_service.await(r, address, access);
}

/* A touch waits, the page is asked for once, filled unseen, and then there for all of its neighbours too. */
static void touched(void)
{
	struct request r;
	uint64_t value, *page;
	unsigned told;

	make_mapped();
	told = host_notified;
	CHECK(user_read(1, AT + 5 * PAGE, &value) == -EWAIT && host_notified == told && news() == NOTHING);
	CHECK(await(&r, 1, AT + 5 * PAGE, 0) == PARKED && host_notified > told);
	CHECK(news() == WANTED && name == NAME && wanted == 5 && count == 1 && news() == NOTHING);
	page = bring(5);
	*page = 55;
	CHECK(user_read(1, AT + 5 * PAGE, &value) == -EWAIT && r.link.next != NULL);
	CHECK(CALL(object_brought, object, 5, 0) == 0 && r.link.next == NULL);
	CHECK(await(&r, 1, AT + 5 * PAGE, 0) == ANSWERED && r.result == 0);
	CHECK(user_read(1, AT + 5 * PAGE, &value) == 0 && value == 55 && bring(5) == NULL);
	CHECK(user_write(1, AT + 5 * PAGE, 56) == 0 && *page == 55);
	/* What is its own by now stays its own. */
	CHECK(await(&r, 1, AT + 5 * PAGE, VM_ACCESS_WRITE) == ANSWERED && r.result == 0);
	CHECK(user_read(1, AT + 5 * PAGE, &value) == 0 && value == 56);
	end();
}

/* An error is told to who waits, once; one that nobody waits for is not told. */
static void failed(void)
{
	struct request r;
	uint64_t value;

	make_mapped();
	CHECK(await(&r, 1, AT, 0) == PARKED && news() == WANTED);
	(void)bring(0);
	(void)bring(1);
	CHECK(CALL(object_brought, object, 1, EWAIT) == 0 && CALL(object_brought, object, 0, EIO) == 0);
	CHECK(r.link.next == NULL && user_read(1, AT, &value) == -EIO);
	CHECK(user_read(1, AT, &value) == -EWAIT && user_read(1, AT + PAGE, &value) == -EWAIT);
	end();
}

/* While a page is waited for the file is cut, and grows again; the mapping goes; its process goes. */
static void overtaken(void)
{
	struct request r;
	uint64_t value;

	make_mapped();
	CHECK(await(&r, 1, AT + 9 * PAGE, 0) == PARKED && news() == WANTED);
	*bring(9) = 99;
	CHECK(CALL(object_resize, object, 9 * PAGE) == 0 && r.link.next == NULL);
	CHECK(CALL(object_brought, object, 9, 0) == 0 && user_read(1, AT + 9 * PAGE, &value) == -ENXIO);
	CHECK(CALL(object_resize, object, PAGES * PAGE) == 0 && user_read(1, AT + 9 * PAGE, &value) == -EWAIT);
	CHECK(*bring(9) == 0);
	CHECK(await(&r, 1, AT + 3 * PAGE, 0) == PARKED && ASK(1, unmap, AT, PAGES * PAGE) == 0);
	CHECK(news() == UNHELD && news() == NOTHING && r.link.next == NULL);
	CHECK(await(&r, 1, AT + 3 * PAGE, 0) == ANSWERED && r.result == -EFAULT);
	CHECK(CALL(object_end, object) == 0 && CALL(renew, 1, 0) == 0);
}

/* Two processes wait for the same page and get the same; copies are each one's own. */
static void forked(void)
{
	struct request r, s;
	uint64_t value;

	make_mapped();
	CHECK(CALL(fork, 1, 2, 0) == 0);
	CHECK(await(&r, 1, AT, VM_ACCESS_WRITE) == PARKED && await(&s, 2, AT, 0) == PARKED);
	CHECK(news() == WANTED && news() == WANTED && news() == NOTHING);
	*bring(0) = 5;
	CHECK(CALL(object_brought, object, 0, 0) == 0 && r.link.next == NULL && s.link.next == NULL);
	CHECK(user_write(1, AT, 6) == 0 && user_read(2, AT, &value) == 0 && value == 5);
	CHECK(LEAVE(2) == 0 && news() == NOTHING);
	end();
}

/* Mapped again before the service above has heard that nobody held it. */
static void held_again(void)
{
	make_mapped();
	CHECK(ASK(1, unmap, AT, PAGES * PAGE) == 0 && CALL(object_hold, object) == 0);
	map(1, OTHER, READ_ONLY, MAP_SHARED);
	CHECK(CALL(object_drop, object) == 0 && news() == NOTHING);
	end();
}

/* To lock is to wait for all of it; what will be needed is asked for as a whole. */
static void locked(void)
{
	struct request r = { .task = 1 };
	unsigned waits = 0;

	make_mapped();
	CHECK(ASK(1, advise, AT + 2 * PAGE, 7 * PAGE, MADV_WILLNEED) == 0);
	CHECK(news() == WANTED && wanted == 2 && count == 7);
	while (vm_service.lock(&r, AT, PAGES * PAGE, 1) == PARKED) {
		/* It may have given way alone. */
		if (r.link.next == NULL)
			continue;
		CHECK(news() == WANTED && count == 1);
		(void)bring(wanted);
		CHECK(CALL(object_brought, object, wanted, 0) == 0 && r.link.next == NULL);
		waits++;
	}
	CHECK(r.result == 0 && waits == PAGES);
	end();
}

/* vm reads and writes for a call in pages that have to be brought first: it waits for each, and leaves the rest as it
 * is. */
static void asked(void)
{
	struct request r = { .task = 1 }, s = { .task = 1 };
	uint64_t value, vector = AT + 3 * PAGE - 2;

	make_mapped();
	for (uint64_t page = 2; page <= 3; page++) {
		CHECK(vm_service.resident(&r, AT + 5 * PAGE, 4 * PAGE, vector) == PARKED);
		CHECK(news() == WANTED && wanted == page && count == 1 && news() == NOTHING);
		memset(bring(page), 7, PAGE);
		CHECK(CALL(object_brought, object, page, 0) == 0 && r.link.next == NULL);
	}
	CHECK(user_read(1, AT + 3 * PAGE - 8, &value) == 0 && value == 0x0000070707070707);
	while (vm_service.resident(&r, AT + 5 * PAGE, 4 * PAGE, vector) == PARKED)
		CHECK(r.link.next == NULL);
	CHECK(r.result == 0 && user_read(1, AT + 3 * PAGE, &value) == 0 && value == 0x0707070707070000);
	CHECK(vm_service.futex_wait(&s, AT + 9 * PAGE, 8, NEVER, 1, 1) == PARKED);
	CHECK(news() == WANTED && wanted == 9);
	*bring(9) = 9;
	CHECK(CALL(object_brought, object, 9, 0) == 0 && s.link.next == NULL);
	CHECK(vm_service.futex_wait(&s, AT + 9 * PAGE, 8, NEVER, 1, 1) == ANSWERED);
	CHECK(s.result == -EAGAIN && ASK(1, resident, AT, PAGE, AT + PAGES * PAGE) == -EFAULT);
	end();
}

int main(void)
{
	static void (*const cases[])(void) = { touched, failed, overtaken, forked, held_again, locked, asked };

	host_run(cases, COUNT_OF(cases));
	return 0;
}
