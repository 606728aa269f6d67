/* cc.h: what lwIP requires of a compiler and a platform. */
#ifndef TRIO_NET_CC_H
#define TRIO_NET_CC_H

#include "port.h"

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_CTYPE_H 1
#define LWIP_NO_UNISTD_H 1
#define LWIP_PLATFORM_DIAG(words)
#define LWIP_PLATFORM_ASSERT(words) panic("net: lwIP: %s", words)

#endif
