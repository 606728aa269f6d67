/* engine.h: what the probe's own files share. A workload includes km.h alone. */
#ifndef KM_ENGINE_H
#define KM_ENGINE_H

#include "km.h"

#define KM_FORMAT 1 /* of the output; results/model.py has its history */
#define KM_VERSION "0.1.5"
#define MAX_SAMPLES 4096
#define MAX_CPUS 1024

#define N_DISKS 2    /* kinds of disks that rows may need: see disk.c */
#define N_PROGRAMS 4 /* programs that a guest may lack */
#define MAX_REGIONS 2048

/* What a process does for a row. By time a row is calibrated once, counted once, and timed many times; each sample of a
 * cold row is a process too. By path there is one TIME, which also counts. */
enum role { DEFINE = 0, CALIBRATE = 1, COUNT = 2, TIME = 4, COLD = 8 };

struct options {
	enum by by;
	enum profile profile;
	unsigned phases; /* by time: CALIBRATE | COUNT | TIME */
	long runs, first_run, block;
	double seconds;    /* of sampling in one run of one row */
	double budget;     /* seconds of the whole call, which further timed runs fill; 0: no further runs */
	double half_width; /* ends a row's further runs: its relative 95 % half-width between runs is below */
	long samples;      /* at most, in one run */
	uint64_t seed;
	const char *dir; /* where temporary directories go */
	struct {         /* a directory on a disk of each kind, or why there is none; or neither */
		const char *dir, *why_not;
	} disk[N_DISKS];
	const char *no_program[N_PROGRAMS]; /* NAME=REASON: why a guest lacks a program */
	int nno_program;
	long cpu;                   /* to pin to; -1: the last one allowed */
	long batch, baseline_batch; /* 0: calibrated */
	const char *batches;        /* ID=N[/M],…: for the rows with these ids, in place of `batch`; or NULL */
	const char *clock;
	char **rows; /* names and patterns; none: the whole profile */
	int nrows;
	char **command; /* after --; NULL if there is none */
	int list, json, continues;
};

/* registry.c, rows.c ----------------------------------------------------------------------------------------- */
extern const struct workload *const registry[]; /* NULL ends it */
#define ROW_NAME 160
struct row {
	const struct workload *workload;
	const struct point *point;
	unsigned id; /* of its region; even, from 2; its baseline has the next */
	char name[ROW_NAME];
};
/* All rows in the registry's order; `*n` of them. Valid as long as the program runs. */
const struct row *registry_rows(size_t *n);
/* Finds the row of this name without the others, in a hundredth of the time and memory; NULL: there is none. */
const struct row *registry_row(const char *name);
/* Whether the row is selected: by its name, its workload's name (in this profile), or a pattern. */
int row_selected(const struct row *, const struct options *);
int workload_is_by(const struct workload *, enum by); /* whether it has a meaning by time or path */
/* Why this row cannot run here by time or path; NULL if it can, provided its disk, display and program are there. */
const char *row_unsupported(const struct row *, enum by);
const char *unit_name(enum unit);
/* The value of --batch: N[/M], or ID=N[/M],… with the ids of rows. 0, or -1 for a word that is neither. */
int batch_option(struct options *, const char *word);
/* The batch that the options set for this row and its baseline; 0: to be calibrated. */
void row_batch(const struct row *, const struct options *, long *op, long *baseline);

/* platform.c ------------------------------------------------------------------------------------------------- */
unsigned platform_capabilities(void);                /* CAP_* that this platform has */
const char *platform_capability(unsigned number);    /* their names, from 0; NULL ends them */
const char *platform_missing(unsigned capabilities); /* the first missing one, as a sentence */
const char *platform_self(const char *argv0);        /* this program's path, or NULL */
int platform_allowed_cpus(int cpus[MAX_CPUS]);       /* how many; 0: unknown */
int platform_online_cpus(void);
int platform_pin(int cpu); /* 0, or -1 with errno */
/* Makes this process (0) or a child the leader of a process group of its own, where the platform allows that. */
void platform_lead_group(pid_t);
int platform_allow(const int *cpus, int n); /* to run on any of these: 0, or -1 with errno */
int platform_current_cpu(void);             /* -1: unknown */
void platform_die_with_parent(void);        /* where the platform can do that */
void platform_cpu_model(char *to, size_t n);
const char *platform_name(void);
/* Whoever started this program may have left it too little: raises the soft limits to what rows need, up to the hard
 * ones. And a call that the kernel lacks fails, without the signal that some kernels send. */
