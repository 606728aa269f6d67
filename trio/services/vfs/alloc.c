/* alloc.c: memory of any size. Small sizes lie in slabs of one page for each class of sizes; what no slab holds has
 * pages of its own. A slab whose places are all free goes back, but for one a class that is kept for the next to come,
 * so that what makes and removes one thing over and over is quick. */
#include "vfs_internal.h"

/* Places of a slab are a multiple of 16 bytes; a page less its head holds 63 to 2 of them. */
static const uint16_t class_sizes[] = { 64, 128, 192, 288, 528, 1008, 2016 };
#define SMALL_MOST 2016UL

/* The class of a size, by how many times 16 bytes it takes. */
static const uint8_t classes[SMALL_MOST / 16 + 1] = {
	[5 ... 8] = 1, [9 ... 12] = 2, [13 ... 18] = 3, [19 ... 33] = 4, [34 ... 63] = 5, [64 ... 126] = 6,
};

#define SLAB_HEAD 64UL

/* A kernel that checks itself keeps none, so that free pages are the same after as before, exactly. */
#ifdef TRIO_CHECKED
#define KEEPS_SPARE false
#else
#define KEEPS_SPARE true
#endif

/* Of each class: slabs with a free place, and one that is empty. */
static struct link partial[COUNT_OF(class_sizes)];
static struct slab *spare[COUNT_OF(class_sizes)];

/* At the beginning of the page. */
struct slab {
	struct link link;
	/* Places freed, through their first word; `fresh` have never been used. */
	void *free;
	uint32_t used, fresh, places;
};

static unsigned class_of(size_t size)
{
	INVARIANT(class_sizes[classes[(size + 15) / 16]] >= size);
	return classes[(size + 15) / 16];
}

/* First in the list of its class from now on. */
static void has_room(unsigned class, struct slab *s)
{
	list_add(partial[class].next, &s->link);
}

static struct slab *slab_more(unsigned class)
{
	struct slab *s = spare[class] != NULL ? spare[class] : pages_take(1);

	if (s == NULL)
		return NULL;
	spare[class] = NULL;
	s->free = NULL;
	s->used = 0;
	s->fresh = s->places = (uint32_t)((PAGE - SLAB_HEAD) / class_sizes[class]);
	has_room(class, s);
	return s;
}

void allocator_start(void)
{
	for (unsigned i = 0; i < COUNT_OF(partial); i++)
		list_start(&partial[i]);
}

void *heap_allocate(size_t size)
{
	unsigned class;
	struct link *head;
	struct slab *s;
	void *p;

	if (size > SMALL_MOST)
		return pages_take(pages_for(size));
	class = class_of(size);
	head = &partial[class];
	s = list_is_empty(head) ? slab_more(class) : CONTAINER(head->next, struct slab, link);
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

void heap_free(void *p, size_t size)
{
	struct slab *s = (struct slab *)((uintptr_t)p & ~(PAGE - 1));
	unsigned class;

	if (size > SMALL_MOST) {
		pages_give(p, pages_for(size));
		return;
	}
	class = class_of(size);
	if (s->used-- == s->places)
		has_room(class, s);
	*(void **)p = s->free;
	s->free = p;
	if (s->used > 0)
		return;
	list_remove(&s->link);
	if (KEEPS_SPARE && spare[class] == NULL)
		spare[class] = s;
	else
		pages_give(s, 1);
}
