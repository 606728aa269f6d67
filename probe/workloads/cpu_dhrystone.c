/* cpu/dhrystone: Dhrystone version 2.1, from Weicker's description (CACM 27(10), 1984; SIGPLAN Notices 23(8), 1988):
 * statements, types and kinds of parameters as in an average systems program, with the register attribute where he
 * allows it (M's "Dhrystone 2 using register variables").
 *
 * Short names: p1 to p8 are his Proc_1 to Proc_8, f1 to f3 his Func_1 to Func_3. His rules: no procedure is merged into
 * its caller (KM_NOINLINE), and they are in two files (here those of the second have external linkage, so that a
 * compiler must expect any arguments). strcpy and strcmp are libc's or the compiler's, which he calls the program's
 * weak side. The final values are those he publishes. */
#include "../km.h"

enum dhry_ident { DHRY_1, DHRY_2, DHRY_3, DHRY_4, DHRY_5 };

typedef char dhry_string[31];
typedef int dhry_line[50];

struct dhry_record {
	struct dhry_record *next;
	enum dhry_ident variant;
	union {
		struct {
			enum dhry_ident ident;
			int number;
			dhry_string text;
		} first;
		struct {
			enum dhry_ident ident;
			dhry_string text;
		} second;
		struct {
			char one, two;
		} third;
	} u;
};

static struct dhry_record *dhry_head, *dhry_second;
static int dhry_int, dhry_bool;
static char dhry_ch1, dhry_ch2;
static int dhry_array1[50];
static dhry_line dhry_array2[50];

/* Procedures of his second file, then of the first. ------------------------------------------------------------- */

int dhry_f3(enum dhry_ident value);
void dhry_p6(enum dhry_ident value, enum dhry_ident *to);
void dhry_p7(int a, int b, int *to);
void dhry_p8(int *array1, dhry_line *array2, int a, int b);
enum dhry_ident dhry_f1(char a, char b);
int dhry_f2(const char *a, const char *b);

KM_NOINLINE int dhry_f3(enum dhry_ident value)
{
	enum dhry_ident copy = value;

	return copy == DHRY_3;
}

KM_NOINLINE void dhry_p6(enum dhry_ident value, enum dhry_ident *to)
{
	*to = value;
	if (!dhry_f3(value))
		*to = DHRY_4;
	switch (value) {
	case DHRY_1:
		*to = DHRY_1;
		break;
	case DHRY_2:
		*to = dhry_int > 100 ? DHRY_1 : DHRY_4;
		break;
	case DHRY_3:
		*to = DHRY_2;
		break;
	case DHRY_4:
		break;
	case DHRY_5:
		*to = DHRY_3;
		break;
	}
}

KM_NOINLINE void dhry_p7(int a, int b, int *to)
{
	int sum = a + 2;

	*to = b + sum;
}

KM_NOINLINE void dhry_p8(int *array1, dhry_line *array2, int a, int b)
{
	register int i, at = a + 5;

	array1[at] = b;
	array1[at + 1] = array1[at];
	array1[at + 30] = at;
	for (i = at; i <= at + 1; i++)
		array2[at][i] = at;
	array2[at][at - 1] += 1;
	array2[at + 20][at] = array1[at];
	dhry_int = 5;
}

KM_NOINLINE enum dhry_ident dhry_f1(char a, char b)
{
	char copy = a, copy2 = copy;

	if (copy2 != b)
		return DHRY_1;
	dhry_ch1 = copy;
	return DHRY_2;
}

KM_NOINLINE int dhry_f2(const char *a, const char *b)
{
	register int i = 2;
	char c = '\0';

	while (i <= 2)
		if (dhry_f1(a[i], b[i + 1]) == DHRY_1) {
			c = 'A';
			i++;
		}
	if (c >= 'W' && c < 'Z')
		i = 7;
	if (c == 'R')
		return 1;
	if (strcmp(a, b) > 0) {
		i += 7;
		dhry_int = i;
		return 1;
	}
	return 0;
}

static KM_NOINLINE void dhry_p3(struct dhry_record **to)
{
	if (dhry_head)
		*to = dhry_head->next;
	dhry_p7(10, dhry_int, &dhry_head->u.first.number);
}

static KM_NOINLINE void dhry_p1(register struct dhry_record *record)
{
	register struct dhry_record *next = record->next;

	*record->next = *dhry_head;
	record->u.first.number = 5;
	next->u.first.number = record->u.first.number;
	next->next = record->next;
	dhry_p3(&next->next);
	if (next->variant == DHRY_1) {
		next->u.first.number = 6;
		dhry_p6(record->u.first.ident, &next->u.first.ident);
		next->next = dhry_head->next;
		dhry_p7(next->u.first.number, 10, &next->u.first.number);
	} else {
		*record = *record->next;
	}
}

static KM_NOINLINE void dhry_p2(int *to)
{
	int number = *to + 10;
	enum dhry_ident ident = DHRY_2;

	do
		if (dhry_ch1 == 'A') {
			number--;
			*to = number - dhry_int;
			ident = DHRY_1;
		}
	while (ident != DHRY_1);
}

static KM_NOINLINE void dhry_p4(void)
{
	int is_a = dhry_ch1 == 'A';

	dhry_bool = is_a | dhry_bool;
	dhry_ch2 = 'B';
}

