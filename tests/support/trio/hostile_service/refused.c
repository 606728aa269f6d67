/* refused.c: what a service has no right to, one after the other, between its requests; the kernel's answer to each is
 * a line of the log, which the test knows. */
#include "hostile.h"

#define KERNEL_ADDRESS 0xffffffff80200000UL
#define DIRECT_ADDRESS 0xffff888000001000UL
#define UNMAPPED 0x123456789000UL
#define ODD 0x8000000000000000UL
#define GENERATION (1UL << GRANT_GENERATION_SHIFT)
#define NOT_NOW INT64_MIN
/* Of all whom it may call, nobody has so many. */
#define NO_CALL 0xfff0

static const struct incoming *now_in;
static struct grant live, stale;
static bool has_call;

int64_t same(int64_t so_far, int64_t result)
{
	if (so_far == result)
		return result;
	return so_far < 0 && result < 0 ? REFUSED : MAX(so_far, result);
}

static int64_t both(int64_t so_far, int64_t result, bool first)
{
	return first ? result : same(so_far, result);
}

/* By a header as it should be, and by one that is a program's, with more words each way than there is room for. */
static int64_t asked(uint64_t endpoint, uint16_t call)
{
	uint64_t words[REGISTER_WORDS] = { 0 }, again[REGISTER_WORDS] = { 0 };
	int64_t result = trap_by_registers(SEND(endpoint, call), words);

	return same(result, trap_by_registers(SEND(endpoint, call) | 0xffffUL << 48, again));
}

/* By memory and by registers. */
static int64_t copy_by(struct grant g, uint64_t offset, uint64_t n, uint32_t kind, uint64_t own)
{
	struct copying c = { .grant = g, .offset = offset, .own = own, .n = n, .kind = kind };
	uint64_t words[REGISTER_WORDS] = { g.id, g.length, offset, own, n, kind };
	int64_t result = TRAP(TRAP_COPY, &c, 0, 0), directly = trap_by_registers(TRAP_COPY_DIRECTLY, words);

	/* Not so: what TRAP_COPY says counts. */
	return directly == -EAGAIN ? result : same(result, directly);
}

/* Reads and writes a byte by a grant that it has not, or no more: the first that is not refused. */
static int64_t touched(struct grant g, uint64_t offset, uint64_t n)
{
	static char byte[64];
	int64_t result = copy_by(g, offset, n, COPY_IN, (uint64_t)byte);

	if (result == -EFAULT)
		result = copy_by(g, offset, n, COPY_ZEROS, 0);
	return result == -EFAULT ? copy_by(g, offset, n, COPY_STRING, (uint64_t)byte) : result;
}

static int64_t trap_numbers(void)
{
	static const uint64_t numbers[] = { 0, 39, 60, 0xffff, TRAPS_END, 0xffffffff, 1UL << 40, UINT64_MAX };
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(numbers); i++)
		result = both(result, TRAP(numbers[i], UNMAPPED, UNMAPPED, UNMAPPED), i == 0);
	return result;
}

static int64_t kernel_calls(void)
{
	int64_t result = 0;
	bool first = true;

	for (uint32_t call = 0; call <= UINT16_MAX; call++) {
		if (call < 64 && orders.kernel >> call & 1)
			continue;
		result = both(result, asked(ENDPOINT_KERNEL, (uint16_t)call), first);
		first = false;
	}
	return result;
}

static int64_t endpoints_beyond(void)
{
	static const uint64_t far[] = { ENDPOINTS, ENDPOINTS + 1, 64, UINT16_MAX };
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(far); i++)
		result = both(result, asked(far[i], 1), i == 0);
	return result;
}

static int64_t notified_beyond(void)
{
	static const uint64_t far[] = { ENDPOINTS, 64, 1UL << 32, UINT64_MAX };
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(far); i++)
		result = both(result, TRAP(TRAP_NOTIFY, far[i], 1, 0), i == 0);
	return result;
}

