/* memory.c: lwIP's malloc and free. A free knows no size, so the size lies before what lwIP gets. */
#include "net_internal.h"

#define HEAD ((size_t)MEM_ALIGNMENT)

void *net_allocate(size_t size)
{
	size_t *head = heap_take(HEAD + size);

	if (head == NULL)
		return NULL;
	*head = size;
	return (char *)head + HEAD;
}

void net_free(void *p)
{
	size_t *head = (size_t *)(void *)((char *)p - HEAD);

	heap_free(head, HEAD + *head);
}
