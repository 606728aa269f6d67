/* interrupts.h: who is told of which device's interrupts. See kernel.idl, calls 44 and 45. */
#ifndef TRIO_INTERRUPTS_H
#define TRIO_INTERRUPTS_H

#include "port.h"

/* Numbers of lines from here on are those of PCI functions' messages, by place. */
#define MESSAGE_LINES 256

int64_t interrupt_attach(uint32_t line, uint32_t endpoint, uint32_t bit);
void interrupt_done(uint32_t line);
/* All of an endpoint's go to nobody. */
void interrupts_release(uint32_t endpoint);

#endif