static int64_t alarms_beyond(void)
{
	static const uint64_t far[] = { 0, ENDPOINT_KERNEL, ENDPOINTS, 64, 1UL << 32, UINT64_MAX };
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(far); i++)
		result = both(result, TRAP(TRAP_ALARM, far[i], 0, 0), i == 0);
	return result;
}

static const uint64_t nobodys[] = { 0, KERNEL_ADDRESS, DIRECT_ADDRESS, UNMAPPED, ODD, UINT64_MAX - 7, UINT64_MAX };

static int64_t pointers(void)
{
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(nobodys); i++) {
		result = both(result, TRAP(TRAP_COPY, nobodys[i], 0, 0), i == 0);
		result = both(result, TRAP(TRAP_LOG, nobodys[i], 100, 0), false);
	}
	return result;
}

/* Calls with a grant, which is at that word. */
static const struct {
	uint16_t endpoint, call, at;
} granting[] = {
	{ ENDPOINT_FS, 3, 2 },        { ENDPOINT_FS, 7, 3 },      { ENDPOINT_FS, 11, 6 },
	{ ENDPOINT_RAM_BLOCK, 2, 1 }, { ENDPOINT_CONSOLE, 1, 0 }, { ENDPOINT_VFS, 207, 2 },
};

/* Of all that it may call: the kernel's word to a grant that is not its own to give. */
static int64_t granted(uint64_t id, uint64_t length)
{
	int64_t result = NOT_NOW;

	for (unsigned i = 0; i < COUNT_OF(granting); i++) {
		uint64_t words[REGISTER_WORDS] = { 0 };
		int64_t one;

		words[granting[i].at] = id;
		words[granting[i].at + 1] = length;
		one = trap_by_registers(SEND(granting[i].endpoint, granting[i].call), words);
		if (one != -EPERM)
			result = both(result, one, result == NOT_NOW);
	}
	return result;
}

static int64_t sent_addresses(void)
{
	int64_t result = granted(KERNEL_ADDRESS, 8);

	if (result == NOT_NOW)
		return result;
	result = same(result, granted(DIRECT_ADDRESS, PAGE));
	result = same(result, granted(0x400000, UINT64_MAX));
	return same(result, granted(UINT64_MAX, 1));
}

static int64_t sent_grants(void)
{
	int64_t result = granted(NO_GRANT, 1);

	if (result == NOT_NOW)
		return result;
	for (uint64_t index = 0; index <= 0x3fff; index += 7)
		if (!live.id || index != (live.id >> GRANT_ENTRY_SHIFT & 0x3fff))
			result = same(result, granted(GRANT_ENTRY | index << GRANT_ENTRY_SHIFT | GENERATION, 1));
	if (!live.id)
		return result;
	result = same(result, granted(live.id, live.length + 1));
	result = same(result, granted(live.id + live.length, 1));
	return same(result, granted(live.id + GENERATION, 1));
}

/* What it counts is read where it says, when somebody wants to know. */
static int64_t counters(void)
{
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(nobodys); i++)
		result = both(result, TRAP(TRAP_BEGIN, nobodys[i], 0, 0), i == 0);
	return result;
}

static int64_t pages_of_others(void)
{
	static const uint64_t others[] = { 0,
					   1,
					   KERNEL_ADDRESS,
					   DIRECT_ADDRESS,
					   0x400000,
					   PROCESS_STACK_TOP - PAGE,
					   PROCESS_PAGES,
					   PROCESS_PAGES + 0x10000000,
					   PROCESS_WINDOWS,
					   PROCESS_DEVICES,
					   UINT64_MAX & ~(PAGE - 1) };
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(others); i++) {
		result = both(result, TRAP(TRAP_PAGES_GIVE, others[i], 1, 0), i == 0);
		result = both(result, TRAP(TRAP_PAGES_GIVE, others[i], UINT64_MAX, 0), false);
	}
	return result;
}

