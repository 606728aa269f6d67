/* km.h: all that a workload sees of the probe.
 *
 * A workload is one file under workloads/: a state struct, setup, run, verify, teardown, and its registry row at the
 * end. The engine (sample.c and its callers) owns the clock, the batch, the samples and the output. Each run of each
 * row has its own process, process group and temporary directory; the driver always kills and removes them. */
#ifndef KM_H
#define KM_H

#include "platform_ipc.h"

enum better { LOWER, HIGHER };
enum by { BY_EITHER, BY_TIME, BY_PATH };
enum profile { FULL = 1, QUICK = 2 }; /* a quick row is in the full profile too */
/* Where a row runs: SAME_CPU and OTHER_CPU have several processes; the others have one. ON_EXT4 and ON_MINIX have their
 * files on a disk with that file system (see --disk), ON_BOCHS_DRM and ON_VESAFB draw by that driver: both by path. */
enum place { ONE_CPU, SAME_CPU, OTHER_CPU, ON_EXT4, ON_MINIX, ON_BOCHS_DRM, ON_VESAFB };
/* Lower is better for UNIT_NS, higher for the others. A UNIT_COUNT is the number of steps before a refusal. */
enum unit { UNIT_NS, UNIT_BYTES_PER_S, UNIT_PER_S, UNIT_COUNT };

/* System settings that figures depend on. The header reports their values; the clock's speed (SET_GOVERNOR) belongs to
 * every workload by time. platform_system.c has their names and where they are found. */
enum setting {
	SET_HUGE_PAGES = 1 << 0,
	SET_OVERCOMMIT = 1 << 1,
	SET_ADDRESS_RANDOM = 1 << 2,
	SET_FOLDER = 1 << 3, /* file system and mount options of the directory for temporary files */
	SET_CLOCK_SOURCE = 1 << 4,
	SET_VDSO = 1 << 5,
	SET_GOVERNOR = 1 << 6,
	SET_DEVICE = 1 << 7 /* the block device of that directory, and its queue */
};

#define KM_PARAMS 4 /* parameters a workload may have */
#define NO_CLAIM (-1.0)

/* One row of a workload: the values of its parameters. The last one of an array has profile 0. */
struct point {
	long arg[KM_PARAMS]; /* in the order of workload.params */
	enum profile profile;
	unsigned path_n; /* iterations by path; 0: no row by path */
	enum place place;
	int cold; /* the first call in a fresh process */
};

/* A workload's few rows, written where it is defined: KM_POINTS({ .profile = QUICK, .path_n = 50 }). */
#define KM_POINTS(...) ((const struct point[]){ __VA_ARGS__, { .profile = 0 } })

/* What one iteration claims to do in the measuring process; the meter counts what really happened. */
struct claim {
	double syscalls;      /* system calls of any kind */
	double reads, writes; /* read- and write-class calls, with reaped children's */
	double faults;        /* page faults without I/O, with reaped children's */
	double switches;      /* voluntary context switches */
	double children;      /* processes created and reaped */
	/* Switches, voluntary or not; 0 is no claim here, since others cause them too. Of two processes on one CPU, a
	 * woken one may take it at once, or when the other one waits. */
	double any_switches;
};

struct km;

/* A row's revision is the sum of this and its workload's own. This one rises when the way of measuring changes for all
 * rows, a workload's when its definition does: figures of two revisions are not compared. */
#define KM_REVISION 2

struct workload {
	const char *name;              /* family/name */
	unsigned revision;             /* its own, 0 at first */
	const char *per;               /* one operation, in words: "call", "round trip" */
	enum unit unit;                /* of the figure by time, UNIT_NS if not set; by path: instructions per op */
	enum by only;                  /* the one way in which it has a meaning, if not BY_EITHER */
	const char *source;            /* paper and table, as in the catalogue */
	const char *what;              /* the definition, one line */
	const char *inside;            /* what the timed region contains */
	const char *subtracts;         /* what `baseline` is, in words; NULL: clock and loop only */
	int figure_less_baseline;      /* the figure is net of it; otherwise it is shown beside */
	unsigned needs;                /* CAP_*: missing ones make every row unsupported */
	unsigned settings;             /* SET_*: what its figure depends on besides the kernel */
	const char *params[KM_PARAMS]; /* names, lower case; NULL ends them */
	const char *curve;       /* the parameter along which its rows form curves, the others fixed; NULL: none */
	const char *guest_needs; /* the program that its rows need in a guest ("busybox", "tcc"); or NULL */
	const struct point *points;

