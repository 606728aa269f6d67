/* exec.c: a process executes a program. The file is found and checked, and the other threads are made to leave, while
 * the caller's memory is still there; from `committed` on a failure ends the process, as its old program is gone.
 *
 * The handler runs again after it was parked. What was found so far is kept in the thread's image only once the file
 * is checked; before that it begins anew, and then meets in memory what it had to wait for. */
#include "abi/files.h"
#include "people/people.h"
#include "processes/processes.h"
#include "programs/image.h"
#include "signals/signals.h"

#define SMALLEST_ARGUMENTS (128UL << 10)
#define MOST_ARGUMENTS (6UL << 20)
/* More than any program uses, where its limit is infinite. */
#define MOST_STACK (1UL << 30)
#define S_IXGRP 0010
/* As large as Linux makes a stack before it grows; and at least as much is left below the arguments. */
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

/* Opens a program and reads its beginning. */
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
	n = vfs_program_read(image->file, 0, grant_write(image->head, MIN(image->size, HEAD_BYTES)));
	if (n < 0)
		return n;
	memset(image->head + n, 0, HEAD_BYTES - (size_t)n);
	return 0;
}

/* Until it is no script any more. */
static int64_t find_program(const struct thread *t, struct image *image, int32_t directory, uint32_t flags)
{
	const struct strings *s = &image->given;
	int64_t n;

	TRY(image_open(t, image, directory, grant_read(s->bytes, s->path), flags));
	while ((n = script_take(image)) > 0)
		TRY(image_open(t, image, AT_FDCWD, grant_read(s->bytes + s->path, (size_t)n), 0));
	return n < 0 ? n : elf_check(image, false);
}

/* One that names an interpreter of its own does not get it, as under Linux. */
static int64_t find_interpreter(const struct thread *t, struct image *image)
{
	struct grant path;

	TRY(elf_interpreter(image, &path));
	image->interpreter = pages_take(1);
	if (!image->interpreter)
		return -ENOMEM;
	TRY(image_open(t, image->interpreter, AT_FDCWD, path, 0));
	return elf_check(image->interpreter, true);
}

/* A quarter of what the stack may have, within Linux's bounds. */
static uint64_t most_arguments(const struct process *p)
{
	uint64_t quarter = p->limits[RLIMIT_STACK].soft / 4;

	return MIN(MAX(quarter, SMALLEST_ARGUMENTS), MOST_ARGUMENTS);
}

static int64_t prepare(struct thread *t, int32_t directory, uint32_t flags)
{
	struct image *image = t->image;

	TRY(find_program(t, image, directory, flags));
	if (image->names_interpreter)
		TRY(find_interpreter(t, image));
	image->stack = image->given.used + ((uint64_t)image->given.argc + image->given.envc + 2) * 8;
	if (image->stack > most_arguments(t->process))
		return -E2BIG;
	image->stack += STACK_FIRST;
	image->checked = true;
	return 0;
}

/* All threads but this leave. */
static void gather(struct process *p, struct thread *self)
{
	p->gathering = self;
	EACH_THREAD (p, t) {
		if (t == self || t->leaving)
			continue;
		t->leaving = true;
		thread_wake(t, true);
		unpark(&t->waiting);
	}
}

/* The one that is left is the process's first from now on, also by its number. */
static void become_first(struct thread *t)
{
	struct process *p = t->process;

	p->gathering = NULL;
	if (t->number == p->number)
		return;
	number_of(t->number)->thread = 0;
	number_set(&t->number, p->number);
	number_of(t->number)->thread = (uint16_t)(t->slot + 1);
	vfs_waited(p->slot, t->slot);
	process_identify(p);
}

/* The file's owner, where it says so, unless the process gave that up. Returns whether the program runs with rights
 * that its user has not. */
static bool rights_set(struct process *p, const struct image *image)
{
	struct identity *who = &p->identity;
	bool user = image->mode & S_ISUID, group = (image->mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);

	if (p->no_new_rights)
		user = group = false;
	if (user)
		who->user.effective = image->owner;
	if (group)
		who->group.effective = image->group;
	if (user || group || who->user.saved != who->user.effective || who->group.saved != who->group.effective) {
		who->user.saved = who->user.effective;
		who->group.saved = who->group.effective;
		credentials_tell(p);
	}
	return who->user.effective != who->user.real || who->group.effective != who->group.real;
}

