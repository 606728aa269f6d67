/* data.c: what is in a regular file of tmpfs: pages of a vm object, so that a mapping shows the same memory.
 * Where each page lies is kept here, so that reading and writing a page that there is asks nobody. */
#include "abi/mman.h"
#include "files/files.h"
#include "kernel.h"
#include "tmpfs/tmpfs.h"
#include "vm.h"

/* Left free whatever files want: programs are to be able to go on. */
#define FLOOR_PAGES 256
#define BLOCKS_A_PAGE (PAGE / 512)

#define RADIX_BITS 6
#define MASK ((1U << RADIX_BITS) - 1)
#define BRANCH ((1UL << RADIX_BITS) * sizeof(void *))

/* NULL where nothing stands. */
static inline void *radix_get(const struct radix *r, uint64_t index)
{
	void *p = r->top;
	uint32_t shift = r->height * RADIX_BITS;

	if (index >> shift != 0)
		return NULL;
	while (shift > 0 && p != NULL) {
		shift -= RADIX_BITS;
		p = ((void **)p)[index >> shift & MASK];
	}
	return p;
}

/* `index` is below 2^54, `p` is not NULL. 0 or -ENOMEM, and then `index` is as it was: a branch has nothing in it only
 * where memory ended on the way down. */
static int64_t radix_put(struct radix *r, uint64_t index, void *p)
{
	void **at = &r->top, **b;

	/* One level more, what there is standing at 0. */
	for (; index >> (r->height * RADIX_BITS) != 0; r->height++) {
		if (r->top == NULL)
			continue;
		b = vfs_take(BRANCH);
		if (b == NULL)
			return -ENOMEM;
		b[0] = r->top;
		r->top = b;
	}
	for (uint32_t shift = r->height * RADIX_BITS; shift > 0;) {
		if (*at == NULL)
			*at = vfs_take(BRANCH);
		if (*at == NULL)
			return -ENOMEM;
		shift -= RADIX_BITS;
		at = &((void **)*at)[index >> shift & MASK];
	}
	*at = p;
	return 0;
}

/* Takes out of a place that stands for `height` levels what is at `index` or after; the place is empty then where
 * nothing is left. */
static uint64_t branch_cut(void **place, uint32_t height, uint64_t index)
{
	uint32_t shift = (height - 1) * RADIX_BITS;
	uint64_t count = 0, first;
	void **b = *place;

	if (b == NULL)
		return 0;
	if (height == 0) {
		*place = NULL;
		return 1;
	}
	first = index >> shift;
	for (uint64_t i = first; i <= MASK; i++)
		count += branch_cut(&b[i], height - 1, i == first ? index & ((1UL << shift) - 1) : 0);
	for (uint64_t i = 0; i <= first; i++)
		if (b[i] != NULL)
			return count;
	vfs_give(b, BRANCH);
	*place = NULL;
	return count;
}

/* Nothing stands at `index` or after any more: branches go as a whole. Returns how much stood there. */
static uint64_t radix_cut(struct radix *r, uint64_t index)
{
	uint64_t count = index >> (r->height * RADIX_BITS) != 0 ? 0 : branch_cut(&r->top, r->height, index);

	if (r->top == NULL)
		r->height = 0;
	return count;
}

static bool has_room(struct tmpfs_mount *m)
{
	uint64_t left, total;

	if (m->pages_most != 0 && m->pages >= m->pages_most)
		return false;
	/* What was dropped and is not free yet is freed as it is needed. */
	do {
		if (kernel_memory_free(&left, &total) < 0 || left > FLOOR_PAGES)
			return true;
	} while (vm_reap() > 0);
	return false;
}

