/* semaphores_undo.c: what the end of a process undoes, and threads, which share that. */
#include "semaphores.h"

TEST(sem_undo, "Is what a process took and gave with SEM_UNDO undone when it ends, however it ends?")
{
	int id = set_made(3);
	pid_t pid;

	set_value(id, 0, 5);
	pid = fork_checked();
	if (pid == 0) {
		OK(operate(id, 0, -2, SEM_UNDO));
		OK(operate(id, 0, -1, SEM_UNDO));
		OK(operate(id, 0, -1, 0));
		OK(operate(id, 1, 4, SEM_UNDO));
		OK(operate(id, 2, 1, SEM_UNDO));
		OK(operate(id, 1, -3, 0));
		IS(value(id, 0), 1);
		pause();
	}
	await(id, 1, GETPID, pid);
	for (int i = 0; i < 1000 && value(id, 1) != 1; i++)
		sleep_ms(1);
	kill_and_reap(pid);
	IS(value(id, 0), 4);
	/* Not below 0. */
	IS(value(id, 1), 0);
	IS(value(id, 2), 0);
	IS(semctl(id, 0, GETPID), pid);
	removed(id);
}

TEST(sem_undo_wakes, "Does the end of a process wake who waits for what it undoes?")
{
	int id = set_made(1), ready[2], go[2];
	pid_t holder, waiter;

	OK(pipe(ready));
	OK(pipe(go));
	set_value(id, 0, 1);
	START_CHILD (holder) {
		OK(operate(id, 0, -1, SEM_UNDO));
		put(ready[1]);
		get(go[0]);
	}
	get(ready[0]);
	waiter = operating(id, 0, -1, SEM_UNDO);
	await(id, 0, GETNCNT, 1);
	put(go[1]);
	IS(reap(holder), 0);
	IS(reap(waiter), 0);
	IS(value(id, 0), 1);
	removed(id);
}

TEST(sem_undo_bounds, "Is an adjustment that would grow too large refused?")
{
	int id = set_made(1);

	for (int i = 0; i < 2; i++) {
		IS(operate(id, 0, VALUE_MOST, i ? 0 : SEM_UNDO), 0);
		IS(operate(id, 0, -VALUE_MOST, 0), 0);
	}
	IS(operate(id, 0, 1, SEM_UNDO), 0);
	FAILS(operate(id, 0, 1, SEM_UNDO), ERANGE);
	IS(value(id, 0), 1);
	IS(operate(id, 0, -1, SEM_UNDO), 0);
	/* SETVAL clears what is to be undone. */
	set_value(id, 0, 3);
	IS(operate(id, 0, 2, SEM_UNDO), 0);
	removed(id);
}

TEST(sem_undo_own, "Does a child not undo what its parent did, and does SETVAL forget it?")
{
	int id = set_made(2);
	unsigned short values[2] = { 9, 9 };

	IS(operate(id, 0, 2, SEM_UNDO), 0);
	IS(reap(operating(id, 1, 2, SEM_UNDO)), 0);
	IS(value(id, 0), 2);
	IS(value(id, 1), 0);
	IN_CHILD (0) {
		OK(operate(id, 0, 1, SEM_UNDO));
		OK(operate(id, 1, 1, SEM_UNDO));
		set_value(id, 0, 7);
	}
	IS(value(id, 0), 7);
	IS(value(id, 1), 0);
	IN_CHILD (0) {
		OK(operate(id, 0, 1, SEM_UNDO));
		IS(semctl(id, 0, SETALL, (union semun){ .array = values }), 0);
	}
	IS(value(id, 0), 9);
	removed(id);
}

TEST(sem_undo_exec, "Is what a process gave taken back when the program ends that it executes then?")
{
	int id = set_made(1);

	IN_CHILD (2) {
		OK(operate(id, 0, 3, SEM_UNDO));
		execute_self();
	}
	IS(value(id, 0), 0);
	removed(id);
}

static int threads_id;

static void *take_one(void *unused)
{
	(void)unused;
	OK(operate(threads_id, 0, -1, SEM_UNDO));
	return NULL;
}

TEST(sem_undo_threads, "Is it the process's end that undoes, not that of one of its threads?")
{
	threads_id = set_made(1);
	set_value(threads_id, 0, 1);
	IN_CHILD (0) {
		IS(pthread_join(start_thread(take_one, NULL), NULL), 0);
		IS(value(threads_id, 0), 0);
	}
	IS(value(threads_id, 0), 1);
	removed(threads_id);
}

TEST(sem_threads, "Do threads of a process wait for each other by semaphores?")
{
	pthread_t thread;

	threads_id = set_made(1);
	thread = start_thread(take_one, NULL);
	await(threads_id, 0, GETNCNT, 1);
	IS(operate(threads_id, 0, 1, 0), 0);
	IS(pthread_join(thread, NULL), 0);
	IS(value(threads_id, 0), 0);
	removed(threads_id);
}
