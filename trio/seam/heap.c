/* heap.c: memory of any size, for the services of one domain. Each class of sizes has slabs of one page; larger sizes
 * get pages of their own. An empty slab is freed, except one per class, which makes repeated allocation and freeing
 * fast. */
#include "port.h"

/* The sizes are multiples of 16 bytes. A page less its head holds 63 to 2 of them. */
static const uint16_t class_sizes[] = { 64, 128, 192, 288, 528, 1008, 2016 };
#define SMALL_MOST 2016UL

/* The class of a size, indexed by the size in units of 16 bytes. */
static const uint8_t classes[SMALL_MOST / 16 + 1] = {
	[5 ... 8] = 1, [9 ... 12] = 2, [13 ... 18] = 3, [19 ... 33] = 4, [34 ... 63] = 5, [64 ... 126] = 6,
};

#define SLAB_HEAD 64UL

/* A checked kernel keeps no spare slab, so that it can compare the numbers of free pages exactly. */
#ifdef TRIO_CHECKED
#define KEEPS_SPARE false
#else
#define KEEPS_SPARE true
#endif

/* For each class the slabs with a free place, and one empty slab. */
#define EMPTY(class) { &partial[class], &partial[class] }
static struct link partial[COUNT_OF(class_sizes)] = { EMPTY(0), EMPTY(1), EMPTY(2), EMPTY(3),
						      EMPTY(4), EMPTY(5), EMPTY(6) };
static struct slab *spare[COUNT_OF(class_sizes)];

/* The slab's head lies at the beginning of its page. */
struct slab {
	struct link link;
	/* Freed places form a list through their first words. The `fresh` last places have never been used. */
	void *free;
	uint32_t used, fresh, places;
};

static size_t class_of(size_t size)
{
	INVARIANT(class_sizes[classes[(size + 15) / 16]] >= size);
	return classes[(size + 15) / 16];
}

/* Puts the slab first in the list of its class. */
static void has_room(size_t class, struct slab *s)
{
	list_add(partial[class].next, &s->link);
}

static struct slab *slab_more(size_t class)
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

static inline void *take(size_t size)
{
	size_t class;
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
	return p;
}

void *heap_take(size_t size)
{
	return take(size);
}

void *heap_allocate(size_t size)
{
	void *p = take(size);

	return p == NULL || size > SMALL_MOST ? p : memset(p, 0, size);
}

void heap_free(void *p, size_t size)
{
	struct slab *s = (struct slab *)((uintptr_t)p & ~(PAGE - 1));
	size_t class;

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
