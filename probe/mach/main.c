/* main.c: the boot task of GNU Mach. It measures one row of the registry, by path, as ../sample.c does: each
 * iteration is a region of its own, and an empty region is the bracket. The kernel's boot script gives it the ports of
 * host and devices, then the words of the probe's command line. */
#include "mach.h"

#define MOST_SAMPLES 4096
#define BRACKETS 22
#ifndef KM_SOURCE_DIGEST
#define KM_SOURCE_DIGEST "unknown"
#endif

static const struct unit *const all[] = { trap_units, message_units, turn_units, memory_units, pager_units };
static port host, device;
static const struct row *measured; /* NULL: before there is one */
static size_t before_it;           /* the output's size then */

static void end_line(void)
{
	put("}\n");
}

/* Ends the output with its marker, sends it, and switches the machine off. */
static _Noreturn void finish(void)
{
	size_t records = 0;

	for (size_t i = 0; i + 1 < output_used; i++)
		records += output[i] == '\n' && output[i + 1] == '{';
	put("#kernometer end ");
	put_number(records);
	put("\n");
	power_off(host, device, output, output_used);
	for (;;)
		continue;
}

static void begin_record(const char *type, const struct row *r)
{
	put("{\"type\":\"");
	put(type);
	put("\",\"row\":\"");
	put_n(r->name, r->name_length);
	put("\"");
}

/* Reports the failure of the row, or of the program if no row has begun. If the report fails too, the machine hangs. */
_Noreturn void fail(const char *what)
{
	static int failing;

	if (failing++)
		for (;;)
			continue;
	output_used = measured ? before_it : output_used;
	if (measured) {
		begin_record("error", measured);
		put(",\"text\":");
		put_string(what);
		end_line();
	} else {
		put(what);
		put(" failed\n");
	}
	finish();
}

static void put_header(uint64_t seed)
{
	char version[512];

	kernel_version(version);
	put("{\"type\":\"header\",\"format\":1,\"probe\":{\"version\":\"0.1.0\",\"source_digest\":\"" KM_SOURCE_DIGEST
	    "\",\"compiler\":\"gcc " __VERSION__ "\",\"flags\":\"-O2 -ffreestanding\",\"libc\":\"none\","
	    "\"linkage\":\"static\",\"platform\":\"mach\",\"pointer_bits\":64,\"capabilities\":[]},"
	    "\"uname\":{\"sysname\":\"GNU Mach\",\"nodename\":\"\",\"release\":\"\",\"version\":");
	put_string(version);
	put(",\"machine\":\"x86_64\"},\"cpu\":{\"model\":\"\",\"online\":1,\"allowed\":1},\"clock\":\"cycles\","
	    "\"clocks\":[],\"page\":4096,\"by\":\"path\",\"seed\":");
	put_number(seed);
	put(",\"counters\":\"by path no counters are read\"");
	end_line();
}

static inline uint64_t clock_cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static void empty_loop(void *state, register uint64_t n)
{
	(void)state;
	while (n > 0) {
		n--;
		__asm__ volatile("" : "+r"(n));
	}
}

static __attribute__((noinline)) uint64_t counted(unsigned region, void (*f)(void *, uint64_t), void *state, uint64_t n)
{
	uint64_t t0, t1;

	mark_begin(region);
	t0 = clock_cycles();
	f(state, n);
	t1 = clock_cycles();
	mark_end(region);
	return t1 - t0;
}

static void put_samples(const char *key, const uint64_t *value, size_t n)
{
	put(",\"");
	put(key);
	put("\":[");
	for (size_t i = 0; i < n; i++) {
		put(i ? "," : "");
		put_number(value[i]);
	}
	put("]");
}

/* The row's part of the list has its parameters' values in its name, in order. */
static void arguments(const struct row *r, long arg[2])
{
	const char *end = r->name + r->name_length;
	int n = 0;

	arg[0] = arg[1] = 0;
	for (const char *at = r->name; at < end && n < 2; at++)
		if (*at == '=')
			arg[n++] = (long)number_in(at, "=");
}

