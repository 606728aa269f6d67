/* tasks.c: what vfs stores for each task, and the calls by which pm and the kernel report a task's birth, new program
 * and end. A fork first reserves; a failure frees what was reserved. It also gives pm the file of a program:
 * permission, bytes and pages. */
#include "abi/mman.h"
#include "devices/devices.h"
#include "files/files.h"
#include "kernel.h"
#include "names/names.h"
#include "pipes/pipe.h"
#include "pm.h"
#include "switches.h"
#include "terminals/tty.h"
#include "vm.h"

/* An executed program counts as -1 in its node's `writers`, so that nobody opens it for writing. */
static void program_drop(struct node *n)
{
	n->writers++;
	node_drop(n);
}

/* Sets the program that the task executes; NULL: none. */
static void program_set(uint32_t task, struct node *n)
{
	struct node *old = vfs.tasks[task].program;

	if (n != NULL) {
		node_hold(n);
		n->writers--;
	}
	vfs.tasks[task].program = n;
	if (old != NULL)
		program_drop(old);
}

static struct directories *directories_copy(const struct directories *from)
{
	struct directories *f = heap_allocate(sizeof *f);

	if (f == NULL)
		return NULL;
	f->root = node_hold(from->root);
	f->current = node_hold(from->current);
	f->umask = from->umask;
	f->references = 1;
	return f;
}

static void directories_drop(struct directories *f)
{
	if (--f->references > 0)
		return;
	node_drop(f->root);
	node_drop(f->current);
	heap_free(f, sizeof *f);
}

/* The command line is cut to a page. */
#define COMMAND_MOST (PAGE - sizeof(struct command))

static void command_drop(struct command *c)
{
	if (c == NULL || --c->references > 0)
		return;
	heap_free(c, sizeof *c + c->length);
}

int64_t vfs_fork(uint32_t parent, uint32_t child, uint32_t share, uint32_t number, uint32_t process)
{
	struct task_files *from = &vfs.tasks[parent], *to = &vfs.tasks[child];
	struct descriptors *descriptors = from->descriptors;
	struct directories *directories = from->directories;

	if ((share & VFS_SHARE_DESCRIPTORS) != 0)
		descriptors->references++;
	else if ((descriptors = descriptors_copy(descriptors)) == NULL)
		return -ENOMEM;
	if ((share & VFS_SHARE_DIRECTORIES) != 0) {
		directories->references++;
	} else if ((directories = directories_copy(directories)) == NULL) {
		to->descriptors = descriptors;
		while (!descriptors_drop(child))
			continue;
		return -ENOMEM;
	}
	/* committed */
	*to = *from;
	to->descriptors = descriptors;
	to->directories = directories;
	to->program = NULL;
	to->opening = NULL;
	to->reads = to->writes = 0;
	to->thread = number;
	to->process = process;
	if ((share & VFS_SHARE_PARENT) == 0)
		to->parent = from->process;
	to->state = 'R';
	program_set(child, from->program);
	if (to->command != NULL)
		to->command->references++;
	return 0;
}

/* Tells pm at once that it may call again. */
static int64_t ask_again(void)
{
	notify(ENDPOINT_PM, PM_DISK_READY);
	return -EWAIT;
}

int64_t vfs_executed(uint32_t task, struct grant arguments)
{
	struct task_files *t = &vfs.tasks[task];
	struct descriptors *own = t->descriptors;
	uint32_t length = (uint32_t)MIN(arguments.length, COMMAND_MOST);
	struct command *command;

	if (own->references > 1) {
		own = descriptors_copy(own);
		if (own == NULL)
			return -ENOMEM;
		t->descriptors->references--;
		t->descriptors = own;
	}
	if (!descriptors_close_marked(task))
		return ask_again();
	command = heap_allocate(sizeof *command + length);
	if (command == NULL)
		return -ENOMEM;
	*command = (struct command){ .references = 1, .length = length };
	if (copy_in(command->text, arguments, 0, length) != 0) {
		command_drop(command);
		return -EFAULT;
	}
	/* committed */
	command_drop(t->command);
	t->command = command;
	return 0;
}

static bool is_alive(uint32_t process)
{
	for (uint32_t i = 0; i < TASKS; i++)
		if (vfs.tasks[i].descriptors != NULL && vfs.tasks[i].process == process)
			return true;
	return false;
}

int64_t vfs_leave(uint32_t task, uint32_t zombie)
{
	struct task_files *t = &vfs.tasks[task];
	uint32_t process = t->process, waits;
	uint64_t reads = 0, writes = 0;

	if (t->descriptors == NULL)
		return 0;
	if (!descriptors_drop(task))
		return ask_again();
	directories_drop(t->directories);
	program_set(task, NULL);
	fifo_waited_drop(task);
	command_drop(t->command);
	kernel_task_calls(task, &reads, &writes, &waits);
	t->reads += reads;
	t->writes += writes;
	memset(&t->nice, 0, sizeof *t - offsetof(struct task_files, nice));
	t->state = 'Z';
	if (!zombie)
		t->process = 0;
	if (terminal.session == process && !is_alive(process))
		terminal_session_ended();
	return 0;
}

int64_t vfs_identify(uint32_t task, uint64_t thread, uint64_t group, uint32_t parent, int32_t nice, uint32_t state,
		     struct grant name)
{
	struct task_files *t = &vfs.tasks[task];

	t->thread = (uint32_t)thread;
	t->process = (uint32_t)(thread >> 32);
	t->process_group = (uint32_t)group;
	t->session = (uint32_t)(group >> 32);
	t->parent = parent;
	t->nice = (int8_t)nice;
	t->state = (char)state;
	return name.length == 0 ? 0 : copy_in(t->name, name, 0, MIN(name.length, sizeof t->name - 1));
}

