/* caller.h: a task's call of a server, from its message to the reply. */
#ifndef TRIO_CALLER_H
#define TRIO_CALLER_H

#include "port.h"

struct server;

/* Of a program's request: none is at a server; in its queue; its to answer; parked there. */
enum client_state { CLIENT_NONE, CLIENT_SENT, CLIENT_HELD, CLIENT_PARKED };

struct caller {
	/* In the server's queue. */
	struct link link;
	/* Its words, then the further values of the answer; and the result. */
	uint64_t *words;
	int64_t result;
	struct server *server;
	/* Which call of which service: HEADER. */
	uint64_t header;
	enum client_state state;
	/* So many entries of the table of grants end with it. */
	uint8_t grants;
	/* There is no reply yet. Once there is nothing is left to do but to return the result to the program. */
	bool waits, is_plain;
};

#endif
