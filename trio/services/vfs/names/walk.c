/* walk.c: from a path to a node. A walk holds its current node. The rest of the path is in vfs.path or, after the first
 * symbolic link, in vfs.target. */
#include "files/files.h"
#include "names/names.h"
#include "pipes/pipe.h"

struct walker {
	uint32_t task, flags, links;
	/* Root may search any directory. */
	bool passes;
	struct node *root, *at;
	/* The rest of the path. */
	const char *path;
};

void node_begin(struct node *n, struct mount *m, const struct file_attributes *as)
{
	n->mount = m;
	n->inode = ++vfs.next_inode;
	n->mode = as->mode;
	n->owner = as->owner;
	n->group = as->group;
	n->device = as->device;
	n->links = 1;
	n->references = 1;
	n->accessed = n->modified = n->changed = vfs_time();
}

void node_forgotten(struct node *n)
{
	if (n->special != NULL && S_ISFIFO(n->mode))
		fifo_forget(n);
	n->operations->forget(n);
}

bool is_in_group(const struct task_files *t, uint32_t group)
{
	if (t->group == group || t->user == 0)
		return true;
	for (uint32_t i = 0; i < t->group_count; i++)
		if (t->groups[i] == group)
			return true;
	return false;
}

int64_t permitted(uint32_t task, const struct node *n, unsigned wanted)
{
	const struct task_files *t = &vfs.tasks[task];
	uint32_t mode = n->mode;

	if ((wanted & MAY_WRITE) != 0 && (n->mount->flags & MS_RDONLY) != 0 &&
	    (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode)))
		return -EROFS;
	/* Root may execute a file if anybody may. */
	if (t->user == 0)
		return (wanted & MAY_EXECUTE) == 0 || S_ISDIR(mode) || (mode & 0111) != 0 ? 0 : -EACCES;
	if (t->user == n->owner)
		mode >>= 6;
	else if (is_in_group(t, n->group))
		mode >>= 3;
	return (wanted & ~mode) == 0 ? 0 : -EACCES;
}

bool is_owner(uint32_t task, const struct node *n)
{
	return vfs.tasks[task].user == 0 || vfs.tasks[task].user == n->owner;
}

static inline void go_to(struct walker *w, struct node *to)
{
	while (to->covered_by != NULL) {
		struct node *root = node_hold(to->covered_by->root);

		node_drop(to);
		to = root;
	}
	node_drop(w->at);
	w->at = to;
}

static int64_t go_up(struct walker *w)
{
	struct node *n = w->at, *parent;

	while (n != w->root && n == n->mount->root && n->mount->covers != NULL)
		n = n->mount->covers;
	if (n == w->root || n == n->mount->root || n->operations->parent == NULL) {
		go_to(w, node_hold(n));
		return 0;
	}
	TRY(n->operations->parent(n, &parent));
	go_to(w, parent);
	return 0;
}

/* Puts the link's text before the rest of the path. */
static int64_t go_by_text(struct walker *w, struct node *link)
{
	size_t left = strlen(w->path) + 1;
	int64_t length = link->operations->readlink(link, vfs.page, PAGE);

	if (length < 0)
		return length;
	if (length == 0)
		return -ENOENT;
	if ((size_t)length + left > PATH_MAX)
		return -ENAMETOOLONG;
	memmove(vfs.target + length, w->path, left);
	memcpy(vfs.target, vfs.page, (size_t)length);
	w->path = vfs.target;
	if (vfs.target[0] == '/')
		go_to(w, node_hold(w->root));
	return 0;
}

/* Drops `link`. */
static int64_t go_by_link(struct walker *w, struct node *link)
{
	struct node *to;
	int64_t result;

	if (++w->links > LINKS_FOLLOWED) {
		result = -ELOOP;
	} else if (link->operations->follow != NULL) {
		result = link->operations->follow(link, &to);
		if (result == 0)
			go_to(w, to);
	} else {
		result = go_by_text(w, link);
	}
	node_drop(link);
	return result;
}

/* Sets and holds the start of the walk. An empty path needs AT_EMPTY_PATH. */
static inline __attribute__((always_inline)) int64_t start(struct walker *w, int32_t directory)
{
	struct directories *directories = vfs.tasks[w->task].directories;
	struct node *at;
	struct file *f;

	vfs.walker = w->task;
	w->links = 0;
	w->root = directories->root;
	w->passes = vfs.tasks[w->task].user == 0;
	if (w->path[0] == '\0' && (w->flags & AT_EMPTY_PATH) == 0)
		return -ENOENT;
	if (w->path[0] == '/') {
		at = w->root;
	} else if (directory == AT_FDCWD) {
		at = directories->current;
	} else {
		f = file_of(w->task, directory);
		if (f == NULL)
			return -EBADF;
		if (f->node == NULL)
			return w->path[0] == '\0' ? -EINVAL : -ENOTDIR;
		at = f->node;
	}
	w->at = node_hold(at);
	return 0;
}