static int64_t pages_of_no_count(void)
{
	static const uint64_t counts[] = { 0, 3, 1024, 1UL << 32, 1UL << 52, UINT64_MAX };
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(counts); i++)
		result = both(result, TRAP(TRAP_PAGES_TAKE, counts[i], 0, 0), i == 0);
	return result;
}

/* Ids that look like grants, of every place in the table. */
static int64_t grants_made_up(void)
{
	for (uint64_t index = 0; index <= 0x3fff; index++)
		for (uint64_t generation = 0; generation < 3; generation++) {
			uint64_t id = GRANT_ENTRY | index << GRANT_ENTRY_SHIFT | generation << GRANT_GENERATION_SHIFT;
			int64_t result = live.id && (id ^ live.id) >> GRANT_ENTRY_SHIFT == 0
						 ? -EFAULT
						 : touched((struct grant){ id, 1 }, 0, 1);

			if (result != -EFAULT)
				return result;
		}
	return -EFAULT;
}

static int64_t grants_of_addresses(void)
{
	int64_t result = 0;

	for (unsigned i = 0; i < COUNT_OF(nobodys); i++)
		result = both(result, touched((struct grant){ nobodys[i], 8 }, 0, 1), i == 0);
	return result;
}

static int64_t grant_of_strangers(void)
{
	int64_t result = 0;

	for (uint32_t task = 0; task < 8; task++) {
		uint64_t id = (uint64_t)TRAP(TRAP_GRANT_CALLER, now_in->who == task ? TASKS : task, 0x400000, 8);

		result = both(result, touched((struct grant){ id, 8 }, 0, 1), task == 0);
	}
	return result;
}

/* To read by a grant for writing, or to write by one for reading. */
static int64_t grant_right(void)
{
	static char byte;
	int64_t result;

	if (!live.id || live.length == 0)
		return NOT_NOW;
	result = copy_by(live, 0, 1, COPY_IN, (uint64_t)&byte);
	return result == 0 ? copy_by(live, 0, 1, COPY_OUT, (uint64_t)&byte) : result == -EFAULT ? result : NOT_NOW;
}

static int64_t grant_wider(void)
{
	struct grant g = live;
	int64_t result;

	if (!g.id || g.length == 0)
		return NOT_NOW;
	result = touched(g, g.length, 1);
	result = both(result, touched(g, 0, g.length + 1), false);
	result = both(result, touched(g, UINT64_MAX, 2), false);
	result = both(result, touched(g, 1, UINT64_MAX), false);
	result = both(result, touched((struct grant){ g.id, g.length + 1 }, g.length, 1), false);
	result = both(result, touched((struct grant){ g.id, UINT64_MAX }, g.length, 1), false);
	result = both(result, touched((struct grant){ g.id + g.length, 1 }, 0, 1), false);
	return both(result, touched((struct grant){ g.id | 0xffffffff, 1 }, 0, 1), false);
}

static int64_t grant_generation(void)
{
	if (!live.id || live.length == 0)
		return NOT_NOW;
	return both(touched((struct grant){ live.id - GENERATION, live.length }, 0, 1),
		    touched((struct grant){ live.id + GENERATION, live.length }, 0, 1), false);
}

static int64_t grant_to_kernels(void)
{
	if (!live.id || live.length == 0)
		return NOT_NOW;
	return both(copy_by(live, 0, 1, COPY_IN, KERNEL_ADDRESS), copy_by(live, 0, 1, COPY_OUT, DIRECT_ADDRESS), false);
}

static int64_t grant_stale(void)
{
	if (!stale.id || stale.length == 0 || stale.id == live.id)
		return NOT_NOW;
	return touched(stale, 0, 1);
}

static int64_t next_before_reply(void)
{
	static struct incoming in;

	return has_call ? TRAP(TRAP_NEXT, &in, 0, 0) : NOT_NOW;
}

