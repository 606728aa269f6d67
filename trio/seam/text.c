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
	/* The digits of 64 bits in base 10. */
	char reversed[20];
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

/* Writes one conversion, behind its %. Returns what follows it. */
static const char *put_conversion(struct text *t, const char *f, va_list *arguments)
{
	char fill = *f == '0' ? '0' : ' ';
	unsigned width = 0;
	bool is_long;

	while (*f >= '0' && *f <= '9')
		width = width * 10 + (unsigned)(*f++ - '0');
	is_long = *f == 'l';
	f += is_long;
	switch (*f) {
	case 's':
		for (const char *s = va_arg(*arguments, const char *); *s; s++)
			put(t, *s);
		break;
	case 'c':
		put(t, (char)va_arg(*arguments, int));
		break;
	case 'd': {
		int64_t value = va_arg(*arguments, int);

		if (value < 0)
			put(t, '-');
		put_number(t, (uint64_t)(value < 0 ? -value : value), 10, width, ' ');
		break;
	}
	case 'u':
	case 'x':
		put_number(t, is_long ? va_arg(*arguments, uint64_t) : va_arg(*arguments, unsigned),
			   *f == 'u' ? 10 : 16, width, fill);
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
