/* text.c: the table of the files of /proc, and texts about processes. */
#include "abi/process.h"
#include "abi/semaphore.h"
#include "clock.h"
#include "kernel.h"
#include "numbers.h"
#include "proc/procfs.h"
#include "text.h"
#include "vm.h"

#define FOLDER (S_IFDIR | 0555)
#define FILE (S_IFREG | 0444)
#define LINK (S_IFLNK | 0777)

struct task_numbers task_numbers(uint32_t task)
{
	const struct task_files *t = &vfs.tasks[task];
	struct task_numbers n = { .state = t->state };
	uint32_t waits = 0;

	if (t->descriptors == NULL)
		return n;
	kernel_task_usage(task, &n.user, &n.system, &n.faults, &n.voluntary, &n.involuntary);
	kernel_task_calls(task, &n.reads, &n.writes, &waits);
	if (waits && n.state == 'R')
		n.state = 'S';
	return n;
}

static void text_stat(const struct proc_thing *n, struct text *t)
{
	const struct task_files *task = &vfs.tasks[n->task];
	struct task_numbers numbers = task_numbers(n->task);
	uint64_t pages = 0, resident = 0, peak = 0;

	(void)vm_usage(n->task, &pages, &resident, &peak);
	text_add(t, "%u (%s) %c %u %u %u 0 -1 0 %lu 0 0 0 %lu %lu 0 0 20 %d 1 0 0 %lu %lu 18446744073709551615",
		 task->thread, task->name, numbers.state, task->parent, task->process_group, task->session,
		 numbers.faults, numbers.user / NS_PER_TICK, numbers.system / NS_PER_TICK, task->nice, pages * PAGE,
		 resident);
	text_add(t, " 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
}

static void text_status(const struct proc_thing *n, struct text *t)
{
	const struct task_files *task = &vfs.tasks[n->task];
	struct task_numbers numbers = task_numbers(n->task);
	uint64_t pages = 0, resident = 0, peak = 0;

	(void)vm_usage(n->task, &pages, &resident, &peak);
	text_add(t, "Name:\t%s\nState:\t%c\nTgid:\t%u\nPid:\t%u\nPPid:\t%u\n", task->name, numbers.state, task->process,
		 task->thread, task->parent);
	text_add(t, "voluntary_ctxt_switches:\t%lu\nnonvoluntary_ctxt_switches:\t%lu\n", numbers.voluntary,
		 numbers.involuntary);
	text_add(t, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\n", task->real_user, task->user, task->user, task->user,
		 task->real_group, task->group, task->group, task->group);
	if (task->descriptors == NULL)
		return;
	text_add(t, "FDSize:\t%u\nVmPeak:\t%8lu kB\nVmSize:\t%8lu kB\nVmRSS:\t%8lu kB\n", task->descriptors->size,
		 peak * (PAGE / 1024), pages * (PAGE / 1024), resident * (PAGE / 1024));
}

static void text_name(const struct proc_thing *n, struct text *t)
{
	text_add(t, "%s\n", vfs.tasks[n->task].name);
}

/* Includes children that were waited for, as on Linux. Bytes are not counted. */
static void text_io(const struct proc_thing *n, struct text *t)
{
	const struct task_files *task = &vfs.tasks[n->task];
	struct task_numbers numbers = task_numbers(n->task);

	if (COUNTING)
		text_add(t, "syscr: %lu\nsyscw: %lu\n", numbers.reads + task->reads, numbers.writes + task->writes);
}

static void text_schedule(const struct proc_thing *n, struct text *t)
{
	struct task_numbers numbers = task_numbers(n->task);

	text_add(t, "%lu 0 %lu\n", numbers.user + numbers.system, numbers.voluntary + numbers.involuntary);
}

static void text_command(const struct proc_thing *n, struct text *t)
{
	const struct command *c = vfs.tasks[n->task].command;

	if (c == NULL)
		return;
	t->length = MIN(c->length, t->size);
	memcpy(t->to, c->text, t->length);
}

static void text_memory(const struct proc_thing *n, struct text *t)
{
	uint32_t what = strcmp(n->entry->name, "statm") == 0 ? VM_REPORT_STATM : VM_REPORT_MAPS;
	int64_t got;

	while ((got = vm_report(n->task, what, t->length, grant_write(t->to + t->length, t->size - t->length))) > 0)
		t->length += (size_t)got;
}

static void text_file_systems(const struct proc_thing *n, struct text *t)
{
	text_add(t, "nodev\t%s\nnodev\t%s\nnodev\t%s\nnodev\t%s\n\t%s\n", tmpfs.name, device_file_system.name,
		 proc_file_system.name, empty_file_system.name, disk_file_system.name);
}

/* A random UUID (version 4), one for each boot or each time a new one. */
static void text_uuid(const struct proc_thing *n, struct text *t)
{
	uint8_t id[16];

	if (strcmp(n->entry->name, "boot_id") == 0)
		memcpy(id, vfs.boot_id, sizeof id);
	else
		clock_random(grant_write(id, sizeof id));
	id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
	id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
	for (unsigned i = 0; i < sizeof id; i++)
		text_add(t, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id[i]);
	text_add(t, "\n");
}

static void text_line(const struct proc_thing *n, struct text *t)
{
	text_add(t, "%s\n", n->entry->line);
}

/* Semaphores of a set, semaphores in all, operations of a call, sets. */
static void text_semaphores(const struct proc_thing *n, struct text *t)
{
	text_add(t, "%u\t%u\t%u\t%u\n", SEMMSL, SEMMNS, SEMOPM, SEMMNI);
}

const struct proc_entry proc_entries[] = {
	[PROC_ROOT] = { "", PROC_ROOT, 0, FOLDER, NULL, NULL },
	/* The names of this, of PROC_FD and of PROC_THREAD are numbers. */
	[PROC_PROCESS] = { "", PROC_ROOT, 0, FOLDER, NULL, NULL },
	[PROC_FDS] = { "fd", PROC_PROCESS, 0, S_IFDIR | 0500, NULL, NULL },
	[PROC_TASKS] = { "task", PROC_PROCESS, 0, FOLDER, NULL, NULL },
	[PROC_SYS] = { "sys", PROC_ROOT, 0, FOLDER, NULL, NULL },
	[PROC_SYS_KERNEL] = { "kernel", PROC_SYS, 0, FOLDER, NULL, NULL },
	[PROC_SYS_RANDOM] = { "random", PROC_SYS_KERNEL, 0, FOLDER, NULL, NULL },
	[PROC_SYS_VM] = { "vm", PROC_SYS, 0, FOLDER, NULL, NULL },
	[PROC_TRIO] = { "trio", PROC_ROOT, 0, FOLDER, NULL, NULL },
	[PROC_FD] = { "", PROC_FDS, 0, S_IFLNK | 0700, NULL, NULL },
	/* It has the texts of PROC_PROCESS. */
	[PROC_THREAD] = { "", PROC_TASKS, 0, FOLDER, NULL, NULL },

	{ "self", PROC_ROOT, 0, LINK, NULL, NULL },
	{ "stat", PROC_ROOT, 1, FILE, machine_stat, NULL },
	{ "meminfo", PROC_ROOT, 1, FILE, machine_memory, NULL },
	{ "cpuinfo", PROC_ROOT, 1, FILE, machine_processor, NULL },
	{ "uptime", PROC_ROOT, 1, FILE, machine_uptime, NULL },
	{ "loadavg", PROC_ROOT, 1, FILE, text_line, "0.00 0.00 0.00 1/1 1" },
	{ "version", PROC_ROOT, 1, FILE, machine_build, NULL },
	{ "mounts", PROC_ROOT, 2, FILE, mounts_text, NULL },
	{ "filesystems", PROC_ROOT, 1, FILE, text_file_systems, NULL },
	{ "counters", PROC_TRIO, 4, FILE, machine_counters, NULL },
	{ "services", PROC_TRIO, 1, FILE, machine_services, NULL },
	{ "build", PROC_TRIO, 1, FILE, machine_build, NULL },
	{ "hostname", PROC_SYS_KERNEL, 1, FILE, text_line, vfs.names.node },
	{ "ostype", PROC_SYS_KERNEL, 1, FILE, text_line, vfs.names.system },
	{ "osrelease", PROC_SYS_KERNEL, 1, FILE, text_line, vfs.names.release },
	{ "domainname", PROC_SYS_KERNEL, 1, FILE, text_line, vfs.names.domain },
	{ "sem", PROC_SYS_KERNEL, 1, FILE, text_semaphores, NULL },
	{ "pid_max", PROC_SYS_KERNEL, 1, FILE, text_line, "32768" },
	{ "boot_id", PROC_SYS_RANDOM, 1, FILE, text_uuid, NULL },
	{ "uuid", PROC_SYS_RANDOM, 1, FILE, text_uuid, NULL },
	/* 2: no more memory is promised than there is. */
	{ "overcommit_memory", PROC_SYS_VM, 1, FILE, text_line, "2" },

	{ "stat", PROC_PROCESS, 1, FILE, text_stat, NULL },
	{ "status", PROC_PROCESS, 1, FILE, text_status, NULL },
	{ "comm", PROC_PROCESS, 1, FILE, text_name, NULL },
	{ "io", PROC_PROCESS, 1, FILE, text_io, NULL },
	{ "schedstat", PROC_PROCESS, 1, FILE, text_schedule, NULL },
	{ "cmdline", PROC_PROCESS, 2, FILE, text_command, NULL },
	{ "maps", PROC_PROCESS, 16, FILE, text_memory, NULL },
	{ "statm", PROC_PROCESS, 1, FILE, text_memory, NULL },
	{ "mounts", PROC_PROCESS, 2, FILE, mounts_text, NULL },
	{ "trio_counters", PROC_PROCESS, 4, FILE, machine_counters, NULL },
	{ "exe", PROC_PROCESS, 0, LINK, NULL, NULL },
	{ "cwd", PROC_PROCESS, 0, LINK, NULL, NULL },
	{ "root", PROC_PROCESS, 0, LINK, NULL, NULL },
};
const unsigned proc_entry_count = COUNT_OF(proc_entries);
