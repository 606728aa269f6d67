/* archive.c: the archive that was loaded beside the kernel becomes what is in /: cpio in its "new" form, one archive or
 * more after each other with zeros between them. It is read piece by piece; no length in it is believed further than
 * PATH_MAX for a name. Folders get their times at the end, when nothing is put into them any more. */
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

/* A file with more than one link, or a folder, that has been seen; held. */
struct seen {
	struct seen *next;
	uint64_t inode, device;
	int64_t time;
	struct node *node;
};

struct unpacking {
	/* Of the next byte. */
	uint64_t offset;
	uint32_t field[FIELDS];
	/* Folders in the archive's order: what it says last of one holds. */
	struct seen *files, *folders, **last_folder;
};

/* -EINVAL where the archive ends before. */
static int64_t take(struct unpacking *u, void *to, size_t n)
{
	if (kernel_archive(u->offset, grant_write(to, n)) != (int64_t)n)
		return -EINVAL;
	u->offset += n;
	return 0;
}

/* One more than what a digit stands for; 0: it is none. */
static const uint8_t digits[256] = { ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
				     ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
				     ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
				     ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16 };

/* The fields of a header. False: one is no number. */
static bool fields_get(struct unpacking *u, const char *text)
{
	bool good = true;

	for (uint32_t i = 0; i < FIELDS; i++, text += 8) {
		uint32_t value = 0;

		for (uint32_t j = 0; j < 8; j++) {
			uint32_t digit = digits[(uint8_t)text[j]];

			good &= digit != 0;
			value = (value << 4) + digit - 1;
		}
		u->field[i] = value;
	}
	return good;
}

/* The next header and name (in vfs.path). 1: there is one, 0: the archive's end, or -EINVAL. */
static int64_t next_header(struct unpacking *u)
{
	char text[HEADER];

	u->offset = (u->offset + 3) & ~3UL;
	do {
		if (kernel_archive(u->offset, grant_write(text, 4)) < 4)
			return 0;
		u->offset += 4;
	} while (memcmp(text, "\0\0\0", 4) == 0);
	u->offset -= 4;
	if (take(u, text, HEADER) != 0 || (memcmp(text, "070701", 6) != 0 && memcmp(text, "070702", 6) != 0))
		return -EINVAL;
	if (!fields_get(u, text + 6))
		return -EINVAL;
	if (u->field[NAME_LENGTH] == 0 || u->field[NAME_LENGTH] > PATH_MAX)
		return -EINVAL;
	if (take(u, vfs.path, u->field[NAME_LENGTH]) != 0 || vfs.path[u->field[NAME_LENGTH] - 1] != '\0')
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
	struct seen *s = u->files;

	while (s != NULL && (s->inode != u->field[INODE] || s->device != device))
		s = s->next;
	return s;
}

static int64_t remember(struct unpacking *u, struct node *n, struct seen **list)
{
	struct seen *s = vfs_take(sizeof *s);

	if (s == NULL)
		return -ENOMEM;
	s->inode = u->field[INODE];
	s->device = (uint64_t)u->field[MAJOR] << 32 | u->field[MINOR];
	s->time = u->field[TIME] * SECOND;
	s->node = node_hold(n);
	s->next = *list;
	*list = s;
	return 0;
}

static void forget(struct seen *list)
{
	while (list != NULL) {
		struct seen *s = list;

		list = s->next;
		node_drop(s->node);
		vfs_give(s, sizeof *s);
	}
}

/* What follows the name goes into the file. */
static int64_t data(struct unpacking *u, struct node *n)
{
	uint64_t left = u->field[SIZE], at = 0;
	struct request r = { .task = VFS_TASK };
	struct file f = { .operations = n->files, .flags = O_WRONLY, .node = n };

	while (left > 0) {
		size_t piece = (size_t)MIN(left, PAGE);

		if (take(u, vfs.page, piece) != 0)
			return -EINVAL;
		n->files->write(&r, &f, grant_read(vfs.page, piece), &at);
		if (r.result != (int64_t)piece)
			return -ENOMEM;
		left -= piece;
	}
	return 0;
}

/* The node at p, made anew, or the folder that is there, or the file of which this is one more name. Held. */
static int64_t make(struct unpacking *u, struct place *p, struct node **out)
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
		result = o->unlink(p->folder, p->name, p->length, p->node);
	if (result == 0 && s != NULL) {
		*out = node_hold(s->node);
		return o->link(p->folder, p->name, p->length, s->node);
	}
	if (result == 0)
		result = o->create(p->folder, p->name, p->length, &as, out);
	if (result == 0 && u->field[LINKS] > 1 && S_ISREG(as.mode))
		result = remember(u, *out, &u->files);
	return result;
}

static int64_t make_link(struct unpacking *u, struct place *p)
{
	struct file_attributes as = { .mode = S_IFLNK | 0777, .owner = u->field[OWNER], .group = u->field[GROUP] };
	uint32_t length = u->field[SIZE];
	int64_t result;

	if (length == 0 || length >= PATH_MAX)
		return -EINVAL;
	result = take(u, vfs.target, length);
	if (result == 0 && p->node != NULL)
		result = p->folder->operations->unlink(p->folder, p->name, p->length, p->node);
	if (result == 0)
		result = p->folder->operations->symlink(p->folder, p->name, p->length, &as, vfs.target, length);
	return result;
}

static int64_t one(struct unpacking *u)
{
	uint64_t end = u->offset + u->field[SIZE];
	struct node *n = NULL;
	struct place p;
	int64_t result = 0;

	TRY(walk_place(VFS_TASK, AT_FDCWD, vfs.path, WALK_NOFOLLOW, &p));
	if (S_ISLNK(u->field[MODE])) {
		result = make_link(u, &p);
	} else if (p.special) {
		n = node_hold(p.folder);
	} else {
		result = make(u, &p, &n);
	}
	place_drop(&p);
	if (n != NULL && result == 0) {
		if (S_ISREG(n->mode) && u->field[SIZE] > 0)
			result = data(u, n);
		set_attributes(u, n);
		if (S_ISDIR(n->mode))
			result = remember(u, n, u->last_folder);
		if (*u->last_folder != NULL)
			u->last_folder = &(*u->last_folder)->next;
		node_drop(n);
	}
	u->offset = end;
	return result;
}

int64_t vfs_unpack(void)
{
	struct unpacking u = { .last_folder = &u.folders };
	int64_t result;

	while ((result = next_header(&u)) == 1) {
		if (strcmp(vfs.path, TRAILER) == 0)
			continue;
		result = one(&u);
		if (result != 0)
			break;
	}
	for (struct seen *s = u.folders; s != NULL; s = s->next)
		s->node->accessed = s->node->modified = s->node->changed = s->time;
	forget(u.files);
	forget(u.folders);
	return result;
}
