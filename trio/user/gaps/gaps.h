/* gaps.h: what the calls that are measured share. */
#ifndef GAPS_H
#define GAPS_H

#include <stddef.h>

/* One call with its largest arguments. What `begin` sets up and `end` takes down is not measured; both may be NULL. */
struct gap {
	const char *name;
	void (*begin)(void);
	void (*call)(void);
	void (*end)(void);
};

/* Each table ends with a name that is NULL. */
extern const struct gap memory_calls[], file_calls[], other_calls[];

/* As much memory as the largest arguments are made of, in bytes: a share of what is free. */
extern size_t large;

/* Ends the program where `ok` is 0, with errno's words. */
void must(int ok, const char *what);
/* Anonymous private memory, all of it there where `touched`. */
char *memory(size_t length, int touched);

#endif
