/* procfs.c: /proc as folders and links. A node lives while it is held; every lookup makes one. */
#include "devices.h"
#include "procfs.h"
#include "tmpfs.h"

#define PROC_MAGIC 0x9fa0

static const struct node_operations folder_nodes, text_nodes;
static const struct file_operations proc_folder_files;

static const struct node_operations *operations_of(const struct proc_entry *e)
{
	if (S_ISDIR(e->mode))
		return &folder_nodes;
	if (S_ISREG(e->mode))
		return &text_nodes;
	return e->folder == PROC_ROOT ? &proc_self_nodes : &proc_jump_nodes;
}

/* The same at each lookup: programs compare. `owner`: a thread or process. */
static uint64_t inode_of(const struct proc_entry *e, uint32_t owner, int64_t fd)
{
	uint64_t inode = ((uint64_t)owner << 20) + (uint64_t)(e - proc_entries) + 1;

	return e == &proc_entries[PROC_FD] ? inode + ((uint64_t)(fd + 1) << 8) : inode;
}

int64_t proc_make(struct mount *m, const struct proc_entry *e, const struct proc_node *like, struct node **out)
{
	struct file_attributes as = { .mode = e->mode };
	struct proc_node *n = vfs_take(sizeof *n);

	if (n == NULL)
		return -ENOMEM;
	if (like != NULL) {
		n->task = like->task;
		n->process = like->process;
		n->thread = like->thread;
		n->fd = like->fd;
	}
	if (n->process != 0) {
		as.owner = vfs.tasks[n->task].user;
		as.group = vfs.tasks[n->task].group;
	}
	node_begin(&n->node, m, &as);
	n->node.operations = operations_of(e);
	n->node.files = &proc_folder_files;
	n->node.inode = inode_of(e, n->thread != 0 ? n->thread : n->process, n->fd);
	n->entry = e;
	*out = &n->node;
	return 0;
}

void proc_forget(struct node *n)
{
	vfs_give(proc_node_of(n), sizeof(struct proc_node));
}

/* The number that a name is, or -1. */
static int64_t number_of(const char *name, size_t length)
{
	int64_t value = 0;

	if (length == 0 || length > 9 || (name[0] == '0' && length > 1))
		return -1;
	for (size_t i = 0; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return -1;
		value = value * 10 + (name[i] - '0');
	}
	return value;
}

/* The process's first task, which is a zombie where it has ended; TASKS: there is none. */
static uint32_t task_of(uint32_t process)
{
	uint32_t task = 0;

	while (task < TASKS && vfs.tasks[task].thread != process)
		task++;
	return task < TASKS && vfs.tasks[task].process == process ? task : TASKS;
}

/* What a folder names by numbers; PROC_ROOT: nothing. */
static uint32_t numbered_in(const struct proc_node *n)
{
	if (n->entry == &proc_entries[PROC_ROOT])
		return PROC_PROCESS;
	if (n->entry == &proc_entries[PROC_TASKS])
		return PROC_THREAD;
	return n->entry == &proc_entries[PROC_FDS] ? PROC_FD : PROC_ROOT;
}

static int64_t numbered_lookup(struct node *folder, int64_t number, struct node **out)
{
	struct proc_node like = *proc_node_of(folder);
	uint32_t entry = numbered_in(&like);

	if (entry == PROC_ROOT || number < 0 || (number == 0 && entry != PROC_FD))
		return -ENOENT;
	if (entry == PROC_PROCESS) {
		like.process = (uint32_t)number;
		like.task = task_of(like.process);
	} else if (entry == PROC_THREAD) {
		like.thread = (uint32_t)number;
		like.task = 0;
		while (like.task < TASKS && !proc_is_thread(&like, like.task))
			like.task++;
	} else {
		like.fd = (int32_t)number;
		if (proc_is_zombie(&like) || file_of(like.task, like.fd) == NULL)
			return -ENOENT;
	}
	return like.task == TASKS ? -ENOENT : proc_make(folder->mount, &proc_entries[entry], &like, out);
}

/* A thread's folder has the texts of its process's. */
static bool is_in(const struct proc_entry *e, const struct proc_node *folder)
{
	if (folder->entry == &proc_entries[PROC_THREAD])
		return e->folder == PROC_PROCESS && S_ISREG(e->mode);
	return e->name[0] != '\0' && &proc_entries[e->folder] == folder->entry;
}

static int64_t proc_lookup(struct node *folder, const char *name, size_t length, struct node **out)
{
	const struct proc_node *in = proc_node_of(folder);

	if (!proc_is_alive(in))
		return -ENOENT;
	for (unsigned i = 0; i < proc_entry_count; i++) {
		const struct proc_entry *e = &proc_entries[i];

		if (is_in(e, in) && strlen(e->name) == length && memcmp(e->name, name, length) == 0)
			return proc_make(folder->mount, e, in, out);
	}
	return numbered_lookup(folder, number_of(name, length), out);
}

