/* log.h: the kernel's log: lines on the serial line, which work from the first instruction on. */
#ifndef TRIO_LOG_H
#define TRIO_LOG_H

#include "text.h"

void log_start(void);

#endif