	/* Makes its state; may set km->ops, km->bytes and km->claim; outside every timed region. Calls km_unsupported()
	 * with the reason where this platform cannot do it. */
	void *(*setup)(struct km *);
	void (*run)(void *state, uint64_t n);      /* timed: n iterations, nothing else */
	void (*baseline)(void *state, uint64_t n); /* what is subtracted or shown beside, timed likewise */
	void (*prepare)(void *state, uint64_t n);  /* before each sample of n iterations, untimed; or NULL */
	void (*settle)(void *state, uint64_t n);   /* after each sample, untimed; or NULL */
	/* Instead of run, for work that no single process can time (exec): calls km_begin and km_end itself and
	 * returns the difference, for n iterations. With UNIT_COUNT: returns the count, of one iteration. */
	uint64_t (*self_timed)(void *state, uint64_t n);
	void (*verify)(void *state, uint64_t n); /* n: all iterations; km_fail if the work is wrong */
	struct {
		size_t at;      /* of a uint64_t in the state, which must be the number of all iterations */
		const char *of; /* what it counts, in words; NULL: no such number */
	} counted;
	/* Ends peers, checks how they ended, and restores what this process's exit does not; or NULL. */
	void (*teardown)(void *state);
	uint64_t max_batch; /* iterations per sample at most; 0: no limit */
};

/* What a workload may read and set. */
struct km {
	const struct workload *workload;
	const struct point *point;
	const long *arg; /* point->arg */
	const char *row; /* its full name */
	enum by by;
	size_t page;           /* bytes */
	const char *self;      /* path of this program, NULL if not known */
	double ops;            /* operations per iteration, 1 unless set */
	double bytes;          /* bytes moved by one operation; UNIT_BYTES_PER_S needs it */
	struct claim claim;    /* per iteration; NO_CLAIM unless set */
	struct engine *engine; /* private */
};

/* Ends this run with an error line with the row and the cause; a peer's error reaches the parent through a pipe. */
void km_fail(struct km *, const char *format, ...) KM_NORETURN KM_PRINTF(2, 3);
/* The same, with the call's name and errno: km_fail_call(km, "fork") prints "fork: EAGAIN (Resource ...)". */
void km_fail_call(struct km *, const char *call) KM_NORETURN;
/* Ends this run, from setup only, with the reason why this platform cannot do it. */
void km_unsupported(struct km *, const char *format, ...) KM_NORETURN KM_PRINTF(2, 3);
/* A remark that belongs to the figure: `code` is a short constant word, the rest a sentence. */
void km_warn(struct km *, const char *code, const char *format, ...) KM_PRINTF(3, 4);

/* Memory that setup needs: never NULL, zeroed. It lasts as long as the process; a sample frees its own by km_free. */
void *km_alloc(struct km *, size_t bytes);
void km_free(void *);
/* The same for a workload's state, whose first member is `struct km *km`: that is set. */
void *km_state(struct km *, size_t bytes);
/* area.c: memory of a working set: page-aligned, untouched, in ordinary (never huge) pages if possible. Never NULL. */
void *km_area(struct km *, size_t bytes);
/* The same in huge pages; the row is unsupported, with the reason, where the system has none. For setup. */
void *km_area_huge(struct km *, size_t bytes);
/* The sum of all machine words, each by its own load, KM_SUM_WORDS of them unrolled: `bytes` is a multiple. */
#define KM_SUM_WORDS 8
unsigned long km_sum(const void *, size_t bytes);
/* The same by the widest loads, KM_SUM_WORDS of km_wide unrolled. Without `forward` it loads the first ones again and
 * again: as many loads by the same instructions, all of them near. */