/* Skips slashes. Returns the length of the next component; 0 at the end. */
static size_t component(struct walker *w)
{
	const char *end;

	while (*w->path == '/')
		w->path++;
	for (end = w->path; *end != '/' && *end != '\0'; end++)
		;
	return (size_t)(end - w->path);
}

static bool is_dots(const char *name, size_t length)
{
	return name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.'));
}

static bool is_last(const char *rest, bool *slash)
{
	*slash = *rest == '/';
	while (*rest == '/')
		rest++;
	return *rest == '\0';
}

/* Follows one component. If `place` is wanted and this component is the last one, fills it and returns 1. */
static inline __attribute__((always_inline)) int64_t step(struct walker *w, size_t length, struct place *place)
{
	const char *name = w->path;
	struct node *next;
	int64_t result;
	bool last;

	if (!S_ISDIR(w->at->mode))
		return -ENOTDIR;
	if (!w->passes)
		TRY(permitted(w->task, w->at, MAY_EXECUTE));
	w->path += length;
	if (is_dots(name, length))
		return length == 2 ? go_up(w) : 0;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	if (place != NULL)
		last = is_last(w->path, &place->slash);
	result = w->at->operations->lookup(w->at, name, length, &next);
	if (place == NULL)
		last = w->path[0] == '\0';
	if (place != NULL && last && result == -ENOENT)
		next = NULL;
	else if (result != 0)
		return result;
	else if (S_ISLNK(next->mode) && !(last && (w->flags & AT_SYMLINK_NOFOLLOW) != 0))
		return go_by_link(w, next);
	if (place != NULL && last) {
		vfs.newest ^= 1;
		place->name = memcpy(vfs.places[vfs.newest], name, length);
		place->length = (uint32_t)length;
		place->node = next;
		return 1;
	}
	go_to(w, next);
	return last || S_ISDIR(w->at->mode) ? 0 : -ENOTDIR;
}

/* Walks to the end of the path and returns 0, or to the directory of the last component and returns 1. */
static inline __attribute__((always_inline)) int64_t go(struct walker *w, int32_t directory, struct place *place)
{
	int64_t result;
	size_t length;

	TRY(start(w, directory));
	while ((length = component(w)) > 0) {
		result = step(w, length, place);
		if (result != 0) {
			if (result < 0)
				node_drop(w->at);
			return result;
		}
	}
	return 0;
}

int64_t walk(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct node **out)
{
	struct walker w = { .task = task, .flags = flags, .path = path };

	TRY(go(&w, directory, NULL));
	*out = w.at;
	return 0;
}

int64_t walk_place(uint32_t task, int32_t directory, const char *path, uint32_t flags, struct place *out)
{
	struct walker w = { .task = task, .flags = flags & ~(uint32_t)AT_EMPTY_PATH, .path = path };
	int64_t result;

	TRY(result = go(&w, directory, out));
	out->directory = w.at;
	/* The path is `/`, or ends in dots, or ends in a link to a node. */
	out->special = result == 0;
	if (out->special)
		out->node = node_hold(w.at);
	return 0;
}

void place_drop(struct place *p)
{
	node_leave(&p->node);
	node_leave(&p->directory);
}

int64_t path_of(const struct node *root, struct node *n, const char *beyond, char *to, size_t size)
{
	HELD struct node *here = node_hold(n);
	char name[NAME_MAX + 1];
	size_t at = size - 1;
	struct node *directory;
	int64_t length;

	to[at] = '\0';
	while (here != root && (here != here->mount->root || here->mount->covers != NULL)) {
		length = 0;
		if (here == here->mount->root)
			directory = node_hold(here->mount->covers);
		else
			TRY(length = here->operations->name(here, name, &directory));
		node_drop(here);
		here = directory;
		if (length == 0)
			continue;
		if ((size_t)length >= at)
			return -ERANGE;
		at -= (size_t)length;
		memcpy(to + at, name, (size_t)length);
		to[--at] = '/';
	}
	if (at == size - 1)
		to[--at] = '/';
	if (here != root) {
		length = (int64_t)strlen(beyond);
		if ((size_t)length > at)
			return -ERANGE;
		at -= (size_t)length;
		memcpy(to + at, beyond, (size_t)length);
	}
	memmove(to, to + at, size - at);
	return (int64_t)(size - at - 1);
}
