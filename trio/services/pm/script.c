/* script.c: programs that begin with `#!` and the name of their interpreter. It is run with the rest of the line as one
 * argument, then the script's name in place of the caller's first argument. */
#include "image.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static char *skip_space(char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* The line's end, without spaces before it; NULL: the interpreter's name does not end within what counts. */
static char *line_end(char *line, char *limit)
{
	char *end = line, *name;

	while (end < limit && *end != '\n' && *end != '\0')
		end++;
	name = skip_space(line, end);
	while (name < end && !is_space(*name))
		name++;
	if (end == limit && name == limit)
		return NULL;
	while (end > line && is_space(end[-1]))
		end--;
	return end;
}

int64_t script_take(struct image *image)
{
	char *line = image->head + 2, *limit = image->head + LINE_BYTES;
	char *name, *end, *name_end, *argument;
	struct strings *s = &image->given;

	if (image->head[0] != '#' || image->head[1] != '!')
		return 0;
	if (image->scripts++ == SCRIPTS)
		return -ELOOP;
	end = line_end(line, limit);
	if (!end)
		return -ENOEXEC;
	name = skip_space(line, end);
	name_end = name;
	while (name_end < end && !is_space(*name_end))
		name_end++;
	if (name == name_end)
		return -ENOEXEC;
	if (image->scripts == 1) {
		strings_shift(s);
		TRY(strings_prepend(s, NULL, s->path - 1));
	}
	argument = skip_space(name_end, end);
	if (argument < end)
		TRY(strings_prepend(s, argument, (size_t)(end - argument)));
	TRY(strings_prepend(s, name, (size_t)(name_end - name)));
	return name_end - name + 1;
}
