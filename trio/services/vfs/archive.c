/* archive.c: the archive that was loaded beside the kernel becomes what is in /: cpio in its "new" form, one archive or
 * more after each other with zeros between them. It is read piece by piece; no length in it is believed further than
 * PATH_MAX for a name. Folders get their times in a second pass, when nothing is put into them any more. */
#include "handlers.h"
#include "kernel.h"

#define HEADER 110
#define TRAILER "TRAILER!!!"
#define SECOND 1000000000L

/* The header's fields of eight digits, after the magic number. */
enum {
	INODE,
	MODE,
	OWNER,
	GROUP,
	LINKS,
	TIME,
	SIZE,
	MAJOR,
	MINOR,
	SPECIAL_MAJOR,
	SPECIAL_MINOR,
	NAME_LENGTH,
	CHECK,
	FIELDS
};

/* A file with more than one link that has been seen. */
struct seen {
	struct seen *next;
	uint64_t inode, device;
	struct node *node;
};

struct unpacking {
	/* Of the next byte. */
	uint64_t offset;
	uint32_t field[FIELDS];
	struct seen *seen;
	bool times;
};

/* -EINVAL where the archive ends before. */
static int64_t take(struct unpacking *u, void *to, size_t n)
{
	if (kernel_archive(u->offset, grant_write(to, n)) != (int64_t)n)
		return -EINVAL;
	u->offset += n;
	return 0;
}

static bool digit(char c, uint32_t *value)
{
	if (c >= '0' && c <= '9')
		*value = (uint32_t)(c - '0');
	else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		*value = (uint32_t)((c | 0x20) - 'a' + 10);
	else
		return false;
	return true;
}

/* The next header and name (in v->path). 1: there is one, 0: the archive's end, or -EINVAL. */
static int64_t next_header(struct vfs *v, struct unpacking *u)
{
	char text[HEADER];
	uint32_t value;

	u->offset = (u->offset + 3) & ~3UL;
	do {
		if (kernel_archive(u->offset, grant_write(text, 4)) < 4)
			return 0;
		u->offset += 4;
	} while (memcmp(text, "\0\0\0", 4) == 0);
	u->offset -= 4;
	if (take(u, text, HEADER) != 0 || (memcmp(text, "070701", 6) != 0 && memcmp(text, "070702", 6) != 0))
		return -EINVAL;
	for (uint32_t i = 0; i < FIELDS; i++) {
		u->field[i] = 0;
		for (uint32_t j = 0; j < 8; j++) {
			if (!digit(text[6 + 8 * i + j], &value))
				return -EINVAL;
			u->field[i] = u->field[i] << 4 | value;
		}
	}
	if (u->field[NAME_LENGTH] == 0 || u->field[NAME_LENGTH] > PATH_MAX)
		return -EINVAL;
	if (take(u, v->path, u->field[NAME_LENGTH]) != 0 || v->path[u->field[NAME_LENGTH] - 1] != '\0')
		return -EINVAL;
	u->offset = (u->offset + 3) & ~3UL;
	return 1;
}

static void set_attributes(struct unpacking *u, struct node *n)
{
	n->mode = u->field[MODE] & (S_IFMT | 07777);
	n->owner = u->field[OWNER];
	n->group = u->field[GROUP];
	n->accessed = n->modified = n->changed = u->field[TIME] * SECOND;
}

static struct seen *seen_of(struct unpacking *u)
{
	uint64_t device = (uint64_t)u->field[MAJOR] << 32 | u->field[MINOR];
	struct seen *s = u->seen;

	while (s != NULL && (s->inode != u->field[INODE] || s->device != device))
		s = s->next;
	return s;
}

static int64_t remember(struct vfs *v, struct unpacking *u, struct node *n)
{
	struct seen *s = vfs_take(v, sizeof *s);

	if (s == NULL)
		return -ENOMEM;
	s->inode = u->field[INODE];
	s->device = (uint64_t)u->field[MAJOR] << 32 | u->field[MINOR];
	s->node = node_hold(n);
	s->next = u->seen;
	u->seen = s;
	return 0;
}

