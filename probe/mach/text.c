/* text.c: the output; and the registry's list, which probe-trio prints when this program is built: there is one list of
 * the units' names, numbers, definitions and plans, whatever kernel they are measured on. */
#include "mach.h"

__asm__(".section .rodata\n"
	".globl list\n"
	"list:\n"
	".incbin \"list.ndjson\"\n"
	".byte 0\n"
	".text\n");
extern const char list[];

char output[1 << 20];
size_t output_used;

void put_n(const char *text, size_t n)
{
	if (n > sizeof output - output_used)
		n = sizeof output - output_used;
	__builtin_memcpy(output + output_used, text, n);
	output_used += n;
}

void put(const char *text)
{
	put_n(text, length(text));
}

void put_number(uint64_t n)
{
	char digits[20], *at = digits + sizeof digits;

	do
		*--at = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	put_n(at, (size_t)(digits + sizeof digits - at));
}

void put_string(const char *text)
{
	put("\"");
	for (; *text; text++)
		if (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\')
			put_n(text, 1);
	put("\"");
}

size_t length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

int same(const char *a, const char *b, size_t n)
{
	while (n > 0 && *a == *b) {
		a++;
		b++;
		n--;
	}
	return n == 0;
}

int starts(const char *text, const char *with)
{
	while (*with && *text == *with) {
		text++;
		with++;
	}
	return *with == '\0';
}

const char *after(const char *from, const char *key)
{
	while (*from && !starts(from, key))
		from++;
	return *from ? from + length(key) : from;
}

uint64_t number_in(const char *from, const char *key)
{
	uint64_t n = 0;

	for (from = after(from, key); *from >= '0' && *from <= '9'; from++)
		n = 10 * n + (uint64_t)(*from - '0');
	return n;
}

int next_row(struct row *r)
{
	const char *at = r->at ? r->at + 1 : list, *line;

	if (!r->line)
		r->line = list;
	while (*at && !starts(at, "{\"row\":\""))
		at++;
	if (!*at)
		return 0;
	for (line = r->line; line < at; line++)
		if (*line == '\n')
			r->line = line + 1;
	r->at = at;
	r->name = at + length("{\"row\":\"");
	r->name_length = (size_t)(after(r->name, "\"") - 1 - r->name);
	return 1;
}

/* `*` stands for any text. */
static int fits(const char *text, size_t n, const char *pattern)
{
	if (*pattern == '*')
		return fits(text, n, pattern + 1) || (n > 0 && fits(text + 1, n - 1, pattern));
	if (*pattern == '\0')
		return n == 0;
	return n > 0 && *text == *pattern && fits(text + 1, n - 1, pattern + 1);
}

static size_t before_at(const char *name, size_t n)
{
	size_t i = 0;

	while (i < n && name[i] != '@')
		i++;
	return i;
}

/* By its name, by `name@` if it has no parameters, by its workload's name (rows of the profile), by a pattern. */
int selected(const struct row *r, char **words, int n, int quick)
{
	size_t workload = before_at(r->name, r->name_length);
	int in_profile = !quick || starts(after(r->at, "\"profiles\":["), "\"quick\"");

	for (int i = 0; i < n; i++) {
		size_t size = length(words[i]);

		if (fits(r->name, r->name_length, words[i]) ||
		    (in_profile && size == workload && same(words[i], r->name, workload)) ||
		    (workload == r->name_length && size == workload + 1 && words[i][workload] == '@' &&
		     same(words[i], r->name, workload)))
			return 1;
	}
	return n == 0 && in_profile;
}

/* Each line of the list, with those of its rows that are selected. */
void put_definitions(char **words, int n, int quick)
{
	struct row r = { 0 };
	const char *open = NULL;

	while (next_row(&r)) {
		if (!selected(&r, words, n, quick))
			continue;
		if (r.line != open) {
			put(open ? "]}\n" : "");
			put_n(r.line, (size_t)(after(r.line, "\"rows\":[") - r.line));
		}
		put(r.line == open ? "," : "");
		open = r.line;
		put_n(r.at, (size_t)(after(r.at, "\"needs\":[]}") - r.at));
	}
	put(open ? "]}\n" : "");
}
