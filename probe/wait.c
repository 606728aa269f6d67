/* wait.c: a probe that waits in a guest for its command.
 *
 * The emulator saves the guest here, at the marker. Each restored copy gets a command of its own, written into the room
 * of this process (src/kernometer/targets/saved/saving.py), and executed in its place, so that nothing measures the
 * process that waited. It needs no device, no port and no privilege.
 *
 * The room begins with "#kernometer ready SIZE"; then the command has the form of guests/inside/programs.py: words that
 * each end with a NUL, and an empty one. */
#include "engine.h"

#define ROOM 65536
#define WORDS 1024

int wait_for_command(void)
{
	char *words[WORDS + 1]; /* not static: counts by path depend on how large the image is */
	char *room = malloc(ROOM), *at = room;
	volatile char *first = room;
	int n = 0;

	if (!room) {
		fputs("probe: --wait: no memory\n", stderr);
		return 1;
	}
	memset(room, ' ', ROOM); /* all of it is in memory now */
	if (KM_SETTLE > 0)
		sleep(KM_SETTLE);
	snprintf(room, ROOM, "#kernometer ready %d\n", ROOM);
	while (*first == '#')
		if (mark_ready(room) != 0) {
			fputs("probe: --wait: this processor has no marker\n", stderr);
			free(room);
			return 1;
		}
	while (at < room + ROOM && *at && n < WORDS) {
		words[n++] = at;
		at += strlen(at) + 1;
	}
	words[n] = NULL;
	execv(words[0] ? words[0] : "", words);
	fprintf(stderr, "probe: --wait: %s: %s\n", words[0] ? words[0] : "no command", strerror(errno));
	free(room);
	return 127;
}