/* What follows the name goes into the file. */
static int64_t data(struct vfs *v, struct unpacking *u, struct node *n)
{
	uint64_t left = u->field[SIZE], at = 0;
	struct request r = { .task = VFS_TASK };
	struct file f = { .operations = n->files, .flags = O_WRONLY, .node = n };

	while (left > 0) {
		size_t piece = (size_t)MIN(left, PAGE);

		if (take(u, v->page, piece) != 0)
			return -EINVAL;
		n->files->write(v, &r, &f, grant_read(v->page, piece), &at);
		if (r.result != (int64_t)piece)
			return -ENOMEM;
		left -= piece;
	}
	return 0;
}

/* The node at p, made anew, or the folder that is there, or the file of which this is one more name. Held. */
static int64_t make(struct vfs *v, struct unpacking *u, struct place *p, struct node **out)
{
	const struct node_operations *o = p->folder->operations;
	struct file_attributes as = { .mode = u->field[MODE] & (S_IFMT | 07777),
				      .device = DEVICE(u->field[SPECIAL_MAJOR], u->field[SPECIAL_MINOR]) };
	struct seen *s = u->field[LINKS] > 1 && S_ISREG(as.mode) ? seen_of(u) : NULL;
	int64_t result = 0;

	if (p->node != NULL && S_ISDIR(p->node->mode) && S_ISDIR(as.mode)) {
		*out = node_hold(p->node);
		return 0;
	}
	if (p->node != NULL)
		result = o->unlink(v, p->folder, p->name, p->length, p->node);
	if (result == 0 && s != NULL) {
		*out = node_hold(s->node);
		return o->link(v, p->folder, p->name, p->length, s->node);
	}
	if (result == 0)
		result = o->create(v, p->folder, p->name, p->length, &as, out);
	if (result == 0 && u->field[LINKS] > 1 && S_ISREG(as.mode))
		result = remember(v, u, *out);
	return result;
}

static int64_t make_link(struct vfs *v, struct unpacking *u, struct place *p)
{
	struct file_attributes as = { .mode = S_IFLNK | 0777, .owner = u->field[OWNER], .group = u->field[GROUP] };
	uint32_t length = u->field[SIZE];
	int64_t result;

	if (length == 0 || length >= PATH_MAX)
		return -EINVAL;
	result = take(u, v->target, length);
	if (result == 0 && p->node != NULL)
		result = p->folder->operations->unlink(v, p->folder, p->name, p->length, p->node);
	if (result == 0)
		result = p->folder->operations->symlink(v, p->folder, p->name, p->length, &as, v->target, length);
	return result;
}

static int64_t one(struct vfs *v, struct unpacking *u)
{
	uint64_t end = u->offset + u->field[SIZE];
	struct node *n = NULL;
	struct place p;
	int64_t result = walk_place(v, VFS_TASK, AT_FDCWD, v->path, WALK_NOFOLLOW, &p);

	if (result != 0)
		return result;
	if (S_ISLNK(u->field[MODE])) {
		result = make_link(v, u, &p);
	} else if (p.special) {
		n = node_hold(p.folder);
	} else {
		result = make(v, u, &p, &n);
	}
	place_drop(v, &p);
	if (n != NULL && result == 0) {
		if (S_ISREG(n->mode) && u->field[SIZE] > 0)
			result = data(v, u, n);
		set_attributes(u, n);
		node_drop(v, n);
	}
	u->offset = end;
	return result;
}

static int64_t folder_times(struct vfs *v, struct unpacking *u)
{
	struct node *n;

	if (S_ISDIR(u->field[MODE]) && walk(v, VFS_TASK, AT_FDCWD, v->path, WALK_NOFOLLOW, &n) == 0) {
		set_attributes(u, n);
		node_drop(v, n);
	}
	u->offset += u->field[SIZE];
	return 0;
}

static int64_t pass(struct vfs *v, struct unpacking *u)
{
	int64_t result;

	while ((result = next_header(v, u)) == 1) {
		if (strcmp(v->path, TRAILER) == 0)
			continue;
		result = u->times ? folder_times(v, u) : one(v, u);
		if (result != 0)
			break;
	}
	return result;
}

int64_t vfs_unpack(struct vfs *v)
{
	struct unpacking u = { .offset = 0 };
	int64_t result = pass(v, &u);

	while (u.seen != NULL) {
		struct seen *s = u.seen;

		u.seen = s->next;
		node_drop(v, s->node);
		vfs_give(v, s, sizeof *s);
	}
	if (result != 0)
		return result;
	u = (struct unpacking){ .times = true };
	return pass(v, &u);
}
