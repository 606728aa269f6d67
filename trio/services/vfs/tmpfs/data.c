/* data.c: contents of tmpfs's regular files: pages of a vm object, so that mappings share the memory. A tree keeps
 * their addresses, so that reading and writing existing pages needs no call. */
#include "abi/mman.h"
#include "files/files.h"
#include "kernel.h"
#include "tmpfs/tmpfs.h"
#include "vm.h"

/* Files leave these pages free, so that programs can continue. */
#define FLOOR_PAGES 256
#define BLOCKS_A_PAGE (PAGE / 512)

/* A table has 64 words. */
#define TABLE_BITS 6
#define TABLE_BYTES ((1UL << TABLE_BITS) * sizeof(uint64_t))

static uint64_t *table_take(struct tree *t)
{
	return heap_allocate(TABLE_BYTES);
}

static void table_give(uint64_t *table)
{
	heap_free(table, TABLE_BYTES);
}

/* The object owns the pages. */
static void page_drop(struct tree *t, uint64_t page)
{
}

static const struct tree_kind kind = { TABLE_BITS, table_take, table_give, page_drop };

static bool has_room(struct tmpfs_mount *m)
{
	uint64_t left, total;

	if (m->pages_most != 0 && m->pages >= m->pages_most)
		return false;
	/* Dropped memory may suffice once it is freed. */
	do {
		if (kernel_memory_free(&left, &total) < 0 || left > FLOOR_PAGES)
			return true;
	} while (vm_reap() > 0);
	return false;
}

/* Gets a page that is not in the tree from the object, or makes one of zeros. Returns NULL without a page or room. */
static char *page_fetch(struct tmpfs_node *n, uint64_t index, bool create)
{
	struct tmpfs_mount *m = tmpfs_mount_of(n);
	uint64_t address = 0, *word;

	if (create && !has_room(m))
		return NULL;
	if (n->data.object == 0 && (!create || vm_object_create(&n->data.object) < 0))
		return NULL;
	if (vm_object_page(n->data.object, index, create, ENDPOINT_VFS, &address) < 0 || address == 0)
		return NULL;
	word = tree_word(&kind, &n->data.pages, index);
	if (word == NULL)
		return NULL;
	*word = address;
	m->pages++;
	n->node.blocks += BLOCKS_A_PAGE;
	return (char *)address;
}

static inline char *page_at(struct tmpfs_node *n, uint64_t index, bool create)
{
	char *p = (char *)tree_get(&kind, &n->data.pages, index);

	if (p != NULL || (!create && !n->data.mapped))
		return p;
	return page_fetch(n, index, create);
}

/* Copies between the file from `offset` on and the grant. Returns 0, or the error after *done bytes. */
static inline __attribute__((always_inline)) int64_t move(struct tmpfs_node *n, uint64_t offset, struct grant g,
							  uint64_t length, bool in, uint64_t *done)
{
	do {
		uint64_t in_page = offset % PAGE, chunk = MIN(PAGE - in_page, length - *done);
		char *p = page_at(n, offset / PAGE, in);
		int64_t bad;

		if (p == NULL)
			bad = in ? -ENOSPC : copy_zeros(g, *done, chunk);
		else
			bad = in ? copy_in(p + in_page, g, *done, chunk) : copy_out(g, *done, p + in_page, chunk);
		if (bad != 0) {
			*done += p == NULL ? 0 : copied(p + in_page, g, *done, chunk, in);
			return bad;
		}
		*done += chunk;
		offset += chunk;
	} while (*done < length);
	return 0;
}

static verdict tmpfs_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	struct tmpfs_node *n = tmpfs_node_of(f->node);
	uint64_t done = 0;
	int64_t bad;

	if (*at >= n->node.size)
		return answer(r, 0);
	bad = move(n, *at, to, MIN(to.length, n->node.size - *at), false, &done);
	if (bad != 0 && done == 0)
		return answer(r, bad);
	*at += done;
	node_accessed(&n->node, f->flags);
	return answer(r, (int64_t)done);
}

static void grown(struct tmpfs_node *n, uint64_t size)
{
	n->node.size = size;
	if (n->data.mapped)
		vm_object_resize(n->data.object, size);
}

static verdict tmpfs_write(struct request *r, struct file *f, struct grant from, uint64_t *at)
{
	struct tmpfs_node *n = tmpfs_node_of(f->node);
	uint64_t length = regular_write_begin(r, f, at, from.length), done = 0;
	int64_t bad;

	if (length == 0)
		return ANSWERED;
	bad = move(n, *at, from, length, true, &done);
	if (bad != 0 && done == 0)
		return answer(r, bad);
	*at += done;
	if (*at > n->node.size)
		grown(n, *at);
	n->node.modified = n->node.changed = vfs_time();
	return answer(r, (int64_t)done);
}

const struct file_operations tmpfs_files = {
	.read = tmpfs_read, .write = tmpfs_write, .by_shares = true, .seek = seek_by_size
};

/* Removes the pages from `index` on from the tree. */
static void pages_forget(struct tmpfs_node *n, uint64_t index)
{
	struct tree *t = &n->data.pages;
	uint64_t left = UINT64_MAX, pages;

	tree_cut(&kind, t, index, &left);
	if (t->root == 0)
		t->reach = 0;
	pages = UINT64_MAX - left;
	tmpfs_mount_of(n)->pages -= pages;
	n->node.blocks -= pages * BLOCKS_A_PAGE;
}

/* Drops the pages behind `size`. The object frees only what is within its size, and it learns of growth only once it is
 * mapped. So it is first told a size that covers everything. */
static void pages_cut(struct tmpfs_node *n, uint64_t size)
{
	pages_forget(n, (size + PAGE - 1) / PAGE);
	if (n->data.object == 0)
		return;
	vm_object_resize(n->data.object, INT64_MAX);
	vm_object_resize(n->data.object, size);
}

int64_t tmpfs_truncate(struct node *node, uint64_t size)
{
	pages_cut(tmpfs_node_of(node), size);
	node->size = size;
	node->modified = node->changed = vfs_time();
	return 0;
}

int64_t tmpfs_allocate(struct node *node, uint64_t from, uint64_t length, bool keep)
{
	struct tmpfs_node *n = tmpfs_node_of(node);
	uint64_t end = from + length;

	for (uint64_t index = from / PAGE; index * PAGE < end; index++)
		if (page_at(n, index, true) == NULL) {
			/* Pages beyond the end are dropped; pages in holes are zeros as before. */
			pages_cut(n, node->size);
			return -ENOSPC;
		}
	if (!keep && end > node->size)
		grown(n, end);
	node->changed = vfs_time();
	return 0;
}

int64_t tmpfs_object(struct node *node, uint32_t *object)
{
	struct tmpfs_node *n = tmpfs_node_of(node);

	if (n->data.object == 0 && vm_object_create(&n->data.object) < 0)
		return -ENOMEM;
	if (!n->data.mapped) {
		n->data.mapped = true;
		vm_object_resize(n->data.object, node->size);
	}
	vm_object_hold(n->data.object);
	*object = n->data.object;
	return 0;
}

void data_drop(struct tmpfs_node *n)
{
	pages_forget(n, 0);
	if (n->data.object != 0)
		vm_object_drop(n->data.object);
}
