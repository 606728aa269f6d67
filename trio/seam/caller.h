/* caller.h: a task's call of a server, from its message to the reply. */
#ifndef TRIO_CALLER_H
#define TRIO_CALLER_H

#include "port.h"

struct server;

/* Where a program's request is: at no server; in a server's queue; with a server that is to answer it; parked by a
 * server. */
enum client_state { CLIENT_NONE, CLIENT_SENT, CLIENT_HELD, CLIENT_PARKED };

struct caller {
	/* In the server's queue. */
	struct link link;
	/* The call's words, then the further values of the answer; and the result. */
	uint64_t *words;
	int64_t result;
	struct server *server;
	/* HEADER: which call of which service this is. */
	uint64_t header;
	enum client_state state;
	/* How many entries of the table of grants end with this call. */
	uint8_t grants;
	/* waits: no reply has come. is_plain: after the reply the kernel only returns the result to the program. */
	bool waits, is_plain;
};

#endif
