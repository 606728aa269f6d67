/* semaphores.c: System V semaphores: values, and operations that are done all at once or wait. */
#include "semaphores.h"

int set_made(int count)
{
	return (int)OK(semget(IPC_PRIVATE, count, 0600));
}

int operate(int id, int number, int by, int flags)
{
	struct sembuf operation = { (unsigned short)number, (short)by, (short)flags };

	return semop(id, &operation, 1);
}

int value(int id, int number)
{
	return (int)OK(semctl(id, number, GETVAL));
}

void set_value(int id, int number, int to)
{
	IS(semctl(id, number, SETVAL, (union semun){ .val = to }), 0);
}

void await(int id, int number, int command, int wanted)
{
	long until = now_ms() + 5000;

	while (semctl(id, number, command) != wanted && now_ms() < until)
		sleep_ms(1);
	IS(semctl(id, number, command), wanted);
}

pid_t operating(int id, int number, int by, int flags)
{
	pid_t pid;

	START_CHILD (pid)
		_exit(operate(id, number, by, flags) == 0 ? 0 : errno);
	return pid;
}

void removed(int id)
{
	IS(semctl(id, 0, IPC_RMID), 0);
}

static int is_done(pid_t pid)
{
	int status;

	sleep_ms(5);
	if (OK(waitpid(pid, &status, WNOHANG)) == 0)
		return 0;
	IS(status, 0);
	return 1;
}

TEST(sem_values, "Are values set, told and bounded, one by one and all together?")
{
	int id = set_made(3);
	unsigned short values[3] = { 7, 8, 9 };

	IS(value(id, 2), 0);
	IS(semctl(id, 2, GETPID), 0);
	set_value(id, 2, VALUE_MOST);
	IS(value(id, 2), VALUE_MOST);
	IS(semctl(id, 2, GETPID), getpid());
	FAILS(semctl(id, 2, SETVAL, (union semun){ .val = VALUE_MOST + 1 }), ERANGE);
	FAILS(semctl(id, 2, SETVAL, (union semun){ .val = -1 }), ERANGE);
	FAILS(semctl(id, 3, SETVAL, (union semun){ .val = 1 }), EINVAL);
	FAILS(semctl(id, -1, GETVAL), EINVAL);
	FAILS(semctl(id, 0, 99), EINVAL);
	FAILS(semctl(-1, 0, GETVAL), EINVAL);
	IS(semctl(id, 0, SETALL, (union semun){ .array = values }), 0);
	IS(value(id, 1), 8);
	values[0] = 1;
	values[2] = VALUE_MOST + 1;
	FAILS(semctl(id, 0, SETALL, (union semun){ .array = values }), ERANGE);
	memset(values, 0, sizeof values);
	IS(semctl(id, 0, GETALL, (union semun){ .array = values }), 0);
	IS(values[0], 7);
	IS(values[1], 8);
	IS(values[2], 9);
	FAULTS(RAW(SYS_semctl, id, 0, GETALL, wild));
	FAULTS(RAW(SYS_semctl, id, 0, SETALL, wild));
	removed(id);
}

TEST(sem_errors, "Does semop say why it fails, and change nothing then?")
{
	static struct sembuf many[OPERATIONS_MOST + 1];
	int id = set_made(2);

	FAILS(semop(id, many, 0), EINVAL);
	FAILS(semop(-1, many, 1), EINVAL);
	FAILS(semop(id, many, OPERATIONS_MOST + 1), E2BIG);
	IS(semop(id, many, OPERATIONS_MOST), 0);
	FAILS(operate(id, 2, 1, 0), EFBIG);
	FAILS(operate(id, 0, -1, IPC_NOWAIT), EAGAIN);
	IS(operate(id, 0, VALUE_MOST, 0), 0);
	FAILS(operate(id, 0, 1, 0), ERANGE);
	FAILS(operate(id, 0, 0, IPC_NOWAIT), EAGAIN);
	IS(value(id, 0), VALUE_MOST);
	FAULTS(RAW(SYS_semop, id, wild, 1));
	removed(id);
	FAILS(operate(id, 0, 1, 0), EINVAL);
}