unsigned long km_sum_wide(const void *, size_t bytes, int forward);
/* A path inside this run's temporary directory, into `to` of KM_PATH bytes; returns `to`. */
#define KM_PATH 1024
char *km_path(struct km *, char *to, const char *name);
/* Makes that directory the current one, or km_fail: the depth of a name relative to it costs nothing. */
void km_enter(struct km *);
/* The next number of this run's generator, which every run reseeds: no row's work depends on what ran before. */
uint64_t km_random(struct km *);
/* Scatters a counter over all 64 bits. */
uint64_t km_mix(uint64_t);
int km_ascending(const void *, const void *); /* clock.c: for qsort of uint64_t */

/* Starts a peer process that runs body(km, state) and exits 0; placed as the row says. Never returns an error: it ends
 * the run. What kills the peer becomes the run's error: a parent that finds its pipe closed need only call km_fail. */
long km_peer(struct km *, void (*body)(struct km *, void *), void *state);
/* In a peer: lets it, and what it starts, run on every CPU that the probe may use, as the scheduler decides. */
void km_all_cpus(struct km *);
/* Waits two seconds at most for that peer to exit with 0; otherwise km_fail. */
void km_peer_end(struct km *, long pid);
int km_wait(struct km *, long pid); /* for that child, however long it takes: its status; or km_fail */

/* watch.c: for processes that wait for each other by a call that does not return when the other one dies. km_watch
 * before km_peer, km_watch_parent first thing in the peer: then a waiting call fails with EINTR when the other one has
 * exited, and a peer whose parent has exited exits too. km_watch_end before the peers are told to exit. */
void km_watch(struct km *);
void km_watch_parent(struct km *);
void km_watch_end(struct km *);
void km_watch_look(struct km *); /* km_fail if a peer has exited */
/* After a failed call: km_fail, unless a signal other than a peer's end interrupted it; then the caller repeats it. */
void km_interrupted(struct km *, const char *call);
/* Sets this process's handler of a signal, or km_fail; `flags` are those of sigaction. */
void km_handle(struct km *, int number, void (*handler)(int), int flags);
/* Starts a keeper of something that the kernel keeps when all its users have died. The keeper makes it by make(), and
 * calls discard(id) once this process and its peers have exited; it is in a session of its own, so that no signal to
 * the run's group reaches it. Returns the id, or -1 with make's errno. Call it before km_peer. */
struct km_keeper {
	int alive; /* a pipe's end, open in all processes but the keeper */
	long pid;
};
int km_keep(struct km *, struct km_keeper *, int (*make)(void), int (*discard)(int id));
void km_keep_end(struct km *, struct km_keeper *); /* discards it now, or km_fail */
/* Pins the calling thread as km_peer would place the first peer. */
void km_place_thread(struct km *);
/* After a failed request of setup: km_unsupported if errno means that the system lacks it, otherwise km_fail_call. */
void km_lacking(struct km *, const char *call) KM_NORETURN;

/* For self_timed only: the marker, then the clock (begin); the clock, then the marker (end). */
uint64_t km_begin(struct km *);
uint64_t km_end(struct km *);
/* The same in a program that a self-timed workload executes; it has no struct km, and receives these three. */
unsigned km_region(struct km *);
const char *km_clock_name(struct km *);
uint64_t km_internal_begin(enum by, const char *clock, unsigned region);
uint64_t km_internal_end(enum by, const char *clock, unsigned region);
/* What main calls for `--internal execl`: the next link of proc/execl's chain. */
int proc_execl_main(int argc, char **argv);

/* The function that reads the clock of this name, in its own ticks; or the row is unsupported. For setup. */
uint64_t (*km_clock_read(struct km *, const char *name))(void);

/* They move all `n` bytes, or km_fail: pipes and files transfer in pieces, and EINTR does not end a transfer. */
void km_write_all(struct km *, int fd, const void *, size_t n);
void km_read_all(struct km *, int fd, void *, size_t n);

/* child.c: what several workloads' processes share. The low-level ones take no km: children that a workload forks
 * itself use them too, and must not end the run of the measuring process. */
void km_pipe(struct km *, int end[2]);      /* closed on exec; or km_fail */
void km_close(int *fd);                     /* closes it if open, and sets -1 */
int km_get(int fd, void *, size_t n);       /* 1: all of it; 0: the other side has exited; -1: errno */
int km_put(int fd, const void *, size_t n); /* the same */
/* In such a child: sends call and errno to `report`, a pipe made by km_pipe, and exits. Safe after vfork. */
void km_child_fail(int report, const char *call) KM_NORETURN;
/* In its parent: waits for it, and km_fail with what it sent to `report` unless it exited with 0. */
void km_child_wait(struct km *, long pid, int report);

