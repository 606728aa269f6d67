/* exec.c: a process executes a program. While the caller's memory is still there, the file is found and checked and the
 * other threads are made to leave. From `committed` on a failure ends the process, because its old program is gone.
 *
 * The handler runs again after it was parked; the thread's image keeps what was done so far. */
#include "abi/files.h"
#include "programs/image.h"
#include "signals/signals.h"

#define SMALLEST_ARGUMENTS (128UL << 10)
#define MOST_ARGUMENTS (6UL << 20)
/* The largest stack under an infinite limit; no program uses more. */
#define MOST_STACK (1UL << 30)
#define S_IXGRP 0010
/* The size of a stack before it grows, as on Linux; below the arguments at least this much is left. */
#define STACK_FIRST (33 * PAGE)

static void image_give(struct image *image)
{
	if (image->interpreter)
		image_give(image->interpreter);
	if (image->open)
		vfs_program_close(image->file);
	strings_drop(&image->given);
	pages_give(image, 1);
}

void image_drop(struct thread *t)
{
	image_give(t->image);
	t->image = NULL;
}

/* Opens a program and reads its beginning. A run that had to wait opens it again. */
static int64_t image_open(const struct thread *t, struct image *image, int32_t directory, struct grant path,
			  uint32_t flags)
{
	int64_t n;

	if (image->open)
		vfs_program_close(image->file);
	image->open = false;
	TRY(vfs_program_open(t->slot, directory, path, flags, &image->file, &image->size, &image->mode, &image->owner,
			     &image->group));
	image->open = true;
	TRY(n = vfs_program_read(image->file, 0, grant_write(image->head, MIN(image->size, HEAD_BYTES))));
	memset(image->head + n, 0, HEAD_BYTES - (size_t)n);
	return 0;
}

/* Opens the file that the path names or, for a script, its interpreter, until the file is no script. */
static int64_t find_program(const struct thread *t, struct image *image, int32_t directory, uint32_t flags)
{
	const struct strings *s = &image->given;
	int64_t is_script;

	do {
		const char *argument = s->bytes + s->path;

		if (image->scripts)
			TRY(image_open(t, image, AT_FDCWD, grant_read(argument, strlen(argument) + 1), 0));
		else
			TRY(image_open(t, image, directory, grant_read(s->bytes, s->path), flags));
		TRY(is_script = script_take(image));
	} while (is_script);
	return elf_check(image, false);
}

/* An interpreter that names an interpreter itself does not get it, as on Linux. */
static int64_t find_interpreter(const struct thread *t, struct image *image)
{
	struct grant path;

	TRY(elf_interpreter(image, &path));
	if (!image->interpreter)
		image->interpreter = pages_take(1);
	if (!image->interpreter)
		return -ENOMEM;
	TRY(image_open(t, image->interpreter, AT_FDCWD, path, 0));
	return elf_check(image->interpreter, true);
}

static int64_t prepare(struct thread *t, int32_t directory, uint32_t flags)
{
	struct image *image = t->image;
	/* Arguments may take a quarter of the stack's limit, within Linux's bounds. */
	uint64_t quarter = t->process->limits[RLIMIT_STACK].soft / 4;

	TRY(find_program(t, image, directory, flags));
	if (image->names_interpreter)
		TRY(find_interpreter(t, image));
	image->stack = image->given.used + ((uint64_t)image->given.argc + image->given.envc + 2) * 8;
	if (image->stack > MIN(MAX(quarter, SMALLEST_ARGUMENTS), MOST_ARGUMENTS))
		return -E2BIG;
	image->stack += STACK_FIRST;
	image->stage = FOUND;
	return 0;
}

/* The thread that is left becomes the process's first, and takes its number. */
static void become_first(struct thread *t)
{
	struct process *p = t->process;

	if (t->number == p->number)
		return;
	number_of(t->number)->thread = 0;
	number_set(&t->number, p->number);
	number_of(t->number)->thread = (uint16_t)(t->slot + 1);
	vfs_waited(p->slot, t->slot);
	process_identify(p);
}

/* Applies the file's set-uid and set-gid bits, unless the process has given up new rights. Returns whether the program
 * has rights that its user does not have. */
