/* procfs.c: the directories and links of /proc. Links lead to the reader's own directory or stand for a node: a
 * process's program, directories and descriptors. Each lookup makes a node, which lives while it is held. */
#include "files/files.h"
#include "names/names.h"
#include "pipes/pipe.h"
#include "proc/procfs.h"
#include "terminals/tty.h"
#include "text.h"
#include "tmpfs/tmpfs.h"

#define PROC_MAGIC 0x9fa0

struct proc_node {
	struct node node;
	struct proc_thing is;
	/* The node's directory, held; NULL for the root. */
	struct node *directory;
};

static const struct node_operations proc_nodes;
static const struct file_operations proc_directory_files, proc_text_files;

static const struct proc_thing *thing_of(struct node *n)
{
	return &CONTAINER(n, struct proc_node, node)->is;
}

/* Whether the process or thread still exists. */
static bool is_alive(const struct proc_thing *n)
{
	return n->number == 0 || vfs.tasks[n->task].thread == n->number;
}

/* The process's open file at a descriptor; NULL: there is none, or the process is a zombie. */
static struct file *file_in(const struct proc_thing *n, int32_t fd)
{
	return is_alive(n) && vfs.tasks[n->task].descriptors != NULL ? file_of(n->task, fd) : NULL;
}

/* The same at each lookup, because programs compare them. */
static uint64_t inode_of(const struct proc_thing *n)
{
	uint64_t inode = ((uint64_t)n->number << 20) + (uint64_t)(n->entry - proc_entries) + 1;

	return n->entry == &proc_entries[PROC_FD] ? inode + ((uint64_t)(n->fd + 1) << 8) : inode;
}

/* Writes the entry's name to `to`, of NAME_MAX bytes. Returns its length. */
static size_t name_of(const struct proc_thing *n, char *to)
{
	struct text t = { to, NAME_MAX, 0 };

	if (n->entry->name[0] != '\0')
		text_add(&t, "%s", n->entry->name);
	else if (n->entry == &proc_entries[PROC_FD])
		text_add(&t, "%d", n->fd);
	else
		text_add(&t, "%u", n->number);
	return t.length;
}

static int64_t proc_make(struct mount *m, struct node *directory, const struct proc_thing *is, struct node **out)
{
	const struct task_files *t = &vfs.tasks[is->task];
	struct file_attributes as = { .mode = is->entry->mode,
				      .owner = is->number == 0 ? 0 : t->user,
				      .group = is->number == 0 ? 0 : t->group };
	struct proc_node *n = heap_allocate(sizeof *n);

	if (n == NULL)
		return -ENOMEM;
	node_begin(&n->node, m, &as);
	n->node.operations = &proc_nodes;
	n->node.files = S_ISDIR(as.mode) ? &proc_directory_files : &proc_text_files;
	n->node.inode = inode_of(is);
	n->is = *is;
	n->directory = directory == NULL ? NULL : node_hold(directory);
	*out = &n->node;
	return 0;
}

/* Frees the node, and its directories if nobody else holds them. */
static void proc_forget(struct node *node)
{
	do {
		struct proc_node *n = CONTAINER(node, struct proc_node, node);

		node = n->directory;
		heap_free(n, sizeof *n);
	} while (node != NULL && --node->references == 0);
}

/* Directories ------------------------------------------------------------------------------------------------------ */

/* Positions in a directory: `.` and `..`, the table's entries, then tasks or descriptors by number. */
#define DOTS 2
#define PLACES (DOTS + proc_entry_count + DESCRIPTORS_MOST)

/* A thread's directory has the texts of its process's. */
static bool is_in(const struct proc_entry *e, const struct proc_entry *directory)
{
	if (directory == &proc_entries[PROC_THREAD])
		return e->directory == PROC_PROCESS && S_ISREG(e->mode);
	return e->name[0] != '\0' && &proc_entries[e->directory] == directory;
}