static int64_t proc_parent(struct node *folder, struct node **out)
{
	const struct proc_node *n = proc_node_of(folder);
	struct proc_node of = *n;
	uint16_t above = n->entry->folder;

	if (n->entry == &proc_entries[PROC_THREAD]) {
		of.thread = 0;
		of.task = task_of(n->process);
		if (of.task == TASKS)
			return -ENOENT;
	} else if (n->thread != 0) {
		above = PROC_THREAD;
	}
	if (above != PROC_ROOT)
		return proc_make(folder->mount, &proc_entries[above], &of, out);
	*out = node_hold(folder->mount->root);
	return 0;
}

int64_t proc_name(struct node *node, char *to, struct node **folder)
{
	const struct proc_node *n = proc_node_of(node);
	struct text t = { to, NAME_MAX, 0 };

	TRY(proc_parent(node, folder));
	if (n->entry->name[0] != '\0')
		text_add(&t, "%s", n->entry->name);
	else if (n->entry == &proc_entries[PROC_FD])
		text_add(&t, "%d", n->fd);
	else
		text_add(&t, "%u", n->entry == &proc_entries[PROC_THREAD] ? n->thread : n->process);
	return (int64_t)t.length;
}

/* Entries of folders ----------------------------------------------------------------------------------------------- */

/* The number by which the folder names what is at place `i` of the table of tasks or descriptors; -1: nothing. */
static int64_t number_at(const struct proc_node *n, uint32_t i)
{
	const struct task_files *t = &vfs.tasks[i];

	if (n->entry == &proc_entries[PROC_FDS])
		return file_of(n->task, (int32_t)i) == NULL ? -1 : (int64_t)i;
	if (n->entry == &proc_entries[PROC_TASKS])
		return t->process == n->process ? (int64_t)t->thread : -1;
	return t->process != 0 && t->thread == t->process ? (int64_t)t->process : -1;
}

/* Positions: `.`, `..`, the table's entries, then tasks or descriptors by number. The next entry from `*position` on:
 * its name and number; false: there is none. */
static bool proc_next(const struct proc_node *n, uint64_t *position, char *name, uint64_t *inode, uint32_t *mode)
{
	const uint64_t numbers = 2 + proc_entry_count;
	const uint32_t entry = numbered_in(n), owner = n->thread != 0 ? n->thread : n->process;
	uint64_t most = entry == PROC_ROOT ? 0 : TASKS;
	struct text t = { name, NAME_MAX, 0 };
	int64_t number;

	if (entry == PROC_FD)
		most = proc_is_zombie(n) ? 0 : vfs.tasks[n->task].descriptors->size;
	memset(name, 0, 16);
	for (; *position < numbers; ++*position) {
		const struct proc_entry *e = &proc_entries[*position < 2 ? 0 : *position - 2];

		if (*position >= 2 && !is_in(e, n))
			continue;
		text_add(&t, "%s", *position == 0 ? "." : *position == 1 ? ".." : e->name);
		*inode = *position == 0 ? n->node.inode : inode_of(e, owner, 0);
		*mode = *position < 2 ? S_IFDIR : e->mode;
		name[t.length] = '\0';
		return true;
	}
	for (; *position - numbers < most; ++*position) {
		number = number_at(n, (uint32_t)(*position - numbers));
		if (number < 0)
			continue;
		text_add(&t, "%lu", (uint64_t)number);
		name[t.length] = '\0';
		*inode = inode_of(&proc_entries[entry], entry == PROC_FD ? owner : (uint32_t)number, number);
		*mode = proc_entries[entry].mode;
		return true;
	}
	return false;
}

static int64_t proc_list(struct file *f, struct grant to)
{
	const struct proc_node *n = proc_node_of(f->node);
	char name[NAME_MAX + 1];
	uint64_t at = 0, inode;
	uint32_t mode;

	if (!proc_is_alive(n))
		return -ENOENT;
	while (proc_next(n, &f->position, name, &inode, &mode)) {
		int64_t bytes = entry_put(to, at, inode, f->position + 1, mode, name, strlen(name));

		if (bytes < 0)
			return at > 0 ? (int64_t)at : bytes;
		at += (uint64_t)bytes;
		f->position++;
	}
	return (int64_t)at;
}

/* The mount -------------------------------------------------------------------------------------------------------- */

static int64_t proc_mount(struct mount *m, const char *source, const char *options)
{
	return proc_make(m, &proc_entries[PROC_ROOT], NULL, &m->root);
}

static int64_t proc_unmount(struct mount *m)
{
	node_drop(m->root);
	return 0;
}

static void proc_numbers(struct mount *m, struct file_system_numbers *to)
{
	*to = (struct file_system_numbers){ .type = PROC_MAGIC, .block_size = PAGE, .name_length = NAME_MAX };
}

static const struct file_operations proc_folder_files = { .entries = proc_list, .seek = seek_by_size };

static const struct node_operations folder_nodes = {
	.lookup = proc_lookup,
	.parent = proc_parent,
	.name = proc_name,
	.forget = proc_forget,
};
static const struct node_operations text_nodes = { .name = proc_name, .open = proc_text_open, .forget = proc_forget };
const struct file_system proc_file_system = {
	.name = "proc",
	.mount = proc_mount,
	.unmount = proc_unmount,
	.numbers = proc_numbers,
};
