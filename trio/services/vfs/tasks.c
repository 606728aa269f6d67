/* tasks.c: what vfs keeps of each task, and the calls by which pm and the kernel tell of a task's birth, new
 * program and end. A fork reserves first; what it has reserved is given back where a later step fails. */
#include "handlers.h"
#include "kernel.h"
#include "pm.h"

#define SHARES_DESCRIPTORS 1
#define SHARES_FOLDERS 2

static struct folders *folders_copy(struct vfs *v, const struct folders *from)
{
	struct folders *f = vfs_take(v, sizeof *f);

	if (f == NULL)
		return NULL;
	f->root = node_hold(from->root);
	f->current = node_hold(from->current);
	f->umask = from->umask;
	f->references = 1;
	return f;
}

static void folders_drop(struct vfs *v, struct folders *f)
{
	if (--f->references > 0)
		return;
	node_drop(v, f->root);
	node_drop(v, f->current);
	vfs_give(v, f, sizeof *f);
}

/* It is cut to a page. */
#define COMMAND_MOST (PAGE - sizeof(struct command))

static void command_drop(struct vfs *v, struct command *c)
{
	if (c == NULL || --c->references > 0)
		return;
	vfs_give(v, c, sizeof *c + c->length);
}

/* Behind the `at` bytes that are there, as much as there is room for. Returns how many there are then; -EFAULT. */
static int64_t command_add(struct vfs *v, int64_t at, struct grant from)
{
	size_t n = MIN(from.length, COMMAND_MOST - (size_t)at);

	return copy_in(v->page + at, from, 0, n) != 0 ? -EFAULT : at + (int64_t)n;
}

/* The end of `count` strings from `at` on, which end at `end` at the latest. */
static uint32_t strings_end(const char *text, int64_t at, int64_t end, uint32_t count)
{
	for (; count > 0 && at < end; at++)
		count -= text[at] == '\0';
	return (uint32_t)at;
}

/* From `length` bytes of v->page; NULL without memory. */
static struct command *command_make(struct vfs *v, uint32_t length)
{
	struct command *c = vfs_take(v, sizeof *c + length);

	if (c == NULL)
		return NULL;
	c->references = 1;
	c->length = length;
	memcpy(c->text, v->page, length);
	return c;
}

int64_t vfs_fork(struct vfs *v, uint32_t parent, uint32_t child, uint32_t share)
{
	struct task_files *from = &v->tasks[parent], *to = &v->tasks[child];
	struct descriptors *descriptors = from->descriptors;
	struct folders *folders = from->folders;

	if ((share & SHARES_DESCRIPTORS) == 0)
		descriptors = descriptors_copy(v, from->descriptors);
	if (descriptors == NULL)
		return -ENOMEM;
	if ((share & SHARES_FOLDERS) == 0)
		folders = folders_copy(v, from->folders);
	if (folders == NULL) {
		to->descriptors = descriptors;
		while ((share & SHARES_DESCRIPTORS) == 0 && !descriptors_drop(v, child))
			continue;
		to->descriptors = NULL;
		return -ENOMEM;
	}
	/* committed */
	*to = *from;
	to->descriptors = descriptors;
	to->folders = folders;
	if ((share & SHARES_DESCRIPTORS) != 0)
		descriptors->references++;
	if ((share & SHARES_FOLDERS) != 0)
		folders->references++;
	to->program = NULL;
	to->opening = NULL;
	program_set(v, child, from->program);
	if (to->command != NULL)
		to->command->references++;
	return 0;
}

/* The process service is told at once that it can ask again. */
static int64_t ask_again(void)
{
	notify(ENDPOINT_PM, PM_DISK_READY);
	return -EWAIT;
}

