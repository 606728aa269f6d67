/* rows.c: rows, their names, and which of them are selected. A row is a workload at one point of its parameters. */
#include "engine.h"

#define MAX_ROWS (MAX_REGIONS / 2 - 1)
#define MOST_BATCH 2e9

static struct row rows[MAX_ROWS];
static size_t nrows;

static void add_tag(char *name, size_t size, const char *tag)
{
	size_t n = strlen(name);

	snprintf(name + n, size - n, "%c%s", strchr(name, '@') ? ',' : '@', tag);
}

static void name_row(struct row *r)
{
	const struct workload *w = r->workload;

	char tag[64];

	snprintf(r->name, sizeof r->name, "%s", w->name);
	for (int i = 0; i < KM_PARAMS && w->params[i]; i++) {
		snprintf(tag, sizeof tag, "%s=%ld", w->params[i], r->point->arg[i]);
		add_tag(r->name, sizeof r->name, tag);
	}
	if (r->point->place == SAME_CPU || r->point->place == OTHER_CPU)
		add_tag(r->name, sizeof r->name, r->point->place == SAME_CPU ? "same-cpu" : "other-cpu");
	if (r->point->cold)
		add_tag(r->name, sizeof r->name, "cold");
	if (disk_needed(r))
		add_tag(r->name, sizeof r->name, disk_needed(r));
	if (display_needed(r))
		add_tag(r->name, sizeof r->name, display_needed(r));
}

const struct row *registry_rows(size_t *n)
{
	if (nrows == 0)
		for (const struct workload *const *w = registry; *w; w++)
			for (const struct point *p = (*w)->points; p->profile && nrows < MAX_ROWS; p++) {
				struct row *r = &rows[nrows];

				r->workload = *w;
				r->point = p;
				r->id = 2 * (unsigned)nrows++ + 2;
				name_row(r);
			}
	*n = nrows;
	return rows;
}

const struct row *registry_row(const char *name)
{
	static struct row row;
	unsigned before = 0;

	for (const struct workload *const *w = registry; *w; w++) {
		size_t n = strlen((*w)->name);
		int may_be = strncmp(name, (*w)->name, n) == 0 && (name[n] == '@' || name[n] == '\0');

		for (const struct point *p = (*w)->points; p->profile && before < MAX_ROWS; p++, before++) {
			if (!may_be)
				continue;
			row = (struct row){ .workload = *w, .point = p, .id = 2 * before + 2 };
			name_row(&row);
			if (strcmp(row.name, name) == 0)
				return &row;
		}
	}
	return NULL;
}

/* `*` matches any number of characters; every other character matches itself. */
static int matches(const char *pattern, const char *name)
{
	if (*pattern == '*')
		return matches(pattern + 1, name) || (*name && matches(pattern, name + 1));
	if (*pattern == '\0' || *name == '\0')
		return *pattern == *name;
	return *pattern == *name && matches(pattern + 1, name + 1);
}

/* Is it in the profile, or, where the profile has no row of that workload, in the full one? */
static int in_profile(const struct row *r, enum profile profile)
{
	const struct point *p = r->workload->points;

	if (r->point->profile >= profile)
		return 1;
	for (; p->profile; p++)
		if (p->profile >= profile)
			return 0;
	return 1;
}

/* A row without parameters has its workload's name; with an @ at the end that name selects this row alone. */
static int is_only(const char *word, const char *name)
{
	size_t n = strlen(name);

	return strncmp(word, name, n) == 0 && strcmp(word + n, "@") == 0;
}

int row_selected(const struct row *r, const struct options *o)
{
	if (o->nrows == 0)
		return r->point->profile >= o->profile &&
		       (o->by == BY_PATH ? r->point->path_n > 0 : !disk_needed(r) && !display_needed(r));
	for (int i = 0; i < o->nrows; i++) {
		if (strchr(r->name, '@') && strcmp(o->rows[i], r->name) == 0)
			return 1;
		if (is_only(o->rows[i], r->name))
			return 1;
		if (strcmp(o->rows[i], r->workload->name) == 0 && in_profile(r, o->profile))
			return 1;
		if (strchr(o->rows[i], '*') && in_profile(r, o->profile) &&
		    (matches(o->rows[i], r->name) || matches(o->rows[i], r->workload->name)))
			return 1;
	}
	return 0;
}

int workload_is_by(const struct workload *w, enum by by)
{
	return !w->only || w->only == by;
}

const char *row_unsupported(const struct row *r, enum by by)
{
	const char *missing = platform_missing(r->workload->needs);
	int cpus[MAX_CPUS], n = platform_allowed_cpus(cpus);

	if (missing)
		return missing;
	if (!workload_is_by(r->workload, by))
		return by == BY_PATH ? "means nothing by path" : "means nothing by time";
	if (by == BY_TIME && disk_needed(r))
		return "needs a disk in memory, by path alone: by time name a disk's directory with --dir or TMPDIR";
	if (by == BY_TIME && display_needed(r))
		return "names a display's driver, by path alone: by time use the row without it";
	if (by == BY_PATH && r->point->path_n == 0 && r->workload->needs & CAP_FRAME_BUFFER)
		return "depends on the display's driver by path: name the row with bochs-drm or vesafb";
	if (by == BY_PATH && r->point->path_n == 0)
		return "has no path plan at this point: too long, or it needs a second CPU";
	if (r->point->place == SAME_CPU && n == 0 && platform_online_cpus() > 1)
		return "this platform has no CPU affinity: two processes cannot be kept on one CPU";
	if (r->point->place == OTHER_CPU && n < 2)
		return n == 1 || platform_online_cpus() == 1 ? "there is one CPU only"
							     : "this platform has no CPU affinity";
	return NULL;
}

const char *unit_name(enum unit unit)
{
	static const char *const names[] = { "ns", "B/s", "1/s", "count" };

	return names[unit];
}

/* N or N/M at `word`; without M it is N too. Returns where it ends; NULL for another word. */
static const char *batch_at(const char *word, long *op, long *baseline)
{
	char *end;
	double n = strtod(word, &end), m = n;

	if (end != word && *end == '/') {
		word = end + 1;
		m = strtod(word, &end);
	}
	if (end == word || !(n >= 0 && n <= MOST_BATCH) || !(m >= 0 && m <= MOST_BATCH))
		return NULL;
	*op = (long)n;
	*baseline = (long)m;
	return end;
}

/* Stores the batch that a list sets for this id; 0 only checks the list. -1 if the word is not such a list. */
static int batch_listed(const char *list, unsigned long id, long *op, long *baseline)
{
	for (const char *at = list; at; at = *at == ',' ? at + 1 : NULL) {
		char *end;
		unsigned long of = strtoul(at, &end, 10);
		long n, m;

		if (end == at || *end != '=' || !(at = batch_at(end + 1, &n, &m)) || (*at && *at != ','))
			return -1;
		if (of != id)
			continue;
		*op = n;
		*baseline = m;
	}
	return 0;
}

int batch_option(struct options *o, const char *word)
{
	long n, m;
	const char *end;

	if (strchr(word, '=')) {
		o->batches = word;
		return batch_listed(word, 0, &n, &m);
	}
	end = batch_at(word, &o->batch, &o->baseline_batch);
	return end && *end == '\0' ? 0 : -1;
}

void row_batch(const struct row *r, const struct options *o, long *op, long *baseline)
{
	*op = o->batch;
	*baseline = o->baseline_batch;
	if (o->batches)
		(void)batch_listed(o->batches, r->id, op, baseline);
}