void platform_prepare(void);
/* platform_system.c: what the system tells about itself and this program. */
void platform_libc(char *to, size_t n);              /* "musl 1.2.3", "glibc 2.36"; "unknown" */
const char *platform_linkage(void);                  /* "static", "dynamic", "unknown" */
const char *platform_setting_name(unsigned setting); /* of one SET_*; NULL: no such bit */
/* Its value, "" if unknown; `dir` is the directory for temporary files. */
void platform_setting(unsigned setting, const char *dir, char *to, size_t n);
/* How close two CPUs are: "sibling" (threads of a core), "same-cache", "same-package", "other-package"; "unknown". */
const char *platform_cpu_relation(int cpu, int other);
const char *errno_name(int);

/* clock.c ---------------------------------------------------------------------------------------------------- */
struct clock_source {
	const char *name;
	uint64_t (*read)(void);  /* ns, or ticks for those with ns_per_tick */
	double ns_per_tick;      /* 1 unless it is a counter; 0 until measured */
	const char *unsupported; /* why this platform lacks it; or NULL */
	double resolution_ns;    /* smallest step seen by clock_measure */
	double cost_ns;          /* of one read */
};
struct clock_source *clock_table(size_t *n);
struct clock_source *clock_find(const char *name); /* NULL: no such clock here */
const char *clock_default(void);                   /* the first supported one that measures time */
/* Measures its resolution, rate (counters) and cost; `thorough` for the header, otherwise in a few milliseconds. */
void clock_measure(struct clock_source *, int thorough);
uint64_t clock_cycles(void); /* plain; by path: the count of instructions */
uint64_t clock_wall(void);   /* ns, for deadlines */

/* marker.c --------------------------------------------------------------------------------------------------- */
void mark_begin(unsigned region);
void mark_end(unsigned region);
int mark_ready(char *room); /* -1 on a processor without markers */
#if KM_TOUCH_CODE
void touch_markers(void); /* so that no marker is where a page faults */
#else
#define touch_markers() ((void)0)
#endif

/* wait.c ----------------------------------------------------------------------------------------------------- */
int wait_for_command(void); /* executes it, or returns an exit status */

/* meter.c ---------------------------------------------------------------------------------------------------- */
/* What happened in timed samples, in the measuring process; -1: unknown. */
struct happened {
	double faults, major_faults, switches, involuntary, reads, writes;
};
/* What disturbed a whole run; -1: unknown. */
struct disturbance {
	double wall_ns, cpu_ns, run_delay_ns, steal_ns, tick_ns, others_busy;
};
struct meter;
/* `self_cpu`, `peer_cpu`: whose load is the probe's own; -1: unknown. `counts`: also count what happened, which
 * perturbs; otherwise a sample's involuntary switches and CPU alone are read, and nothing stays open. */
struct meter *meter_new(int self_cpu, int peer_cpu, int counts);
void meter_run_begin(struct meter *); /* forgets what it counted before */
void meter_sample_begin(struct meter *);
void meter_sample_end(struct meter *);             /* adds to the totals */
long meter_last_involuntary(const struct meter *); /* in the last sample */
int meter_last_migrated(const struct meter *);
void meter_run_end(struct meter *);
const struct happened *meter_happened(struct meter *); /* after the last sample: it may sleep */
const struct disturbance *meter_disturbance(const struct meter *);

/* counters.c: instructions and cycles, user and kernel, in the samples of a counting run --------------------- */
#define N_COUNTERS 4
extern const char *const counter_names[N_COUNTERS];
/* Why they cannot be opened here: call and errno; "" if they can. Leaves none open: that would slow the measurement. */
const char *counters_missing(void);
void counters_open(void); /* where possible; otherwise the others do nothing */
void counters_on(void);
void counters_off(void);
/* Counts of `intervals` from on to off, less what the switching itself counts; 1 if they counted all the time. */
int counters_read(double values[N_COUNTERS], uint64_t intervals);

