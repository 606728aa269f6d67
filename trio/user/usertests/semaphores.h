/* semaphores.h: what the tests of System V semaphores share. A set outlives its maker: each test removes its own. */
#ifndef SEMAPHORES_H
#define SEMAPHORES_H

#include "usertests.h"

#include <sys/ipc.h>
#include <sys/sem.h>

#define VALUE_MOST 32767
#define OPERATIONS_MOST 500
#define SET_MOST 32000

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

int set_made(int count);
void removed(int id);
int operate(int id, int number, int by, int flags);
int value(int id, int number);
void set_value(int id, int number, int to);
/* Waits until GETNCNT, GETZCNT or the like return this. */
void await(int id, int number, int command, int wanted);
/* Makes a child that does one operation and leaves with 0 or its errno. */
pid_t operating(int id, int number, int by, int flags);

#endif
