/* report.c: /proc/PID/maps and statm. */
#include "text.h"
#include "vm_internal.h"

/* The longest line has 80 bytes and a name. */
#define LINE 112

static const char *name_of(const struct space *s, const struct region *r)
{
	if (r->object == 0 && r->begin < s->heap_end && r->end > s->heap)
		return "[heap]";
	if (r->bits & REGION_DOWN && r->end == s->stack_top)
		return "[stack]";
	return "";
}

static void add_region(struct text *line, const struct space *s, const struct region *r)
{
	const char *name = name_of(s, r);

	text_add(line, "%08lx-%08lx %c%c%c%c %08lx 00:00 %u ", r->begin, r->end, r->bits & PROT_READ ? 'r' : '-',
		 r->bits & PROT_WRITE ? 'w' : '-', r->bits & PROT_EXEC ? 'x' : '-', r->bits & REGION_SHARED ? 's' : 'p',
		 r->index * PAGE, r->object);
	while (*name != 0 && line->length < 73)
		text_add(line, " ");
	text_add(line, "%s\n", name);
}

/* Copies the part of a line that lies in the window from `offset` on. Returns 0 or -EFAULT. */
static int64_t put_line(const struct text *line, uint64_t position, uint64_t offset, struct grant to)
{
	uint64_t skipped = offset > position ? offset - position : 0, at = position + skipped - offset;

	if (skipped >= line->length || at >= to.length)
		return 0;
	return copy_out(to, at, line->to + skipped, MIN(line->length - skipped, to.length - at));
}

int64_t vm_report(uint32_t task, uint32_t kind, uint64_t offset, struct grant to)
{
	const struct space *s = space_of(task);
	uint64_t position = 0, end = 0;
	char bytes[LINE];

	if (s == NULL)
		return -ESRCH;
	do {
		struct text line = { bytes, LINE, 0 };
		const struct region *r = region_after(s, end);

		/* size resident shared text lib data dt, in pages. */
		if (kind != VM_REPORT_MAPS)
			text_add(&line, "%lu %lu 0 0 0 %lu 0\n", s->pages, s->resident, s->data);
		else if (r == s->list_end)
			break;
		else
			add_region(&line, s, r);
		TRY(put_line(&line, position, offset, to));
		position += line.length;
		end = r->end;
	} while (kind == VM_REPORT_MAPS && position < offset + to.length);
	return position > offset ? (int64_t)MIN(position - offset, to.length) : 0;
}