/* A page that is not in the table: from the object, or a new one of zeros. NULL: there is none, or no room. */
static char *page_fetch(struct tmpfs_node *n, uint64_t index, bool create)
{
	struct tmpfs_mount *m = tmpfs_mount_of(n);
	uint64_t address = 0;

	if (create && !has_room(m))
		return NULL;
	if (n->data.object == 0 && (!create || vm_object_create(&n->data.object) < 0))
		return NULL;
	if (vm_object_page(n->data.object, index, create, ENDPOINT_VFS, &address) < 0 || address == 0)
		return NULL;
	if (radix_put(&n->data.pages, index, (void *)address) != 0)
		return NULL;
	m->pages++;
	n->node.blocks += BLOCKS_A_PAGE;
	return (char *)address;
}

static inline char *page_at(struct tmpfs_node *n, uint64_t index, bool create)
{
	char *p = radix_get(&n->data.pages, index);

	if (p != NULL || (!create && !n->data.mapped))
		return p;
	return page_fetch(n, index, create);
}

static verdict tmpfs_read(struct request *r, struct file *f, struct grant to, uint64_t *at)
{
	struct tmpfs_node *n = tmpfs_node_of(f->node);
	uint64_t offset = *at, done = 0, length;
	long bad = 0;

	if (offset >= n->node.size)
		return answer(r, 0);
	length = MIN(to.length, n->node.size - offset);
	while (done < length) {
		uint64_t in_page = offset % PAGE, chunk = MIN(PAGE - in_page, length - done);
		char *p = page_at(n, offset / PAGE, false);

		bad = p != NULL ? copy_out(to, done, p + in_page, chunk) : copy_zeros(to, done, chunk);
		if (bad != 0 && p != NULL)
			chunk = copied(p + in_page, to, done, chunk, false);
		if (bad == 0 || p != NULL) {
			done += chunk;
			offset += chunk;
		}
		if (bad != 0)
			break;
	}
	if (bad != 0 && done == 0)
		return settle(r, bad);
	*at = offset;
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
	uint64_t length = regular_write_begin(r, f, at, from.length), offset = *at, done = 0;
	long bad = 0;

	if (length == 0)
		return ANSWERED;
	while (done < length) {
		uint64_t in_page = offset % PAGE, chunk = MIN(PAGE - in_page, length - done);
		char *p = page_at(n, offset / PAGE, true);

		bad = p == NULL ? -ENOSPC : copy_in(p + in_page, from, done, chunk);
		if (bad == -EFAULT)
			chunk = copied(p + in_page, from, done, chunk, true);
		else if (bad != 0)
			break;
		done += chunk;
		offset += chunk;
		if (bad != 0)
			break;
	}
	if (bad != 0 && done == 0)
		return settle(r, bad);
	*at = offset;
	if (offset > n->node.size)
		grown(n, offset);
	n->node.modified = n->node.changed = vfs_time();
	return answer(r, (int64_t)done);
}

const struct file_operations tmpfs_files = {
	.read = tmpfs_read, .write = tmpfs_write, .by_shares = true, .seek = seek_by_size
};

/* Pages from `index` on go from the table. */
static void pages_forget(struct tmpfs_node *n, uint64_t index)
{
	uint64_t pages = radix_cut(&n->data.pages, index);

	tmpfs_mount_of(n)->pages -= pages;
	n->node.blocks -= pages * BLOCKS_A_PAGE;
}

/* What is behind `size` goes. The object, which hears of growth only once it is mapped, frees nothing that is behind
 * the size that it knows: it is told first of one behind which nothing is. */
static void pages_cut(struct tmpfs_node *n, uint64_t size)
{
	pages_forget(n, (size + PAGE - 1) / PAGE);
	if (n->data.object == 0)
		return;
	vm_object_resize(n->data.object, OFFSET_MOST);
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
			/* What came beyond the end goes; what filled holes are zeros as before. */
			pages_cut(n, node->size);
			return -ENOSPC;
		}
	if (!keep && end > node->size)
		grown(n, end);
	node->changed = vfs_time();
	return 0;
}

int64_t tmpfs_object(struct node *node, uint64_t offset, uint64_t length, uint32_t *object, uint64_t *at)
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
	*at = offset;
	return 0;
}

void data_drop(struct tmpfs_node *n)
{
	pages_forget(n, 0);
	if (n->data.object != 0)
		vm_object_drop(n->data.object);
}
