/* machine.c: uname and sysinfo, and texts of /proc about the machine in Linux's format (proc(5)), with the exact
 * counters that the kernel reports. */
#include "abi/process.h"
#include "call_names.h"
#include "kernel.h"
#include "numbers.h"
#include "proc/procfs.h"
#include "text.h"

#define KIB_PER_PAGE (PAGE / 1024)

static struct machine_numbers machine(void)
{
	struct machine_numbers m = { 0 };

	kernel_machine(grant_write(&m, sizeof m));
	return m;
}

/* The counters of a task, or their sum if `task` is TASKS. Valid until the next call. */
static const struct counters *counters_of(uint32_t task)
{
	static struct counters c;

	memset(&c, 0, sizeof c);
	kernel_counters(task, grant_write(&c, sizeof c));
	return &c;
}

/* Names ------------------------------------------------------------------------------------------------------------ */

void names_start(void)
{
	struct machine_numbers m = machine();

	vfs.names = (struct linux_utsname){ .system = "Trio", .node = "trio", .machine = "x86_64", .domain = "(none)" };
	memcpy(vfs.names.release, m.build.release, UTSNAME_BYTES - 1);
	memcpy(vfs.names.version, m.build.text, UTSNAME_BYTES - 1);
}

verdict vfs_uname(struct request *r, struct grant to)
{
	return answer(r, copy_out(to, 0, &vfs.names, sizeof vfs.names));
}

verdict vfs_set_name(struct request *r, uint32_t which, struct grant name)
{
	char new[UTSNAME_BYTES] = { 0 };

	if (vfs.tasks[r->task].user != 0)
		return refuse(r, EPERM);
	if (name.length >= sizeof new)
		return refuse(r, EINVAL);
	TRY_OR_WAIT(r, copy_in(new, name, 0, name.length));
	memcpy(which == 0 ? vfs.names.node : vfs.names.domain, new, sizeof new);
	return answer(r, 0);
}

verdict vfs_sysinfo(struct request *r, struct grant to)
{
	struct machine_numbers m = machine();
	struct linux_sysinfo info = {
		.uptime = (int64_t)(now() / NS_PER_SECOND), .total = m.frames, .free = m.free, .unit = PAGE
	};

	for (uint32_t i = 0; i < TASKS; i++)
		info.processes = (uint16_t)(info.processes + (vfs.tasks[i].descriptors != NULL));
	return answer(r, copy_out(to, 0, &info, sizeof info));
}

void machine_build(const struct proc_thing *n, struct text *t)
{
	text_add(t, "%s\n", machine().build.text);
}

/* Time, memory, processor ------------------------------------------------------------------------------------------ */

void machine_stat(const struct proc_thing *n, struct text *t)
{
	const struct counters *sum = counters_of(TASKS);
	uint64_t user = 0, system = 0, running = 0;

	for (uint32_t i = 0; i < TASKS; i++) {
		struct task_numbers task = task_numbers(i);

		user += task.user;
		system += task.system;
		running += task.state == 'R';
	}
	for (unsigned i = 0; i < 2; i++)
		text_add(t, "cpu%s %lu 0 %lu %lu 0 0 0 0 0 0\n", i ? "0" : " ", user / NS_PER_TICK,
			 system / NS_PER_TICK, (now() - MIN(user + system, now())) / NS_PER_TICK);
	text_add(t, "intr %lu\nctxt %lu\nbtime %lu\nprocesses %lu\nprocs_running %lu\nprocs_blocked 0\n",
		 sum->interrupts, sum->switches_voluntary + sum->switches_involuntary,
		 (uint64_t)vfs.epoch / NS_PER_SECOND, machine().tasks_made, running);
}

void machine_memory(const struct proc_thing *n, struct text *t)
{
	struct machine_numbers m = machine();

	text_add(t, "MemTotal: %14lu kB\nMemFree: %15lu kB\nMemAvailable: %10lu kB\nBuffers: %15u kB\n",
		 m.frames * KIB_PER_PAGE, m.free * KIB_PER_PAGE, m.unpromised * KIB_PER_PAGE, 0);
	text_add(t, "Cached: %16u kB\nShmem: %17u kB\nSReclaimable: %10u kB\nSwapTotal: %13u kB\nSwapFree: %14u kB\n",
		 0, 0, 0, 0, 0);
	text_add(t, "CommitLimit: %11lu kB\nCommitted_AS: %10lu kB\n", (m.promised + m.unpromised) * KIB_PER_PAGE,
		 m.promised * KIB_PER_PAGE);
}

