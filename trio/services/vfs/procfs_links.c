/* procfs_links.c: /proc's links: to the reader's own folder, and those that stand for a node: a process's program,
 * folders and descriptors. */
#include "devices.h"
#include "procfs.h"
#include "tmpfs.h"

static const struct node_operations pipe_nodes;

static int64_t self_readlink(struct node *link, char *to, size_t size)
{
	struct text t = { to, size, 0 };

	text_add(&t, "%u", vfs.tasks[vfs.walker].process);
	return (int64_t)t.length;
}

/* The node that a link of a process stands for, not held. */
static int64_t jump_target(const struct proc_node *n, struct node **out)
{
	const struct task_files *t = &vfs.tasks[n->task];
	const struct file *f;

	if (!proc_is_alive(n) || proc_is_zombie(n))
		return -ENOENT;
	if (n->entry == &proc_entries[PROC_FD]) {
		f = file_of(n->task, n->fd);
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
static int64_t pipe_follow(struct node *link, struct node **out)
{
	TRY(proc_make(link->mount, &proc_entries[PROC_FD], proc_node_of(link), out));
	(*out)->operations = &pipe_nodes;
	(*out)->mode = S_IFIFO | 0600;
	return 0;
}

static int64_t pipe_open(struct node *node, struct file *f)
{
	const struct proc_node *n = proc_node_of(node);
	const struct file *of = proc_is_alive(n) && !proc_is_zombie(n) ? file_of(n->task, n->fd) : NULL;

	if (of == NULL || !is_pipe(of))
		return -ENXIO;
	pipe_open_again(f, of);
	return 0;
}

static int64_t jump_follow(struct node *link, struct node **out)
{
	const struct proc_node *n = proc_node_of(link);
	int64_t error = 0;

	TRY(jump_target(n, out));
	if (*out != NULL)
		node_hold(*out);
	else if (is_pipe(file_of(n->task, n->fd)))
		error = pipe_follow(link, out);
	else if (file_of(n->task, n->fd)->operations == &terminal_files)
		error = terminal_node(out);
	else
		error = -ENXIO;
	return error;
}

static int64_t jump_readlink(struct node *link, char *to, size_t size)
{
	const struct proc_node *n = proc_node_of(link);
	struct text t = { to, size, 0 };
	struct node *target;
	struct file *f;
	int64_t length = jump_target(n, &target);

	if (length != 0)
		return length;
	if (target == NULL) {
		f = file_of(n->task, n->fd);
		text_add(&t, f->operations->kind, f->operations->inode == NULL ? 0 : f->operations->inode(f));
		return (int64_t)t.length;
	}
	return path_of(vfs.tasks[vfs.walker].folders->root, target, "", to, size);
}

const struct node_operations proc_self_nodes = { .name = proc_name, .readlink = self_readlink, .forget = proc_forget };
static const struct node_operations pipe_nodes = { .name = proc_name, .open = pipe_open, .forget = proc_forget };
const struct node_operations proc_jump_nodes = {
	.name = proc_name,
	.readlink = jump_readlink,
	.follow = jump_follow,
	.forget = proc_forget,
};
