/* procfs.c: /proc as folders and links. A node lives while it is held; every lookup makes one. */
#include "procfs.h"
#include "tmpfs.h"

#define PROC_MAGIC 0x9fa0

static const struct node_operations folder_nodes, text_nodes, link_nodes, jump_nodes, pipe_nodes;
static const struct file_operations proc_folder_files;

static const struct node_operations *operations_of(const struct proc_entry *e)
{
	if (S_ISDIR(e->mode))
		return &folder_nodes;
	if (S_ISREG(e->mode))
		return &text_nodes;
	return e->folder == PROC_ROOT ? &link_nodes : &jump_nodes;
}

/* `like`: a node of the same process, whose owner it has; NULL for the root. */
static int64_t proc_make(struct vfs *v, struct mount *m, const struct proc_entry *e, const struct proc_node *like,
			 struct proc_node **out)
{
	struct file_attributes as = { .mode = e->mode };
	struct proc_node *n = vfs_take(v, sizeof *n);

	if (n == NULL)
		return -ENOMEM;
	if (like != NULL) {
		n->task = like->task;
		n->process = like->process;
	}
	if (n->process != 0) {
		as.owner = v->tasks[n->task].user;
		as.group = v->tasks[n->task].group;
	}
	node_begin(v, &n->node, m, &as);
	n->node.operations = operations_of(e);
	n->node.files = &proc_folder_files;
	n->entry = e;
	/* The same at each lookup: programs compare. */
	n->node.inode = ((uint64_t)n->process << 20) + (uint64_t)(e - proc_entries) + 1;
	*out = n;
	return 0;
}