/* Ends this run with the cause of a child's failure; the child has been waited for. */
void km_child_failed(struct km *, int status, int report) KM_NORETURN;

/* program.c: the system's programs, run in the run's directory with PATH, LC_ALL=C and TMPDIR as all environment. */
#define KM_WORDS 8
struct km_command {
	char file[KM_PATH];          /* what is executed */
	const char *words[KM_WORDS]; /* its arguments, argv[0] first */
	const char *in, *out; /* names in the run's directory, or NULL: /dev/null; its output is appended to `out` */
	char *environment[4];
	int report[2];
};
/* The path of the program of that name, of KM_PATH bytes; or the row is unsupported, with `advice`. For setup. */
void km_program(struct km *, char *to, const char *name, const char *advice);
void km_command_init(struct km *, struct km_command *, const char *path); /* NULL: the PATH of this process */
long km_command_start(struct km *, const struct km_command *);
/* Waits for it; km_fail, with the first line of its standard error, unless it exited with that status. */
void km_command_end(struct km *, const struct km_command *, long pid, int wanted);
int km_file_line(const char *path, char *to, size_t size); /* its first line; 0: there is none */
/* Whole files in the run's directory, or km_fail. The text read ends with a zero; km_free frees it. */
char *km_file_text(struct km *, const char *name, size_t *bytes);
void km_file_make(struct km *, const char *name, const char *text, size_t bytes);
void km_file_gone(struct km *, const char *name); /* removes it */

/* content.c: files whose bytes are a function of a seed and the offset: what was read is checked without a copy. */
#define KM_CONTENT_WORD 8
uint64_t km_content_word(uint64_t seed, uint64_t index); /* the 8 bytes at offset 8 * index */
/* The 4 bytes at this offset, a multiple of 4, as the processor loads them: every buffer has as many. */
uint32_t km_content_half(uint64_t seed, uint64_t offset);
void km_content_fill(void *to, size_t bytes, uint64_t seed, uint64_t offset); /* both in multiples of 8 */
/* km_fail, with the offset, unless these bytes (the first of them at `offset`) are that content's. */
void km_content_check(struct km *, const void *, size_t bytes, uint64_t seed, uint64_t offset);
/* km_fail unless a file of `blocks` blocks contains what `writes` writes of a block left, one after another and from
 * the start again after the last: in a block's first word the number of its last write, then the content of `seed`. A
 * block that was not written has the content of `before`. */
void km_content_overwritten(struct km *, int fd, size_t size, uint64_t blocks, uint64_t before, uint64_t seed,
			    uint64_t writes);
/* km_fail, with what is missing and a remedy, unless `files` more files of `bytes` each fit in the run's directory. */
void km_room(struct km *, unsigned files, uint64_t bytes);
/* A new file in the run's directory with that content, open for both, at its start, read before; or km_fail. */
int km_content_file(struct km *, const char *name, uint64_t seed, uint64_t bytes);
/* A read or write that did not move `wanted` bytes: km_fail, which tells a failed call from a short one. */
void km_moved(struct km *, const char *call, ssize_t moved, size_t wanted) KM_NORETURN;
void km_rewind(struct km *, int fd); /* to the file's start, or km_fail */
/* For files outside the kernel's cache. In setup: writes the file to its disk; km_unsupported where it cannot leave the
 * cache, or the platform cannot tell. Before each sample: drops the file from the cache, or km_fail. */
void km_uncached_setup(struct km *, int fd, uint64_t bytes);
void km_uncache(struct km *, int fd, uint64_t bytes);

/* fixed_time.c: for the fixed-time form of a workload, self-timed, with max_batch 1. An iteration is stated, not done:
 * one alarm period counts as `stated` operations. In setup; for one period of repeated run(state, 1). */
void km_fixed_time_setup(struct km *, double stated);
uint64_t km_fixed_time(struct km *, void (*run)(void *, uint64_t), void *state, const uint64_t *done, uint64_t n);

