/* archive.c: unpacks the archive that was loaded with the kernel into /: cpio in its "new" format. It is read piece by
 * piece, and names are limited to PATH_MAX. A file with several names becomes several files. */
#include "kernel.h"
#include "names/names.h"

#define HEADER 110
#define TRAILER "TRAILER!!!"
#define SECOND 1000000000L

/* The header's fields of eight digits, after the magic number. */
enum { MODE = 1, OWNER, GROUP, TIME = 5, SIZE, SPECIAL_MAJOR = 9, SPECIAL_MINOR, NAME_LENGTH, FIELDS = 13 };

struct unpacking {
	/* The offset of the next byte. */
	uint64_t offset;
	uint32_t field[FIELDS];
};

/* Returns -EINVAL if the archive ends too early. */
static int64_t take(struct unpacking *u, void *to, size_t n)
{
	if (kernel_archive(u->offset, grant_write(to, n)) != (int64_t)n)
		return -EINVAL;
	u->offset += n;
	return 0;
}

/* The value of a digit; 16: it is none. */
static uint32_t digit(char c)
{
	uint32_t letter = (uint32_t)(uint8_t)c | 0x20;

	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 16;
}

/* Reads the next header, and its name into vfs.path. */
static int64_t next_header(struct unpacking *u)
{
	char text[HEADER];

	u->offset = (u->offset + 3) & ~3UL;
	TRY(take(u, text, HEADER));
	if (memcmp(text, "070701", 6) != 0)
		return -EINVAL;
	for (uint32_t i = 0; i < 8 * FIELDS; i++) {
		if (digit(text[6 + i]) == 16)
			return -EINVAL;
		u->field[i / 8] = (u->field[i / 8] << 4) + digit(text[6 + i]);
	}
	if (u->field[NAME_LENGTH] == 0 || u->field[NAME_LENGTH] > PATH_MAX)
		return -EINVAL;
	TRY(take(u, vfs.path, u->field[NAME_LENGTH]));
	u->offset = (u->offset + 3) & ~3UL;
	return vfs.path[u->field[NAME_LENGTH] - 1] == '\0' ? 0 : -EINVAL;
}

/* Copies the file's contents. */
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

/* Makes the entry again if it exists, unless it is a directory and stays one. */
static int64_t make(struct unpacking *u, struct place *p)
{
	const struct node_operations *o = p->directory->operations;
	struct file_attributes as = { .mode = u->field[MODE] & (S_IFMT | 07777),
				      .owner = u->field[OWNER],
				      .group = u->field[GROUP],
				      .size = u->field[SIZE],
				      .device = DEVICE(u->field[SPECIAL_MAJOR], u->field[SPECIAL_MINOR]) };
	bool is_link = S_ISLNK(as.mode);

	if (p->node != NULL && S_ISDIR(p->node->mode) && S_ISDIR(as.mode))
		return 0;
	if (p->special || (is_link && (as.size == 0 || as.size >= PATH_MAX)))
		return -EINVAL;
	if (p->node != NULL) {
		TRY(o->unlink(p));
		node_drop(p->node);
		p->node = NULL;
	}
	if (is_link)
		TRY(take(u, vfs.target, as.size));
	TRY(o->create(p, &as, is_link ? vfs.target : NULL));
	if (S_ISREG(as.mode))
		TRY(data(u, p->node));
	p->node->accessed = p->node->modified = p->node->changed = u->field[TIME] * SECOND;
	return 0;
}

int64_t vfs_unpack(void)
{
	struct unpacking u = { 0 };

	for (;;) {
		HELD_PLACE struct place p = { 0 };
		uint64_t end;

		TRY(next_header(&u));
		if (strcmp(vfs.path, TRAILER) == 0)
			return 0;
		end = u.offset + u.field[SIZE];
		TRY(walk_place(VFS_TASK, AT_FDCWD, vfs.path, AT_SYMLINK_NOFOLLOW, &p));
		TRY(make(&u, &p));
		u.offset = end;
	}
}
