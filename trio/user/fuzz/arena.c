/* arena.c: the memory for calls' arguments: words of every kind and, at known places, structures that are valid enough
 * to pass the first checks. */
#include "fuzz.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define MESSAGES 8
#define MESSAGES_AT (ARENA_AT + FUZZ_PAGE)
#define BESIDE_AT (ARENA_AT + 2 * FUZZ_PAGE) /* control data of each message: half a page */
#define BESIDE_BYTES (FUZZ_PAGE / 2)
#define MEMBERS 1030 /* in the vector: a few more than allowed */
#define VECTOR_AT (ARENA_AT + 8 * FUZZ_PAGE)

unsigned long message_in_arena(void)
{
	return MESSAGES_AT + below(MESSAGES) * sizeof(struct msghdr);
}

unsigned long vector_in_arena(void)
{
	return VECTOR_AT + below(4) * sizeof(struct iovec);
}

/* The same descriptor many times: if one can be sent, all can. */
static unsigned long rights(unsigned long at)
{
	struct cmsghdr *head = (struct cmsghdr *)at;
	unsigned long count = count_around();
	int fd = (int)below(24);

	if (count > (BESIDE_BYTES - sizeof *head) / sizeof fd)
		count = 1;
	head->cmsg_len = sizeof *head + count * sizeof fd;
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = below(8) ? SCM_RIGHTS : (int)below(4);
	for (unsigned long i = 0; i < count; i++)
		memcpy((char *)(head + 1) + i * sizeof fd, &fd, sizeof fd);
	return head->cmsg_len;
}

static void message(unsigned long i)
{
	struct msghdr *m = (struct msghdr *)(MESSAGES_AT + i * sizeof *m);
	struct iovec *part = (struct iovec *)(MESSAGES_AT + FUZZ_PAGE / 2) + i;

	memset(m, 0, sizeof *m);
	part->iov_base = (void *)buffer();
	part->iov_len = length();
	m->msg_iov = below(4) ? part : (struct iovec *)VECTOR_AT;
	m->msg_iovlen = m->msg_iov == part ? 1 : (int)count_around();
	if (below(4) == 0)
		return;
	m->msg_control = (void *)(BESIDE_AT + i * BESIDE_BYTES);
	m->msg_controllen = (socklen_t)rights((unsigned long)m->msg_control);
}

static void vector(void)
{
	struct iovec *member = (struct iovec *)VECTOR_AT;

	for (unsigned i = 0; i < MEMBERS; i++) {
		member[i].iov_base = (void *)(ARENA_AT + below(ARENA_PAGES * FUZZ_PAGE - 64));
		member[i].iov_len = below(64) ? below(8) : size_around();
	}
}

void fill_arena(uint64_t seed)
{
	unsigned long *at = (unsigned long *)ARENA_AT;

	random_from(seed);
	for (unsigned long i = 0; i < ARENA_PAGES * FUZZ_PAGE / sizeof *at; i += 1 + below(3))
		at[i] = below(3) ? below(8) : below(2) ? buffer() : path();
	/* A short time, where most calls that take a time find it. */
	at[0] = 0;
	at[1] = below(2000000);
	at[2] = 0;
	at[3] = below(2000);
	vector();
	for (unsigned long i = 0; i < MESSAGES; i++)
		message(i);
}