/* frame.c: the upper left part of the screen, drawn line by line, by write(2) or in the mapped frame buffer. Its former
 * content is restored at the end. Each of these calls works or ends the run. */
struct km_frame {
	struct km *km;
	int fd;
	struct km_fb fb;
	long width, height;      /* of what is drawn, pixels */
	unsigned char *map;      /* the frame buffer; NULL: by write */
	uint32_t *line, *before; /* a line to be written; the screen's former content */
	uint64_t drawn, checked; /* iterations so far; those at the last successful check */
	/* Makes line y of iteration k; and computes its pixel independently. */
	void (*make)(const struct km_frame *, uint64_t k, long y, uint32_t *to);
	uint32_t (*pixel)(const struct km_frame *, uint64_t k, long x, long y);
	void *more; /* the workload's */
};
int km_frame_device(struct km *, int how); /* the opened device; or the row is unsupported */
/* Sets all but make, pixel and more, and km's ops (a pixel each) and claim. Mapped if the workload needs CAP_MMAP. */
void km_frame_open(struct km_frame *, struct km *, long width, long height);
/* A new one of the row's width and height, opened: the state of a workload that needs no other. */
struct km_frame *km_frame_new(struct km *, void (*make)(const struct km_frame *, uint64_t k, long y, uint32_t *to),
			      uint32_t (*pixel)(const struct km_frame *, uint64_t k, long x, long y));
/* Functions for a workload whose state is a km_frame from km_alloc, or begins with one. */
void km_frame_draw(void *, uint64_t n);      /* n iterations */
void km_frame_only_make(void *, uint64_t n); /* the same lines, made in memory, not shown */
void km_frame_settle(void *, uint64_t n);    /* reads the last iteration back, pixel for pixel */
void km_frame_verify(void *, uint64_t n);    /* n iterations, the last one checked; or km_fail */
void km_frame_teardown(void *);              /* restores the screen */
void km_frame_put(struct km_frame *, long x, long y, const uint32_t *, long n); /* n pixels of a line */
void km_frame_get(struct km_frame *, long x, long y, uint32_t *, long n);
uint32_t km_frame_colour(const struct km_frame *, unsigned red, unsigned green, unsigned blue);
uint32_t km_frame_picture(const struct km_frame *, uint64_t k, long x, long y); /* its pixel; inverted for odd k */
extern const struct point km_frame_points[];                                    /* parameters: width, height */
/* Two workloads that draw with these alone: by write, and in the mapped frame buffer. `before`: what they do first. */
#define KM_FRAME_WORKLOADS(symbol, frame, by_write, mapped, before, its_setup)                                   \
	KM_FRAME_WORKLOAD(symbol, frame, by_write ", by write", CAP_FRAME_BUFFER, its_setup,                     \
			  before "a line made in memory and a pwrite for it, for each line");                    \
	KM_FRAME_WORKLOAD(symbol##_mmap, frame "-mmap", mapped "in the mapped frame buffer",                     \
			  CAP_FRAME_BUFFER | CAP_MMAP, its_setup,                                                \
			  before                                                                                 \
			  "for each line, its pixels made in the mapped frame buffer; page faults of the first " \
			  "touch and of a driver that watches for changes")
#define KM_FRAME_WORKLOAD(symbol, its_name, does, capabilities, its_setup, contains)                       \
	const struct workload symbol = {                                                                   \
		.name = its_name,                                                                          \
		.per = "pixel",                                                                            \
		.unit = UNIT_PER_S,                                                                        \
		.source = "L part I",                                                                      \
		.what = does,                                                                              \
		.inside = contains,                                                                        \
		.subtracts = "the same lines made in memory and not shown (shown beside, not subtracted)", \
		.needs = capabilities,                                                                     \
		.params = { "width", "height" },                                                           \
		.points = km_frame_points,                                                                 \
		.setup = its_setup,                                                                        \
		.run = km_frame_draw,                                                                      \
		.baseline = km_frame_only_make,                                                            \
		.settle = km_frame_settle,                                                                 \
		.verify = km_frame_verify,                                                                 \
		.teardown = km_frame_teardown                                                              \
	}

#endif
