/* memory.c: lwIP's malloc and free. Small sizes lie in slabs of a page, whose places have a power of two bytes; larger
 * ones get pages of their own. An empty slab is freed. */
#include "net_internal.h"

#define SMALLEST 128U
#define CLASSES 5U
#define HEAD 64UL

/* At the beginning of a slab or a large allocation, where net_free() finds it. */
struct slab {
	struct link link;
	/* Freed places form a list through their first words. The `fresh` last places have never been used. */
	void *free;
	uint32_t class, used, fresh, pages;
};

static struct link partial[CLASSES];

void memory_start(void)
{
	for (unsigned i = 0; i < CLASSES; i++)
		list_start(&partial[i]);
}

static struct slab *slab_more(uint32_t class)
{
	struct slab *s = pages_take(1);

	if (s == NULL)
		return NULL;
	*s = (struct slab){ .class = class, .fresh = (uint32_t)((PAGE - HEAD) / (SMALLEST << class)) };
	list_add(partial[class].next, &s->link);
	return s;
}

void *net_allocate(size_t size)
{
	uint32_t class = 0;
	struct slab *s;
	void *p;

	while (class < CLASSES && size > SMALLEST << class)
		class++;
	if (class == CLASSES || size > (PAGE - HEAD) / 2) {
		size_t pages = pages_for(size + HEAD);

		s = pages_take(pages);
		if (s == NULL)
			return NULL;
		s->pages = (uint32_t)pages;
		return (char *)s + HEAD;
	}
	s = list_is_empty(&partial[class]) ? slab_more(class) : CONTAINER(partial[class].next, struct slab, link);
	if (s == NULL)
		return NULL;
	if (s->free != NULL) {
		p = s->free;
		s->free = *(void **)p;
	} else {
		p = (char *)s + HEAD + --s->fresh * (size_t)(SMALLEST << class);
	}
	s->used++;
	if (s->free == NULL && s->fresh == 0)
		list_remove(&s->link);
	return p;
}

void net_free(void *p)
{
	struct slab *s = (struct slab *)((uintptr_t)p & ~(PAGE - 1));

	if (s->pages != 0) {
		pages_give(s, s->pages);
		return;
	}
	if (s->free == NULL && s->fresh == 0)
		list_add(partial[s->class].next, &s->link);
	*(void **)p = s->free;
	s->free = p;
	if (--s->used > 0)
		return;
	list_remove(&s->link);
	pages_give(s, 1);
}
