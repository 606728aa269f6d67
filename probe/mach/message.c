/* message.c: calls of a second task and its replies, with bytes in the message or memory beside it; and a message of
 * one task to itself. A call sends and receives by one trap, and so does the server: its reply, and the next call. */
#include "mach.h"

enum { COUNT, ECHO, LOOK, DROP };    /* the messages' numbers: what the server does */
enum { NOT, READ, WRITE, KEEP = 4 }; /* with each page that it was sent */

static struct message m, answer;
static port server, reply;
static size_t bytes, pages;
static uint64_t returned, sent;
static uintptr_t memory;
static int access_;

static uint64_t touched(uintptr_t at, size_t size, int how)
{
	uint64_t sum = 0;

	for (uintptr_t page = at; how != NOT && page < at + size; page += PAGE) {
		volatile uint64_t *word = (volatile uint64_t *)page;

		if (how == WRITE)
			*word = (page - at) / PAGE + 2; /* one more than the sender's */
		sum += *word;
	}
	return sum;
}

/* The second task. With KEEP, what it was sent stays mapped until DROP, which a sample does not include. */
static void serve_calls(void)
{
	static struct message got;
	uintptr_t kept = 0;
	uint64_t value;

	task_self = mach_task_self();
	must(mach_msg(&got, RECEIVE, 0, sizeof got, SERVER, 0, 0), "receive");
	for (;;) {
		size_t size = got.body[0] >> 32;

		switch (got.id) {
		case ECHO:
			value = got.body[1];
			if (((uint64_t *)((char *)&got + got.size))[-1] != value)
				value = ~value;
			break;
		case LOOK:
			kept = got.body[1];
			value = touched(kept, size, got.body[3] & 3);
			if (!(got.body[3] & KEEP))
				drop_memory(kept, size);
			break;
		case DROP:
			value = kept ? touched(kept, PAGE, READ) : 0;
			drop_memory(kept, PAGE);
			break;
		default:
			value = got.size > HEADER ? size : 0;
		}
		got.bits = MOVE_SEND_ONCE;
		got.local = 0;
		got.id += 100;
		got.size = HEADER + 16;
		got.body[0] = ITEM(INTEGER_64, 64, 1) | IN_LINE;
		got.body[1] = value;
		must(mach_msg(&got, SEND | RECEIVE, got.size, sizeof got, SERVER, 0, 0), "reply");
	}
}

static void setup(const long arg[])
{
	server = serve(serve_calls);
	reply = mach_reply_port();
	bytes = pages = (size_t)arg[0];
	access_ = (int)arg[1];
}

/* Sends `m`, whose items are in place, and gives the answer's value. */
static inline uint64_t call(int id, uint32_t size, uint32_t bits)
{
	m.bits = bits | COPY_SEND | MAKE_SEND_ONCE << 8;
	m.size = size;
	m.remote = server;
	m.local = reply;
	m.id = id;
	if (mach_msg(&m, SEND | RECEIVE, size, sizeof m, reply, 0, 0) != 0 || m.id != id + 100)
		fail("a call of the second task failed");
	return m.body[1];
}

static void call_run(void *state, uint64_t n)
{
	uint32_t size = (uint32_t)(bytes ? HEADER + 8 + (bytes + 7) / 8 * 8 : HEADER);

	(void)state;
	while (n--) {
		m.body[0] = BYTES(bytes);
		m.body[1] = 'x'; /* where the answer stood */
		returned += call(COUNT, size, 0) + 1;
	}
}

static void call_verify(uint64_t n)
{
	if (returned != n * (bytes + 1))
		fail("not all calls were answered by their size");
}

static inline void echoes(size_t size, uint64_t n)
{
	size_t last = (size + 7) / 8;

	while (n--) {
		m.body[0] = BYTES(8 * last);
		m.body[1] = m.body[last] = ++sent;
		if (call(ECHO, (uint32_t)(HEADER + 8 + 8 * last), 0) != sent)
			fail("the message's ends differ");
	}
}

static void copy_run(void *state, uint64_t n)
{
	(void)state;
	echoes(bytes, n);
}

static void copy_baseline(void *state, uint64_t n)
{
	(void)state;
	echoes(1, n);
}

static void message_setup(const long arg[])
{
	server = new_port();
	bytes = (size_t)arg[0];
	m.body[0] = BYTES(bytes);
}

static void message_run(void *state, uint64_t n)
{
	uint32_t size = (uint32_t)(bytes ? HEADER + 8 + bytes : HEADER);

	(void)state;
	while (n--) {
		m.bits = COPY_SEND;
		m.size = size;
		m.remote = server;
		m.local = 0;
		m.id = (int32_t)++sent;
		m.body[1] = sent;
		if (mach_msg(&m, SEND, size, 0, 0, 0, 0) != 0 ||
		    mach_msg(&answer, RECEIVE, 0, sizeof answer, server, 0, 0) != 0)
			fail("a message to its own task failed");
		if (answer.id != (int32_t)sent || answer.size != size || (bytes && answer.body[1] != sent))
			fail("another message came");
	}
}

static void fill(void)
{
	for (size_t i = 0; i < pages; i++)
		*(uint64_t *)(memory + i * PAGE) = i + 1;
}

static void ool_setup(const long arg[])
{
	setup(arg);
	memory = new_memory(pages * PAGE);
	fill();
}

static uint64_t send_memory(size_t size, uint64_t flags, int how)
{
	m.body[0] = MEMORY(size) | flags;
	m.body[1] = memory;
	m.body[2] = ITEM(INTEGER_32, 32, 1) | IN_LINE;
	m.body[3] = (uint64_t)how;
	return call(LOOK, HEADER + 32, COMPLEX);
}

static void ool_run(void *state, uint64_t n)
{
	uint64_t sum = pages * (pages + 1) / 2 + (access_ == WRITE ? pages : 0);

	(void)state;
	while (n--)
		if (send_memory(pages * PAGE, 0, access_) != (access_ == NOT ? 0 : sum))
			fail("the second task saw other pages");
}

static void ool_verify(uint64_t n)
{
	(void)n;
	if (send_memory(pages * PAGE, 0, READ) != pages * (pages + 1) / 2)
		fail("the pages changed, or do not come");
}

static void grant_setup(const long arg[])
{
	setup(arg);
	pages = 1;
}

static void grant_prepare(void)
{
	memory = new_memory(PAGE);
	*(uint64_t *)memory = ++sent;
}

static void grant_run(void *state, uint64_t n)
{
	(void)state;
	while (n--)
		returned += send_memory(PAGE, LEAVES_SENDER, KEEP);
}

static void grant_settle(void)
{
	m.body[0] = ITEM(INTEGER_64, 64, 0) | IN_LINE;
	if (call(DROP, HEADER + 8, 0) != sent)
		fail("the page that came is another");
}

static void echo_setup(const long arg[])
{
	setup(arg);
}

const struct unit message_units[] = {
	{ .name = "trio/call", .setup = setup, .run = call_run, .baseline = null_traps, .verify = call_verify },
	{ .name = "trio/copy", .setup = echo_setup, .run = copy_run, .baseline = copy_baseline },
	{ .name = "trio/grant",
	  .setup = grant_setup,
	  .prepare = grant_prepare,
	  .run = grant_run,
	  .settle = grant_settle },
	{ .name = "mach/message", .setup = message_setup, .run = message_run },
	{ .name = "mach/memory", .setup = ool_setup, .run = ool_run, .verify = ool_verify },
	{ 0 },
};
