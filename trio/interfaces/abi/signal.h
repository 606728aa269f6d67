/* signal.h: Linux's signals on x86-64: numbers, actions, codes and structures as programs see them. */
#ifndef TRIO_ABI_SIGNAL_H
#define TRIO_ABI_SIGNAL_H

#include <stdint.h>

#define SIGHUP 1
#define SIGINT 2
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGBUS 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGUSR1 10
#define SIGSEGV 11
#define SIGUSR2 12
#define SIGPIPE 13
#define SIGALRM 14
#define SIGTERM 15
#define SIGSTKFLT 16
#define SIGCHLD 17
#define SIGCONT 18
#define SIGSTOP 19
#define SIGTSTP 20
#define SIGTTIN 21
#define SIGTTOU 22
#define SIGURG 23
#define SIGXCPU 24
#define SIGXFSZ 25
#define SIGVTALRM 26
#define SIGPROF 27
#define SIGWINCH 28
#define SIGIO 29
#define SIGPWR 30
#define SIGSYS 31
/* Signals from this one on are queued as often as they are sent. */
#define SIGRTMIN 32
#define SIGNALS 64

/* A signal's bit in a set. */
#define SIGNAL_BIT(signal) (1UL << ((signal) - 1))

#define SIG_DFL 0UL
#define SIG_IGN 1UL

#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define SA_NOCLDSTOP 0x00000001UL
#define SA_NOCLDWAIT 0x00000002UL
#define SA_SIGINFO 0x00000004UL
#define SA_RESTORER 0x04000000UL
#define SA_ONSTACK 0x08000000UL
#define SA_RESTART 0x10000000UL
#define SA_NODEFER 0x40000000UL
#define SA_RESETHAND 0x80000000UL

/* As rt_sigaction has it. */
struct linux_sigaction {
	uint64_t handler, flags, restorer, mask;
};

#define SS_ONSTACK 1
#define SS_DISABLE 2
/* The smallest alternate stack, bytes. */
#define MINSIGSTKSZ 2048

struct linux_stack {
	uint64_t sp;
	int32_t flags;
	uint32_t pad;
	uint64_t size;
};

/* si_code: who or what sent it. */
#define SI_USER 0
#define SI_KERNEL 0x80
#define SI_QUEUE (-1)
#define SI_TKILL (-6)
#define CLD_EXITED 1
#define CLD_KILLED 2
#define CLD_DUMPED 3
#define CLD_STOPPED 5
#define CLD_CONTINUED 6
#define ILL_ILLOPN 2
#define TRAP_BRKPT 1
#define TRAP_TRACE 2
#define FPE_INTDIV 1
#define FPE_FLTINV 7
#define SEGV_MAPERR 1
#define SEGV_ACCERR 2
#define BUS_ADRALN 1
#define BUS_ADRERR 2

struct linux_siginfo {
	int32_t signal, error, code, pad;
	union {
		/* kill, tgkill and sigqueue; a child, whose `status` is the exit status or the signal. */
		struct {
			int32_t pid;
			uint32_t uid;
			union {
				uint64_t value;
				struct {
					int32_t status, status_pad;
					int64_t user_ticks, system_ticks;
				};
			};
		};
		/* A fault. */
		uint64_t address;
		uint8_t all[112];
	};
};
_Static_assert(sizeof(struct linux_siginfo) == 128, "siginfo is Linux's");

#endif