TEST(sem_atomic, "Are the operations of a call done in their order, all or none?")
{
	int id = set_made(3);
	struct sembuf some[] = { { 0, 5, 0 }, { 1, 3, 0 }, { 0, -5, 0 }, { 0, 0, 0 }, { 2, -1, IPC_NOWAIT } };

	FAILS(semop(id, some, 5), EAGAIN);
	IS(value(id, 0), 0);
	IS(value(id, 1), 0);
	some[4].sem_op = VALUE_MOST;
	IS(semop(id, some, 5), 0);
	IS(value(id, 1), 3);
	IS(value(id, 2), VALUE_MOST);
	FAILS(semop(id, some, 5), ERANGE);
	IS(value(id, 1), 3);
	some[0].sem_op = -1;
	some[0].sem_flg = IPC_NOWAIT;
	some[1] = (struct sembuf){ 0, 1, 0 };
	FAILS(semop(id, some, 2), EAGAIN);
	removed(id);
}

TEST(sem_waits, "Does a decrement wait until there is enough, and is it counted?")
{
	int id = set_made(2);
	pid_t pid = operating(id, 1, -3, 0);

	await(id, 1, GETNCNT, 1);
	IS(semctl(id, 0, GETNCNT), 0);
	IS(semctl(id, 1, GETZCNT), 0);
	IS(operate(id, 1, 2, 0), 0);
	TRUE(!is_done(pid));
	IS(value(id, 1), 2);
	IS(operate(id, 1, 2, 0), 0);
	IS(semctl(id, 1, GETNCNT), 0);
	IS(value(id, 1), 1);
	IS(semctl(id, 1, GETPID), pid);
	IS(reap(pid), 0);
	removed(id);
}

TEST(sem_zero, "Does an operation of 0 wait for zero, whatever comes after it?")
{
	int id = set_made(1);
	pid_t first, second;

	set_value(id, 0, 2);
	first = operating(id, 0, 0, 0);
	second = operating(id, 0, 0, 0);
	await(id, 0, GETZCNT, 2);
	IS(operate(id, 0, -1, 0), 0);
	IS(semctl(id, 0, GETZCNT), 2);
	IS(operate(id, 0, -1, 0), 0);
	IS(operate(id, 0, 1, 0), 0);
	IS(semctl(id, 0, GETZCNT), 0);
	IS(reap(first), 0);
	IS(reap(second), 0);
	removed(id);
}

TEST(sem_order, "Are those that wait served in the order of their coming, before those that come later?")
{
	int id = set_made(1);
	pid_t pids[4];

	for (int i = 0; i < 4; i++) {
		pids[i] = operating(id, 0, i == 1 ? -2 : -1, 0);
		await(id, 0, GETNCNT, i + 1);
	}
	IS(operate(id, 0, 1, 0), 0);
	FAILS(operate(id, 0, -1, IPC_NOWAIT), EAGAIN);
	IS(reap(pids[0]), 0);
	/* A request for less need not wait behind one for more. */
	IS(operate(id, 0, 1, 0), 0);
	IS(reap(pids[2]), 0);
	TRUE(!is_done(pids[1]));
	IS(operate(id, 0, 2, 0), 0);
	IS(reap(pids[1]), 0);
	TRUE(!is_done(pids[3]));
	IS(operate(id, 0, 1, 0), 0);
	IS(reap(pids[3]), 0);
	IS(value(id, 0), 0);
	removed(id);
}

static pid_t operating_both(int id, int first, int second)
{
	struct sembuf both[] = { { 0, (short)first, 0 }, { 1, (short)second, 0 } };
	pid_t pid;

	START_CHILD (pid)
		_exit(semop(id, both, 2) == 0 ? 0 : errno);
	return pid;
}

TEST(sem_both, "Does a call wait until all of its operations can be done, and take nothing before?")
{
	int id = set_made(2);
	pid_t pid = operating_both(id, -1, -1);

	await(id, 0, GETNCNT, 1);
	IS(operate(id, 0, 1, 0), 0);
	await(id, 1, GETNCNT, 1);
	IS(semctl(id, 0, GETNCNT), 0);
	IS(operate(id, 0, -1, IPC_NOWAIT), 0);
	IS(operate(id, 1, 1, 0), 0);
	TRUE(!is_done(pid));
	IS(value(id, 1), 1);
	IS(operate(id, 0, 1, 0), 0);
	IS(reap(pid), 0);
	IS(value(id, 0), 0);
	IS(value(id, 1), 0);
	removed(id);
}

