/* tally.c: reports what the kernel itself counts in single iterations of a row, by path, on a kernel that tells it in a
 * file, as Trio does. These iterations come after the timed ones, so that reading the file moves no figure. */
#include "engine.h"

#define TALLY_FILE "/proc/trio/counters"
#define TALLIES 7 /* an odd number, whose median a tick in one of them does not move */
#define TALLY_TEXT 32768
#define TALLY_NAMES 400
#define TALLY_NAME 48

/* Readings of the file: lines of a name and a number. Nothing happens between the first two, and one iteration between
 * the last two. A row that times itself does more around its region: there they are one iteration and two. */
enum { TALLY_IDLE, TALLY_BEFORE, TALLY_AFTER, TALLY_READINGS };

struct tally { /* of one name: by how much each of the iterations changed it */
	char name[TALLY_NAME];
	int64_t moved[TALLIES];
};
static struct tally *tallies;
static size_t ntallies;

static void tally_take(char *text)
{
	int fd = open(TALLY_FILE, O_RDONLY);
	ssize_t n = read(fd, text, TALLY_TEXT - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
}

static struct tally *tally_of(const char *name)
{
	size_t i = 0;

	while (i < ntallies && strcmp(tallies[i].name, name) != 0)
		i++;
	if (i == TALLY_NAMES)
		return NULL;
	if (i == ntallies) {
		memset(&tallies[ntallies++], 0, sizeof *tallies);
		snprintf(tallies[i].name, TALLY_NAME, "%s", name);
	}
	return &tallies[i];
}

/* Adds each number of a text, multiplied by `times`. */
static void tally_add(const char *text, int iteration, int times)
{
	while (*text) {
		size_t length = strcspn(text, " \n");
		char name[TALLY_NAME];
		struct tally *t;

		snprintf(name, sizeof name, "%.*s", (int)length, text);
		t = text[length] == ' ' ? tally_of(name) : NULL;
		if (t)
			t->moved[iteration] += times * (int64_t)strtoull(text + length, NULL, 10);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
}

/* Writes to each page that a fork may have made read-only, so that the kernel copies none of them while it counts. */
static void tally_touch(char *texts)
{
	for (size_t i = 0; i < TALLY_READINGS * TALLY_TEXT; i += 1024)
		*(volatile char *)&texts[i] = 0;
}

static void tally_iterations(struct engine *e, void *state, char *texts)
{
	const struct workload *w = e->row->workload;

	if (w->prepare)
		w->prepare(state, 1);
	tally_touch(texts);
	tally_take(texts + TALLY_IDLE * TALLY_TEXT);
	if (w->self_timed)
		(void)w->self_timed(state, 1);
	tally_take(texts + TALLY_BEFORE * TALLY_TEXT);
	if (w->self_timed)
		(void)w->self_timed(state, 2);
	else
		w->run(state, 1);
	tally_take(texts + TALLY_AFTER * TALLY_TEXT);
	if (w->settle)
		w->settle(state, 1);
	e->done += w->self_timed ? 3 : 1;
}

void tally_row(struct engine *e, void *state)
{
	char *texts;

	if (access(TALLY_FILE, R_OK) != 0 || e->row->workload->unit == UNIT_COUNT)
		return;
	texts = km_alloc(&e->km, TALLY_READINGS * TALLY_TEXT);
	tallies = km_alloc(&e->km, TALLY_NAMES * sizeof *tallies);
	for (int i = 0; i < TALLIES; i++) {
		tally_iterations(e, state, texts);
		tally_add(texts + TALLY_IDLE * TALLY_TEXT, i, 1);
		tally_add(texts + TALLY_BEFORE * TALLY_TEXT, i, -2);
		tally_add(texts + TALLY_AFTER * TALLY_TEXT, i, 1);
	}
}

static int tally_has_moved(const struct tally *t)
{
	for (int i = 0; i < TALLIES; i++)
		if (t->moved[i])
			return 1;
	return 0;
}

void tally_emit(const struct engine *e)
{
	struct json j;

	if (ntallies == 0)
		return;
	json_begin(&j, stdout, "tally");
	json_string(&j, "row", e->row->name);
	json_open(&j, "counts", '{');
	for (size_t i = 0; i < ntallies; i++) {
		if (!tally_has_moved(&tallies[i]))
			continue;
		json_open(&j, tallies[i].name, '[');
		for (int k = 0; k < TALLIES; k++)
			json_integer(&j, NULL, tallies[i].moved[k]);
		json_close(&j, ']');
	}
	json_close(&j, '}');
	json_end(&j);
}