static void measure(const struct row *r, const struct unit *u)
{
	static uint64_t bracket[BRACKETS], samples[MOST_SAMPLES], baseline[MOST_SAMPLES];
	unsigned region = (unsigned)number_in(r->at, "\"id\":");
	size_t n = number_in(r->at, "\"path_n\":");
	const char *params = after(r->at, "\"params\":");
	long arg[2];

	measured = r;
	before_it = output_used;
	arguments(r, arg);
	if (u->setup)
		u->setup(arg);
	for (size_t i = 0; i < BRACKETS; i++)
		bracket[i] = counted(0, empty_loop, NULL, 1);
	for (size_t i = 0; i < n && i < MOST_SAMPLES; i++) {
		if (u->prepare)
			u->prepare();
		samples[i] = counted(region, u->run, NULL, 1);
		if (u->settle)
			u->settle();
	}
	for (size_t i = 0; u->baseline && i < n && i < MOST_SAMPLES; i++)
		baseline[i] = counted(region + 1, u->baseline, NULL, 1);
	if (u->verify)
		u->verify(n);
	begin_record("run", r);
	put(",\"workload\":\"");
	put(u->name);
	put("\",\"revision\":");
	put_number(number_in(r->line, "\"revision\":"));
	put(",\"run\":0,\"batch\":1,\"params\":");
	put_n(params, (size_t)(after(params, "}") - params));
	put(",\"ops\":");
	put_number(u->ops > 1 ? (uint64_t)u->ops : 1);
	put_samples("samples", samples, n);
	put(",\"loop_batch\":1");
	put_samples("loop_cost", bracket, BRACKETS);
	if (u->baseline) {
		put(",\"baseline\":{\"batch\":1");
		put_samples("samples", baseline, n);
		put("}");
	}
	put(",\"resolution_ns\":1,\"stopped\":\"plan\",\"iterations\":");
	put_number(n);
	end_line();
}

static const struct unit *unit_of(const struct row *r)
{
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		for (const struct unit *u = all[i]; u->name; u++) {
			size_t n = length(u->name);

			if (n <= r->name_length && same(u->name, r->name, n) &&
			    (n == r->name_length || r->name[n] == '@'))
				return u;
		}
	return NULL;
}

static void row(const struct row *r, int defines)
{
	const struct unit *u = unit_of(r);
	const char *why = u ? u->unsupported : "GNU Mach has no such thing";

	if (why) {
		begin_record("unsupported", r);
		put(",\"reason\":");
		put_string(why);
		end_line();
	} else if (!defines) {
		measure(r, u);
	}
}

static _Noreturn void run(int argc, char **argv)
{
	struct row r = { 0 };
	int quick = 1, defines = 0, by_path = 0, words = 0;
	uint64_t seed = 1;
	char *word[64];

	task_self = mach_task_self();
	host = argc > 1 ? (port)number_in(argv[1], "") : 0;
	device = argc > 2 ? (port)number_in(argv[2], "") : 0;
	for (int i = 3; i < argc; i++) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";

		if (!starts(name, "--")) {
			word[words] = argv[i];
			words += words < 63;
			continue;
		}
		by_path |= starts(name, "--by") && starts(value, "path");
		quick &= !(starts(name, "--profile") && starts(value, "full"));
		defines |= starts(name, "--only") && starts(value, "define");
		seed = starts(name, "--seed") ? number_in(value, "") : seed;
		i += !starts(name, "--continue"); /* all others have a value; most mean nothing here */
	}
	put("#kernometer begin 1\n");
	if (!by_path) {
		put("These units are counted by path: --by path\n");
		finish();
	}
	put_header(seed);
	put_definitions(word, words, quick);
	while (next_row(&r))
		if (selected(&r, word, words, quick))
			row(&r, defines);
	finish();
}

/* The stack at the start: how many arguments, these, NULL. */
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall entered\n");
_Noreturn void entered(uint64_t *stack);
_Noreturn void entered(uint64_t *stack)
{
	run((int)stack[0], (char **)(stack + 1));
}

void *memcpy(void *to, const void *from, size_t n)
{
	void *end = to;

	__asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(n) : : "memory");
	return to;
}

void *memset(void *to, int value, size_t n)
{
	void *end = to;

	__asm__ volatile("rep stosb" : "+D"(end), "+c"(n) : "a"(value) : "memory");
	return to;
}
