/* script.c: programs that begin with `#!` and the name of their interpreter. It is run with the rest of the line as one
 * argument, then the script's name in place of the caller's first argument. */
#include "programs/image.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static char *skip(char *at, const char *end, bool spaces)
{
	while (at < end && is_space(*at) == spaces)
		at++;
	return at;
}

int64_t script_take(struct image *image)
{
	char *limit = image->head + LINE_BYTES, *end = image->head + 2, *name, *name_end, *argument;
	struct strings *s = &image->given;

	if (image->head[0] != '#' || image->head[1] != '!')
		return 0;
	if (image->scripts++ == SCRIPTS)
		return -ELOOP;
	while (end < limit && *end != '\n' && *end != '\0')
		end++;
	name = skip(image->head + 2, end, true);
	name_end = skip(name, end, false);
	if (name == name_end || name_end == limit)
		return -ENOEXEC;
	argument = skip(name_end, end, true);
	while (end > argument && is_space(end[-1]))
		end--;
	if (image->scripts == 1) {
		strings_shift(s);
		TRY(strings_prepend(s, NULL, s->path - 1));
	}
	if (argument < end)
		TRY(strings_prepend(s, argument, (size_t)(end - argument)));
	TRY(strings_prepend(s, name, (size_t)(name_end - name)));
	return 1;
}
