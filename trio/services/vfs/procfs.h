/* procfs.h: what the folders and the texts of /proc share. */
#ifndef TRIO_VFS_PROCFS_H
#define TRIO_VFS_PROCFS_H

#include "handlers.h"
#include "io.h"

struct proc_node;
/* Makes the text of a node. */
typedef void proc_maker(const struct proc_node *n, struct text *t);

/* What stands in /proc, or in each process's folder. */
struct proc_entry {
	const char *name;
	/* Of the entry that is its folder. */
	uint16_t folder;
	/* Pages that the text may have: a power of two. */
	uint16_t pages;
	uint32_t mode;
	proc_maker *text;
	/* Of `text`: which of those it makes. */
	uint32_t kind;
};

struct proc_node {
	struct node node;
	const struct proc_entry *entry;
	/* In a process's folder: its task, and its number, by which it is known that it is still the same. In a
	 * thread's: the thread's too, else 0. */
	uint32_t task, process, thread;
	/* A descriptor's link. */
	int32_t fd;
};

/* Lasts as long as an open file. Made at a read from position 0, so that reads by pieces agree. */
struct proc_text {
	struct text text;
	uint16_t pages;
};

static inline struct proc_node *proc_node_of(struct node *n)
{
	return CONTAINER(n, struct proc_node, node);
}

/* The task is of the node's process, and the node's thread where it has one. */
static inline bool proc_is_thread(const struct proc_node *n, uint32_t task)
{
	return vfs.tasks[task].process == n->process && (n->thread == 0 || vfs.tasks[task].thread == n->thread);
}

/* The process of a node is still there. */
static inline bool proc_is_alive(const struct proc_node *n)
{
	return n->process == 0 || proc_is_thread(n, n->task);
}

/* Nothing is left of it but its name. */
static inline bool proc_is_zombie(const struct proc_node *n)
{
	return n->process != 0 && vfs.tasks[n->task].descriptors == NULL;
}

/* procfs.c: a node, held once; what all nodes of /proc can do. `like`: one of the same process, whose owner it has,
 * and of the same descriptor; NULL for the root. */
int64_t proc_make(struct mount *m, const struct proc_entry *e, const struct proc_node *like, struct node **out);
void proc_forget(struct node *n);
int64_t proc_name(struct node *node, char *to, struct node **folder);

/* procfs_links.c */
extern const struct node_operations proc_self_nodes, proc_jump_nodes;

/* procfs_text.c */
extern const struct file_operations proc_text_files;
int64_t proc_text_open(struct node *n, struct file *f);
/* What the kernel knows of a task, where it has not left. */
struct task_numbers {
	/* Nanoseconds. */
	uint64_t user, system;
	uint64_t faults, voluntary, involuntary, reads, writes;
	/* As /proc tells it. */
	char state;
};
struct task_numbers task_numbers(uint32_t task);

/* machine.c */
proc_maker machine_stat, machine_memory, machine_processor, machine_uptime, machine_load, machine_build;
proc_maker machine_interrupts, machine_name, machine_counters;

/* procfs_text.c: the folders first, these. */
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
