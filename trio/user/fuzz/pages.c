/* pages.c: preparations for counting free pages. */
#include "fuzz.h"

#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 1100  /* more than Trio has tasks */
#define CACHED_PAGES 7 /* that services may keep at one time and not at another: one for each of seven sizes */

/* The kernel keeps the tables of each task slot that was ever used, so all slots are used once before pages are
 * counted. */
void use_all_tasks(void)
{
	static pid_t pids[CHILDREN];
	int n = 0;

	while (n < CHILDREN && (pids[n] = fork()) >= 0)
		if (pids[n++] == 0)
			for (;;)
				pause();
	while (n > 0) {
		kill(pids[--n], SIGKILL);
		waitpid(pids[n], NULL, 0);
	}
}

/* A checked kernel keeps none. */
long cached_pages(void)
{
	struct utsname name;

	return uname(&name) == 0 && strstr(name.version, "TRIO_CHECKED") ? 0 : CACHED_PAGES;
}

void remove_sets(void)
{
	struct seminfo info;
	struct semid_ds set;
	long last = syscall(SYS_semctl, 0, 0, SEM_INFO, &info);

	for (long place = 0; place <= last; place++) {
		long id = syscall(SYS_semctl, place, 0, SEM_STAT, &set);

		if (id >= 0)
			syscall(SYS_semctl, id, 0, IPC_RMID, 0);
	}
}
