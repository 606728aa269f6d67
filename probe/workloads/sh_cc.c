/* sh/cc: compiles and links a fixed C file (M: UnixBench's C compiler throughput), by the compiler of PATH, and by tcc,
 * which a guest gets as one static file. A remark names the compiler, on which the figure depends. The compiled program
 * runs after each sample, and its result must be right. */
#include "../km.h"

#define SH_CC_STATUS 25 /* the program's exit status: the number of primes below 100 */
#define SH_CC_FILE "program.c"
#define SH_CC_PROGRAM "program"

struct sh_cc {
	struct km *km;
	struct km_command compiler, program;
	uint64_t compiled, ran;
};

/* Includes no header: these are the system's, not the compiler's work, and differ. */
static const char *const sh_cc_text[] = {
	"struct pair { unsigned key; long value; };\n"
	"enum kind { ADD, SUB, MUL, DIV, KINDS };\n"
	"static struct pair table[64];\n"
	"static unsigned gcd(unsigned a, unsigned b) { return b == 0 ? a : gcd(b, a % b); }\n"
	"static int bits(unsigned x)\n"
	"{\n"
	"	int n = 0;\n"
	"	for (; x; x &= x - 1)\n"
	"		n++;\n"
	"	return n;\n"
	"}\n"
	"static long apply(enum kind kind, long a, long b)\n"
	"{\n"
	"	switch (kind) {\n"
	"	case ADD: return a + b;\n"
	"	case SUB: return a - b;\n"
	"	case MUL: return a * b;\n"
	"	case DIV: return b ? a / b : 0;\n"
	"	default: return -1;\n"
	"	}\n"
	"}\n",
	"static void sort(struct pair *p, int n)\n"
	"{\n"
	"	int i, k;\n"
	"	for (i = 1; i < n; i++) {\n"
	"		struct pair moved = p[i];\n"
	"		for (k = i; k > 0 && p[k - 1].key > moved.key; k--)\n"
	"			p[k] = p[k - 1];\n"
	"		p[k] = moved;\n"
	"	}\n"
	"}\n"
	"static int primes(int below)\n"
	"{\n"
	"	int n, d, found = 0;\n"
	"	for (n = 2; n < below; n++) {\n"
	"		for (d = 2; d * d <= n && n % d; d++)\n"
	"			;\n"
	"		found += d * d > n;\n"
	"	}\n"
	"	return found;\n"
	"}\n"
	"static double root(double x)\n"
	"{\n"
	"	double r = x;\n"
	"	int i;\n"
	"	for (i = 0; i < 30; i++)\n"
	"		r = (r + x / r) / 2;\n"
	"	return r;\n"
	"}\n",
	"int main(void)\n"
	"{\n"
	"	int i, wrong = 0;\n"
	"	for (i = 0; i < 64; i++) {\n"
	"		table[i].key = (i * 37u + 11u) % 64u;\n"
	"		table[i].value = apply((enum kind)(i % KINDS), i, i + 1);\n"
	"	}\n"
	"	sort(table, 64);\n"
	"	for (i = 0; i < 64; i++)\n"
	"		wrong += table[i].key != (unsigned)i;\n"
	"	wrong += gcd(1071, 462) != 21;\n"
	"	wrong += bits(0xf0f1u) != 9;\n"
	"	wrong += root(144.0) < 11.999 || root(144.0) > 12.001;\n"
	"	return wrong ? 1 : primes(100);\n"
	"}\n",
};

static void sh_cc_make_file(struct km *km)
{
	char text[4096] = "";

	for (size_t i = 0; i < sizeof sh_cc_text / sizeof sh_cc_text[0]; i++)
		strcat(text, sh_cc_text[i]);
	km_file_make(km, SH_CC_FILE, text, strlen(text));
}

static void sh_cc_remark(struct km *km, const struct sh_cc *s, const char *option)
{
	struct km_command asked = s->compiler;
	char path[KM_PATH], line[160];

	asked.words[1] = option;
	asked.words[2] = NULL;
	asked.out = "version";
	km_command_end(km, &asked, km_command_start(km, &asked), 0);
	if (km_file_line(km_path(km, path, asked.out), line, sizeof line))
		km_warn(km, "compiler", "%s is %s", s->compiler.file, line);
}

static void *sh_cc_new(struct km *km, const char *name, const char *version, const char *advice)
{
	char file[KM_PATH];
	struct sh_cc *s;

	km_program(km, file, name, advice);
	s = km_state(km, sizeof *s);
	sh_cc_make_file(km);
	strcpy(s->compiler.file, file);
	s->compiler.words[0] = name;
	s->compiler.words[1] = "-o";
	s->compiler.words[2] = SH_CC_PROGRAM;
	s->compiler.words[3] = SH_CC_FILE;
	km_command_init(km, &s->compiler, NULL);
	strcpy(s->program.file, "./" SH_CC_PROGRAM);
	s->program.words[0] = SH_CC_PROGRAM;
	km_command_init(km, &s->program, NULL);
	sh_cc_remark(km, s, version);
	km->claim.children = 1;
	return s;
}

static void *sh_cc_setup(struct km *km)
{
	return sh_cc_new(km, "cc", "--version", "Debian, Ubuntu: apt-get install gcc libc6-dev");
}

static void *sh_cc_tcc_setup(struct km *km)
{
	return sh_cc_new(km, "tcc", "-v", "Debian, Ubuntu: apt-get install tcc");
}

static void sh_cc_run(void *state, uint64_t n) /* timed: n times starts the compiler and waits for it */
{
	struct sh_cc *s = state;

	while (n--) {
		km_command_end(s->km, &s->compiler, km_command_start(s->km, &s->compiler), 0);
		s->compiled++;
	}
}

/* Removes the program after its run, so that the next one is new. */
static void sh_cc_settle(void *state, uint64_t n)
{
	struct sh_cc *s = state;

	km_command_end(s->km, &s->program, km_command_start(s->km, &s->program), SH_CC_STATUS);
	km_file_gone(s->km, SH_CC_PROGRAM);
	s->ran += n;
}

static void sh_cc_verify(void *state, uint64_t n)
{
	struct sh_cc *s = state;

	if (s->compiled != n || s->ran != n)
		km_fail(s->km, "%" PRIu64 " programs were compiled and %" PRIu64 " ran, %" PRIu64 " counted",
			s->compiled, s->ran, n);
}

#define SH_CC_ROW                                                                                             \
	.per = "program", .unit = UNIT_PER_S, .source = "M table 1", .max_batch = 1, .settings = SET_FOLDER,  \
	.inside = "fork, execve of the compiler, all that it starts, one C file of 70 lines read, a program " \
		  "written, waitpid",                                                                         \
	.run = sh_cc_run, .settle = sh_cc_settle, .verify = sh_cc_verify

const struct workload sh_cc = {
	.name = "sh/cc",
	.what = "cc of PATH compiles and links a fixed C file, without options",
	.only = BY_TIME,
	.points = KM_POINTS({ .profile = FULL }),
	.setup = sh_cc_setup,
	SH_CC_ROW,
};

const struct workload sh_cc_tcc = {
	.name = "sh/cc-tcc",
	.what = "sh/cc by tcc: in a guest one static file, the same on every kernel",
	.guest_needs = "tcc",
	.points = KM_POINTS({ .profile = FULL, .path_n = 3 }),
	.setup = sh_cc_tcc_setup,
	SH_CC_ROW,
};