/* Finds what is at a position behind the dots. Returns false if there is nothing. */
static bool thing_at(const struct proc_thing *directory, uint64_t place, struct proc_thing *out)
{
	uint32_t number = (uint32_t)(place - DOTS - proc_entry_count);
	const struct task_files *t = &vfs.tasks[MIN(number, TASKS)];

	*out = *directory;
	if (place < DOTS + proc_entry_count) {
		out->entry = &proc_entries[place - DOTS];
		return is_in(out->entry, directory->entry);
	}
	if (directory->entry == &proc_entries[PROC_FDS]) {
		out->entry = &proc_entries[PROC_FD];
		out->fd = (int32_t)number;
		return file_in(directory, out->fd) != NULL;
	}
	out->task = number;
	out->number = t->thread;
	if (directory->entry == &proc_entries[PROC_TASKS]) {
		out->entry = &proc_entries[PROC_THREAD];
		return t->process == directory->number;
	}
	out->entry = &proc_entries[PROC_PROCESS];
	return directory->entry == &proc_entries[PROC_ROOT] && t->process != 0 && t->thread == t->process;
}

static int64_t proc_lookup(struct node *directory, const char *name, size_t length, struct node **out)
{
	const struct proc_thing *in = thing_of(directory);
	struct proc_thing is;
	char here[NAME_MAX];

	for (uint64_t place = DOTS; is_alive(in) && place < PLACES; place++)
		if (thing_at(in, place, &is) && name_of(&is, here) == length && memcmp(here, name, length) == 0)
			return proc_make(directory->mount, directory, &is, out);
	return -ENOENT;
}

static int64_t proc_parent(struct node *node, struct node **out)
{
	*out = node_hold(CONTAINER(node, struct proc_node, node)->directory);
	return 0;
}

static int64_t proc_name(struct node *node, char *to, struct node **directory)
{
	TRY(proc_parent(node, directory));
	return (int64_t)name_of(thing_of(node), to);
}

static int64_t proc_list(struct file *f, struct grant to)
{
	const struct proc_thing *n = thing_of(f->node);
	char name[NAME_MAX];
	int64_t result = 0;
	uint64_t at = 0;

	if (!is_alive(n))
		return -ENOENT;
	while (result == 0 && f->position < PLACES) {
		struct proc_thing is = f->position == 0 ? *n : *thing_of(f->node->mount->root);

		if (f->position < DOTS)
			result = entry_put(f, to, &at, inode_of(&is), is.entry->mode, "..", f->position + 1);
		else if (thing_at(n, f->position, &is))
			result = entry_put(f, to, &at, inode_of(&is), is.entry->mode, name, name_of(&is, name));
		else
			f->position++;
	}
	return at > 0 ? (int64_t)at : result;
}

/* Links ------------------------------------------------------------------------------------------------------------ */

/* What a process's link stands for, not held: a node, and for a descriptor the file, which may have no node. */
static int64_t link_target(const struct proc_thing *n, struct node **out, struct file **file)
{
	const struct task_files *t = &vfs.tasks[n->task];

	if (!is_alive(n) || t->descriptors == NULL)
		return -ENOENT;
	*file = n->entry == &proc_entries[PROC_FD] ? file_of(n->task, n->fd) : NULL;
	if (n->entry == &proc_entries[PROC_FD])
		*out = *file == NULL ? NULL : (*file)->node;
	else if (n->entry->name[0] == 'e')
		*out = t->program;
	else
		*out = n->entry->name[0] == 'c' ? t->directories->current : t->directories->root;
	return *out == NULL && *file == NULL ? -ENOENT : 0;
}

static int64_t proc_follow(struct node *link, struct node **out)
{
	struct proc_thing is = *thing_of(link);
	struct file *f;

	/* self: the first thread has the process's number, even as a zombie. */
	if (is.entry->directory == PROC_ROOT) {
		is.entry = &proc_entries[PROC_PROCESS];
		is.number = vfs.tasks[vfs.walker].process;
		for (is.task = 0; is.task < TASKS; is.task++)
			if (vfs.tasks[is.task].thread == is.number)
				return proc_make(link->mount, link->mount->root, &is, out);
		return -ENOENT;
	}
	TRY(link_target(&is, out, &f));
	if (*out != NULL) {
		node_hold(*out);
		return 0;
	}
	if (f->operations == &terminal_files)
		return terminal_node(out);
	if (f->operations != &pipe_files)
		return -ENXIO;
	/* A pipe can be opened again through a node of its own; proc_open finds the pipe. */
	TRY(proc_make(link->mount, CONTAINER(link, struct proc_node, node)->directory, &is, out));
	(*out)->mode = S_IFIFO | 0600;
	return 0;
}

