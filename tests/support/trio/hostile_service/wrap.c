/* wrap.c: what the service asks of the kernel comes by here; see hostile.h. */
#include "hostile.h"

const volatile struct orders orders = { .mark = "HOSTILE ORDERS:" };

static bool armed;

static bool is_word(const struct incoming *in)
{
	const struct message *m = &in->m;

	/* Whom drivers ask at boot alone. */
	if (in->endpoint == ENDPOINT_BUS)
		return true;
	if (in->endpoint == ENDPOINT_CONSOLE && m->words[1] == WORD_LENGTH)
		return true;
	for (unsigned i = 0; i < MESSAGE_WORDS; i++)
		if (m->words[i] == WORD_NUMBER)
			return true;
	return false;
}

struct grant grant_in(const struct message *m)
{
	for (unsigned i = 0; i + 1 < MESSAGE_WORDS; i++)
		if (is_entry(m->words[i]))
			return (struct grant){ m->words[i], m->words[i + 1] };
	return (struct grant){ 0, 0 };
}

static void came(const struct incoming *in)
{
	if (!armed && (in->kind == INCOMING_CALL || in->kind == INCOMING_CLIENT) && is_word(in))
		armed = true;
	if (orders.by_notification && in->kind == INCOMING_NOTIFIED)
		armed = true;
	if (!armed)
		return;
	if (orders.kind == KIND_REFUSED)
		refused_came(in);
	else if (orders.kind == KIND_RANDOM)
		random_came(in);
	else if (orders.kind == KIND_FATAL)
		fatal_came(in);
}

/* By registers ---------------------------------------------------------------------------------------------------- */

int64_t trap_by_registers(uint64_t number, uint64_t words[REGISTER_WORDS])
{
	register uint64_t w0 __asm__("rdi") = words[0], w1 __asm__("rsi") = words[1];
	register uint64_t w2 __asm__("rdx") = words[2], w3 __asm__("r10") = words[3];
	register uint64_t w4 __asm__("r8") = words[4], w5 __asm__("r9") = words[5];
	register uint64_t w6 __asm__("rbx") = words[6], w7 __asm__("r12") = words[7];

	__asm__ volatile("syscall"
			 : "+a"(number), "+r"(w0), "+r"(w1), "+r"(w2), "+r"(w3), "+r"(w4), "+r"(w5), "+r"(w6), "+r"(w7)
			 :
			 : "rcx", "r11", "rbp", "r13", "r14", "r15", "memory");
	memcpy(words, (const uint64_t[]){ w0, w1, w2, w3, w4, w5, w6, w7 }, REGISTER_WORDS * sizeof *words);
	return (int64_t)number;
}

/* What came in registers, until the service asks for it. */
static struct incoming arrived;
static bool has_arrived;

void reply_by_registers(uint64_t whom, int64_t result, const uint64_t outs[REGISTER_WORDS - 2])
{
	uint64_t words[REGISTER_WORDS] = { whom, (uint64_t)result }, header;

	memcpy(words + 2, outs, sizeof words - 2 * sizeof words[0]);
	header = (uint64_t)trap_by_registers(TRAP_REPLY_AND_WAIT, words);
	if (!header)
		return;
	arrived = (struct incoming){ .kind = HEADER_IS_CLIENT(header) ? INCOMING_CLIENT : INCOMING_CALL,
				     .endpoint = HEADER_ENDPOINT(header) & 0xffff,
				     .who = HEADER_WHO(header),
				     .m = { .call = HEADER_CALL(header) } };
	memcpy(arrived.m.words, words, sizeof words);
	has_arrived = true;
}

static int64_t next(uint64_t to, uint64_t waits)
{
	if (!has_arrived)
		return __real_trap_kernel(TRAP_NEXT, to, waits, 0);
	has_arrived = false;
	*(struct incoming *)to = arrived;
	return 0;
}

/* What the service asks ------------------------------------------------------------------------------------------- */

int64_t __wrap_trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	const struct copying *copied = (const struct copying *)a;
	uint64_t own = number == TRAP_COPY ? copied->own : 0, n = number == TRAP_COPY ? copied->n : 0;
	int64_t result;

	if (armed && orders.kind == KIND_LIES)
		lie(number, a, b);
	result = number == TRAP_NEXT ? next(a, b) : __real_trap_kernel(number, a, b, c);
	if (number == TRAP_NEXT && result == 0)
		came((const struct incoming *)a);
	else if (number == TRAP_COPY && result >= 0 && copied->kind < COPY_OUT && n >= 8 &&
		 memcmp((const void *)own, WORD_TEXT, 8) == 0)
		armed = true;
	else if (armed && orders.kind == KIND_REFUSED && (number == TRAP_REPLY || number == TRAP_ANSWER))
		refused_answered();
	return result;
}

int64_t __wrap_copy_directly(struct grant g, uint64_t offset, uint64_t own, size_t n, enum copy_kind kind)
{
	return -EAGAIN;
}

/* By memory, so that what comes is asked for. */
uint64_t __wrap_reply_and_wait(uint64_t whom, int64_t result, uint64_t *words, const uint64_t *outs)
{
	struct client_answer a = { .result = result };
	struct message m = { .result = result };

	if (armed && orders.kind == KIND_LIES && lie_waits(whom, result, outs ? outs : words))
		return 0;
	memcpy(m.words, words, sizeof m.words);
	if (outs)
		memcpy(a.out, outs, REPLY_WORDS * sizeof outs[0]);
	if (whom == REPLY_TO_CALL)
		__wrap_trap_kernel(TRAP_REPLY, (uint64_t)&m, 0, 0);
	else if (whom != REPLY_TO_NOBODY)
		__wrap_trap_kernel(TRAP_ANSWER, whom, (uint64_t)&a, 0);
	if (armed && orders.kind == KIND_REFUSED)
		refused_waits();
	else if (armed && orders.kind == KIND_RANDOM)
		random_waits();
	return 0;
}
