/* sh/dc: dc computes the square root of 2 to 99 digits (M: UnixBench). Two rows: the system's dc, and busybox's. The
 * check needs no known output: the square of those digits is below 2, and the square of the next number is not. */
#include "../km.h"

#define SH_DC_DIGITS 100 /* one before the point, 99 after it */

struct sh_dc {
	struct km *km;
	struct km_command command;
	uint64_t done, checked;
};

static const char sh_dc_text[] = "99k 2v p\n";

static void *sh_dc_new(struct km *km, const char *program, const char *advice)
{
	char file[KM_PATH];
	struct sh_dc *s;

	km_program(km, file, program, advice);
	s = km_state(km, sizeof *s);
	strcpy(s->command.file, file);
	s->command.words[0] = "dc";
	s->command.in = "root";
	s->command.out = "answers";
	km_file_make(km, "root", sh_dc_text, sizeof sh_dc_text - 1);
	km_command_init(km, &s->command, NULL);
	km->claim.children = 1;
	return s;
}

static void *sh_dc_setup(struct km *km)
{
	return sh_dc_new(km, "dc", "Debian, Ubuntu: apt-get install dc");
}

static void *sh_dc_busybox_setup(struct km *km)
{
	return sh_dc_new(km, "busybox", "Debian, Ubuntu: apt-get install busybox-static");
}

static void sh_dc_run(void *state, uint64_t n) /* timed: n times dc starts, reads, computes, prints and exits */
{
	struct sh_dc *s = state;

	while (n--) {
		km_command_end(s->km, &s->command, km_command_start(s->km, &s->command), 0);
		s->done++;
	}
}

/* Is the square of the digits, a number of 200 digits, 2 or more? */
static int sh_dc_two(const int digit[SH_DC_DIGITS])
{
	int square[2 * SH_DC_DIGITS] = { 0 }; /* the lowest first */

	for (int i = 0; i < SH_DC_DIGITS; i++)
		for (int k = 0, carry = 0; k <= SH_DC_DIGITS; k++) {
			int sum = carry;

			if (i + k >= 2 * SH_DC_DIGITS)
				break;
			sum += square[i + k];
			if (k < SH_DC_DIGITS)
				sum += digit[SH_DC_DIGITS - 1 - i] * digit[SH_DC_DIGITS - 1 - k];
			square[i + k] = sum % 10;
			carry = sum / 10;
		}
	return square[2 * SH_DC_DIGITS - 1] * 10 + square[2 * SH_DC_DIGITS - 2] >= 2;
}

static void sh_dc_check(struct sh_dc *s, int digit[SH_DC_DIGITS])
{
	int below = !sh_dc_two(digit), i = SH_DC_DIGITS - 1;

	while (i > 0 && digit[i] == 9)
		digit[i--] = 0;
	digit[i]++;
	if (!below || !sh_dc_two(digit))
		km_fail(s->km, "the square root of 2 is wrong");
}

/* dc breaks its line with a backslash; every answer is "1." and 99 digits. */
static void sh_dc_settle(void *state, uint64_t n)
{
	struct sh_dc *s = state;
	int digit[SH_DC_DIGITS], count = 0;
	size_t bytes;
	char *text = km_file_text(s->km, s->command.out, &bytes);

	for (const char *c = text; *c; c++) {
		if (*c == '\\' || *c == '\n' || (*c == '.' && count == 1))
			continue;
		if (*c < '0' || *c > '9')
			km_fail(s->km, "dc printed no number: %.40s", text);
		digit[count++] = *c - '0';
		if (count < SH_DC_DIGITS)
			continue;
		sh_dc_check(s, digit);
		s->checked++;
		count = 0;
	}
	if (count != 0 || s->checked != s->done)
		km_fail(s->km,
			"dc printed %" PRIu64 " answers of 100 digits and %d digits, when asked %" PRIu64 " times",
			s->checked, count, s->done);
	km_free(text);
	km_file_gone(s->km, s->command.out);
	(void)n;
}

#define SH_DC_ROW                                                                                                \
	.per = "calculation", .unit = UNIT_PER_S, .source = "M", .settings = SET_FOLDER,                         \
	.inside = "fork, execve of dc, which reads a file of one line, the root, its output to a file, waitpid", \
	.run = sh_dc_run, .settle = sh_dc_settle, .counted = { offsetof(struct sh_dc, checked), "answers were right" }

const struct workload sh_dc = {
	.name = "sh/dc",
	.what = "dc of PATH computes the square root of 2 to 99 digits",
	.only = BY_TIME,
	.points = KM_POINTS({ .profile = FULL }),
	.setup = sh_dc_setup,
	SH_DC_ROW,
};

const struct workload sh_dc_busybox = {
	.name = "sh/dc-busybox",
	.what = "sh/dc by busybox",
	.guest_needs = "busybox",
	.points = KM_POINTS({ .profile = FULL, .path_n = 3 }),
	.setup = sh_dc_busybox_setup,
	SH_DC_ROW,
};
