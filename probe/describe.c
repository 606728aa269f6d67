/* describe.c: the header and the registry, as records and as text. */
#include "engine.h"

#include <sys/utsname.h>

#ifndef KM_SOURCE_DIGEST
#define KM_SOURCE_DIGEST "unknown"
#endif
#if !defined(KM_FLAGS) && defined(__OPTIMIZE__)
#define KM_FLAGS "not told; the compiler optimised"
#elif !defined(KM_FLAGS) && (defined(__GNUC__) || defined(__clang__))
#define KM_FLAGS "not told; the compiler did not optimise"
#elif !defined(KM_FLAGS)
#define KM_FLAGS "unknown"
#endif

static const char *compiler(void)
{
#if defined(__clang__)
	return "clang " __clang_version__;
#elif defined(__TINYC__)
	static char name[24];

	snprintf(name, sizeof name, "tcc %d", __TINYC__);
	return name;
#elif defined(__GNUC__)
	return "gcc " __VERSION__;
#else
	return "unknown";
#endif
}

static void emit_probe(struct json *j)
{
	const char *name;
	char libc[64];

	json_open(j, "probe", '{');
	json_string(j, "version", KM_VERSION);
	json_string(j, "source_digest", KM_SOURCE_DIGEST);
	json_string(j, "compiler", compiler());
	json_string(j, "flags", KM_FLAGS);
	platform_libc(libc, sizeof libc);
	json_string(j, "libc", libc);
	json_string(j, "linkage", platform_linkage());
	json_string(j, "platform", platform_name());
	json_integer(j, "pointer_bits", (int64_t)(8 * sizeof(void *)));
	json_open(j, "capabilities", '[');
	for (unsigned i = 0; (name = platform_capability(i)) != NULL; i++)
		json_string(j, NULL, name);
	json_close(j, ']');
	json_close(j, '}');
}

static void emit_machine(struct json *j)
{
	struct utsname u;
	char model[256];
	int cpus[MAX_CPUS];

	memset(&u, 0, sizeof u);
	uname(&u);
	json_open(j, "uname", '{');
	json_string(j, "sysname", u.sysname);
	json_string(j, "nodename", u.nodename);
	json_string(j, "release", u.release);
	json_string(j, "version", u.version);
	json_string(j, "machine", u.machine);
	json_close(j, '}');
	platform_cpu_model(model, sizeof model);
	json_open(j, "cpu", '{');
	json_string(j, "model", model);
	json_integer(j, "online", platform_online_cpus());
	json_integer(j, "allowed", platform_allowed_cpus(cpus));
	json_close(j, '}');
}

