/* host.c: the port and the kernel's calls, as procedures on a host: memory is a mapping at DIRECT_MAP. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "host.h"
#include "kernel_calls.h"
#include "x86/paging.h"

/* <sys/mman.h> has Linux's numbers too. */
void *mmap(void *address, size_t length, int protection, int flags, int file, long offset);

static uint32_t space_in[TASKS];
unsigned host_notified;

_Noreturn void panic(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vfprintf(stderr, format, list);
	va_end(list);
	(void)fputc('\n', stderr);
	exit(1);
}

void kernel_half_set(uint64_t *table)
{
	table[256] = 1;
}

void kernel_half_clear(uint64_t *table)
{
	table[256] = 0;
}

/* Of checked.h, what the host can look after. */
void frame_poison(uint64_t frame)
{
	memset(physical(frame), 0xdb, PAGE);
}

void frame_check_poison(uint64_t frame)
{
	(void)frame;
}

void frame_check_zeros(uint64_t frame)
{
	const uint64_t *words = physical(frame);

	for (size_t i = 0; i < PAGE / sizeof *words; i++)
		CHECK(words[i] == 0);
}

uint64_t kernel_cr3;

void *pages_take(size_t count)
{
	uint64_t frame = frames_take(count);

	return frame ? physical(frame) : NULL;
}

void pages_give(void *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		frame_drop(physical_of(pages) + i * PAGE);
}

verdict park_until(struct queue *queue, struct request *r, nanoseconds deadline)
{
	struct link *head = &queue->head;

	(void)deadline;
	if (head->next == NULL)
		head->next = head->previous = head;
	r->link = (struct link){ head, head->previous };
	head->previous->next = &r->link;
	head->previous = &r->link;
	return PARKED;
}

verdict park(struct queue *queue, struct request *r)
{
	return park_until(queue, r, NEVER);
}

void unpark_request(struct request *r)
{
	CHECK(r->link.previous != NULL && r->link.next != NULL);
	r->link.previous->next = r->link.next;
	r->link.next->previous = r->link.previous;
	r->link = (struct link){ NULL, NULL };
}

void unpark(struct queue *queue)
{
	while (is_waited_for(queue))
		unpark_request(CONTAINER(queue->head.next, struct request, link));
}

void notify(uint32_t endpoint, unsigned bit)
{
	(void)endpoint;
	(void)bit;
	host_notified++;
}

verdict park_hard(struct queue *queue, struct request *r)
{
	return park_until(queue, r, NEVER);
}

verdict park_to_end(struct queue *queue, struct request *r)
{
	return park_until(queue, r, NEVER);
}

verdict give_way(struct request *r, enum ends ends)
{
	(void)ends;
	r->again = true;
	return PARKED;
}

nanoseconds now(void)
{
	return 0;
}

void alarm_at(uint32_t endpoint, nanoseconds deadline)
{
	(void)endpoint;
	(void)deadline;
}

void host_reap(void)
{
	while (vm_service.reap() > 0)
		continue;
}

bool is_waited_for(const struct queue *queue)
{
	return queue->head.next != NULL && queue->head.next != &queue->head;
}

long copy_out(struct grant to, uint64_t offset, const void *from, size_t n)
{
	if (offset + n > to.length)
		return -EFAULT;
	memcpy((char *)to.id + offset, from, n);
	return 0;
}

int64_t kernel_space_create(uint32_t space, int64_t pages)
{
	int64_t result;

	TRY(kernel_call_memory_promise(pages));
	result = space_create(space);
	if (result != 0)
		(void)kernel_call_memory_promise(-pages);
	return result;
}

int64_t kernel_space_destroy(uint32_t space, int64_t pages)
{
	return kernel_call_space_destroy(space, pages);
}

int64_t kernel_space_use(uint32_t task, uint32_t space)
{
	space_in[task] = space;
	return 0;
}

int64_t kernel_space_zero(uint32_t space, uint64_t address, uint32_t protection)
{
	return kernel_call_space_zero(space, address, protection);
}

int64_t kernel_space_map(uint32_t space, uint64_t address, uint64_t frame, uint64_t count, uint32_t protection)
{
	return kernel_call_space_map(space, address, frame, count, protection);
}

