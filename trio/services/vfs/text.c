/* text.c: puts text together, for /proc and the names of files that have none. */
#include <stdarg.h>
#include "io.h"

static void add_char(struct text *t, char c)
{
	if (t->length < t->size)
		t->to[t->length++] = c;
}

static void add_string(struct text *t, const char *s, size_t most)
{
	for (size_t i = 0; i < most && s[i] != '\0'; i++)
		add_char(t, s[i]);
}

static void add_number(struct text *t, uint64_t value, unsigned base, unsigned width, char pad)
{
	char digits[24];
	unsigned n = 0;

	do
		digits[n++] = "0123456789abcdef"[value % base];
	while ((value /= base) != 0);
	for (; width > n; width--)
		add_char(t, pad);
	while (n > 0)
		add_char(t, digits[--n]);
}

/* One conversion, from behind its '%'. Returns what is behind it. */
static const char *add_one(struct text *t, const char *f, va_list *values)
{
	char pad = *f == '0' ? '0' : ' ';
	unsigned width = 0, most = 0;
	bool is_long = false, precise = false;
	int64_t value;

	while (*f >= '0' && *f <= '9')
		width = width * 10 + (unsigned)(*f++ - '0');
	if (*f == '.')
		for (precise = true, f++; *f >= '0' && *f <= '9'; f++)
			most = most * 10 + (unsigned)(*f - '0');
	for (; *f == 'l'; f++)
		is_long = true;
	switch (*f) {
	case 's':
		add_string(t, va_arg(*values, const char *), precise ? most : SIZE_MAX);
		break;
	case 'c':
		add_char(t, (char)va_arg(*values, int));
		break;
	case 'd':
		value = is_long ? va_arg(*values, long) : va_arg(*values, int);
		if (value < 0)
			add_char(t, '-');
		add_number(t, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, width, pad);
		break;
	default:
		add_number(t, is_long ? va_arg(*values, unsigned long) : va_arg(*values, unsigned),
			   *f == 'u'   ? 10
			   : *f == 'o' ? 8
				       : 16,
			   width, pad);
	}
	return f + 1;
}

void text_add(struct text *t, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	while (*format != '\0') {
		if (*format != '%')
			add_char(t, *format++);
		else
			format = add_one(t, format + 1, &values);
	}
	va_end(values);
}
