/* programs.c: what pm needs of a program's file: may it be executed, its bytes, its pages. A program that is executed
 * counts in its node's `writers` as -1: nobody opens it for writing. */
#include "abi/mman.h"
#include "handlers.h"
#include "vm.h"

/* Handles are numbers from 1: 0 is none. */
static struct node *program(struct vfs *v, uint32_t file)
{
	return file - 1 < TASKS ? v->programs[file - 1] : NULL;
}

static int64_t may_execute(struct vfs *v, uint32_t task, const struct node *n)
{
	if (S_ISLNK(n->mode))
		return -ELOOP;
	if (!S_ISREG(n->mode) || (n->mount->flags & MS_NOEXEC) != 0)
		return -EACCES;
	if (n->writers > 0)
		return -ETXTBSY;
	return permitted(v, task, n, MAY_EXECUTE);
}

int64_t vfs_program_open(struct vfs *v, uint32_t task, int32_t directory, struct grant path, uint32_t flags,
			 uint32_t *file, uint64_t *size, uint32_t *mode, uint32_t *owner, uint32_t *group)
{
	int64_t result = path_in(v, path);
	uint32_t handle = 0;
	struct node *n;

	if (result < 0)
		return result;
	while (handle < TASKS && v->programs[handle] != NULL)
		handle++;
	if (handle == TASKS)
		return -ENFILE;
	result = walk(v, task, directory, v->path, walk_flags(flags), &n);
	if (result != 0)
		return result;
	result = may_execute(v, task, n);
	if (result != 0) {
		node_drop(v, n);
		return result;
	}
	n->writers--;
	v->programs[handle] = n;
	*file = handle + 1;
	*size = n->size;
	*mode = (n->mount->flags & MS_NOSUID) != 0 ? n->mode & ~(uint32_t)(S_ISUID | S_ISGID) : n->mode;
	*owner = n->owner;
	*group = n->group;
	return 0;
}

int64_t vfs_program_read(struct vfs *v, uint32_t file, uint64_t offset, struct grant to)
{
	struct node *n = program(v, file);
	struct request r = { .result = 0 };
	struct file f = { .flags = O_RDONLY | O_NOATIME, .node = n };

	if (n == NULL || n->files->read == NULL)
		return -EIO;
	if (n->operations->read != NULL)
		return n->operations->read(v, n, offset, to);
	f.operations = n->files;
	n->files->read(v, &r, &f, to, &offset);
	return r.result;
}

int64_t vfs_program_map(struct vfs *v, uint32_t file, uint32_t task, uint64_t address, uint64_t length,
			uint32_t protection, uint64_t offset)
{
	struct node *n = program(v, file);
	uint64_t at, mapped;
	uint32_t object;
	int64_t result;

	if (n == NULL)
		return -EINVAL;
	if (n->operations->object == NULL)
		return -EINVAL;
	/* What the program writes, calls write for it too, some after they have done what cannot be undone: it does not
	 * come later. */
	if ((protection & PROT_WRITE) != 0 && n->operations->bring != NULL) {
		result = n->operations->bring(v, n, offset, length);
		if (result != 0)
			return result;
	}
	result = n->operations->object(v, n, offset, length, &object, &at);
	if (result != 0)
		return result;
	result = vm_map_object(task, address, length, protection, MAP_PRIVATE | MAP_FIXED, object, at, 0, &mapped);
	vm_object_drop(object);
	if (result == -EWAIT)
		v->pm_waits_for_no_disk = true;
	if (result < 0)
		return result;
	if ((protection & PROT_EXEC) != 0)
		program_set(v, task, n);
	return 0;
}

int64_t vfs_program_close(struct vfs *v, uint32_t file)
{
	struct node *n = program(v, file);

	if (n == NULL)
		return -EINVAL;
	v->programs[file - 1] = NULL;
	n->writers++;
	node_drop(v, n);
	return 0;
}

void program_set(struct vfs *v, uint32_t task, struct node *n)
{
	struct node *old = v->tasks[task].program;

	if (n != NULL) {
		node_hold(n);
		n->writers--;
	}
	v->tasks[task].program = n;
	if (old != NULL) {
		old->writers++;
		node_drop(v, old);
	}
}
