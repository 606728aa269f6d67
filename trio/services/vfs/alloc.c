/* alloc.c: small memory, in slabs of one page for each class of sizes. A slab whose places are all free goes back,
 * but for one a class that is kept for the next to come, so that what makes and removes one thing over and over is
 * quick. */
#include "handlers.h"

/* Places of a slab are a multiple of 16 bytes; a page less its head holds 63 to 1 of them. */
static const uint16_t class_sizes[] = { 64, 128, 192, 288, 528, 1008, 2016 };

#define SLAB_HEAD 64UL

/* A kernel that checks itself keeps none, so that free pages are the same after as before, exactly. */
#ifdef TRIO_CHECKED
#define KEEPS_SPARE false
#else
#define KEEPS_SPARE true
#endif

/* At the beginning of the page. */
struct slab {
	struct link link;
	/* Places given back, through their first word; `fresh` have never been used. */
	void *free;
	uint32_t used, fresh, places;
};

static unsigned class_of(size_t size)
{
	unsigned c = 0;

	while (class_sizes[c] < size)
		if (++c == COUNT_OF(class_sizes))
			panic("vfs: %lu bytes are no small memory", size);
	return c;
}

/* First in the list of its class from now on. */
static void has_room(struct vfs *v, unsigned class, struct slab *s)
{
	list_add(v->allocator.partial[class].next, &s->link);
}

static struct slab *slab_more(struct vfs *v, unsigned class)
{
	struct slab *s = v->allocator.spare[class];

	if (s != NULL)
		v->allocator.spare[class] = NULL;
	else if ((s = pages_take(1)) == NULL)
		return NULL;
	s->free = NULL;
	s->used = 0;
	s->fresh = s->places = (uint32_t)((PAGE - SLAB_HEAD) / class_sizes[class]);
	has_room(v, class, s);
	return s;
}

void allocator_start(struct vfs *v)
{
	for (unsigned i = 0; i < COUNT_OF(v->allocator.partial); i++)
		list_start(&v->allocator.partial[i]);
}

void *vfs_take(struct vfs *v, size_t size)
{
	unsigned class = class_of(size);
	struct link *head = &v->allocator.partial[class];
	struct slab *s = list_is_empty(head) ? slab_more(v, class) : CONTAINER(head->next, struct slab, link);
	void *p;

	if (s == NULL)
		return NULL;
	if (s->free != NULL) {
		p = s->free;
		s->free = *(void **)p;
	} else {
		p = (char *)s + SLAB_HEAD + --s->fresh * (size_t)class_sizes[class];
	}
	if (++s->used == s->places)
		list_remove(&s->link);
	return memset(p, 0, size);
}

void vfs_give(struct vfs *v, void *p, size_t size)
{
	unsigned class = class_of(size);
	struct slab *s = (struct slab *)((uintptr_t)p & ~(PAGE - 1));

	if (s->used-- == s->places)
		has_room(v, class, s);
	*(void **)p = s->free;
	s->free = p;
	if (s->used > 0)
		return;
	list_remove(&s->link);
	if (KEEPS_SPARE && v->allocator.spare[class] == NULL)
		v->allocator.spare[class] = s;
	else
		pages_give(s, 1);
}
