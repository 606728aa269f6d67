/* programs.c: what pm needs of a program's file: may it be executed, its bytes, its pages. A program that is executed
 * counts in its node's `writers` as -1: nobody opens it for writing. */
#include "abi/mman.h"
#include "handlers.h"
#include "vm.h"

/* Handles are numbers from 1: 0 is none. */
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
	int64_t result = path_in(path);
	uint32_t handle = 0;
	struct node *n;

	if (result < 0)
		return result;
	while (handle < TASKS && vfs.programs[handle] != NULL)
		handle++;
	if (handle == TASKS)
		return -ENFILE;
	result = walk(task, directory, vfs.path, walk_flags(flags), &n);
	if (result != 0)
		return result;
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

	if (n == NULL || n->files->read == NULL)
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
	uint64_t at, mapped;
	uint32_t object;
	int64_t result;

	if (n == NULL || n->operations->object == NULL)
		return -EINVAL;
	/* What the program writes, calls write for it too, some after they have done what cannot be undone: it does not
	 * come later. */
	if ((protection & PROT_WRITE) != 0 && n->operations->bring != NULL) {
		result = n->operations->bring(n, offset, length);
		if (result != 0)
			return result;
	}
	result = n->operations->object(n, offset, length, &object, &at);
	if (result != 0)
		return result;
	result = vm_map_object(task, address, length, protection, MAP_PRIVATE | MAP_FIXED, object, at, 0, &mapped);
	vm_object_drop(object);
	if (result == -EWAIT)
		vfs.pm_waits_for_no_disk = true;
	if (result < 0)
		return result;
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
	n->writers++;
	node_drop(n);
	return 0;
}

void program_set(uint32_t task, struct node *n)
{
	struct node *old = vfs.tasks[task].program;

	if (n != NULL) {
		node_hold(n);
		n->writers--;
	}
	vfs.tasks[task].program = n;
	if (old != NULL) {
		old->writers++;
		node_drop(old);
	}
}
