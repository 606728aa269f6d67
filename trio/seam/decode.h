/* decode.h: with the switch decoded-by-services, how a service makes arguments of a system call's registers, and grants
 * of its client's memory (none for nothing). kernel/abi/abi.h does the same in the kernel. */
#ifndef TRIO_DECODE_H
#define TRIO_DECODE_H

#include "abi/time.h"
#include "port.h"

#define user_grant(address, length) \
	((address) | (length) ? grant_caller(r->task, address, MIN(length, MOST_BYTES)) : (struct grant){ 0, 0 })
#define user_grant_if(address, length) user_grant(address, (address) ? (length) : 0)

#endif
