/* worker_events.c: the worker's events, a JSON line and a write each. */
#include "worker.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void say(const char *format, ...)
{
	char line[MOST_DIRECTORIES * PATH_BYTES];
	va_list words;
	int n;

	va_start(words, format);
	n = vsnprintf(line, sizeof line - 2, format, words);
	va_end(words);
	if (n < 0 || n > (int)sizeof line - 3)
		n = 0;
	line[n] = '}';
	line[n + 1] = '\n';
	for (size_t sent = 0; sent < (size_t)n + 2;) {
		ssize_t k = write(STDOUT_FILENO, line + sent, (size_t)n + 2 - sent);

		if (k < 0 && errno != EINTR)
			return;
		sent += k > 0 ? (size_t)k : 0;
	}
}

static void await_acknowledgement(void)
{
	char byte;

	while (w.acknowledge && read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
		;
}

void say_error(const char *what, const struct file *f, const char *path)
{
	int error = errno;

	w.errors++;
	say("{\"event\":\"error\",\"operation\":%" PRIu64 ",\"what\":\"%s\",\"file\":%" PRIu64
	    ",\"path\":\"%s\",\"errno\":%d",
	    w.operation, what, f ? f->number : 0, path, error);
}

void say_wrong(const char *what, const struct file *f, const char *path, size_t offset)
{
	w.wrong++;
	say("{\"event\":\"wrong\",\"operation\":%" PRIu64 ",\"what\":\"%s\",\"file\":%" PRIu64 ",\"version\":%" PRIu64
	    ",\"path\":\"%s\",\"offset\":%zu",
	    w.operation, what, f ? f->number : 0, f ? f->version : 0, path, offset);
}

void say_changes(const char *what, struct name *n, struct name *to)
{
	struct file *f = n->file;

	f->is_kept = n->is_gone = 0;
	if (to)
		to->is_gone = 0;
	say("{\"event\":\"changes\",\"operation\":%" PRIu64 ",\"what\":\"%s\",\"file\":%" PRIu64 ",\"version\":%" PRIu64
	    ",\"path\":\"%s\"%s%s%s",
	    w.operation, what, f->number, f->version, n->path, to ? ",\"to\":\"" : "", to ? to->path : "",
	    to ? "\"" : "");
	await_acknowledgement();
}

void say_kept(const struct name *n)
{
	const struct file *f = n->file;

	say("{\"event\":\"kept\",\"operation\":%" PRIu64 ",\"file\":%" PRIu64 ",\"version\":%" PRIu64
	    ",\"length\":%zu,\"path\":\"%s\"",
	    w.operation, f->number, f->version, f->length, n->path);
	await_acknowledgement();
}

void say_gone(const struct name *n)
{
	say("{\"event\":\"gone\",\"operation\":%" PRIu64 ",\"path\":\"%s\"", w.operation, n->path);
	await_acknowledgement();
}

void say_progress(const char *event)
{
	say("{\"event\":\"%s\",\"operation\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"wrong\":%" PRIu64
	    ",\"slowest\":\"%s\",\"slowest_operation\":%" PRIu64 ",\"slowest_ns\":%" PRIu64,
	    event, w.operation, w.errors, w.wrong, w.slowest, w.slowest_operation, w.slowest_ns);
}
