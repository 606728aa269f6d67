/* random.c: traps with any numbers and words, some near to what makes sense, so many between two requests. */
#include "hostile.h"

/* The share of all between two requests. */
#define AT_ONCE 8

static uint64_t state, made;
static struct message grants_kept;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next(void)
{
	uint64_t word = state += 0x9e3779b97f4a7c15UL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9UL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebUL;
	return word ^ word >> 31;
}

static uint64_t below(uint64_t n)
{
	return next() % n;
}

static char own[64 * PAGE] __attribute__((aligned(4096)));

static uint64_t word(void)
{
	static const uint64_t some[] = { 0,
					 1,
					 PAGE,
					 0x400000,
					 0xffffffff80200000UL,
					 0xffff888000001000UL,
					 0x7ffffffff000UL,
					 0x800000000000UL,
					 UINT64_MAX,
					 INT64_MAX,
					 UINT32_MAX,
					 PROCESS_PAGES,
					 PROCESS_WINDOWS + PAGE,
					 PROCESS_DEVICES };

	switch (below(8)) {
	case 0:
		return next();
	case 1:
		return some[below(COUNT_OF(some))] + (below(2) ? 0 : below(16) - 8);
	case 2:
		return GRANT_ENTRY | next() >> 2;
	case 3:
		return grants_kept.words[below(MESSAGE_WORDS)];
	case 4:
		return (uint64_t)own + below(2 * PAGE);
	case 5:
		return below(TASKS + 64);
	case 6:
		return (0x1000 + below(0x7000)) * PAGE;
	default:
		return below(70);
	}
}

static void fill(struct message *m)
{
	*m = (struct message){ .call = (uint16_t)(below(16) ? below(60) : next()), .result = (int64_t)word() };
	for (unsigned i = 0; i < MESSAGE_WORDS; i++)
		m->words[i] = word();
	/* What is written to its own memory is to stay in the buffer. */
	for (unsigned i = 0; i + 1 < MESSAGE_WORDS; i++)
		if (m->words[i] - (uint64_t)own < sizeof own)
			m->words[i + 1] %= sizeof own / 2;
}

/* Its own side of a copy: its buffer, or what is not its own. It is not to write over itself. */
static uint64_t near(void)
{
	return below(4) ? (uint64_t)own + below(2 * PAGE) : 0x8000000000UL + next();
}

/* That of the machine's end is not to be tried by who has it. */
static bool ends_machine(const struct message *m)
{
	return m->call == 15;
}

static void send(uint64_t endpoint)
{
	static struct message m;

	fill(&m);
	if (endpoint != ENDPOINT_KERNEL || !ends_machine(&m))
		trap_by_registers(SEND(endpoint, m.call) | (below(4) ? 0 : next() << 48 | (next() & 0xffff0000)),
				  m.words);
}

static void one(void)
{
	static struct copying c;
	static struct client_answer a;
	uint64_t number = below(16) ? TRAP_NEXT + below(TRAPS_END - TRAP_NEXT) : TRAP_COPY_DIRECTLY;

	switch (below(4) ? number : TRAP_SEND) {
	case TRAP_COPY:
		c = (struct copying){ .grant = { word(), word() },
				      .offset = word(),
				      .own = near(),
				      .n = word(),
				      .kind = (uint32_t)below(4),
				      .task = (uint32_t)word(),
				      .access = (uint32_t)word(),
				      .tries = (uint32_t)word(),
				      .address = word(),
				      .why = (int64_t)word() };
		TRAP(TRAP_COPY, &c, word(), word());
		break;
	case TRAP_SEND:
		send(below(3) ? below(ENDPOINTS) : below(2) ? ENDPOINT_KERNEL : next() & 0xffff);
		break;
	case TRAP_COPY_DIRECTLY: {
		uint64_t words[REGISTER_WORDS] = {
			word(), word(), word(), near(), word(), below(16) ? below(4) : word()
		};

		trap_by_registers(TRAP_COPY_DIRECTLY, words);
		break;
	}
	case TRAP_ANSWER:
		a = (struct client_answer){ .result = (int64_t)word(), .raises = below(80) };
		TRAP(TRAP_ANSWER, word(), below(4) ? (uint64_t)&a : word(), 0);
		break;
	/* It would be rubbish for its next request, or the end: of that fatal.c has its share. */
	case TRAP_NEXT:
	case TRAP_REPLY:
	case TRAP_PANIC:
	case TRAP_PAGES_GIVE:
	case TRAP_LOG:
		TRAP(number, 0xffff888000000000UL + next() % (1UL << 40), word(), word());
		break;
	case TRAP_PAGES_TAKE:
		TRAP(TRAP_PAGES_TAKE, below(64) ? 0 : below(3), 0, 0);
		break;
	default:
		TRAP(number, word(), word(), word());
	}
	made++;
}

void lie(uint64_t trap, uint64_t a, uint64_t b)
{
	struct message *m = (struct message *)a;
	struct client_answer *answer = (struct client_answer *)b;

	if (!state)
		state = orders.seed;
	if ((trap != TRAP_REPLY && trap != TRAP_ANSWER) || below(3))
		return;
	made++;
	if (trap == TRAP_REPLY && below(2))
		m->words[below(4)] = word();
	else if (trap == TRAP_REPLY)
		m->result = below(2) ? (int64_t)word() : -(int64_t)below(134);
	else if (below(2))
		answer->out[below(OUT_WORDS)] = word();
	else
		answer->result = below(2) ? (int64_t)word() : -(int64_t)below(134);
	if (made % 100 == 0)
		log_line("hostile: lies: %lu", made);
}

bool lie_waits(uint64_t whom, int64_t result, const uint64_t *words)
{
	uint64_t outs[REGISTER_WORDS - 2];

	if (!state)
		state = orders.seed;
	if (below(3))
		return false;
	memcpy(outs, words, sizeof outs);
	made++;
	if (whom == REPLY_TO_CALL && below(2))
		outs[below(4)] = word();
	else
		result = below(2) ? (int64_t)word() : -(int64_t)below(134);
	reply_by_registers(whom, result, outs);
	return true;
}

/* Where it would wait, it replies to anybody. */
void random_waits(void)
{
	uint64_t outs[REGISTER_WORDS - 2];

	if (made == 0 || made >= orders.count || below(4))
		return;
	for (unsigned i = 0; i < COUNT_OF(outs); i++)
		outs[i] = word();
	reply_by_registers(below(4) ? 0xffff - below(4) : word(), (int64_t)word(), outs);
}

void random_came(const struct incoming *in)
{
	bool goes_on = made < orders.count;

	grants_kept = in->m;
	if (made == 0)
		state = orders.seed;
	for (uint64_t i = 0; i < orders.count / AT_ONCE + 1 && made < orders.count; i++)
		one();
	if (goes_on)
		log_line("hostile: made: %lu", made);
}