int64_t vfs_executed(struct vfs *v, uint32_t task, struct grant before, struct grant script, struct grant strings,
		     uint32_t count)
{
	struct task_files *t = &v->tasks[task];
	struct descriptors *own = t->descriptors;
	struct command *command;
	int64_t start, end;

	if (own->references > 1) {
		own = descriptors_copy(v, own);
		if (own == NULL)
			return -ENOMEM;
		t->descriptors->references--;
		t->descriptors = own;
	}
	if (!descriptors_close_marked(v, task)) {
		v->pm_waits_for_no_disk = true;
		return ask_again();
	}
	start = command_add(v, 0, before);
	start = start < 0 ? start : command_add(v, start, script);
	end = start < 0 ? start : command_add(v, start, strings);
	if (end < 0)
		return end;
	command = command_make(v, strings_end(v->page, start, end, count));
	if (command == NULL)
		return -ENOMEM;
	/* committed */
	command_drop(v, t->command);
	t->command = command;
	return 0;
}

static bool is_alive(const struct vfs *v, uint32_t process)
{
	for (uint32_t i = 0; i < TASKS; i++)
		if (v->tasks[i].descriptors != NULL && v->tasks[i].process == process)
			return true;
	return false;
}

int64_t vfs_leave(struct vfs *v, uint32_t task)
{
	struct task_files *t = &v->tasks[task];
	uint32_t process = t->process, user = t->user, group = t->group;

	if (t->descriptors == NULL)
		return 0;
	if (!descriptors_drop(v, task))
		return ask_again();
	folders_drop(v, t->folders);
	program_set(v, task, NULL);
	fifo_waited_drop(v, task);
	command_drop(v, t->command);
	/* Whose zombie it is can still be asked. */
	*t = (struct task_files){ .user = user, .group = group };
	if (terminal_session(v) == process && !is_alive(v, process))
		terminal_session_ended(v, process);
	return 0;
}

int64_t vfs_identify(struct vfs *v, uint32_t task, uint32_t thread, uint32_t process, uint32_t group, uint32_t session)
{
	v->tasks[task].thread = thread;
	v->tasks[task].process = process;
	v->tasks[task].process_group = group;
	v->tasks[task].session = session;
	return 0;
}

int64_t vfs_credentials(struct vfs *v, uint32_t task, uint32_t user, uint32_t group, uint32_t real_user,
			uint32_t real_group, struct grant groups)
{
	struct task_files *t = &v->tasks[task];
	uint32_t count = (uint32_t)MIN(groups.length / sizeof(uint32_t), GROUPS_MOST);

	t->user = user;
	t->group = group;
	t->real_user = real_user;
	t->real_group = real_group;
	t->group_count = count;
	return count == 0 ? 0 : copy_in(t->groups, groups, 0, count * sizeof(uint32_t));
}

int64_t vfs_limit(struct vfs *v, uint32_t task, uint64_t files, uint64_t size)
{
	v->tasks[task].files_most = (uint32_t)MIN(files, DESCRIPTORS_MOST);
	v->tasks[task].size_most = size;
	return 0;
}

/* The first three descriptors of the first task: /dev/console, or nothing where there is none. */
static void open_console(struct vfs *v, uint32_t task)
{
	struct device const *d = device_of(v, S_IFCHR, DEVICE(5, 1));
	struct file *f;

	if (d == NULL || file_make(v, d->operations, NULL, O_RDWR, NULL, &f) != 0)
		return;
	for (uint32_t fd = 0; fd < 3; fd++)
		if (descriptor_place(v, task, f, fd, 0) >= 0)
			file_hold(f);
	file_drop(v, f);
}

int64_t vfs_begin(struct vfs *v, uint32_t task)
{
	struct task_files *t = &v->tasks[task];

	t->folders = vfs_take(v, sizeof *t->folders);
	t->descriptors = descriptors_make(v, 64);
	if (t->folders == NULL || t->descriptors == NULL)
		return -ENOMEM;
	t->folders->root = node_hold(v->root);
	t->folders->current = node_hold(v->root);
	t->folders->umask = 022;
	t->folders->references = 1;
	t->files_most = 1024;
	t->size_most = UINT64_MAX;
	open_console(v, task);
	return 0;
}
