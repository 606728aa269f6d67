/* branches.h: a predictor of branches: a table of two-bit counters indexed by address and history (gshare: McFarling,
 * Combining Branch Predictors, 1993), a table of the targets of indirect branches with the same index, and a stack of
 * return addresses. Direct jumps and calls are never mispredicted. */
#ifndef KM_BRANCHES_H
#define KM_BRANCHES_H

#include "decode.h"
#include <stdint.h>

#define HISTORY 14 /* bits */
#define TARGETS 4096u
#define MAX_RETURNS 64u

enum branch { NO_BRANCH, CONDITIONAL, DIRECT_CALL, INDIRECT, INDIRECT_CALL, RETURNS };

static struct {
	uint8_t taken[1u << HISTORY]; /* two-bit counters: 2 and 3 predict that it is taken */
	uint64_t from[TARGETS], to[TARGETS];
	uint64_t returns[MAX_RETURNS];
	unsigned int top, depth; /* depth: entries of the return stack */
	uint64_t history;
	uint64_t missed[3]; /* conditional, indirect, return */
} predictor;

static enum branch branch_of(const struct decoded *d)
{
	unsigned char op = d->op[0], field = d->op[1] >> 3 & 7;

	if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3) || (op == 0x0f && (d->op[1] & 0xf0) == 0x80))
		return CONDITIONAL;
	if (op == 0xe8)
		return DIRECT_CALL;
	if (op == 0xff)
		return field == 2 ? INDIRECT_CALL : field == 4 ? INDIRECT : NO_BRANCH;
	return op == 0xc3 || op == 0xc2 ? RETURNS : NO_BRANCH;
}

static void predict_condition(uint64_t at, int taken)
{
	uint8_t *counter = &predictor.taken[(at ^ at >> HISTORY ^ predictor.history) & ((1u << HISTORY) - 1)];

	predictor.missed[0] += (*counter >= 2) != taken;
	if (taken && *counter < 3)
		++*counter;
	else if (!taken && *counter > 0)
		--*counter;
	predictor.history = predictor.history << 1 | (unsigned int)taken;
}

static void predict_target(uint64_t at, uint64_t target)
{
	size_t i = (at ^ predictor.history << 3) & (TARGETS - 1);

	predictor.missed[1] += predictor.from[i] != at || predictor.to[i] != target;
	predictor.from[i] = at;
	predictor.to[i] = target;
	predictor.history = predictor.history << 1 ^ target >> 4;
}

/* The branch at `at`, with the instruction `after` behind it, went to `target`. */
static void resolve(enum branch kind, uint64_t at, uint64_t after, uint64_t target)
{
	if (kind == CONDITIONAL)
		predict_condition(at, target != after);
	else if (kind == INDIRECT || kind == INDIRECT_CALL)
		predict_target(at, target);
	else if (kind == RETURNS)
		predictor.missed[2] += predictor.returns[--predictor.top % predictor.depth] != target;
	if (kind == DIRECT_CALL || kind == INDIRECT_CALL)
		predictor.returns[predictor.top++ % predictor.depth] = after;
}

#endif