static void processor_id(uint32_t leaf, uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	__asm__("cpuid" : "=a"(*a), "=b"(*b), "=c"(*c), "=d"(*d) : "0"(leaf), "2"(0));
}

void machine_processor(const struct proc_thing *n, struct text *t)
{
	uint32_t most, vendor[4] = { 0 }, name[13] = { 0 };

	processor_id(0, &most, &vendor[0], &vendor[2], &vendor[1]);
	for (uint32_t i = 0; i < 3; i++)
		processor_id(0x80000002 + i, &name[4 * i], &name[4 * i + 1], &name[4 * i + 2], &name[4 * i + 3]);
	text_add(t, "processor\t: 0\nvendor_id\t: %s\nmodel name\t: %s\ncpu MHz\t\t: %lu.000\n", (char *)vendor,
		 (char *)name, machine().frequency / 1000000);
	text_add(t, "cpu cores\t: 1\nfpu\t\t: yes\nflags\t\t: fpu tsc msr cx8 cmov fxsr sse sse2 syscall nx lm\n\n");
}

void machine_uptime(const struct proc_thing *n, struct text *t)
{
	nanoseconds times[] = { now(), machine().idle };

	for (unsigned i = 0; i < 2; i++)
		text_add(t, "%lu.%02lu%c", times[i] / NS_PER_SECOND, times[i] % NS_PER_SECOND / NS_PER_TICK,
			 i ? '\n' : ' ');
}

/* Services that are processes: the state of each, how often it was started, how many nanoseconds after its last end the
 * next process was ready, and how many calls had to wait for that. */
void machine_services(const struct proc_thing *n, struct text *t)
{
	static const char *const lives[] = { [SERVER_RUNS] = "runs", [SERVER_ENDED] = "ended", [SERVER_LOST] = "lost" };
	struct server_numbers server;
	int64_t result;

	for (uint32_t number = 1; (result = kernel_server(number, grant_write(&server, sizeof server))) != -ESRCH;
	     number++)
		if (result == 0)
			text_add(t, "%s %s starts %u pause %lu waited %lu\n", server.name, lives[server.life],
				 server.starts, server.pause, server.calls_waited);
}

/* Counters --------------------------------------------------------------------------------------------------------- */

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
	"copies.bytes",
	"copies.strings",
#if PARKING_COUNTED
	"parked.times",
	"parked.work",
#endif
};
_Static_assert(COUNT_OF(counter_names) == offsetof(struct counters, calls) / sizeof(uint64_t),
	       "each counter has a name");

/* Numbers have a fixed width, so that each reading adds the same to `bytes.out`. */
void machine_counters(const struct proc_thing *n, struct text *t)
{
	const struct counters *c = counters_of(n->entry->directory == PROC_TRIO ? TASKS : n->task);
	struct machine_numbers m = machine();

	text_add(t, "free_pages %12lu\npromised_pages %12lu\ntotal_pages %12lu\ncounting %u\n", m.free, m.promised,
		 m.frames, COUNTING);
	if (m.stack_task)
		text_add(t, "stack.task %lu\nstack.first %lu\n", m.stack_task, m.stack_first);
	if (!COUNTING)
		return;
	for (unsigned i = 0; i < COUNT_OF(counter_names); i++)
		text_add(t, "%s %12lu\n", counter_names[i], ((const uint64_t *)c)[i]);
	text_add(t, "faults.%s %12lu\nswitches.queued %12lu\n", m.vm_is_asked_by_message ? "message" : "procedure",
		 c->faults - c->faults_kernel - c->faults_refused - c->faults_paged,
		 c->switches_voluntary + c->switches_involuntary);
	for (unsigned i = 0; i < CALLS; i++)
		if (c->calls[i])
			text_add(t, "calls.%s %12lu\n", call_names[i], c->calls[i]);
}