static KM_NOINLINE void dhry_p5(void)
{
	dhry_ch1 = 'A';
	dhry_bool = 0;
}

/* The main program's local variables, which verify checks. */
struct cpu_dhry {
	struct km *km;
	uint64_t loops;
	int int1, int2, int3;
	enum dhry_ident ident;
	dhry_string text1, text2;
	struct dhry_record record1, record2;
};

#define DHRY_SOME "DHRYSTONE PROGRAM, SOME STRING"
#define DHRY_FIRST "DHRYSTONE PROGRAM, 1'ST STRING"
#define DHRY_SECOND "DHRYSTONE PROGRAM, 2'ND STRING"
#define DHRY_THIRD "DHRYSTONE PROGRAM, 3'RD STRING"
#define DHRY_ARRAY_START 10 /* array2[8][7] counts the loops, from here on */

static void *cpu_dhry_setup(struct km *km)
{
	struct cpu_dhry *s = km_state(km, sizeof *s);

	dhry_head = &s->record1;
	dhry_second = &s->record2;
	dhry_head->next = dhry_second;
	dhry_head->variant = DHRY_1;
	dhry_head->u.first.ident = DHRY_3;
	dhry_head->u.first.number = 40;
	strcpy(dhry_head->u.first.text, DHRY_SOME);
	strcpy(s->text1, DHRY_FIRST);
	dhry_array2[8][7] = DHRY_ARRAY_START;
	km->claim = (struct claim){ 0 };
	return s;
}

static KM_NOINLINE void cpu_dhry_loop(struct cpu_dhry *s, int run)
{
	register int int1 = 2, int2 = 3;
	int int3 = 0;
	register char c;

	dhry_p5();
	dhry_p4();
	strcpy(s->text2, DHRY_SECOND);
	s->ident = DHRY_2;
	dhry_bool = !dhry_f2(s->text1, s->text2);
	while (int1 < int2) {
		int3 = 5 * int1 - int2;
		dhry_p7(int1, int2, &int3);
		int1++;
	}
	dhry_p8(dhry_array1, dhry_array2, int1, int3);
	dhry_p1(dhry_head);
	for (c = 'A'; c <= dhry_ch2; c++)
		if (s->ident == dhry_f1(c, 'C')) { /* never true, as in the original */
			dhry_p6(DHRY_1, &s->ident);
			strcpy(s->text2, DHRY_THIRD);
			int2 = run;
			dhry_int = run;
		}
	int2 = int2 * int1;
	int1 = int2 / int3;
	int2 = 7 * (int2 - int3) - int1;
	s->int1 = int1;
	dhry_p2(&s->int1);
	s->int2 = int2;
	s->int3 = int3;
}

static void cpu_dhry_run(void *state, uint64_t n)
{
	struct cpu_dhry *s = state;
	int run = 0;

	while (n--) {
		run = (run + 1) & INT_MAX;
		cpu_dhry_loop(s, run);
		KM_KEEP(s); /* the loop's stores are kept */
	}
	s->loops += (uint64_t)(dhry_array2[8][7] - DHRY_ARRAY_START);
	dhry_array2[8][7] = DHRY_ARRAY_START;
}

static void cpu_dhry_verify(void *state, uint64_t n)
{
	const struct cpu_dhry *s = state;
	const struct dhry_record *a = dhry_head, *b = dhry_second;
	const struct {
		const char *what;
		int right;
	} checks[] = {
		{ "the count of loops", s->loops == n },
		{ "the globals", dhry_int == 5 && dhry_bool == 1 && dhry_ch1 == 'A' && dhry_ch2 == 'B' },
		{ "the arrays", dhry_array1[8] == 7 && dhry_array1[9] == 7 && dhry_array1[38] == 8 &&
					dhry_array2[8][8] == 8 && dhry_array2[8][9] == 8 && dhry_array2[28][8] == 7 },
		{ "the first record", a->next == b && a->variant == DHRY_1 && a->u.first.ident == DHRY_3 &&
					      a->u.first.number == 17 && strcmp(a->u.first.text, DHRY_SOME) == 0 },
		{ "the second record", b->next == b && b->variant == DHRY_1 && b->u.first.ident == DHRY_2 &&
					       b->u.first.number == 18 && strcmp(b->u.first.text, DHRY_SOME) == 0 },
		{ "the numbers", s->int1 == 5 && s->int2 == 13 && s->int3 == 7 && s->ident == DHRY_2 },
		{ "the strings", strcmp(s->text1, DHRY_FIRST) == 0 && strcmp(s->text2, DHRY_SECOND) == 0 },
	};

	for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
		if (!checks[i].right)
			km_fail(s->km, "%s: not the values that the definition gives", checks[i].what);
}

const struct workload cpu_dhrystone = {
	.name = "cpu/dhrystone",
	.per = "loop",
	.unit = UNIT_PER_S,
	.source = "M table 1; Weicker 1984, 1988",
	.what = "Dhrystone 2.1 with register variables",
	.inside = "the statements of one Dhrystone loop, with strcpy and strcmp of libc or the compiler",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 1000 }),
	.setup = cpu_dhry_setup,
	.run = cpu_dhry_run,
	.verify = cpu_dhry_verify,
};
