/* termios.h: Linux's terminals on x86-64, and the ioctls of files, terminals and disks. */
#ifndef TRIO_ABI_TERMIOS_H
#define TRIO_ABI_TERMIOS_H

#include <stdint.h>

#define FIONREAD 0x541b
#define FIONBIO 0x5421
#define FIONCLEX 0x5450
#define FIOCLEX 0x5451

#define TCGETS 0x5401
#define TCSETS 0x5402
#define TCSETSW 0x5403
#define TCSETSF 0x5404
#define TCSBRK 0x5409
#define TCXONC 0x540a
#define TCFLSH 0x540b
#define TIOCSCTTY 0x540e
#define TIOCGPGRP 0x540f
#define TIOCSPGRP 0x5410
#define TIOCOUTQ 0x5411
#define TIOCGWINSZ 0x5413
#define TIOCSWINSZ 0x5414
#define TIOCNOTTY 0x5422
#define TIOCGSID 0x5429
#define TCSBRKP 0x5425

#define BLKROGET 0x125e
#define BLKGETSIZE 0x1260
#define BLKFLSBUF 0x1261
#define BLKSSZGET 0x1268
#define BLKBSZGET 0x80081270
#define BLKGETSIZE64 0x80081272

/* Places in `control`. */
enum {
	VINTR,
	VQUIT,
	VERASE,
	VKILL,
	VEOF,
	VTIME,
	VMIN,
	VSWTC,
	VSTART,
	VSTOP,
	VSUSP,
	VEOL,
	VREPRINT,
	VDISCARD,
	VWERASE,
	VLNEXT,
	VEOL2
};
#define CONTROLS 19

/* input */
#define ISTRIP 0000040
#define INLCR 0000100
#define IGNCR 0000200
#define ICRNL 0000400
#define IXON 0002000
#define IUTF8 0040000
/* output */
#define OPOST 0000001
#define ONLCR 0000004
#define OCRNL 0000010
/* control */
#define B38400 0000017
#define CS8 0000060
#define CREAD 0000200
#define HUPCL 0002000
/* local */
#define ISIG 0000001
#define ICANON 0000002
#define ECHO 0000010
#define ECHOE 0000020
#define ECHOK 0000040
#define ECHONL 0000100
#define NOFLSH 0000200
#define TOSTOP 0000400
#define ECHOCTL 0001000
#define ECHOKE 0004000
#define IEXTEN 0100000

/* The kernel's, which is shorter than the C library's. */
struct linux_termios {
	uint32_t input, output, control_modes, local;
	uint8_t line, control[CONTROLS];
};
_Static_assert(sizeof(struct linux_termios) == 36, "struct termios of the kernel's");

struct linux_winsize {
	uint16_t rows, columns, x, y;
};

#endif
