/* text.h: formatted text in memory, for the log, for reports and for services. It knows printf's %s %c %d %u %x, with a
 * width for numbers, and l for %u and %x. It needs no library and is the same code in every structure. */
#ifndef TRIO_TEXT_H
#define TRIO_TEXT_H

#include <stdarg.h>
#include "port.h"

/* `length` bytes so far, without a NUL. What does not fit into `size` is left out. */
struct text {
	char *to;
	size_t size, length;
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_list(struct text *t, const char *format, va_list arguments);

#endif