static void emit_clocks(struct json *j, const struct options *o)
{
	size_t n;
	struct clock_source *clocks = clock_table(&n);

	json_string(j, "clock", o->by == BY_PATH ? "cycles" : o->clock);
	json_open(j, "clocks", '[');
	for (size_t i = 0; i < n; i++) {
		struct clock_source *c = &clocks[i];

		json_open(j, NULL, '{');
		json_string(j, "name", c->name);
		if (c->unsupported) {
			json_string(j, "unsupported", c->unsupported);
		} else {
			clock_measure(c, o->by == BY_TIME);
			json_number(j, "resolution_ns", c->resolution_ns);
			json_number(j, "cost_ns", c->cost_ns);
			json_number(j, "ns_per_tick", c->ns_per_tick);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

void emit_header(FILE *to, const struct options *o)
{
	char value[640];
	struct json j;

	json_begin(&j, to, "header");
	json_integer(&j, "format", KM_FORMAT);
	emit_probe(&j);
	emit_machine(&j);
	emit_clocks(&j, o);
	json_integer(&j, "page", (int64_t)sysconf(_SC_PAGESIZE));
	json_string(&j, "by", o->by == BY_PATH ? "path" : "time");
	json_unsigned(&j, "seed", o->seed);
	json_open(&j, "settings", '{');
	for (unsigned one = 1; platform_setting_name(one); one <<= 1) {
		platform_setting(one, o->dir, value, sizeof value);
		if (value[0])
			json_string(&j, platform_setting_name(one), value);
	}
	json_close(&j, '}');
	json_string(&j, "counters", o->by == BY_PATH ? "by path no counters are read" : counters_missing());
	json_end(&j);
}

void emit_params(struct json *j, const struct row *row)
{
	const struct workload *w = row->workload;

	json_open(j, "params", '{');
	for (int i = 0; i < KM_PARAMS && w->params[i]; i++)
		json_integer(j, w->params[i], row->point->arg[i]);
	if (row->point->place == SAME_CPU || row->point->place == OTHER_CPU)
		json_string(j, "placement", row->point->place == SAME_CPU ? "same-cpu" : "other-cpu");
	if (row->point->cold)
		json_string(j, "state", "cold");
	if (disk_needed(row))
		json_string(j, "disk", disk_needed(row));
	if (display_needed(row))
		json_string(j, "display", display_needed(row));
	json_close(j, '}');
}

static void emit_row(struct json *j, const struct row *row, const struct options *o)
{
	const char *why = row_unsupported(row, o->by);

	json_open(j, NULL, '{');
	json_string(j, "row", row->name);
	json_unsigned(j, "id", row->id);
	emit_params(j, row);
	json_open(j, "profiles", '[');
	if (row->point->profile == QUICK)
		json_string(j, NULL, "quick");
	json_string(j, NULL, "full");
	json_close(j, ']');
	json_unsigned(j, "path_n", row->point->path_n);
	json_string(j, "unsupported", why ? why : "");
	json_open(j, "needs", '[');
	if (disk_needed(row))
		json_string(j, NULL, disk_needed(row));
	if (display_needed(row))
		json_string(j, NULL, display_needed(row));
	if (row->workload->guest_needs)
		json_string(j, NULL, row->workload->guest_needs);
	json_close(j, ']');
	json_close(j, '}');
}

static void emit_settings(struct json *j, const struct workload *w)
{
	unsigned settings = w->settings | (workload_is_by(w, BY_TIME) ? SET_GOVERNOR : 0);
	const char *name;

	json_open(j, "settings", '[');
	for (unsigned one = 1; (name = platform_setting_name(one)) != NULL; one <<= 1)
		if (settings & one)
			json_string(j, NULL, name);
	json_close(j, ']');
}

void emit_workload(FILE *to, const struct workload *w, const struct options *o)
{
	size_t n;
	const struct row *rows = registry_rows(&n);
	struct json j;

	json_begin(&j, to, "workload");
	json_string(&j, "name", w->name);
	json_unsigned(&j, "revision", KM_REVISION + w->revision);
	json_string(&j, "per", w->per);
	json_string(&j, "unit", unit_name(w->unit));
	json_string(&j, "better", w->unit == UNIT_NS ? "lower" : "higher");
	json_open(&j, "by", '[');
	if (workload_is_by(w, BY_TIME))
		json_string(&j, NULL, "time");
	if (workload_is_by(w, BY_PATH))
		json_string(&j, NULL, "path");
	json_close(&j, ']');
	json_string(&j, "source", w->source);
	json_string(&j, "what", w->what);
	json_string(&j, "inside", w->inside);
	json_string(&j, "subtracts", w->subtracts ? w->subtracts : "");
	emit_settings(&j, w);
	json_key(&j, "figure_less_baseline");
	fputs(w->figure_less_baseline ? "true" : "false", to);
	json_open(&j, "params", '[');
	for (int i = 0; i < KM_PARAMS && w->params[i]; i++)
		json_string(&j, NULL, w->params[i]);
	json_close(&j, ']');
	json_string(&j, "curve", w->curve ? w->curve : "");
	json_open(&j, "rows", '[');
	for (size_t i = 0; i < n; i++)
		if (rows[i].workload == w && row_selected(&rows[i], o))
			emit_row(&j, &rows[i], o);
	json_close(&j, ']');
	json_end(&j);
}

void print_list(FILE *to, const struct options *o)
{
	size_t n;
	const struct row *rows = registry_rows(&n);
	const struct workload *last = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!row_selected(&rows[i], o))
			continue;
		if (!o->json) {
			const char *why = row_unsupported(&rows[i], o->by);

			fprintf(to, "%s%s%s\n", rows[i].name, why ? "  unsupported: " : "", why ? why : "");
		} else if (rows[i].workload != last) {
			emit_workload(to, rows[i].workload, o);
		}
		last = rows[i].workload;
	}
}