int64_t kernel_space_private(uint32_t space, uint64_t address, uint32_t protection)
{
	return kernel_call_space_private(space, address, protection);
}

int64_t kernel_space_unmap(uint32_t space, uint64_t address, uint64_t pages, uint64_t most, uint64_t *out_next)
{
	return kernel_call_space_unmap(space, address, pages, most, out_next);
}

int64_t kernel_space_protect(uint32_t space, uint64_t address, uint64_t pages, uint32_t protection, uint32_t private)
{
	return kernel_call_space_protect(space, address, pages, protection, private);
}

int64_t kernel_space_share(uint32_t from, uint32_t to, uint64_t address, uint64_t pages, uint32_t private,
			   uint64_t most, uint64_t *out_next)
{
	return kernel_call_space_share(from, to, address, pages, private, most, out_next);
}

int64_t kernel_space_find(uint32_t space, uint64_t address, uint64_t *out_frame, uint32_t *out_protection)
{
	return space_find(space, address, out_frame, out_protection);
}

int64_t kernel_space_move(uint32_t space, uint64_t address, uint64_t to, uint64_t pages)
{
	return kernel_call_space_move(space, address, to, pages);
}

int64_t kernel_frame_take(uint32_t promised, uint64_t *out_frame)
{
	*out_frame = promised ? frame_take_promised() : frame_take();
	return *out_frame ? 0 : -ENOMEM;
}

int64_t kernel_frame_drop(uint64_t frame, uint32_t promised)
{
	if (promised)
		frame_drop_promised(frame);
	else
		frame_drop(frame);
	return 0;
}

int64_t kernel_memory_promise(int64_t pages)
{
	return kernel_call_memory_promise(pages);
}

int64_t kernel_frame_address(uint64_t frame, uint32_t endpoint, uint64_t *out_address)
{
	(void)endpoint;
	*out_address = (uint64_t)physical(frame);
	return 0;
}

int64_t kernel_frame_device(uint64_t frame, uint64_t count)
{
	frames_are_device(frame, count);
	return 0;
}

void host_start(void)
{
	const struct memory_range ram[] = { { 0, 0x9f000 }, { 1UL << 20, 30UL << 20 }, { 32UL << 20, 32UL << 20 } };
	void *memory = mmap((void *)DIRECT_MAP, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	CHECK(memory == (void *)DIRECT_MAP);
	/* What memory holds at power-on is not zeros. */
	memset(memory, 0xa5, MEMORY_BYTES);
	frames_start(ram, COUNT_OF(ram), 2UL << 20, (struct memory_range){ (10UL << 20) + 100, 1UL << 20 });
	vm_service.start();
}

void host_run(void (*const cases[])(void), size_t count)
{
	uint64_t before;

	host_start();
	CHECK(CALL(renew, 1, 0) == 0);
	before = frames.free;
	for (size_t i = 0; i < count; i++) {
		cases[i]();
		printf("case %zu: free %lu of %lu\n", i, frames.free, before);
		CHECK(frames.free == before && frames.unpromised == before && frames.promised == 0);
	}
}

static int64_t access_word(uint32_t task, uint64_t address, bool write, uint64_t **word)
{
	uint32_t wanted = write ? PROT_WRITE : PROT_READ, protection;
	uint64_t frame;

	for (unsigned tries = 0; tries < 3; tries++) {
		bool there =
			space_find(space_in[task], PAGE_DOWN(address), &frame, &protection) == 0 && protection != 0;
		int64_t result;

		if (there && protection & wanted) {
			*word = (uint64_t *)((char *)physical(frame) + address % PAGE);
			return 0;
		}
		result = vm_service.fault(task, address,
					  (there ? VM_ACCESS_PRESENT : 0) | (write ? VM_ACCESS_WRITE : 0));
		if (result != 0)
			return result;
	}
	panic("a fault at %lx has no end", address);
}

int64_t user_read(uint32_t task, uint64_t address, uint64_t *value)
{
	uint64_t *word;
	int64_t result = access_word(task, address, false, &word);

	if (result == 0)
		*value = *word;
	return result;
}

int64_t user_write(uint32_t task, uint64_t address, uint64_t value)
{
	uint64_t *word;
	int64_t result = access_word(task, address, true, &word);

	if (result == 0)
		*word = value;
	return result;
}
