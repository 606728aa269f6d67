/* resident.c: which pages are present: mincore, mlock. */
#include "usertests.h"

TEST(mincore, "Does mincore know which pages are in memory?")
{
	unsigned char in[3] = { 9, 9, 9 };
	char *at = room(3 * PAGE);

	at[PAGE] = 1;
	OK(mincore(at, 3 * PAGE, in));
	IS(in[0] & 1, 0);
	IS(in[1] & 1, 1);
	IS(in[2] & 1, 0);
	FAILS(mincore(at + 1, PAGE, in), EINVAL);
	FAULTS(RAW(SYS_mincore, at, PAGE, wild));
	OK(munmap(at, 3 * PAGE));
	FAILS(mincore(at, PAGE, in), ENOMEM);
}

TEST(mincore_vector, "Is mincore's vector written wherever the program may write, and nowhere else?")
{
	unsigned char *in;
	char *at = room(4 * PAGE);

	at[PAGE] = 1;
	in = (unsigned char *)room(5 * PAGE);
	/* The vector lies across two absent pages. */
	OK(mincore(at, 3 * PAGE, in + PAGE - 2));
	IS(in[PAGE - 2] & 1, 0);
	IS(in[PAGE - 1] & 1, 1);
	IS(in[PAGE] & 1, 0);
	/* The vector lies in a page that a child shares until it is written. */
	IN_CHILD (1) {
		OK(mincore(at + PAGE, PAGE, in));
		_exit(in[0] & 1);
	}
	IS(in[0], 0);
	OK(mprotect(in + 2 * PAGE, PAGE, PROT_READ));
	OK(mprotect(in + 3 * PAGE, PAGE, PROT_NONE));
	OK(munmap(in + 4 * PAGE, PAGE));
	for (int page = 2; page < 5; page++)
		FAILS(mincore(at, PAGE, in + page * PAGE), EFAULT);
	IS(in[2 * PAGE], 0);
	FAILS(mincore(at, 3 * PAGE, in + 2 * PAGE - 2), EFAULT);
	/* Pages before a gap are reported; an error of the vector there comes first. */
	OK(munmap(at + 2 * PAGE, PAGE));
	in[1] = in[2] = 9;
	FAILS(mincore(at, 4 * PAGE, in), ENOMEM);
	IS(in[1] & 1, 1);
	IS(in[2], 9);
	FAILS(mincore(at, 4 * PAGE, in + 2 * PAGE), EFAULT);
	FAILS(mincore(at + 2 * PAGE, 2 * PAGE, in + 2 * PAGE), ENOMEM);
}

TEST(mlock, "Is what is locked there, and only what is mapped locked?")
{
	char *at = room(4 * PAGE);

	IS(pages_there(at, 4), 0);
	OK(RAW(SYS_mlock2, at, 4 * PAGE, 1 /* MLOCK_ONFAULT */));
	IS(pages_there(at, 4), 0);
	FAILS(RAW(SYS_mlock2, at, 4 * PAGE, 2), EINVAL);
	OK(mlock(at + PAGE + 1, PAGE));
	IS(pages_there(at, 4), 2);
	OK(munlock(at, 4 * PAGE));
	OK(mprotect(at + 3 * PAGE, PAGE, PROT_NONE));
	FAILS(mlock(at, 4 * PAGE), ENOMEM);
	OK(munmap(at + 2 * PAGE, PAGE));
	FAILS(mlock(at, 4 * PAGE), ENOMEM);
	FAILS(munlock(at, 4 * PAGE), ENOMEM);
}

TEST(mlockall, "Is what is mapped later there at once with MCL_FUTURE, and no more after munlockall?")
{
	FAILS(mlockall(0), EINVAL);
	FAILS(mlockall(99), EINVAL);
	OK(mlockall(MCL_FUTURE));
	IS(pages_there(room(4 * PAGE), 4), 4);
	OK(munlockall());
	IS(pages_there(room(4 * PAGE), 4), 0);
}
