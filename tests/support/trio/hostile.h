/* hostile.h: what the parts of the hostile program share. */
#ifndef TRIO_TESTS_HOSTILE_H
#define TRIO_TESTS_HOSTILE_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The signal that ends a child which does `what`; 0: it left; -1: there was no child, or it left with an error. */
int fate(void (*what)(void));

/* A kind each; not 0: something was allowed, or not refused as it should be. */
int all_forbidden(void);
int many_processes(void);
int threads(void);
int descriptors(void);
int rights(void);
int memory(void);
int shared_memory(void);
int mappings(void);
int forks(void);
int program_break(void);
int execution(void);
int recursion(void);
int fill_files(void);

#endif