/* tally.c: what the kernel itself counts in single iterations of a row (by path, where it tells) ---------------- */
void tally_row(struct engine *, void *state); /* after the timed iterations */
void tally_emit(const struct engine *);       /* nothing, where there is nothing */

/* emit.c ----------------------------------------------------------------------------------------------------- */
extern unsigned long emitted_lines; /* by this process; the end marker tells how many, so that a reader misses none */
#define KM_OUTPUT_LOST 3            /* exit status of a run whose records were not all written */
void emit_or_die(void);             /* from now on this process exits with that status where its stdout failed */
/* Numbers as text, right whatever the libc: not each prints 64 bits, or a double. */
#define DECIMAL 21
#define NUMBER 48
const char *decimal_text(char to[DECIMAL], uint64_t);
const char *number_text(char to[NUMBER], int digits, double); /* which is finite */
struct json {
	FILE *to;
	int first;
};
void json_begin(struct json *, FILE *, const char *type); /* opens a record, "type" first */
void json_end(struct json *);                             /* closes it, ends the line, flushes */
void json_key(struct json *, const char *);
void json_open(struct json *, const char *key, char bracket); /* key NULL: inside an array */
void json_close(struct json *, char bracket);
void json_string(struct json *, const char *key, const char *value);
void json_integer(struct json *, const char *key, int64_t);
void json_unsigned(struct json *, const char *key, uint64_t);
void json_number(struct json *, const char *key, double); /* not finite: null */
void json_error(FILE *, const char *row, long run, long block, const char *text, const char *call, const char *error);
void json_unsupported(FILE *, const char *row, const char *reason);
void json_integers(struct json *, const char *key, const uint64_t *, size_t n);

/* describe.c: header and registry, as records and as text ------------------------------------------------------ */
void emit_params(struct json *, const struct row *);
void emit_header(FILE *, const struct options *);
void emit_workload(FILE *, const struct workload *, const struct options *);
void print_list(FILE *, const struct options *);

/* run.c: one run of one row, in its own process --------------------------------------------------------------- */
/* What a run tells the driver besides its records, after them and behind a zero byte, which no record contains. A run
 * that exits with 0 and does not tell it has found its row unsupported. */
struct outcome {
	long batch, baseline_batch; /* of a calibration: iterations of a sample */
	double middle;              /* the median of its samples, overhead included: it shows how much runs differ */
};
struct engine {
	const struct options *o;
	const struct row *row;
	long run;
	char dir[KM_PATH]; /* this run's temporary folder */
	uint64_t random;
	int report[2]; /* peers' pipe: the cause of death */
	int in_peer;
	int cpu, peer_cpu; /* -1: not pinned */
	int cpus[MAX_CPUS], ncpus;
	int npeers;
	int in_setup;
	int nwarnings;
	struct {
		char code[32];
		char text[256];
	} warnings[8];
	struct clock_source *clock;
	struct km km;
	uint64_t done; /* iterations of run, calibration included */
};
/* Does what the role says, verifies, prints one record (COLD: its figure, a decimal number); returns the status. */
int run_row(const struct options *, enum role, const struct row *, long run, const char *dir);

/* spawn.c ---------------------------------------------------------------------------------------------------- */
const char *role_name(enum role);
/* A new process that does this for a row, with `out` as its stdout: this program again, or, where its path is unknown,
 * a fork that calls `here`. The process id, or -1. */
long spawn(const struct options *, enum role, const struct row *, long run, const char *dir, int out,
	   int (*here)(const struct options *, enum role, const struct row *, long, const char *));

/* schedule.c: which rows are timed again --------------------------------------------------------------------- */
struct pace { /* of one row; zeroed at first */
	unsigned long runs;
	double mean, squares; /* of the runs' figures: sum of squared deviations */
	double seconds;       /* spent on it */
	int over;             /* no further runs */
};
void pace_add(struct pace *, double figure, double seconds);
double pace_half_width(const struct pace *); /* relative, 95 %, between runs; 1 if unknown */
/* Stores the numbers of the rows of the next round in `chosen` and returns how many; 0: no further round. `share`:
 * seconds that each row may take before others need more; `left`: of the whole budget. */
