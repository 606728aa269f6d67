/* emit.c: records as NDJSON. Each is one line, flushed, so that a reader sees it as soon as it is complete. */
#include "engine.h"

unsigned long emitted_lines;

/* stdio drops what it could not write and goes on: a record with a hole may still be valid, with other numbers. */
static void die_if_lost(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		_exit(KM_OUTPUT_LOST);
}

void emit_or_die(void)
{
	if (atexit(die_if_lost) != 0)
		_exit(KM_OUTPUT_LOST);
}

static void separator(struct json *j)
{
	if (!j->first)
		fputc(',', j->to);
	j->first = 0;
}

/* Text from the system may contain any byte: one that is not plain ASCII is escaped as Latin-1, for valid JSON. */
static void quoted(struct json *j, const char *s)
{
	fputc('"', j->to);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(j->to, "\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			fprintf(j->to, "\\u%04x", c);
		else
			fputc(c, j->to);
	}
	fputc('"', j->to);
}

void json_key(struct json *j, const char *key)
{
	separator(j);
	if (key) {
		quoted(j, key);
		fputc(':', j->to);
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	fputc(bracket, j->to);
	j->first = 1;
}

void json_close(struct json *j, char bracket)
{
	fputc(bracket, j->to);
	j->first = 0;
}

void json_string(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	quoted(j, value);
}

KM_NOINLINE const char *decimal_text(char to[DECIMAL], uint64_t value)
{
	char *at = to + DECIMAL - 1;

	*at = '\0';
	do
		*--at = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return at;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Whether this is that number, to eight digits, as JSON writes it. */
static int is_number(const char *text, double value)
{
	size_t n = strlen(text), sign = *text == '-';
	double off = strtod(text, NULL) - value;

	return is_digit(text[sign]) && is_digit(text[n - 1]) && !(text[sign] == '0' && is_digit(text[sign + 1])) &&
	       strspn(text, "0123456789-.e+") == n && off * off <= value * value * 1e-16;
}

const char *number_text(char to[NUMBER], int digits, double value)
{
	double size = value < 0 ? -value : value;
	char text[DECIMAL];
	int power = 0;

	snprintf(to, NUMBER, "%.*g", digits, value);
	if (is_number(to, value))
		return to;
	for (; size >= 1e9; power++)
		size /= 10;
	for (; size > 0 && size < 1e8; power--)
		size *= 10;
	snprintf(to, NUMBER, "%s%se%d", value < 0 ? "-" : "", decimal_text(text, (uint64_t)(size + 0.5)), power);
	return to;
}

void json_integer(struct json *j, const char *key, int64_t value)
{
	char text[DECIMAL];

	json_key(j, key);
	if (value < 0)
		fputc('-', j->to);
	fputs(decimal_text(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value), j->to);
}

void json_unsigned(struct json *j, const char *key, uint64_t value)
{
	char text[DECIMAL];

	json_key(j, key);
	fputs(decimal_text(text, value), j->to);
}

void json_number(struct json *j, const char *key, double value)
{
	char text[NUMBER];

	json_key(j, key);
	/* null: infinite, or not a number */
	fputs(value - value == 0 ? number_text(text, 9, value) : "null", j->to);
}

void json_integers(struct json *j, const char *key, const uint64_t *value, size_t n)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < n; i++)
		json_unsigned(j, NULL, value[i]);
	json_close(j, ']');
}

void json_begin(struct json *j, FILE *to, const char *type)
{
	j->to = to;
	fputc('{', to);
	j->first = 1;
	json_string(j, "type", type);
}

void json_end(struct json *j)
{
	fputs("}\n", j->to);
	emitted_lines++;
	fflush(j->to);
}

/* A row that failed; `call` and `error` (an errno's name) are "" where no call failed. */
void json_error(FILE *to, const char *row, long run, long block, const char *text, const char *call, const char *error)
{
	struct json j;

	json_begin(&j, to, "error");
	json_string(&j, "row", row);
	json_integer(&j, "run", run);
	json_integer(&j, "block", block);
	json_string(&j, "text", text);
	json_string(&j, "call", call);
	json_string(&j, "errno", error);
	json_end(&j);
}

void json_unsupported(FILE *to, const char *row, const char *reason)
{
	struct json j;

	json_begin(&j, to, "unsupported");
	json_string(&j, "row", row);
	json_string(&j, "reason", reason);
	json_end(&j);
}