TEST(sem_chain, "Does what one waiting call does let another one go on that came before?")
{
	int id = set_made(3);
	pid_t first = operating(id, 1, -1, 0), second;

	await(id, 1, GETNCNT, 1);
	second = operating_both(id, -1, 1);
	await(id, 0, GETNCNT, 1);
	IS(operate(id, 0, 1, 0), 0);
	IS(reap(second), 0);
	IS(reap(first), 0);
	IS(value(id, 1), 0);
	removed(id);
}

TEST(sem_lock, "Is the idiom of waiting for zero and then adding one a lock?")
{
	struct sembuf lock[] = { { 0, 0, 0 }, { 0, 1, SEM_UNDO } };
	int id = set_made(1), *shared = shared_room(PAGE);
	pid_t pids[4];

	for (int i = 0; i < 4; i++) {
		pids[i] = fork_checked();
		for (int j = 0; pids[i] == 0 && j < 50; j++) {
			int seen;

			OK(semop(id, lock, 2));
			seen = *shared;
			sched_yield();
			*shared = seen + 1;
			OK(operate(id, 0, -1, SEM_UNDO));
		}
		if (pids[i] == 0)
			_exit(0);
	}
	for (int i = 0; i < 4; i++)
		IS(reap(pids[i]), 0);
	IS(*shared, 200);
	removed(id);
}

TEST(sem_timeout, "Does semtimedop give up in time?")
{
	struct sembuf take = { 0, -1, 0 };
	struct timespec t = { 0, 30 * MS }, none = { 0, 0 }, bad = { 0, -1 }, long_time = { 100, 0 };
	int id = set_made(1);
	long from = now_ms();

	FAILS(semtimedop(id, &take, 1, &t), EAGAIN);
	TRUE(now_ms() - from >= 29);
	IS(semctl(id, 0, GETNCNT), 0);
	FAILS(semtimedop(id, &take, 1, &none), EAGAIN);
	FAILS(semtimedop(id, &take, 1, &bad), EINVAL);
	FAULTS(RAW(SYS_semtimedop, id, &take, 1, wild));
	IS(operate(id, 0, 2, 0), 0);
	IS(semtimedop(id, &take, 1, &long_time), 0);
	IS(semtimedop(id, &take, 1, NULL), 0);
	IS(value(id, 0), 0);
	removed(id);
}

TEST(sem_signal, "Does a handler end a waiting semop with EINTR, even one that restarts calls?")
{
	int id = set_made(1);

	tick(10, catch, SA_RESTART);
	FAILS(operate(id, 0, -1, 0), EINTR);
	FAILS(operate(id, 0, -1, SEM_UNDO), EINTR);
	tick(0, NULL, 0);
	IS(semctl(id, 0, GETNCNT), 0);
	IS(operate(id, 0, 1, 0), 0);
	IS(value(id, 0), 1);
	removed(id);
}

TEST(sem_killed, "Is a waiting process that is killed no longer served?")
{
	int id = set_made(2);
	pid_t first = operating(id, 0, -1, 0), second = operating_both(id, -1, 0);

	await(id, 0, GETNCNT, 2);
	kill_and_reap(first);
	kill_and_reap(second);
	IS(semctl(id, 0, GETNCNT), 0);
	IS(operate(id, 0, 1, 0), 0);
	IS(value(id, 0), 1);
	removed(id);
}

TEST(sem_removed, "Are all that wait told EIDRM when the set is removed?")
{
	int id = set_made(2);
	pid_t pids[3];

	set_value(id, 1, 1);
	pids[0] = operating(id, 0, -1, SEM_UNDO);
	pids[1] = operating(id, 1, 0, 0);
	pids[2] = operating_both(id, -1, -1);
	await(id, 0, GETNCNT, 2);
	await(id, 1, GETZCNT, 1);
	removed(id);
	for (int i = 0; i < 3; i++)
		IS(reap(pids[i]), EIDRM);
}