/* The last part of the path. */
static void name_set(struct thread *t, const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	memset(t->name, 0, sizeof t->name);
	memcpy(t->name, name, MIN((size_t)(path - name), NAME_BYTES - 1));
}

/* The new memory's contents, and the program's entry. -EWAIT, GIVES_WAY: to be called again. */
static int64_t load(struct thread *t, uint64_t *sp)
{
	struct process *p = t->process;
	struct image *image = t->image;
	const struct strings *s = &image->given;

	if (!image->pointed) {
		/* What runs is the program, so it is mapped last. */
		if (image->interpreter)
			TRY(elf_map(t, image->interpreter));
		TRY(elf_map(t, image));
		TRY(vfs_executed(t->slot, grant_read(s->bytes + s->path, s->environment - s->path)));
		TRY(vm_set_limits(t->slot, image->heap, STACK_TOP, MIN(p->limits[RLIMIT_STACK].soft, MOST_STACK),
				  image->stack));
	}
	return stack_write(t, image, rights_set(p, image), sp);
}

static void begin_program(struct thread *t, uint64_t sp)
{
	struct process *p = t->process;
	uint64_t entry = t->image->interpreter ? t->image->interpreter->entry : t->image->entry;

	name_set(t, t->image->given.bytes);
	image_drop(t);
	handlers_renew(p);
	t->stack = t->stack_size = 0;
	t->clear_tid = 0;
	p->executed = p->dumpable = true;
	p->shares_space = false;
	vfork_end(p);
	thread_named(t);
	kernel_task_exec(t->slot, entry, sp);
}

/* Pages that the new memory needs at most, until the program runs. */
static uint64_t memory_need(const struct image *image)
{
	uint64_t interpreter = image->interpreter ? elf_need(image->interpreter) : 0;

	return interpreter + elf_need(image) + (image->stack + PAGE - 1) / PAGE + tables_most(image->stack);
}

/* Everything up to the point of no return. 0: past it; WAITS_FOR_THREADS: they have still to leave;
 * WAITS_FOR_MEMORY: the old one is going. */
static int64_t commit(struct thread *t)
{
	int64_t result;

	if (t->process->thread_count > 1) {
		gather(t->process, t);
		return WAITS_FOR_THREADS;
	}
	become_first(t);
	result = vm_renew(t->slot, memory_need(t->image));
	if (result != 0)
		return result == -EWAIT ? WAITS_FOR_MEMORY : result;
	/* committed */
	t->image->committed = true;
	return 0;
}

/* As far as it goes. -EWAIT: for a disk, GIVES_WAY, WAITS_FOR_THREADS, WAITS_FOR_MEMORY: then it is to be called again,
 * the same. */
static int64_t execute(struct thread *t, int32_t directory, uint32_t flags)
{
	int64_t result = t->image->checked ? 0 : prepare(t, directory, flags);
	uint64_t sp;

	if (result == 0 && !t->image->committed)
		result = commit(t);
	if (result < 0)
		image_drop(t);
	if (result != 0)
		return result;
	result = load(t, &sp);
	if (result == 0) {
		begin_program(t, sp);
	} else if (result < 0 && result != -EWAIT) {
		image_drop(t);
		process_end(t->process, SIGKILL, NULL);
	}
	return result;
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
	return execute(t, AT_FDCWD, 0);
}

verdict pm_execute(struct request *r, int32_t directory, uint64_t path, uint64_t arguments, uint64_t environment,
		   uint32_t flags)
{
	struct thread *t = asking(r);
	int64_t result;

	if (t->leaving) {
		if (t->image)
			image_drop(t);
		return refuse(r, EINTR);
	}
	if (!t->image)
		t->image = pages_take(1);
	if (!t->image)
		return refuse(r, ENOMEM);
	/* The strings first: what they lie in goes with the old program. */
	result = strings_gather(&t->image->given, t->slot, path, arguments, environment);
	if (result < 0)
		image_drop(t);
	if (result == 0)
		result = execute(t, directory, flags);
	if (result == WAITS_FOR_THREADS)
		return park_hard(&t->waiting, r);
	if (result == GIVES_WAY)
		return give_way(r, BY_NOTHING);
	if (result == WAITS_FOR_MEMORY || result == -EWAIT)
		return park_hard(&pm.disk, r);
	return settle(r, result);
}
