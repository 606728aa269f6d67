/* init.h: the common declarations of a guest's first process. */
#ifndef INIT_H
#define INIT_H

#include <stddef.h>

/* Ends the guest with a line "#init failed WHAT: errno's message". */
void give_up(const char *what) __attribute__((noreturn));
/* A step that some rows need. In a Linux, and in Trio, it ends the guest; a stranger's kernel may lack anything: there
 * it is told, and what needs it fails later. */
#ifdef KM_STRANGER
void lack(const char *what);
#else
#define lack give_up
#endif
void power_off(void) __attribute__((noreturn));

/* init_port.c: the output, once it is open. */
int open_output(void); /* whether the kernel permits it */
void put_output(const char *text, size_t n);

/* init_command.c */
#define COMMAND_BYTES 65536
#define COMMAND_WORDS 1024
char **read_command(const char *name); /* static storage, NULL at its end; NULL without such a file */

/* init_devices.c */
void bring_up_loopback(void);
void load_drivers(void);
void make_disks(void);

/* init_console.c */
void run_console(void); /* until the user leaves the shell */

#endif
