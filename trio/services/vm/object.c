/* object.c: objects, which are growable arrays of pages: tmpfs's files, shared memory, a device's memory. A tree of
 * tables of 512 words finds the pages. */
#include "vm_internal.h"
#include "endpoints.h"

#define WORDS (PAGE / sizeof(uint64_t))
#define WORD_BITS 9
#define OBJECTS_PER_PAGE 64U
#define OBJECT_PAGES 8192U

struct object_page {
	struct object objects[OBJECTS_PER_PAGE];
	/* The number of objects in use. */
	uint32_t used;
};
_Static_assert(sizeof(struct object_page) <= PAGE, "objects fit into a page");

static struct object_page *object_pages[OBJECT_PAGES];
/* No number below it is free; 0 stays unused. */
static uint32_t first_free = 1;

struct object *object_of(uint32_t number)
{
	struct object_page *page =
		number / OBJECTS_PER_PAGE < OBJECT_PAGES ? object_pages[number / OBJECTS_PER_PAGE] : NULL;
	struct object *o = page != NULL ? &page->objects[number % OBJECTS_PER_PAGE] : NULL;

	return o != NULL && o->holders != 0 ? o : NULL;
}

int64_t vm_object_create(uint32_t *out_object)
{
	struct object_page **page;
	uint32_t number = first_free;

	for (; object_of(number) != NULL; number++)
		/* Continues with the page's last object if all are in use. */
		if (object_pages[number / OBJECTS_PER_PAGE]->used == OBJECTS_PER_PAGE)
			number |= OBJECTS_PER_PAGE - 1;
	first_free = number;
	if (number / OBJECTS_PER_PAGE >= OBJECT_PAGES)
		return -ENOMEM;
	page = &object_pages[number / OBJECTS_PER_PAGE];
	if (*page == NULL)
		*page = pages_take(1);
	if (*page == NULL)
		return -ENOMEM;
	(*page)->objects[number % OBJECTS_PER_PAGE] = (struct object){ .holders = 1 };
	(*page)->used++;
	*out_object = number;
	return 0;
}

int64_t vm_object_device(uint64_t frame, uint64_t count, uint32_t *out_object)
{
	struct object *o;

	TRY(vm_object_create(out_object));
	o = object_of(*out_object);
	o->kind = OBJECT_DEVICE;
	o->device = frame;
	o->size = count * PAGE;
	return kernel_frame_device(frame, count);
}

int64_t object_promise(uint32_t object, uint64_t pages)
{
	struct object *o = object_of(object);
	uint64_t promised = pages;

	for (uint64_t words = pages; words > 1; promised += words)
		words = (words + WORDS - 1) / WORDS;
	TRY(kernel_memory_promise((int64_t)promised));
	o->promised = (uint32_t)promised;
	return 0;
}

static struct object *object_in(struct tree *t)
{
	return CONTAINER(t, struct object, pages);
}

/* A promised table becomes an ordinary page. */
static uint64_t *table_take(struct tree *t)
{
	if (object_in(t)->promised != 0) {
		object_in(t)->promised--;
		(void)kernel_memory_promise(-1);
	}
	return pages_take(1);
}

static void table_give(uint64_t *table)
{
	pages_give(table, 1);
}

static void frame_drop(struct tree *t, uint64_t frame)
{
	(void)kernel_frame_drop(frame, object_in(t)->promised != 0);
}

static const struct tree_kind frames = { WORD_BITS, table_take, table_give, frame_drop };

uint64_t object_word(const struct object *o, uint64_t index)
{
	return tree_get(&frames, &o->pages, index);
}

uint64_t *object_place(struct object *o, uint64_t index)
{
	return tree_word(&frames, &o->pages, index);
}

static __attribute__((noinline)) uint64_t frame_special(const struct object *o, uint64_t index)
{
	uint64_t word;

	if (o->kind == OBJECT_DEVICE)
		return object_reaches(o, index) ? o->device + index * PAGE : 0;
	word = object_word(o, index);
	return paged_is_there(word) ? word : 0;
}

uint64_t object_frame(struct object *o, uint64_t index, bool create)
{
	uint64_t *place, frame;

	if (o->kind != OBJECT_MEMORY)
		return frame_special(o, index);
	frame = tree_get(&frames, &o->pages, index);
	if (frame != 0 || !create)
		return frame;
	place = object_place(o, index);
	if (place == NULL || kernel_frame_take(o->promised != 0, &frame) != 0)
		return 0;
	*place = frame;
	return frame;
}

/* Dropped objects whose pages are still to be freed, by shares, as time passes or when memory is needed: a list by
 * `next`, 0 at its end. */
static uint32_t dropped;
#define REAP_AGAIN 1000000UL
#define REAP_PAGES 1024UL

static void reap_later(uint32_t number)
{
	object_of(number)->next = dropped;
	dropped = number;
	alarm_at(ENDPOINT_VM, now() + REAP_AGAIN);
}

/* Moves the pages from `index` on in the tree at `word` (2^reach pages) to *to. If memory runs out, some stay. */
static void tree_split(uint64_t *word, uint64_t *to, uint32_t reach, uint64_t index)
{
	while (*word != 0 && index != 0) {
		uint64_t *table = (uint64_t *)*word, *other = pages_take(1), from;

		if (other == NULL)
			return;
		reach -= WORD_BITS;
		from = index >> reach;
		*to = (uint64_t)other;
		memcpy(&other[from + 1], &table[from + 1], (WORDS - from - 1) * sizeof *table);
		memset(&table[from + 1], 0, (WORDS - from - 1) * sizeof *table);
		word = &table[from];
		to = &other[from];
		index &= (1UL << reach) - 1;
	}
	*to = *word;
	*word = 0;
}