size_t next_round(const struct pace *, size_t n, double half_width, double share, double left, size_t *chosen);

/* sample.c -------------------------------------------------------------------------------------------- */
struct series { /* samples of one thing */
	uint64_t batch;
	size_t n;
	uint64_t *value; /* clock ticks; converted to ns when a clock counts otherwise */
};
struct measured {
	struct series op, loop, baseline;
	uint64_t loop_every; /* samples of op between two of loop; 0: those of loop come last */
	uint64_t clock_cost[64];
	size_t nclock_cost;
	const char *stopped;
	uint64_t iterations; /* timed ones of op */
	struct {
		uint64_t sample;
		long switches;
	} involuntary[MAX_SAMPLES];
	size_t ninvoluntary;
	uint64_t migrated[MAX_SAMPLES];
	size_t nmigrated;
};
/* n iterations between the engine's clock readings, with hooks and meter around it. By path it uses `region`. */
uint64_t measure_once(struct engine *, struct meter *, void *state, uint64_t n, int baseline);
void measure_clock_cost(struct engine *, struct measured *); /* by time: two reads with nothing between */
void measure_bracket(struct engine *, struct measured *);    /* by path: an empty region, into r->loop */
/* The empty loop beside the samples shows the core's state: another program on it, its frequency. Sample i lies between
 * loop readings i / every and i / every + 1, the last of which ends the samples; a baseline's samples continue. */
uint64_t loop_first(struct engine *, struct measured *); /* its time, ns; 0: this probe has no loop */
/* Sets how often, by the time of the first reading and the first sample; 0: never, the clock is too coarse. */
void loop_every(const struct engine *, struct measured *, uint64_t loop, uint64_t sample);
void loop_beside(struct engine *, struct measured *, const struct series *samples, int last); /* if one is due */
void calibrate_row(struct engine *, void *state, struct measured *); /* by time: stores each series' batch alone */
/* By time: samples of calibrated batches; COUNT omits clock, loop and baseline. */
void sample_row(struct engine *, struct meter *, void *state, struct measured *, enum role);
void path_row(struct engine *, struct meter *, void *state, struct measured *);
void series_add(struct engine *, struct series *, uint64_t value);
void note_disturbance(struct measured *, const struct meter *);

/* driver.c ---------------------------------------------------------------------------------------------------- */
int drive(const struct options *); /* the exit status */

/* display.c: the driver of the frame buffer, for the rows that name one ------------------------------------------ */
const char *display_needed(const struct row *); /* "bochs-drm", "vesafb"; NULL: any, or none */
/* Why the frame buffer here does not serve this row; NULL if it does, or if the row needs none. */
const char *display_missing(const struct row *);

/* disk.c: directories on disks with a certain file system, for the rows that need one -------------------------- */
const char *disk_needed(const struct row *); /* its kind, "ext4" or "minix"; NULL: any file system */
/* KIND=DIR; with `gives` 0, KIND=REASON why there is none. 0, or -1 for a word that is neither. */
int disk_option(struct options *, const char *word, int gives);
const char *disk_missing(const struct options *, const struct row *); /* why its disk is missing; or NULL */
#define FOLDERS (1 + N_DISKS)
struct folders { /* this call's temporary directories: in --dir, and on each disk; "" until made */
	char path[FOLDERS][KM_PATH];
};
/* The one for this row (NULL: that in --dir), made at the first use; or NULL, and the cause in `why`. */
const char *disk_folder(struct folders *, const struct options *, const struct row *, char *why, size_t size);

/* program.c: programs that rows run --------------------------------------------------------------------------- */
int program_option(struct options *, const char *word); /* NAME=REASON: 0, or -1 for another word, or too many */
const char *program_missing(const struct options *, const struct row *); /* why its program is missing; or NULL */

/* command.c: `-- COMMAND` as rows cmd/NAME ------------------------------------------------------------------- */
int run_command(const struct options *);

#endif