static int64_t proc_readlink(struct node *link, char *to, size_t size)
{
	const struct proc_thing *n = thing_of(link);
	struct text t = { to, size, 0 };
	struct linux_stat is = { 0 };
	struct node *target;
	struct file *f;

	if (n->entry->directory == PROC_ROOT) {
		text_add(&t, "%u", vfs.tasks[vfs.walker].process);
		return (int64_t)t.length;
	}
	TRY(link_target(n, &target, &f));
	if (target != NULL)
		return path_of(vfs.tasks[vfs.walker].directories->root, target, "", to, size);
	if (f->operations->stat != NULL)
		f->operations->stat(f, &is);
	text_add(&t, f->operations->kind, is.inode);
	return (int64_t)t.length;
}

/* Open files ------------------------------------------------------------------------------------------------------- */

/* The memory for the text lives as long as the open file. */
static int64_t proc_open(struct node *node, struct file *f)
{
	const struct proc_thing *n = thing_of(node);
	uint64_t bytes = n->entry->pages * PAGE;
	const struct file *pipe;
	struct text *t;

	if (S_ISDIR(node->mode))
		return 0;
	if (S_ISFIFO(node->mode)) {
		pipe = file_in(n, n->fd);
		if (pipe == NULL || pipe->operations != &pipe_files)
			return -ENXIO;
		pipe_open(f, pipe->state);
		return 0;
	}
	if (file_writes(f))
		return -EACCES;
	t = heap_allocate(bytes);
	if (t == NULL)
		return -ENOMEM;
	*t = (struct text){ (char *)(t + 1), bytes - sizeof *t, 0 };
	f->state = t;
	return 0;
}

/* A read from position 0 makes the text, so that later reads continue the same one. */
static verdict proc_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	const struct proc_thing *n = thing_of(f->node);
	struct text *t = f->state;
	uint64_t bytes;

	if (!is_alive(n))
		return refuse(r, ESRCH);
	if (*at == 0) {
		t->length = 0;
		n->entry->text(n, t);
	}
	if (*at >= t->length)
		return answer(r, 0);
	bytes = MIN(to.length, t->length - *at);
	TRY_OR_WAIT(r, copy_out(to, 0, t->to + *at, bytes));
	*at += bytes;
	return answer(r, (int64_t)bytes);
}

static void proc_release(struct file *f)
{
	heap_free(f->state, thing_of(f->node)->entry->pages * PAGE);
}

/* The mount -------------------------------------------------------------------------------------------------------- */

static int64_t proc_mount(struct mount *m, const char *source, const char *options)
{
	return proc_make(m, NULL, &(struct proc_thing){ &proc_entries[PROC_ROOT] }, &m->root);
}

static int64_t proc_unmount(struct mount *m)
{
	node_drop(m->root);
	return 0;
}

static void proc_numbers(struct mount *m, struct linux_statfs *to)
{
	*to = (struct linux_statfs){ .type = PROC_MAGIC, .block_size = PAGE, .name_length = NAME_MAX };
}

static const struct file_operations proc_directory_files = { .entries = proc_list, .seek = seek_by_size };
static const struct file_operations proc_text_files = { .read = proc_read,
							.seek = seek_by_size,
							.release = proc_release };
static const struct node_operations proc_nodes = {
	.lookup = proc_lookup,
	.parent = proc_parent,
	.name = proc_name,
	.readlink = proc_readlink,
	.follow = proc_follow,
	.open = proc_open,
	.forget = proc_forget,
};
const struct file_system proc_file_system = {
	.name = "proc", .mount = proc_mount, .unmount = proc_unmount, .numbers = proc_numbers
};
