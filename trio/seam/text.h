/* text.h: formatted text in memory, for the log and for reports: printf's %s %c %d %u %x %p, l, and a width. */
#ifndef TRIO_TEXT_H
#define TRIO_TEXT_H

#include <stdarg.h>
#include "port.h"

/* As much as fits between the two. */
struct text {
	char *at, *end;
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_list(struct text *t, const char *format, va_list arguments);

#endif