static int64_t next_to_kernels(void)
{
	return has_call ? NOT_NOW
			: both(TRAP(TRAP_NEXT, KERNEL_ADDRESS, 0, 0), TRAP(TRAP_NEXT, DIRECT_ADDRESS, 0, 0), false);
}

static int64_t reply_from_kernels(void)
{
	return has_call ? both(TRAP(TRAP_REPLY, KERNEL_ADDRESS, 0, 0), TRAP(TRAP_REPLY, UNMAPPED, 0, 0), false)
			: NOT_NOW;
}

static int64_t reply_to_nobody(void)
{
	static struct message m;

	return has_call ? NOT_NOW : TRAP(TRAP_REPLY, &m, 0, 0);
}

/* While a call is pending nothing comes, whomever it replies to beside, and the call stays its to reply to. */
static int64_t registers_before_reply(void)
{
	static const uint64_t nobody[REGISTER_WORDS - 2];
	static const uint64_t whom[] = { REPLY_TO_NOBODY, 600, TASKS - 1, TASKS, TASKS + 1, 1UL << 32, UINT64_MAX };
	static struct incoming in;
	int64_t result = -EINVAL;

	if (!has_call)
		return NOT_NOW;
	for (unsigned i = 0; i < COUNT_OF(whom); i++) {
		reply_by_registers(whom[i], -EIO, nobody);
		result = same(result, TRAP(TRAP_NEXT, &in, 0, 0));
	}
	return result;
}

/* Every task's client call but that which came. Others of its own it answers as the end of the world would. */
static int64_t of_strangers(uint64_t trap)
{
	static struct client_answer answer;
	static const uint64_t far[] = { 0, TASKS, TASKS + 1, 1UL << 32, UINT64_MAX };
	int64_t result = -ESRCH;

	for (unsigned i = 0; i < COUNT_OF(far); i++)
		result = both(result, TRAP(trap, far[i], trap == TRAP_ANSWER ? (uint64_t)&answer : 0, 0), i == 0);
	for (uint32_t task = 600; task < TASKS; task++)
		result = both(result, TRAP(trap, task, trap == TRAP_ANSWER ? (uint64_t)&answer : 0, 0), false);
	return result;
}

static int64_t answers_to_strangers(void)
{
	return of_strangers(TRAP_ANSWER);
}

static int64_t parks_strangers(void)
{
	return both(of_strangers(TRAP_PARKED), of_strangers(TRAP_GAVE_WAY), false);
}

static int64_t answer_from_kernels(void)
{
	if (now_in->kind != INCOMING_CLIENT)
		return NOT_NOW;
	return both(TRAP(TRAP_ANSWER, now_in->who, KERNEL_ADDRESS, 0), TRAP(TRAP_ANSWER, now_in->who, UNMAPPED, 0),
		    false);
}

static int64_t answer_of_rubbish(void)
{
	static struct client_answer a = { .raises = 65 }, b = { .raises = UINT64_MAX };
	int64_t result;

	if (now_in->kind != INCOMING_CLIENT)
		return NOT_NOW;
	result = both(TRAP(TRAP_ANSWER, now_in->who, &a, 0), TRAP(TRAP_ANSWER, now_in->who, &b, 0), false);
	result = both(result, TRAP(TRAP_PARKED, now_in->who, BY_NOTHING + 1, 0), false);
	return both(result, TRAP(TRAP_GAVE_WAY, now_in->who, UINT64_MAX, 0), false);
}

static int64_t traps_flood(void)
{
	for (unsigned i = 0; i < 100000; i++)
		if (TRAP(TRAP_NOTIFY, i, 1UL << 40, 0) == 0)
			return 0;
	return -EPERM;
}

