/* report.c: texts for /proc, in Linux's words (proc(5)), and the exact counters. */
#include "core/report.h"
#include "abi/abi.h"
#include "abi/process.h"
#include "abi/time.h"
#include "core/checked.h"
#include "endpoints.h"
#include "structure.h"
#include "kernel_calls.h"
#include "core/log.h"
#include "core/memory.h"
#include "x86/cpu.h"
#include "x86/machine.h"

#define KIB 1024

extern const char trio_build[];

void task_times(struct task *t, uint64_t *user, uint64_t *system)
{
	uint64_t ticks = t->ticks_user + t->ticks_system;

	if (t == current)
		task_account(t);
	*system = MAX(ticks ? t->time / ticks * t->ticks_system : 0, t->told_system);
	*system = MIN(*system, t->time - t->told_user);
	*user = t->time - *system;
	t->told_system = *system;
	t->told_user = *user;
}

/* Stands for a task that has ended and was not waited for. */
static struct counters no_counters;
static struct task nobody = { .counters = &no_counters };

/* pm says who is stopped or a zombie; whether a task waits is known here. */
static char state_of(const struct task *t, const struct label *l)
{
	return l->state == 'R' && request_is_parked(t) ? 'S' : (char)l->state;
}

static void task_stat(struct text *out, struct task *t, const struct label *l)
{
	uint64_t user, system;

	task_times(t, &user, &system);
	text_add(out, "%u (%s) %c %u %u %u 0 -1 0 ", l->thread, l->name, state_of(t, l), l->parent, l->group,
		 l->session);
	text_add(out, "%lu 0 0 0 %lu %lu 0 0 ", t->counters->faults, user / NS_PER_TICK, system / NS_PER_TICK);
	text_add(out, "20 %d 1 0 0 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		 t->nice);
}

static void task_status(struct text *out, const struct task *t, const struct label *l)
{
	text_add(out, "Name:\t%s\nState:\t%c\nTgid:\t%u\nPid:\t%u\nPPid:\t%u\n", l->name, state_of(t, l), l->process,
		 l->thread, l->parent);
	text_add(out, "voluntary_ctxt_switches:\t%lu\nnonvoluntary_ctxt_switches:\t%lu\n",
		 t->counters->switches_voluntary, t->counters->switches_involuntary);
}

uint64_t counters_reads(const struct counters *c)
{
	return c->calls[CALL_VFS_READ] + c->calls[CALL_VFS_PREAD];
}

uint64_t counters_writes(const struct counters *c)
{
	return c->calls[CALL_VFS_WRITE] + c->calls[CALL_VFS_PWRITE];
}

/* As Linux has them, with those of children that were waited for; of their bytes nobody keeps account. */
static void task_io(struct text *out, const struct task *t, const struct label *l)
{
	text_add(out, "syscr: %lu\nsyscw: %lu\n", counters_reads(t->counters) + l->reads,
		 counters_writes(t->counters) + l->writes);
}

static int64_t give(const struct text *out, struct grant to)
{
	uint64_t n = MIN(out->length, to.length);

	return copy_out(to, 0, out->to, n) != 0 ? -EFAULT : (int64_t)n;
}

/* One text at a time is made. */
static char buffer[16384];

int64_t kernel_call_task_report(uint32_t task, uint32_t kind, struct grant to)
{
	struct text out = { buffer, sizeof buffer, 0 };
	const struct label *l;
	struct task *t;

	if (task >= TASKS || labels[task].process == 0)
		return -ESRCH;
	l = &labels[task];
	t = tasks[task] ? tasks[task] : &nobody;
	switch (kind) {
	case 0:
		task_stat(&out, t, l);
		break;
	case 1:
		task_status(&out, t, l);
		break;
	case 2:
		text_add(&out, "%s\n", l->name);
		break;
	case 3:
		if (!COUNTING)
			return -EINVAL;
		task_io(&out, t, l);
		break;
	case 4:
		text_add(&out, "%lu 0 %lu\n", t->time,
			 t->counters->switches_voluntary + t->counters->switches_involuntary);
		break;
	default:
		return -EINVAL;
	}
	return give(&out, to);
}

static struct counters all_counters(void)
{
	struct counters sum = counters_of_others;

	for (uint32_t i = 0; i < TASKS; i++)
		if (tasks[i])
			counters_add(&sum, tasks[i]->counters);
	if (SERVERS)
		servers_count(&sum);
	return sum;
}

static void machine_stat(struct text *out)
{
	struct counters sum = all_counters();
	uint64_t user = 0, system = 0, ready = 0;

	for (uint32_t i = 0; i < TASKS; i++) {
		uint64_t of_user, of_system;

		if (!tasks[i])
			continue;
		task_times(tasks[i], &of_user, &of_system);
		user += of_user;
		system += of_system;
		ready += tasks[i]->state == READY;
	}
	for (unsigned i = 0; i < 2; i++)
		text_add(out, "cpu%s %lu 0 %lu %lu 0 0 0 0 0 0\n", i ? "0" : " ", user / NS_PER_TICK,
			 system / NS_PER_TICK, (clock_now() - MIN(user + system, clock_now())) / NS_PER_TICK);
	text_add(out, "intr %lu\nctxt %lu\nbtime %lu\nprocesses %lu\nprocs_running %lu\nprocs_blocked 0\n",
		 sum.interrupts, sum.switches_voluntary + sum.switches_involuntary, 1735689600UL, tasks_made, ready);
}

static void machine_processor(struct text *out)
{
	uint32_t leaf[4], name[13] = { 0 };
	uint32_t vendor[4] = { 0 };

	cpu_id(0, 0, leaf);
	vendor[0] = leaf[1];
	vendor[1] = leaf[3];
	vendor[2] = leaf[2];
	for (uint32_t i = 0; i < 3; i++)
		cpu_id(0x80000002 + i, 0, &name[4 * i]);
	text_add(out, "processor\t: 0\nvendor_id\t: %s\nmodel name\t: %s\ncpu MHz\t\t: %lu.000\n", (char *)vendor,
		 (char *)name, clock_frequency() / 1000000);
	text_add(out, "cpu cores\t: 1\nfpu\t\t: yes\nflags\t\t: fpu tsc msr cx8 cmov fxsr sse sse2 syscall nx lm\n\n");
}

int64_t kernel_call_machine_report(uint32_t kind, struct grant to)
{
	struct text out = { buffer, sizeof buffer, 0 };
	uint64_t free = frames_free() * (PAGE / KIB), total = frames_total() * (PAGE / KIB), up = clock_now();
	uint64_t available = frames_unpromised() * (PAGE / KIB), promised = frames_promised() * (PAGE / KIB);

	switch (kind) {
	case 0:
		machine_stat(&out);
		break;
	case 1:
		text_add(&out, "MemTotal: %14lu kB\nMemFree: %15lu kB\nMemAvailable: %10lu kB\nBuffers: %15u kB\n",
			 total, free, available, 0);
		text_add(&out,
			 "Cached: %16u kB\nShmem: %17u kB\nSReclaimable: %10u kB\nSwapTotal: %13u kB\nSwapFree: %14u "
			 "kB\n",
			 0, 0, 0, 0, 0);
		text_add(&out, "CommitLimit: %11lu kB\nCommitted_AS: %10lu kB\n", promised + available, promised);
		break;
	case 2:
		machine_processor(&out);
		break;
	case 3:
		text_add(&out, "%lu.%02lu %lu.%02lu\n", up / NS_PER_SECOND, up % NS_PER_SECOND / NS_PER_TICK,
			 idle_time() / NS_PER_SECOND, idle_time() % NS_PER_SECOND / NS_PER_TICK);
		break;
	case 4:
		text_add(&out, "0.00 0.00 0.00 1/1 1\n");
		break;
	case 5:
		text_add(&out, "%s\n", trio_build);
		break;
	case 6:
		text_add(&out, "all: %lu\n", all_counters().interrupts);
		break;
	case 7:
		text_add(&out, "%s\n", names_of_system.node);
		break;
	case 8:
		text_add(&out, "%s\n", names_of_system.system);
		break;
	case 9:
		text_add(&out, "%s\n", names_of_system.release);
		break;
	case 10:
		text_add(&out, "%s\n", names_of_system.domain);
		break;
	default:
		return -EINVAL;
	}
	return give(&out, to);
}

/* In the order of struct counters. */
static const char *const counter_names[] = {
	"traps.system_calls",
	"traps.faults",
	"traps.interrupts",
	"traps.servers",
	"faults.kernel",
	"faults.refused",
	"faults.paged",
	"switches.voluntary",
	"switches.involuntary",
	"switches.direct",
	"switches.address_space",
	"messages.calls",
	"messages.replies",
	"messages.notifications",
	"bytes.messages",
	"bytes.in",
	"bytes.out",
};
_Static_assert(sizeof counter_names / sizeof *counter_names == offsetof(struct counters, calls) / sizeof(uint64_t),
	       "each counter has a name");

int64_t kernel_call_counters_report(uint32_t task, struct grant to)
{
	struct counters sum = all_counters();
	struct text out = { buffer, sizeof buffer, 0 };

	if (task < TASKS && !tasks[task])
		return -ESRCH;
	if (task < TASKS)
		sum = *tasks[task]->counters;
	text_add(&out, "free_pages %lu\npromised_pages %lu\ntotal_pages %lu\ncounting %u\n", frames_free(),
		 frames_promised(), frames_total(), COUNTING);
#ifdef TRIO_CHECKED
	text_add(&out, "stack.task %lu\nstack.first %lu\n", stack_depths().task, stack_depths().first);
#endif
	if (!COUNTING)
		return give(&out, to);
	for (unsigned i = 0; i < COUNT_OF(counter_names); i++)
		text_add(&out, "%s %lu\n", counter_names[i], ((const uint64_t *)&sum)[i]);
	text_add(&out, "faults.%s %lu\nswitches.queued %lu\n",
		 SERVERS && endpoints[ENDPOINT_VM].domain ? "message" : "procedure",
		 sum.faults - sum.faults_kernel - sum.faults_refused - sum.faults_paged,
		 sum.switches_voluntary + sum.switches_involuntary);
	for (unsigned i = 0; i < CALLS; i++)
		if (sum.calls[i])
			text_add(&out, "calls.%s %lu\n", call_names[i], sum.calls[i]);
	return give(&out, to);
}
