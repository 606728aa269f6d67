/* archive.c: the archive that was loaded beside the kernel becomes what is in /: cpio in its "new" form, one archive or
 * more after each other with zeros between them. It is read piece by piece; no length in it is believed further than
 * PATH_MAX for a name. Folders get their times at the end, when nothing is put into them any more. */
#include "kernel.h"
#include "names/names.h"

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
	/* In the archive's order: what it says last of a folder holds. */
	struct seen *seen, **last;
};

/* -EINVAL where the archive ends before. */
static int64_t take(struct unpacking *u, void *to, size_t n)
{
	if (kernel_archive(u->offset, grant_write(to, n)) != (int64_t)n)
		return -EINVAL;
	u->offset += n;
	return 0;
}

/* What a digit stands for; 16: it is none. */
static uint32_t digit(char c)
{
	uint32_t letter = (uint32_t)(uint8_t)c | 0x20;

	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 16;
}

/* The fields of a header. False: one is no number. */
static bool fields_get(struct unpacking *u, const char *text)
{
	bool good = true;

	for (uint32_t i = 0; i < 8 * FIELDS; i++) {
		good &= digit(text[i]) < 16;
		u->field[i / 8] = (u->field[i / 8] << 4) + digit(text[i]);
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

static uint64_t device_of_entry(const struct unpacking *u)
{
	return (uint64_t)u->field[MAJOR] << 32 | u->field[MINOR];
}

static struct seen *seen_of(struct unpacking *u)
{
	struct seen *s = u->seen;

	while (s != NULL && (s->inode != u->field[INODE] || s->device != device_of_entry(u) || S_ISDIR(s->node->mode)))
		s = s->next;
	return s;
}

static int64_t remember(struct unpacking *u, struct node *n)
{
	struct seen *s = vfs_take(sizeof *s);

	if (s == NULL)
		return -ENOMEM;
	s->inode = u->field[INODE];
	s->device = device_of_entry(u);
	s->time = u->field[TIME] * SECOND;
	s->node = node_hold(n);
	*u->last = s;
	u->last = &s->next;
	return 0;
}

/* What follows the name goes into the file. */
static int64_t data(struct unpacking *u, struct node *n)
{
	uint64_t left = u->field[SIZE], at = 0;
	struct request r = { .task = VFS_TASK };
	struct file f = { .operations = n->files, .flags = O_WRONLY, .node = n };

	while (left > 0) {
		size_t piece = (size_t)MIN(left, PAGE);

		TRY(take(u, vfs.page, piece));
		n->files->write(&r, &f, grant_read(vfs.page, piece), &at);
		if (r.result != (int64_t)piece)
			return -ENOMEM;
		left -= piece;
	}
	return 0;
}

/* The node at p, made anew, or the file of which this is one more name. Held; none of a link. */
static int64_t make(struct unpacking *u, struct place *p, struct node **out)
{
	const struct node_operations *o = p->folder->operations;
	struct file_attributes as = { .mode = u->field[MODE] & (S_IFMT | 07777),
				      .owner = u->field[OWNER],
				      .group = u->field[GROUP],
				      .device = DEVICE(u->field[SPECIAL_MAJOR], u->field[SPECIAL_MINOR]) };
	struct seen *s = u->field[LINKS] > 1 && S_ISREG(as.mode) ? seen_of(u) : NULL;

	if (p->node != NULL)
		TRY(o->unlink(p->folder, p->name, p->length, p->node));
	if (S_ISLNK(as.mode)) {
		if (u->field[SIZE] == 0 || u->field[SIZE] >= PATH_MAX)
			return -EINVAL;
		TRY(take(u, vfs.target, u->field[SIZE]));
		as.mode = S_IFLNK | 0777;
		return o->symlink(p->folder, p->name, p->length, &as, vfs.target, u->field[SIZE]);
	}
	if (s == NULL)
		return o->create(p->folder, p->name, p->length, &as, out);
	TRY(o->link(p->folder, p->name, p->length, s->node));
	*out = node_hold(s->node);
	return 0;
}

static int64_t one(struct unpacking *u)
{
	uint64_t end = u->offset + u->field[SIZE];
	struct node *n = NULL;
	struct place p;
	int64_t result = 0;

	TRY(walk_place(VFS_TASK, AT_FDCWD, vfs.path, AT_SYMLINK_NOFOLLOW, &p));
	if (p.node != NULL && S_ISDIR(p.node->mode) && S_ISDIR(u->field[MODE]))
		n = node_hold(p.node);
	else
		result = p.special ? -EINVAL : make(u, &p, &n);
	place_drop(&p);
	if (result == 0 && n != NULL) {
		if (S_ISREG(n->mode))
			result = data(u, n);
		set_attributes(u, n);
		if (result == 0 && (S_ISDIR(n->mode) || u->field[LINKS] > 1))
			result = remember(u, n);
		node_drop(n);
	}
	u->offset = end;
	return result;
}

int64_t vfs_unpack(void)
{
	struct unpacking u = { .last = &u.seen };
	int64_t result;

	while ((result = next_header(&u)) == 1)
		if (strcmp(vfs.path, TRAILER) != 0 && (result = one(&u)) != 0)
			break;
	while (u.seen != NULL) {
		struct seen *s = u.seen;

		s->node->accessed = s->node->modified = s->node->changed = s->time;
		u.seen = s->next;
		node_drop(s->node);
		vfs_give(s, sizeof *s);
	}
	return result;
}