static const struct {
	const char *name;
	int64_t (*run)(void);
} attacks[] = {
	{ "traps that there are not", trap_numbers },
	{ "the kernel's calls of others", kernel_calls },
	{ "calls to nobody", endpoints_beyond },
	{ "addresses sent as grants", sent_addresses },
	{ "grants sent that are not its own", sent_grants },
	{ "notifications to nobody", notified_beyond },
	{ "alarms of others", alarms_beyond },
	{ "pointers to what is not its own", pointers },
	{ "counters that are not its own", counters },
	{ "pages given that are not its own", pages_of_others },
	{ "pages of no count", pages_of_no_count },
	{ "grants made up", grants_made_up },
	{ "addresses for grants", grants_of_addresses },
	{ "grants of tasks that are not its clients", grant_of_strangers },
	{ "a right that a grant has not", grant_right },
	{ "a grant widened", grant_wider },
	{ "a grant of another generation", grant_generation },
	{ "a grant copied to the kernel", grant_to_kernels },
	{ "a grant kept", grant_stale },
	{ "the next before a reply", next_before_reply },
	{ "the next to the kernel", next_to_kernels },
	{ "replies in registers before a reply", registers_before_reply },
	{ "a reply from the kernel", reply_from_kernels },
	{ "a reply to nobody", reply_to_nobody },
	{ "answers to others' clients", answers_to_strangers },
	{ "others' clients parked", parks_strangers },
	{ "an answer from the kernel", answer_from_kernels },
	{ "an answer of rubbish", answer_of_rubbish },
	{ "a flood of traps", traps_flood },
};
static bool done[COUNT_OF(attacks)];

static const char *words_of(int64_t result)
{
	switch (result) {
	case 0:
		return "done";
	case -EPERM:
		return "EPERM";
	case -ESRCH:
		return "ESRCH";
	case -EFAULT:
		return "EFAULT";
	case -EINVAL:
		return "EINVAL";
	case -ENOSYS:
		return "ENOSYS";
	case REFUSED:
		return "refused";
	default:
		return NULL;
	}
}

void outcome(const char *name, int64_t result)
{
	const char *words = words_of(result);

	if (words)
		log_line("hostile: %s: %s", name, words);
	else
		log_line("hostile: %s: %ld", name, result);
}

/* Whom it may call and notify, and the test says whether that is as it should be. */
static void say_rights(void)
{
	for (uint32_t endpoint = 0; endpoint < ENDPOINTS; endpoint++)
		log_line("hostile: endpoint %u: %ld %ld", endpoint, asked(endpoint, NO_CALL),
			 TRAP(TRAP_NOTIFY, endpoint, NOTIFY_BITS, 0));
}

static void attack_all(void)
{
	for (unsigned i = 0; i < COUNT_OF(attacks); i++) {
		int64_t result = done[i] ? NOT_NOW : attacks[i].run();

		if (result == NOT_NOW)
			continue;
		done[i] = true;
		outcome(attacks[i].name, result);
	}
}

void refused_came(const struct incoming *in)
{
	static bool has_said;

	now_in = in;
	has_call = in->kind == INCOMING_CALL;
	live = in->kind == INCOMING_CALL || in->kind == INCOMING_CLIENT ? grant_in(&in->m) : (struct grant){ 0, 0 };
	if (!has_said) {
		say_rights();
		powers_tried();
	}
	has_said = true;
	attack_all();
}

void refused_answered(void)
{
	if (live.id)
		stale = live;
	live = (struct grant){ 0, 0 };
	has_call = false;
	now_in = &(const struct incoming){ .kind = INCOMING_NOTIFIED, .who = TASKS };
	attack_all();
}

/* Who waits for no reply of its gets none, and it waits as ever. */
void refused_waits(void)
{
	static const uint64_t outs[REGISTER_WORDS - 2] = { KERNEL_ADDRESS, UNMAPPED, ODD };
	static const uint64_t whom[] = { REPLY_TO_CALL, 0, 600, TASKS - 1, TASKS, TASKS + 1, ODD, UINT64_MAX };
	static unsigned at;

	if (at == COUNT_OF(whom))
		return;
	reply_by_registers(whom[at], -EIO, outs);
	if (at++ == 0)
		outcome("replies in registers to nobody", 0);
}
