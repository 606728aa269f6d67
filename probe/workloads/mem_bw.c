/* mem/read-bw, mem/write-bw, mem/copy-bw: a working set read, written or copied by loads and stores of one machine word
 * each. The accesses are volatile: no compiler makes them wider, fewer, or a call of libc's memcpy, whose width depends
 * on libc and processor. So every system runs the same program. */
#include "../km.h"

#define MEM_BW_LEAST (64UL << 10) /* bytes of one iteration: it passes through small sets several times */
#define MEM_BW_UNROLLED 8

struct mem_bw {
	struct km *km;
	size_t bytes;    /* of the working set */
	size_t moved;    /* of them, in one pass: read, written, or copied */
	uint64_t passes; /* of one iteration */
	uint64_t pass;   /* in all */
	unsigned long *area;
	unsigned long sum, wanted; /* of all words read; of one pass */
};

static struct mem_bw *mem_bw_setup(struct km *km, int parts)
{
	struct mem_bw *b = km_state(km, sizeof *b);

	b->bytes = (size_t)km->arg[0];
	b->moved = b->bytes / (size_t)parts;
	b->passes = b->moved < MEM_BW_LEAST ? MEM_BW_LEAST / b->moved : 1;
	b->area = km_area(km, b->bytes);
	km_content_fill(b->area, b->bytes, km_random(km), 0);
	km->ops = (double)b->passes;
	km->bytes = (double)b->moved;
	km->claim.syscalls = km->claim.faults = 0;
	return b;
}

static void mem_bw_check_passes(struct mem_bw *b, uint64_t n)
{
	if (b->pass != n * b->passes)
		km_fail(b->km, "%" PRIu64 " passes were made, not %" PRIu64, b->pass, n * b->passes);
}

/* mem/read-bw ------------------------------------------------------------------------------------------------- */

static void *mem_read_bw_setup(struct km *km)
{
	struct mem_bw *b = mem_bw_setup(km, 1);

	for (size_t i = 0; i < b->bytes / sizeof *b->area; i++)
		b->wanted += b->area[i];
	return b;
}

static void mem_read_bw_run(void *state, uint64_t n)
{
	struct mem_bw *b = state;

	for (uint64_t left = n * b->passes; left > 0; left--) {
		b->sum += km_sum(b->area, b->bytes);
		b->pass++;
	}
}

static void mem_read_bw_verify(void *state, uint64_t n)
{
	struct mem_bw *b = state;

	mem_bw_check_passes(b, n);
	if (b->sum != (unsigned long)b->pass * b->wanted)
		km_fail(b->km, "the words read differ from the working set's");
}

/* mem/read-bw-wide ---------------------------------------------------------------------------------------------- */

static void mem_read_bw_wide_run(void *state, uint64_t n)
{
	struct mem_bw *b = state;

	for (uint64_t left = n * b->passes; left > 0; left--) {
		b->sum += km_sum_wide(b->area, b->bytes, 1);
		b->pass++;
	}
}

static void mem_read_bw_wide_limit(void *state, uint64_t n)
{
	struct mem_bw *b = state;

	for (uint64_t left = n * b->passes; left > 0; left--)
		KM_KEEP(km_sum_wide(b->area, b->bytes, 0));
}

/* mem/write-bw: each pass writes its own number ------------------------------------------------------------------ */

static KM_NOINLINE void mem_bw_put(volatile unsigned long *at, size_t bytes, unsigned long word)
{
	for (volatile unsigned long *end = &at[bytes / sizeof *at]; at < end; at += MEM_BW_UNROLLED) {
		at[0] = word;
		at[1] = word;
		at[2] = word;
		at[3] = word;
		at[4] = word;
		at[5] = word;
		at[6] = word;
		at[7] = word;
	}
}

static void *mem_write_bw_setup(struct km *km)
{
	return mem_bw_setup(km, 1);
}

static void mem_write_bw_run(void *state, uint64_t n)
{
	struct mem_bw *b = state;

	for (uint64_t left = n * b->passes; left > 0; left--)
		mem_bw_put(b->area, b->bytes, (unsigned long)++b->pass);
}

static void mem_write_bw_verify(void *state, uint64_t n)
{
	struct mem_bw *b = state;

	mem_bw_check_passes(b, n);
	for (size_t i = 0; n > 0 && i < b->bytes / sizeof *b->area; i++)
		if (b->area[i] != (unsigned long)b->pass)
			km_fail(b->km, "word %lu does not contain what was written last", (unsigned long)i);
}

/* mem/copy-bw: the first half onto the second; its first word is the pass's number ------------------------------- */

static KM_NOINLINE void mem_bw_copy(volatile unsigned long *to, const volatile unsigned long *from, size_t bytes)
{
	for (volatile unsigned long *end = &to[bytes / sizeof *to]; to < end; to += MEM_BW_UNROLLED) {
		to[0] = from[0];
		to[1] = from[1];
		to[2] = from[2];
		to[3] = from[3];
		to[4] = from[4];
		to[5] = from[5];
		to[6] = from[6];
		to[7] = from[7];
		from += MEM_BW_UNROLLED;
	}
}

static void *mem_copy_bw_setup(struct km *km)
{
	return mem_bw_setup(km, 2);
}

