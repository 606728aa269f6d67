/* log.h: lines of text: the kernel's log on the serial line, and reports for /proc. */
#ifndef TRIO_LOG_H
#define TRIO_LOG_H

#include <stdarg.h>
#include "port.h"

/* What is formatted into memory: as much as fits. */
struct text {
	char *at, *end;
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_list(struct text *t, const char *format, va_list arguments);

/* The serial line works from the first instruction on. */
void log_start(void);

#endif
