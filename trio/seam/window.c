/* window.c: with the switch by-mapping, the one page of a program that is mapped at PROCESS_MAPPED in a server that
 * copies from it or to it; and what the server finds there if the kernel takes it away in the middle of the copy. */
#include "servers.h"
#include "x86/cpu.h"
#include "x86/paging.h"

#define OWN (PAGE_PRESENT | PAGE_USER | PAGE_NO_EXECUTE)

static void set(struct server *s, uint64_t entry)
{
	*s->window = entry;
	cpu_forget_page(PROCESS_MAPPED);
}

void window_open(struct server *s, uint64_t frame, bool write)
{
	uint64_t entry = frame | OWN | (write ? PAGE_WRITE : 0);

	if (s->maps)
		set(s, entry);
	else
		*s->window = entry;
	s->maps = true;
	s->has_lost = false;
#ifdef TRIO_CHECKED
	/* Pretends that other tasks have run: a server makes every third copy twice. */
	static unsigned opened;

	if (++opened % 3 == 0)
		window_lose(s);
#endif
}

void window_lose(struct server *s)
{
	set(s, s->lost_frame | OWN | PAGE_WRITE);
	s->has_lost = true;
}

bool window_close(struct server *s)
{
	bool is_whole = s->maps && !s->has_lost;

	set(s, 0);
	s->maps = false;
	return is_whole;
}

void server_stops(void)
{
	if (current->serves->maps)
		window_lose(current->serves);
}
