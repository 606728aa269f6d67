/* text.c: see text.h. */
#include "text.h"

static void put(struct text *t, char c)
{
	if (t->length < t->size)
		t->to[t->length++] = c;
}

static void put_number(struct text *t, uint64_t value, unsigned base, unsigned width, char fill)
{
	static const char digits[] = "0123456789abcdef";
	/* Of 64 bits in base 8. */
	char reversed[22];
	unsigned n = 0;

	do {
		reversed[n++] = digits[value % base];
		value /= base;
	} while (value);
	for (unsigned i = n; i < width; i++)
		put(t, fill);
	while (n)
		put(t, reversed[--n]);
}

static void put_string(struct text *t, const char *s, size_t most)
{
	for (size_t i = 0; i < most && s[i]; i++)
		put(t, s[i]);
}

static void put_signed(struct text *t, int64_t value, unsigned width)
{
	if (value < 0)
		put(t, '-');
	put_number(t, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, width, ' ');
}

/* One conversion after its %; returns what follows it. */
static const char *put_conversion(struct text *t, const char *f, va_list *arguments)
{
	char fill = *f == '0' ? '0' : ' ';
	unsigned width = 0;
	size_t precision = SIZE_MAX;
	bool is_long = false;

	while (*f >= '0' && *f <= '9')
		width = width * 10 + (unsigned)(*f++ - '0');
	if (*f == '.')
		for (precision = 0, f++; *f >= '0' && *f <= '9'; f++)
			precision = precision * 10 + (size_t)(*f - '0');
	while (*f == 'l' || *f == 'z') {
		is_long = true;
		f++;
	}
	switch (*f) {
	case 's':
		put_string(t, va_arg(*arguments, const char *), precision);
		break;
	case 'c':
		put(t, (char)va_arg(*arguments, int));
		break;
	case 'd':
		put_signed(t, is_long ? va_arg(*arguments, int64_t) : va_arg(*arguments, int), width);
		break;
	case 'u':
		put_number(t, is_long ? va_arg(*arguments, uint64_t) : va_arg(*arguments, unsigned), 10, width, fill);
		break;
	case 'o':
		put_number(t, is_long ? va_arg(*arguments, uint64_t) : va_arg(*arguments, unsigned), 8, width, fill);
		break;
	case 'x':
		put_number(t, is_long ? va_arg(*arguments, uint64_t) : va_arg(*arguments, unsigned), 16, width, fill);
		break;
	case 'p':
		put_number(t, va_arg(*arguments, uint64_t), 16, 16, '0');
		break;
	default:
		put(t, *f);
	}
	return *f ? f + 1 : f;
}

void text_add_list(struct text *t, const char *format, va_list arguments)
{
	va_list list;

	va_copy(list, arguments);
	while (*format) {
		if (*format != '%')
			put(t, *format++);
		else
			format = put_conversion(t, format + 1, &list);
	}
	va_end(list);
}

void text_add(struct text *t, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	text_add_list(t, format, list);
	va_end(list);
}
