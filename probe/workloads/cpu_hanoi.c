/* cpu/hanoi: recursion, by the Tower of Hanoi with 10 discs: 1023 calls that each move a disc (M table 1). */
#include "../km.h"

#define HANOI_DISCS 10
#define HANOI_MOVES ((UINT64_C(1) << HANOI_DISCS) - 1)

struct cpu_hanoi {
	struct km *km;
	int from, to; /* pegs; they change places after each solution */
	int height[3];
	int peg[3][HANOI_DISCS]; /* sizes, the lowest disc first */
	uint64_t moves;
};

static void *cpu_hanoi_setup(struct km *km)
{
	struct cpu_hanoi *s = km_state(km, sizeof *s);

	s->to = 2;
	for (int i = 0; i < HANOI_DISCS; i++)
		s->peg[0][s->height[0]++] = HANOI_DISCS - i;
	km->claim = (struct claim){ 0 };
	return s;
}

static KM_NOINLINE void cpu_hanoi_move(struct cpu_hanoi *s, int discs, int from, int to)
{
	int other = 3 - from - to, disc;

	if (discs == 0)
		return;
	cpu_hanoi_move(s, discs - 1, from, other);
	disc = s->peg[from][--s->height[from]];
	s->peg[to][s->height[to]++] = disc;
	s->moves += disc == discs; /* only the right disc counts */
	cpu_hanoi_move(s, discs - 1, other, to);
	KM_KEEP(discs); /* otherwise the second call becomes a jump */
}

static void cpu_hanoi_run(void *state, uint64_t n)
{
	struct cpu_hanoi *s = state;

	while (n--) {
		int from = s->from;

		cpu_hanoi_move(s, HANOI_DISCS, from, s->to);
		s->from = s->to;
		s->to = from;
	}
}

static void cpu_hanoi_verify(void *state, uint64_t n)
{
	struct cpu_hanoi *s = state;

	if (s->moves != n * HANOI_MOVES)
		km_fail(s->km, "%" PRIu64 " right moves in %" PRIu64 " solutions", s->moves, n);
	for (int i = 0; i < HANOI_DISCS; i++)
		if (s->height[s->from] != HANOI_DISCS || s->peg[s->from][i] != HANOI_DISCS - i)
			km_fail(s->km, "the tower is on the wrong peg");
}

const struct workload cpu_hanoi = {
	.name = "cpu/hanoi",
	.per = "solution with 10 discs",
	.unit = UNIT_PER_S,
	.source = "M table 1",
	.what = "recursion: the Tower of Hanoi with 10 discs",
	.inside = "2047 calls of a recursive function, 1023 discs moved between arrays",
	.points = KM_POINTS({ .profile = QUICK, .path_n = 100 }),
	.setup = cpu_hanoi_setup,
	.run = cpu_hanoi_run,
	.verify = cpu_hanoi_verify,
};
