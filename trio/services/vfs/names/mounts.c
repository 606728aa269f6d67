/* mounts.c: the table of mounts. A mount holds the directory that it covers and its own root. It is busy if anybody
 * else holds one of its nodes: an open file, a bound socket, a task's directories, program or awaited fifo, a program
 * being loaded, or another mount. */
#include "names/names.h"
#include "pipes/pipe.h"
#include "proc/procfs.h"
#include "text.h"
#include "tmpfs/tmpfs.h"

#define TYPE_BYTES 64
#define ACCEPTED                                                                                                   \
	(MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_SYNCHRONOUS | MS_REMOUNT | MS_NOATIME | MS_NODIRATIME | \
	 MS_SILENT | MS_RELATIME | MS_STRICTATIME)
#define KEPT (ACCEPTED & ~(MS_REMOUNT | MS_SILENT))
/* Old programs set this magic number in the upper half of the flags. */
#define MS_MAGIC 0xc0ed0000UL
#define MS_MAGIC_MASK 0xffff0000UL

static const struct file_system *const kinds[] = { &tmpfs, &device_file_system, &proc_file_system, &empty_file_system,
						   &disk_file_system };

/* stat's device number is an anonymous one, as on Linux for file systems without a disk. */
static void mount_begin(struct mount *m, uint32_t flags, const char *source)
{
	memset(m, 0, sizeof *m);
	m->flags = flags;
	m->device = DEVICE(0, (uint32_t)(m - vfs.mounts) + 1);
	memcpy(m->source, source, MIN(strlen(source), sizeof m->source - 1));
}

int64_t mount_root(void)
{
	struct mount *m = &vfs.mounts[0];

	mount_begin(m, 0, "rootfs");
	TRY(tmpfs_root(m, 0755));
	m->type = &tmpfs;
	vfs.root = m->root;
	return 0;
}

static bool is_busy(const struct mount *m)
{
	if (m->users > 0)
		return true;
	for (uint32_t i = 0; i < TASKS; i++) {
		const struct task_files *t = &vfs.tasks[i];

		if (t->directories != NULL && (t->directories->root->mount == m || t->directories->current->mount == m))
			return true;
		if (t->program != NULL && t->program->mount == m)
			return true;
		if (vfs.programs[i] != NULL && vfs.programs[i]->mount == m)
			return true;
		if (fifo_is_awaited(i, m))
			return true;
	}
	for (uint32_t i = 0; i < MOUNTS; i++)
		if (vfs.mounts[i].type != NULL && vfs.mounts[i].covers != NULL && vfs.mounts[i].covers->mount == m)
			return true;
	return false;
}

static const struct file_system *kind_of(const char *name)
{
	for (uint32_t i = 0; i < COUNT_OF(kinds); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

/* On success the mount holds `on`. */
static int64_t mount_on(struct node *on, const struct file_system *kind, uint32_t flags, const char *source,
			const char *options)
{
	struct mount *m = vfs.mounts;

	if (!S_ISDIR(on->mode))
		return -ENOTDIR;
	while (m->type != NULL)
		if (++m == vfs.mounts + MOUNTS)
			return -EMFILE;
	mount_begin(m, flags, source);
	TRY(kind->mount(m, source, options));
	/* committed */
	m->type = kind;
	m->covers = node_hold(on);
	on->covered_by = m;
	return 0;
}

/* Copies an optional string; without one `to` is unchanged. */
static int64_t text_in(char *to, size_t size, struct grant from)
{
	int64_t length = from.length == 0 ? 0 : copy_string(to, size, from);

	return length == -ENAMETOOLONG ? -EINVAL : length;
}

verdict vfs_mount(struct request *r, struct grant source, struct grant path, struct grant type, uint64_t flags,
		  struct grant options)
{
	char kind_name[TYPE_BYTES] = "", source_name[TYPE_BYTES] = "", text[256] = "";
	const struct file_system *kind;
	HELD struct node *on = NULL;

	if (vfs.tasks[r->task].user != 0)
		return refuse(r, EPERM);
	if ((flags & MS_MAGIC_MASK) == MS_MAGIC)
		flags &= ~MS_MAGIC_MASK;
	if ((flags & ~(uint64_t)ACCEPTED) != 0)
		return refuse(r, EINVAL);
	TRY_OR_WAIT(r, text_in(source_name, sizeof source_name, source));
	TRY_OR_WAIT(r, text_in(kind_name, sizeof kind_name, type));
	TRY_OR_WAIT(r, text_in(text, sizeof text, options));
	TRY_OR_WAIT(r, find_node(r, AT_FDCWD, path, 0, &on));
	if ((flags & MS_REMOUNT) != 0) {
		if (on != on->mount->root)
			return refuse(r, EINVAL);
		on->mount->flags = flags & KEPT;
		return answer(r, 0);
	}
	kind = kind_of(kind_name);
	if (kind == NULL)
		return refuse(r, ENODEV);
	return answer_or_wait(r, mount_on(on, kind, flags & KEPT, source_name, text));
}

static int64_t unmount(struct mount *m)
{
	struct node *covered = m->covers;

	if (covered == NULL || is_busy(m))
		return -EBUSY;
	TRY(m->type->unmount(m));
	/* committed */
	covered->covered_by = NULL;
	m->type = NULL;
	node_drop(covered);
	return 0;
}

verdict vfs_unmount(struct request *r, struct grant path, uint32_t flags)
{
	struct node *n;
	struct mount *m;
	bool is_root;

	if (vfs.tasks[r->task].user != 0)
		return refuse(r, EPERM);
	if ((flags & ~(uint32_t)MNT_FORCE) != 0)
		return refuse(r, EINVAL);
	TRY_OR_WAIT(r, find_node(r, AT_FDCWD, path, 0, &n));
	m = n->mount;
	is_root = n == m->root;
	node_drop(n);
	return answer_or_wait(r, is_root ? unmount(m) : -EINVAL);
}

void mounts_text(const struct proc_thing *n, struct text *t)
{
	char path[256];

	for (uint32_t i = 0; i < MOUNTS; i++) {
		const struct mount *m = &vfs.mounts[i];

		if (m->type == NULL || path_of(vfs.root, m->root, "", path, sizeof path) < 0)
			continue;
		text_add(t, "%s %s %s %s%s%s%s,%satime 0 0\n", m->source[0] != '\0' ? m->source : "none", path,
			 m->type->name, (m->flags & MS_RDONLY) != 0 ? "ro" : "rw",
			 (m->flags & MS_NOSUID) != 0 ? ",nosuid" : "", (m->flags & MS_NODEV) != 0 ? ",nodev" : "",
			 (m->flags & MS_NOEXEC) != 0 ? ",noexec" : "", (m->flags & MS_NOATIME) != 0 ? "no" : "rel");
	}
}