static void proc_forget(struct vfs *v, struct node *n)
{
	vfs_give(v, proc_node_of(n), sizeof(struct proc_node));
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
static uint32_t task_of(const struct vfs *v, uint32_t process)
{
	uint32_t task = 0;

	while (task < TASKS && v->tasks[task].thread != process)
		task++;
	return task < TASKS && v->tasks[task].process == process ? task : TASKS;
}

static int64_t process_lookup(struct vfs *v, struct node *root, int64_t process, struct node **out)
{
	uint32_t task = process <= 0 ? TASKS : task_of(v, (uint32_t)process);
	struct proc_node like = { .task = task, .process = (uint32_t)process };
	struct proc_node *n;
	int64_t error;

	if (task == TASKS)
		return -ENOENT;
	error = proc_make(v, root->mount, &proc_entries[PROC_PROCESS], &like, &n);
	if (error == 0)
		*out = &n->node;
	return error;
}

/* The process of a node is still there. */
static bool is_alive(const struct vfs *v, const struct proc_node *n)
{
	return n->process == 0 || v->tasks[n->task].process == n->process;
}

/* Nothing is left of it but its name. */
static bool is_zombie(const struct vfs *v, const struct proc_node *n)
{
	return n->process != 0 && v->tasks[n->task].descriptors == NULL;
}

static int64_t descriptor_lookup(struct vfs *v, struct node *folder, int64_t fd, struct node **out)
{
	struct proc_node *n;
	int64_t error;

	if (fd < 0 || is_zombie(v, proc_node_of(folder)) || file_of(v, proc_node_of(folder)->task, (int32_t)fd) == NULL)
		return -ENOENT;
	error = proc_make(v, folder->mount, &proc_entries[PROC_FD], proc_node_of(folder), &n);
	if (error != 0)
		return error;
	n->fd = (int32_t)fd;
	n->node.inode += (uint64_t)(fd + 1) << 8;
	*out = &n->node;
	return 0;
}

static bool is_in(const struct proc_entry *e, const struct proc_node *folder)
{
	return e->name[0] != '\0' && &proc_entries[e->folder] == folder->entry;
}

static int64_t proc_lookup(struct vfs *v, struct node *folder, const char *name, size_t length, struct node **out)
{
	const struct proc_node *in = proc_node_of(folder);
	struct proc_node *n;
	int64_t error;

	if (!is_alive(v, in))
		return -ENOENT;
	if (in->entry == &proc_entries[PROC_FDS])
		return descriptor_lookup(v, folder, number_of(name, length), out);
	for (unsigned i = 0; i < proc_entry_count; i++) {
		const struct proc_entry *e = &proc_entries[i];

		if (!is_in(e, in) || strlen(e->name) != length || memcmp(e->name, name, length) != 0)
			continue;
		error = proc_make(v, folder->mount, e, in, &n);
		if (error == 0)
			*out = &n->node;
		return error;
	}
	if (in->entry == &proc_entries[PROC_ROOT])
		return process_lookup(v, folder, number_of(name, length), out);
	return -ENOENT;
}

static int64_t proc_parent(struct vfs *v, struct node *folder, struct node **out)
{
	const struct proc_node *n = proc_node_of(folder);
	struct proc_node *up;
	int64_t error;

	if (n->entry->folder == PROC_ROOT) {
		*out = node_hold(folder->mount->root);
		return 0;
	}
	error = proc_make(v, folder->mount, &proc_entries[n->entry->folder], n, &up);
	if (error == 0)
		*out = &up->node;
	return error;
}

static int64_t proc_name(struct vfs *v, struct node *node, char *to, struct node **folder)
{
	const struct proc_node *n = proc_node_of(node);
	struct text t = { to, NAME_MAX, 0 };
	int64_t error = proc_parent(v, node, folder);

	if (error != 0)
		return error;
	if (n->entry == &proc_entries[PROC_PROCESS])
		text_add(&t, "%u", n->process);
	else if (n->entry == &proc_entries[PROC_FD])
		text_add(&t, "%d", n->fd);
	else
		text_add(&t, "%s", n->entry->name);
	return (int64_t)t.length;
}

/* Links ------------------------------------------------------------------------------------------------------------ */

static int64_t self_readlink(struct vfs *v, struct node *link, char *to, size_t size)
{
	struct text t = { to, size, 0 };

	(void)link;
	text_add(&t, "%u", v->tasks[v->walker].process);
	return (int64_t)t.length;
}

/* The node that a link of a process stands for, not held. */
static int64_t jump_target(struct vfs *v, const struct proc_node *n, struct node **out)
{
	const struct task_files *t = &v->tasks[n->task];
	const struct file *f;

	if (!is_alive(v, n) || is_zombie(v, n))
		return -ENOENT;
	if (n->entry == &proc_entries[PROC_FD]) {
		f = file_of(v, n->task, n->fd);
		*out = f == NULL ? NULL : f->node;
		return f == NULL ? -ENOENT : 0;
	}
	if (n->entry->name[0] == 'e')
		*out = t->program;
	else
		*out = n->entry->name[0] == 'c' ? t->folders->current : t->folders->root;
	return *out == NULL ? -ENOENT : 0;
}

/* A pipe at a descriptor can be opened again: by a node that looks for it there then. */
static int64_t pipe_follow(struct vfs *v, struct node *link, struct node **out)
{
	struct proc_node *n;
	int64_t error = proc_make(v, link->mount, &proc_entries[PROC_FD], proc_node_of(link), &n);

	if (error != 0)
		return error;
	n->fd = proc_node_of(link)->fd;
	n->node.operations = &pipe_nodes;
	n->node.mode = S_IFIFO | 0600;
	*out = &n->node;
	return 0;
}

static int64_t pipe_open(struct vfs *v, struct node *node, struct file *f)
{
	const struct proc_node *n = proc_node_of(node);
	const struct file *of = is_alive(v, n) && !is_zombie(v, n) ? file_of(v, n->task, n->fd) : NULL;

	if (of == NULL || !is_pipe(of))
		return -ENXIO;
	pipe_open_again(f, of);
	return 0;
}

static int64_t jump_follow(struct vfs *v, struct node *link, struct node **out)
{
	const struct proc_node *n = proc_node_of(link);
	int64_t error = jump_target(v, n, out);

	if (error != 0)
		return error;
	if (*out != NULL)
		node_hold(*out);
	else if (is_pipe(file_of(v, n->task, n->fd)))
		error = pipe_follow(v, link, out);
	else
		error = -ENXIO;
	return error;
}

static int64_t jump_readlink(struct vfs *v, struct node *link, char *to, size_t size)
{
	const struct proc_node *n = proc_node_of(link);
	struct text t = { to, size, 0 };
	struct node *target;
	struct file *f;
	int64_t length = jump_target(v, n, &target);

	if (length != 0)
		return length;
	if (target == NULL) {
		f = file_of(v, n->task, n->fd);
		if (f->operations->describe != NULL)
			return f->operations->describe(v, f, to, size);
		text_add(&t, "anon_inode:[file]");
		return (int64_t)t.length;
	}
	return path_of(v, v->tasks[v->walker].folders->root, target, to, size);
}

/* Entries of folders ----------------------------------------------------------------------------------------------- */

/* Positions: `.`, `..`, the table's entries, then tasks or descriptors by number. The next entry from `*position` on:
 * its name and number; false: there is none. */
static bool proc_next(struct vfs *v, const struct proc_node *n, uint64_t *position, char *name, uint64_t *inode,
		      uint32_t *mode)
{
	const uint64_t numbers = 2 + proc_entry_count;
	bool root = n->entry == &proc_entries[PROC_ROOT], fds = n->entry == &proc_entries[PROC_FDS];
	uint64_t most = root ? TASKS : fds && !is_zombie(v, n) ? v->tasks[n->task].descriptors->size : 0;
	struct text t = { name, NAME_MAX, 0 };

	memset(name, 0, 16);
	for (; *position < numbers; ++*position) {
		const struct proc_entry *e = &proc_entries[*position < 2 ? 0 : *position - 2];

		if (*position >= 2 && !is_in(e, n))
			continue;
		text_add(&t, "%s", *position == 0 ? "." : *position == 1 ? ".." : e->name);
		*inode = *position == 0 ? n->node.inode
					: ((uint64_t)n->process << 20) + (uint64_t)(e - proc_entries) + 1;
		*mode = *position < 2 ? S_IFDIR : e->mode;
		name[t.length] = '\0';
		return true;
	}
	for (; *position - numbers < most; ++*position) {
		uint32_t number = (uint32_t)(*position - numbers);

		if (fds ? file_of(v, n->task, (int32_t)number) == NULL
			: v->tasks[number].process == 0 || v->tasks[number].thread != v->tasks[number].process)
			continue;
		text_add(&t, "%u", fds ? number : v->tasks[number].process);
		name[t.length] = '\0';
		*inode = ((uint64_t)(fds ? n->process : v->tasks[number].process) << 20) +
			 (fds ? (number + 1) << 8 : 0) + (fds ? PROC_FD : PROC_PROCESS) + 1;
		*mode = fds ? S_IFLNK : S_IFDIR;
		return true;
	}
	return false;
}

static int64_t proc_list(struct vfs *v, struct file *f, struct grant to)
{
	const struct proc_node *n = proc_node_of(f->node);
	char name[NAME_MAX + 1];
	uint64_t at = 0, inode;
	uint32_t mode;

	if (!is_alive(v, n))
		return -ENOENT;
	while (proc_next(v, n, &f->position, name, &inode, &mode)) {
		int64_t bytes = entry_put(to, at, inode, f->position + 1, mode, name, strlen(name));

		if (bytes < 0)
			return at > 0 ? (int64_t)at : bytes;
		at += (uint64_t)bytes;
		f->position++;
	}
	return (int64_t)at;
}

/* The mount -------------------------------------------------------------------------------------------------------- */

static int64_t proc_mount(struct vfs *v, struct mount *m, const char *source, const char *options)
{
	struct proc_node *root;
	int64_t error = proc_make(v, m, &proc_entries[PROC_ROOT], NULL, &root);

	(void)source, (void)options;
	if (error == 0)
		m->root = &root->node;
	return error;
}

static int64_t proc_unmount(struct vfs *v, struct mount *m)
{
	node_drop(v, m->root);
	return 0;
}

static void proc_numbers(struct vfs *v, struct mount *m, struct file_system_numbers *to)
{
	(void)v, (void)m;
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
static const struct node_operations link_nodes = { .name = proc_name,
						   .readlink = self_readlink,
						   .forget = proc_forget };
static const struct node_operations pipe_nodes = { .name = proc_name, .open = pipe_open, .forget = proc_forget };
static const struct node_operations jump_nodes = {
	.name = proc_name,
	.readlink = jump_readlink,
	.follow = jump_follow,
	.forget = proc_forget,
};

const struct file_system proc_file_system = {
	.name = "proc",
	.mount = proc_mount,
	.unmount = proc_unmount,
	.numbers = proc_numbers,
};
