/* procfs.h: what the directories and the texts of /proc share. */
#ifndef TRIO_VFS_PROCFS_H
#define TRIO_VFS_PROCFS_H

#include "text.h"
#include "vfs_internal.h"

struct proc_thing;
/* Makes the text of a file. */
typedef void proc_maker(const struct proc_thing *n, struct text *t);

/* What stands in /proc, or in each process's directory. */
struct proc_entry {
	const char *name;
	/* Of the entry that is its directory. */
	uint16_t directory;
	/* Pages that the text may have: a power of two. */
	uint16_t pages;
	uint32_t mode;
	proc_maker *text;
	/* For text_line: all that is in it. */
	const char *line;
};

/* What a node of /proc stands for. */
struct proc_thing {
	const struct proc_entry *entry;
	/* In a process's or a thread's directory: the task, and its number (a process's is its first thread's), by
	 * which it is known that it is still the same; else 0. */
	uint32_t task, number;
	/* A descriptor's link. */
	int32_t fd;
};

/* text.c */
/* What the kernel knows of a task, where it has not left. */
struct task_numbers {
	/* Nanoseconds. */
	uint64_t user, system;
	uint64_t faults, voluntary, involuntary, reads, writes;
	/* As /proc tells it. */
	char state;
};
struct task_numbers task_numbers(uint32_t task);

/* machine.c: at the service's start. */
void names_start(void);
proc_maker machine_stat, machine_memory, machine_processor, machine_uptime, machine_build, machine_counters,
	machine_services;
/* names/mounts.c */
proc_maker mounts_text;

/* text.c: the directories first, these. */
enum {
	PROC_ROOT,
	PROC_PROCESS,
	PROC_FDS,
	PROC_TASKS,
	PROC_SYS,
	PROC_SYS_KERNEL,
	PROC_SYS_RANDOM,
	PROC_SYS_VM,
	PROC_TRIO,
	PROC_FD,
	PROC_THREAD
};
extern const struct proc_entry proc_entries[];
extern const unsigned proc_entry_count;

#endif