int64_t vfs_waited(uint32_t task, uint32_t by)
{
	struct task_files *t = &vfs.tasks[task];

	vfs.tasks[by].reads += t->reads;
	vfs.tasks[by].writes += t->writes;
	*t = (struct task_files){ 0 };
	return 0;
}

int64_t vfs_credentials(uint32_t task, uint32_t user, uint32_t group, uint32_t real_user, uint32_t real_group,
			struct grant groups)
{
	struct task_files *t = &vfs.tasks[task];
	uint16_t count = (uint16_t)MIN(groups.length / sizeof(uint32_t), GROUPS_MOST);

	t->user = user;
	t->group = group;
	t->real_user = real_user;
	t->real_group = real_group;
	t->group_count = count;
	return count == 0 ? 0 : copy_in(t->groups, groups, 0, count * sizeof(uint32_t));
}

int64_t vfs_limit(uint32_t task, uint64_t files, uint64_t size)
{
	vfs.tasks[task].files_most = (uint32_t)MIN(files, DESCRIPTORS_MOST);
	vfs.tasks[task].size_most = size;
	return 0;
}

/* Opens the first task's first three descriptors: /dev/console, if there is one. */
static void open_console(uint32_t task)
{
	struct device const *d = device_of(S_IFCHR, DEVICE(5, 1));
	struct file *f;

	if (d == NULL || file_make(d->operations, NULL, O_RDWR, NULL, &f) != 0)
		return;
	for (uint32_t fd = 0; fd < 3; fd++)
		if (descriptor_place(task, f, fd, 0) >= 0)
			file_hold(f);
	file_drop(f);
}

int64_t vfs_begin(uint32_t task)
{
	struct task_files *t = &vfs.tasks[task];

	t->directories = directories_copy(vfs.tasks[VFS_TASK].directories);
	t->descriptors = descriptors_make(64);
	if (t->directories == NULL || t->descriptors == NULL)
		return -ENOMEM;
	t->directories->umask = 022;
	t->files_most = 1024;
	t->size_most = UINT64_MAX;
	open_console(task);
	return 0;
}

/* Programs --------------------------------------------------------------------------------------------------------- */

/* Handles are numbers from 1. */
static struct node *program(uint32_t file)
{
	return file - 1 < TASKS ? vfs.programs[file - 1] : NULL;
}

static int64_t may_execute(uint32_t task, const struct node *n)
{
	if (S_ISLNK(n->mode))
		return -ELOOP;
	if (!S_ISREG(n->mode) || (n->mount->flags & MS_NOEXEC) != 0)
		return -EACCES;
	if (n->writers > 0)
		return -ETXTBSY;
	return permitted(task, n, MAY_EXECUTE);
}

int64_t vfs_program_open(uint32_t task, int32_t directory, struct grant path, uint32_t flags, uint32_t *file,
			 uint64_t *size, uint32_t *mode, uint32_t *owner, uint32_t *group)
{
	uint32_t handle = 0;
	struct node *n;
	int64_t result;

	TRY(path_in(path));
	while (handle < TASKS && vfs.programs[handle] != NULL)
		handle++;
	if (handle == TASKS)
		return -ENFILE;
	TRY(walk(task, directory, vfs.path, flags, &n));
	result = may_execute(task, n);
	if (result != 0) {
		node_drop(n);
		return result;
	}
	n->writers--;
	vfs.programs[handle] = n;
	*file = handle + 1;
	*size = n->size;
	*mode = (n->mount->flags & MS_NOSUID) != 0 ? n->mode & ~(uint32_t)(S_ISUID | S_ISGID) : n->mode;
	*owner = n->owner;
	*group = n->group;
	return 0;
}

int64_t vfs_program_read(uint32_t file, uint64_t offset, struct grant to)
{
	struct node *n = program(file);
	struct request r = { .result = 0 };
	struct file f = { .flags = O_RDONLY | O_NOATIME, .node = n };

	if (n == NULL)
		return -EIO;
	if (n->operations->read != NULL)
		return n->operations->read(n, offset, to);
	f.operations = n->files;
	n->files->read(&r, &f, to, &offset);
	return r.result;
}

int64_t vfs_program_map(uint32_t file, uint32_t task, uint64_t address, uint64_t length, uint32_t protection,
			uint64_t offset)
{
	struct node *n = program(file);
	uint64_t mapped;
	uint32_t object;
	int64_t result;

	if (n == NULL || n->operations->object == NULL)
		return -EINVAL;
	/* Calls also write to the program's data, some after steps that cannot be undone. So its pages are read now,
	 * not when they are touched. */
	if ((protection & PROT_WRITE) != 0 && n->operations->bring != NULL)
		TRY(n->operations->bring(n, offset, length));
	TRY(n->operations->object(n, &object));
	result = vm_map_object(task, address, length, protection, MAP_PRIVATE | MAP_FIXED, object, offset, 0, &mapped);
	vm_object_drop(object);
	if (result < 0)
		return result;
	while (PAGES_AT_ONCE && mapped < address + length)
		TRY(vm_populate(task, mapped, address + length - mapped, &mapped));
	if ((protection & PROT_EXEC) != 0)
		program_set(task, n);
	return 0;
}

int64_t vfs_program_close(uint32_t file)
{
	struct node *n = program(file);

	if (n == NULL)
		return -EINVAL;
	vfs.programs[file - 1] = NULL;
	program_drop(n);
	return 0;
}