static bool rights_set(struct process *p, const struct image *image)
{
	struct ids *user = &p->identity.user, *group = &p->identity.group;
	uint32_t was_user = user->effective, was_group = group->effective;

	if (image->mode & S_ISUID && !p->no_new_rights)
		user->effective = image->owner;
	if ((image->mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && !p->no_new_rights)
		group->effective = image->group;
	user->saved = user->effective;
	group->saved = group->effective;
	if (user->effective != was_user || group->effective != was_group)
		credentials_tell(p);
	return user->effective != user->real || group->effective != group->real;
}

/* The name is the last component of the path. */
static void name_set(struct thread *t, const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	memset(t->name, 0, sizeof t->name);
	memcpy(t->name, name, MIN((size_t)(path - name), NAME_BYTES - 1));
}

/* Does all that may be refused, up to the point of no return. */
static int64_t commit(struct thread *t)
{
	struct image *image = t->image;
	/* The most pages of new memory that are needed until the program runs. */
	uint64_t need = image->need + (image->stack + PAGE - 1) / PAGE + tables_most(image->stack);

	if (t->process->thread_count > 1) {
		threads_end(t->process, t);
		return WAITS_FOR_THREADS;
	}
	become_first(t);
	if (image->interpreter)
		need += image->interpreter->need;
	TRY(vm_renew(t->slot, need));
	/* committed */
	image->stage = COMMITTED;
	return 0;
}

/* Fills the new memory and starts the program. */
static int64_t load(struct thread *t)
{
	struct process *p = t->process;
	struct image *image = t->image;
	const struct strings *s = &image->given;
	uint64_t entry = image->interpreter ? image->interpreter->entry : image->entry, sp;

	if (!image->pointed) {
		/* The program is mapped last: vfs takes the last executable mapping for the task's program. */
		if (image->interpreter)
			TRY(elf_map(t, image->interpreter));
		TRY(elf_map(t, image));
		TRY(vfs_executed(t->slot, grant_read(s->bytes + s->path, s->environment - s->path)));
		TRY(vm_set_limits(t->slot, image->heap, STACK_TOP, MIN(p->limits[RLIMIT_STACK].soft, MOST_STACK),
				  image->stack));
	}
	TRY(stack_write(t, image, rights_set(p, image), &sp));
	name_set(t, s->bytes);
	image_drop(t);
	handlers_renew(p);
	t->stack = t->stack_size = 0;
	t->clear_tid = 0;
	p->executed = p->dumpable = true;
	p->shares_space = false;
	if (p->vfork_parent)
		vfork_end(p);
	thread_identify(t);
	kernel_task_exec(t->slot, entry, sp);
	return 0;
}

/* Does as many stages as it can. */
static int64_t execute(struct thread *t, int32_t directory, uint32_t flags)
{
	if (t->image->stage == GATHERED)
		TRY(prepare(t, directory, flags));
	if (t->image->stage == FOUND)
		TRY(commit(t));
	return load(t);
}

int64_t execute_first(struct thread *t, const char *path)
{
	size_t n = strlen(path) + 1;
	struct strings *given;

	t->image = pages_take(1);
	if (!t->image)
		return -ENOMEM;
	given = &t->image->given;
	*given = (struct strings){ pages_take(1), .pages = 1, .used = n, .path = n, .environment = n };
	if (!given->bytes)
		return -ENOMEM;
	memcpy(given->bytes, path, n);
	TRY(strings_prepend(given, NULL, n - 1));
	t->image->stage = GATHERED;
	return execute(t, AT_FDCWD, 0);
}

verdict pm_execute(struct request *r, int32_t directory, uint64_t path, uint64_t arguments, uint64_t environment,
		   uint32_t flags)
{
	struct thread *t = asking(r);
	int64_t result;

	if (t->leaving)
		return refuse(r, EINTR);
	if (!t->image)
		t->image = pages_take(1);
	if (!t->image)
		return refuse(r, ENOMEM);
	/* The strings come first: they lie in memory that goes with the old program. */
	result = strings_gather(t->image, t->slot, path, arguments, environment);
	if (result == 0)
		result = execute(t, directory, flags);
	switch (result) {
	case 0:
		return answer(r, 0);
	case WAITS_FOR_THREADS:
		return park_hard(&t->waiting, r);
	case GIVES_WAY:
		return give_way(r, BY_NOTHING);
	case -EWAIT:
		return park_hard(&pm.disk, r);
	}
	if (t->image->stage == COMMITTED)
		process_end(t->process, SIGKILL, NULL);
	image_drop(t);
	return answer(r, result);
}
