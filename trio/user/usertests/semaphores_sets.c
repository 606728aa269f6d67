/* semaphores_sets.c: sets of System V semaphores: how they are made and found, who may use them, and how many there may
 * be. */
#include "semaphores.h"

TEST(sem_get, "Does semget make a set for a key once, and find it then?")
{
	key_t key = 0x5a000000 + getpid();
	int id;

	FAILS(semget(key, 1, 0600), ENOENT);
	FAILS(semget(key, 0, IPC_CREAT | 0600), EINVAL);
	FAILS(semget(key, -1, IPC_CREAT | 0600), EINVAL);
	FAILS(semget(key, SET_MOST + 1, IPC_CREAT | 0600), EINVAL);
	id = (int)OK(semget(key, 3, IPC_CREAT | 0600));
	IS(semget(key, 3, 0600), id);
	IS(semget(key, 0, 0), id);
	IS(semget(key, 2, IPC_CREAT | 0600), id);
	FAILS(semget(key, 4, 0600), EINVAL);
	FAILS(semget(key, 4, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
	removed(id);
	FAILS(semget(key, 3, 0600), ENOENT);
	FAILS(semctl(id, 0, IPC_RMID), EINVAL);
	TRUE(semget(key, 3, IPC_CREAT | 0600) != id);
	removed((int)OK(semget(key, 0, 0)));
}

TEST(sem_private, "Is each private set another, and an id not used again at once?")
{
	int ids[40];

	for (int i = 0; i < 40; i++) {
		ids[i] = set_made(1);
		for (int j = 0; j < i; j++)
			TRUE(ids[i] != ids[j]);
		if (i % 2)
			removed(ids[i]);
	}
	for (int i = 1; i < 40; i += 2)
		FAILS(operate(ids[i], 0, 1, 0), EINVAL);
	for (int i = 0; i < 40; i += 2)
		removed(ids[i]);
}

TEST(sem_status, "Does IPC_STAT tell who made a set, when, and how large it is?")
{
	key_t key = 0x5b000000 + getpid();
	int id = (int)OK(semget(key, 5, IPC_CREAT | 0640));
	struct semid_ds s;
	union semun at = { .buf = &s };
	time_t now = time(NULL);

	memset(&s, 0xff, sizeof s);
	IS(semctl(id, 0, IPC_STAT, at), 0);
	IS(s.sem_perm.uid, geteuid());
	IS(s.sem_perm.cuid, geteuid());
	IS(s.sem_perm.gid, getegid());
	IS(s.sem_perm.cgid, getegid());
	IS(s.sem_perm.mode, 0640);
	IS(s.sem_nsems, 5);
	IS(s.sem_otime, 0);
	TRUE(s.sem_ctime >= now - 1 && s.sem_ctime <= now + 1);
	IS(operate(id, 0, 1, 0), 0);
	IS(semctl(id, 0, IPC_STAT, at), 0);
	TRUE(s.sem_otime >= now - 1 && s.sem_otime <= now + 5);
	FAULTS(RAW(SYS_semctl, id, 0, IPC_STAT, wild));
	s.sem_perm.mode = 01777;
	IS(semctl(id, 0, IPC_SET, at), 0);
	memset(&s, 0, sizeof s);
	IS(semctl(id, 0, IPC_STAT, at), 0);
	IS(s.sem_perm.mode, 0777);
	IS(s.sem_perm.uid, geteuid());
	s.sem_perm.uid = (uid_t)-1;
	FAILS(semctl(id, 0, IPC_SET, at), EINVAL);
	FAULTS(RAW(SYS_semctl, id, 0, IPC_SET, wild));
	FAILS(semctl(id + 1, 0, IPC_STAT, at), EINVAL);
	removed(id);
	FAILS(semctl(id, 0, IPC_STAT, at), EINVAL);
}

/* struct seminfo, as the kernel has it. */
struct info {
	int map, sets, all, undos, of_a_set, operations, undos_of_a_process, bytes, greatest, adjustment;
};

TEST(sem_info, "Are the limits told, and how much of them is used?")
{
	struct info limits, used, more;
	struct semid_ds s;
	int id, last, seen = 0;

	OK(RAW(SYS_semctl, 0, 0, IPC_INFO, &limits));
	IS(limits.operations, OPERATIONS_MOST);
	IS(limits.of_a_set, SET_MOST);
	IS(limits.greatest, VALUE_MOST);
	TRUE(limits.sets >= 128);
	OK(RAW(SYS_semctl, 0, 0, SEM_INFO, &used));
	id = set_made(6);
	last = (int)OK(RAW(SYS_semctl, 0, 0, SEM_INFO, &more));
	TRUE(more.bytes > 0 && more.adjustment >= 6);
	for (int i = 0; i <= last; i++)
		if (RAW(SYS_semctl, i, 0, SEM_STAT, &s) == id) {
			IS(s.sem_nsems, 6);
			seen++;
		}
	IS(seen, 1);
	FAULTS(RAW(SYS_semctl, 0, 0, IPC_INFO, wild));
	FAILS(RAW(SYS_semctl, -1, 0, IPC_INFO, &limits), EINVAL);
	FAILS(RAW(SYS_semctl, SET_MOST - 1, 0, SEM_STAT, &s), EINVAL);
	removed(id);
}

TEST(sem_own_rights, "Does a set's mode bind its owner too, but for removing it?")
{
	struct semid_ds s;
	key_t key = 0x5c000000 + getpid();
	int id;

	become_ordinary();
	id = (int)OK(semget(key, 1, IPC_CREAT | 0400));
	IS(value(id, 0), 0);
	FAILS(operate(id, 0, 1, 0), EACCES);
	IS(operate(id, 0, 0, 0), 0);
	FAILS(semctl(id, 0, SETVAL, (union semun){ .val = 1 }), EACCES);
	FAILS(semget(key, 1, 0600), EACCES);
	IS(semget(key, 1, 0400), id);
	IS(semctl(id, 0, IPC_STAT, (union semun){ .buf = &s }), 0);
	s.sem_perm.mode = 0200;
	IS(semctl(id, 0, IPC_SET, (union semun){ .buf = &s }), 0);
	FAILS(semctl(id, 0, GETVAL), EACCES);
	FAILS(semctl(id, 0, IPC_STAT, (union semun){ .buf = &s }), EACCES);
	IS(operate(id, 0, 1, 0), 0);
	FAILS(operate(id, 0, 0, IPC_NOWAIT), EACCES);
	removed(id);
}

TEST(sem_rights, "May another user use a set as its mode says, and only its owner change it?")
{
	struct semid_ds s;
	union semun at = { .buf = &s };
	int id, open;

	only_for_root();
	id = set_made(1);
	open = (int)OK(semget(IPC_PRIVATE, 1, 0606));
	IS(semctl(open, 0, IPC_STAT, at), 0);
	IN_CHILD (0) {
		become_ordinary();
		FAILS(operate(id, 0, 1, 0), EACCES);
		FAILS(semctl(id, 0, GETVAL), EACCES);
		FAILS(semctl(id, 0, IPC_RMID), EPERM);
		IS(operate(open, 0, 1, 0), 0);
		IS(value(open, 0), 1);
		FAILS(semctl(open, 0, IPC_RMID), EPERM);
		FAILS(semctl(open, 0, IPC_SET, at), EPERM);
	}
	IS(value(open, 0), 1);
	s.sem_perm.uid = OTHER_USER;
	IS(semctl(open, 0, IPC_SET, at), 0);
	IN_CHILD (0) {
		become_ordinary();
		removed(open);
	}
	FAILS(semctl(open, 0, GETVAL), EINVAL);
	removed(id);
}

TEST(sem_large, "Can a set have as many semaphores as the limit says?")
{
	int id = set_made(SET_MOST);
	unsigned short *values = (unsigned short *)room(SET_MOST * sizeof *values);

	IS(operate(id, SET_MOST - 1, 5, SEM_UNDO), 0);
	IS(reap(operating(id, SET_MOST - 1, 5, SEM_UNDO)), 0);
	IS(reap(operating(id, SET_MOST - 3, 5, SEM_UNDO)), 0);
	IS(semctl(id, 0, GETALL, (union semun){ .array = values }), 0);
	IS(values[SET_MOST - 1], 5);
	IS(values[SET_MOST - 3], 0);
	IS(values[0], 0);
	removed(id);
}

TEST(sem_many, "Can there be thousands of sets?")
{
	static int ids[2000];

	for (int i = 0; i < 2000; i++)
		ids[i] = set_made(1);
	for (int i = 0; i < 2000; i++)
		IS(operate(ids[i], 0, 1, SEM_UNDO), 0);
	for (int i = 1999; i >= 0; i--)
		removed(ids[i]);
}

TEST(sem_file, "Does /proc tell the limits of semaphores?")
{
	int of_a_set = 0, all = 0, operations = 0, sets = 0;
	FILE *file = fopen("/proc/sys/kernel/sem", "r");

	TRUE(file);
	if (!file)
		return;
	IS(fscanf(file, "%d %d %d %d", &of_a_set, &all, &operations, &sets), 4);
	IS(of_a_set, SET_MOST);
	IS(operations, OPERATIONS_MOST);
	fclose(file);
}