static void mem_copy_bw_run(void *state, uint64_t n)
{
	struct mem_bw *b = state;
	unsigned long *to = &b->area[b->moved / sizeof *b->area];

	for (uint64_t left = n * b->passes; left > 0; left--) {
		b->area[0] = (unsigned long)++b->pass;
		mem_bw_copy(to, b->area, b->moved);
		if (to[0] != (unsigned long)b->pass)
			km_fail(b->km, "pass %" PRIu64 " copied nothing", b->pass);
	}
}

static void mem_copy_bw_verify(void *state, uint64_t n)
{
	struct mem_bw *b = state;

	mem_bw_check_passes(b, n);
	if (n > 0 && memcmp(b->area, (const char *)b->area + b->moved, b->moved) != 0)
		km_fail(b->km, "the second half is not a copy of the first");
}

/* By path a word is an instruction or two wherever it is: the rows with a plan are for the misses counted beside. */
#define MEM_BW_PATH_N(bytes, profile) ((profile) == FULL && (bytes) >= 256 << 10 && (bytes) <= 2 << 20 ? 20 : 0)
#define MEM_BW_AT(bytes, profile) { { bytes }, profile, MEM_BW_PATH_N(bytes, profile), ONE_CPU, 0 }

static const struct point mem_bw_points[] = {
	MEM_BW_AT(512, FULL),      MEM_BW_AT(2 << 10, FULL),  MEM_BW_AT(8 << 10, FULL),    MEM_BW_AT(16 << 10, FULL),
	MEM_BW_AT(32 << 10, FULL), MEM_BW_AT(64 << 10, FULL), MEM_BW_AT(256 << 10, FULL),  MEM_BW_AT(512 << 10, FULL),
	MEM_BW_AT(1 << 20, FULL),  MEM_BW_AT(2 << 20, FULL),  MEM_BW_AT(4 << 20, QUICK),   MEM_BW_AT(16 << 20, FULL),
	MEM_BW_AT(32 << 20, FULL), MEM_BW_AT(64 << 20, FULL), { { 0 }, 0, 0, ONE_CPU, 0 },
};

#define MEM_BW_INSIDE                                                                                                  \
	", each of one machine word, 8 unrolled, never wider; sets below 64 KiB several times an iteration; ordinary " \
	"pages, touched before"

#define MEM_BW_ROW \
	.per = "pass", .unit = UNIT_BYTES_PER_S, .source = "G figure 4", .params = { "bytes" }, .curve = "bytes"

const struct workload mem_read_bw = {
	.name = "mem/read-bw",
	MEM_BW_ROW,
	.what = "read a working set of `bytes` bytes from start to end, over and over, and add its words up",
	.inside = "loads into four sums" MEM_BW_INSIDE,
	.points = mem_bw_points,
	.setup = mem_read_bw_setup,
	.run = mem_read_bw_run,
	.verify = mem_read_bw_verify,
};

#define MEM_BW_TEXT(number) #number
#define MEM_BW_DECIMAL(number) MEM_BW_TEXT(number)
const struct workload mem_read_bw_wide = {
	.name = "mem/read-bw-wide",
	MEM_BW_ROW,
	.what = "add up a working set of `bytes` bytes by the widest loads that the compiler was told to make",
	.inside = "loads of " MEM_BW_DECIMAL(KM_WIDE_BYTES) " bytes into four sums, 8 unrolled; "
							    "sets below 64 KiB several times an iteration; "
							    "ordinary pages, touched before",
	.subtracts = "the loop's own limit: as many of the same loads of one near place (shown beside, not subtracted)",
	/* G's figure has steps at the caches' ends: two sizes and more in each. */
	.points = KM_POINTS(MEM_BW_AT(8 << 10, FULL), MEM_BW_AT(16 << 10, FULL), MEM_BW_AT(32 << 10, FULL),
			    MEM_BW_AT(64 << 10, FULL), MEM_BW_AT(256 << 10, FULL), MEM_BW_AT(1 << 20, FULL),
			    MEM_BW_AT(4 << 20, FULL), MEM_BW_AT(64 << 20, FULL)),
	.setup = mem_read_bw_setup,
	.run = mem_read_bw_wide_run,
	.baseline = mem_read_bw_wide_limit,
	.verify = mem_read_bw_verify,
};

const struct workload mem_write_bw = {
	.name = "mem/write-bw",
	MEM_BW_ROW,
	.what = "write a working set of `bytes` bytes from start to end, over and over",
	.inside = "stores" MEM_BW_INSIDE,
	.points = mem_bw_points,
	.setup = mem_write_bw_setup,
	.run = mem_write_bw_run,
	.verify = mem_write_bw_verify,
};

const struct workload mem_copy_bw = {
	.name = "mem/copy-bw",
	MEM_BW_ROW,
	.what = "copy the first half of a working set of `bytes` bytes onto the second, over and over: bytes copied",
	.inside = "loads and stores (not libc's memcpy)" MEM_BW_INSIDE,
	.points = mem_bw_points,
	.setup = mem_copy_bw_setup,
	.run = mem_copy_bw_run,
	.verify = mem_copy_bw_verify,
};
