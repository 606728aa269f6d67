/* procfs.h: what the directories and the texts of /proc share. */
#ifndef TRIO_VFS_PROCFS_H
#define TRIO_VFS_PROCFS_H

#include "text.h"
#include "vfs_internal.h"

struct proc_thing;
/* Makes the text of a file. */
typedef void proc_maker(const struct proc_thing *n, struct text *t);

/* An entry of /proc or of each process's directory. */
struct proc_entry {
	const char *name;
	/* The index of its directory's entry. */
	uint16_t directory;
	/* The most pages of its text, a power of two. */
	uint16_t pages;
	uint32_t mode;
	proc_maker *text;
	/* The text of text_line. */
	const char *line;
};

/* What a node of /proc stands for. */
struct proc_thing {
	const struct proc_entry *entry;
	/* In the directory of a process or thread: the task, and the thread's number, by which a reused task is
	 * recognised; otherwise 0. */
	uint32_t task, number;
	/* The descriptor of a descriptor's link. */
	int32_t fd;
};

/* text.c: what the kernel knows of a task that has not left. */
struct task_numbers {
	/* Nanoseconds. */
	uint64_t user, system;
	uint64_t faults, voluntary, involuntary, reads, writes;
	/* The letter that /proc shows. */
	char state;
};
struct task_numbers task_numbers(uint32_t task);

/* machine.c: names_start() is called at the service's start. */
void names_start(void);
proc_maker machine_stat, machine_memory, machine_processor, machine_uptime, machine_build, machine_counters,
	machine_services;
/* names/mounts.c */
proc_maker mounts_text;

/* Entries of text.c's table, the directories first. */
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
