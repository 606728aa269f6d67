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
	if (!armed)
		return;
	if (orders.kind == KIND_REFUSED)
		refused_came(in);
	else if (orders.kind == KIND_RANDOM)
		random_came(in);
	else if (orders.kind == KIND_FATAL)
		fatal_came(in);
}

int64_t __wrap_trap_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	const struct copying *copied = (const struct copying *)a;
	uint64_t own = number == TRAP_COPY ? copied->own : 0, n = number == TRAP_COPY ? copied->n : 0;
	int64_t result;

	if (armed && orders.kind == KIND_LIES)
		lie(number, a, b);
	result = __real_trap_kernel(number, a, b, c);
	if (number == TRAP_NEXT && result == 0)
		came((const struct incoming *)a);
	else if (number == TRAP_COPY && result >= 0 && copied->kind < COPY_OUT && n >= 8 &&
		 memcmp((const void *)own, WORD_TEXT, 8) == 0)
		armed = true;
	else if (armed && orders.kind == KIND_REFUSED && (number == TRAP_REPLY || number == TRAP_ANSWER))
		refused_answered();
	return result;
}