/* Drops the object's pages from `index` on. Many pages are moved to an object of their own that is freed later. */
static void pages_drop(struct object *o, uint64_t index)
{
	uint64_t left = SHARE_PAGES;
	uint32_t number;
	struct object *rest;

	if (index >> o->pages.reach != 0)
		return;
	tree_cut(&frames, &o->pages, index, &left);
	if (left > 0)
		return;
	if (o->promised == 0 && vm_object_create(&number) == 0) {
		rest = object_of(number);
		rest->pages.reach = o->pages.reach;
		tree_split(&o->pages.root, &rest->pages.root, o->pages.reach, index);
		reap_later(number);
	}
	left = UINT64_MAX;
	tree_cut(&frames, &o->pages, index, &left);
}

/* Frees at most *left pages of an object that nobody holds; returns whether all is freed. A page of objects without any
 * in use is freed too, so that nothing is left behind. */
static bool object_free(uint32_t number, uint64_t *left)
{
	struct object *o = object_of(number);
	struct object_page *page = object_pages[number / OBJECTS_PER_PAGE];

	if (o->kind == OBJECT_PAGED) {
		paged_unheld(number);
		return true;
	}
	if (o->kind == OBJECT_MEMORY)
		tree_cut(&frames, &o->pages, 0, left);
	if (*left == 0)
		return false;
	if (o->promised != 0)
		(void)kernel_memory_promise(-(int64_t)o->promised);
	o->holders = 0;
	first_free = MIN(first_free, number);
	if (--page->used == 0) {
		object_pages[number / OBJECTS_PER_PAGE] = NULL;
		pages_give(page, 1);
	}
	return true;
}

int64_t vm_reap(void)
{
	uint64_t left = REAP_PAGES;

	while (dropped != 0 && left > 0) {
		uint32_t number = dropped, next = object_of(number)->next;

		if (object_free(number, &left))
			dropped = next;
	}
	if (dropped != 0)
		alarm_at(ENDPOINT_VM, now() + REAP_AGAIN);
	return (int64_t)(REAP_PAGES - left);
}

int64_t vm_object_hold(uint32_t object)
{
	struct object *o = object_of(object);

	if (o == NULL)
		return -EINVAL;
	o->holders++;
	return 0;
}

int64_t vm_object_drop(uint32_t object)
{
	struct object *o = object_of(object);
	uint64_t left = SHARE_PAGES;

	if (o == NULL)
		return -EINVAL;
	if (o->holders > 1)
		o->holders--;
	else if (!object_free(object, &left))
		reap_later(object);
	return 0;
}

void object_mapped(uint32_t object)
{
	struct object *o = object_of(object);

	if (o == NULL)
		return;
	o->holders++;
	o->mapped++;
}

void object_unmapped(uint32_t object)
{
	struct object *o = object_of(object);

	if (o == NULL)
		return;
	o->mapped--;
	(void)vm_object_drop(object);
}

int64_t vm_object_page(uint32_t object, uint64_t index, uint32_t create, uint32_t endpoint, uint64_t *out_address)
{
	struct object *o = object_of(object);
	uint64_t frame;

	*out_address = 0;
	if (o == NULL || index > INT64_MAX / PAGE)
		return -EINVAL;
	frame = object_frame(o, index, create != 0);
	if (frame == 0)
		return create ? -ENOMEM : 0;
	return kernel_frame_address(frame, endpoint, out_address);
}

/* Unmaps the pages from `index` on, and private copies of them, in all spaces. */
static void unmap_everywhere(uint32_t object, uint64_t index)
{
	for (uint32_t number = 0; number < TASKS; number++) {
		struct space *s = spaces[number];

		if (s == NULL)
			continue;
		REGION_EACH (r, s) {
			uint64_t skipped = index > r->index ? index - r->index : 0, next;

			if (r->object != object || skipped >= region_pages(r))
				continue;
			(void)drop_pages(s, r->begin + skipped * PAGE, r->end, UINT64_MAX, &next);
		}
	}
}

/* Clears the last page behind the end, for when the object grows again. */
static void clear_tail(struct object *o, uint64_t size)
{
	uint64_t frame = size % PAGE == 0 ? 0 : object_frame(o, size / PAGE, false), at;

	if (frame != 0 && kernel_frame_address(frame, ENDPOINT_VM, &at) == 0)
		memset((char *)at + size % PAGE, 0, PAGE - size % PAGE);
}

int64_t vm_object_resize(uint32_t object, uint64_t size)
{
	struct object *o = object_of(object);
	uint64_t pages = size / PAGE + (size % PAGE != 0), old;

	if (o == NULL || o->kind == OBJECT_DEVICE)
		return -EINVAL;
	old = o->size;
	o->size = size;
	if (size >= old)
		return 0;
	if (o->kind == OBJECT_PAGED)
		paged_cut(o, pages, (old + PAGE - 1) / PAGE);
	if (o->mapped != 0)
		unmap_everywhere(object, pages);
	pages_drop(o, pages);
	if (o->pages.root == 0)
		o->pages.reach = 0;
	clear_tail(o, size);
	return 0;
}
