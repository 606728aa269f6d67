/* report.c: /proc/PID/maps and statm. */
#include "vm.h"

struct line {
	char text[112];
	uint32_t length;
};

static void add_char(struct line *l, char c)
{
	l->text[l->length++] = c;
}

static void add_text(struct line *l, const char *text)
{
	while (*text != 0)
		add_char(l, *text++);
}

/* At least `least` digits. */
static void add_number(struct line *l, uint64_t value, unsigned base, unsigned least)
{
	char digits[20];
	unsigned count = 0;

	while (value != 0 || count < least) {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	}
	while (count > 0)
		add_char(l, digits[--count]);
}

static const char *name_of(const struct space *s, const struct region *r)
{
	if (r->object == 0 && r->begin < s->heap_end && r->end > s->heap)
		return "[heap]";
	if (r->bits & REGION_DOWN && r->end == s->stack_top)
		return "[stack]";
	return "";
}

static void add_region(struct line *l, const struct space *s, const struct region *r)
{
	const char *name = name_of(s, r);

	add_number(l, r->begin, 16, 8);
	add_char(l, '-');
	add_number(l, r->end, 16, 8);
	add_char(l, ' ');
	add_char(l, r->bits & PROT_READ ? 'r' : '-');
	add_char(l, r->bits & PROT_WRITE ? 'w' : '-');
	add_char(l, r->bits & PROT_EXEC ? 'x' : '-');
	add_char(l, r->bits & REGION_SHARED ? 's' : 'p');
	add_char(l, ' ');
	add_number(l, r->index * PAGE, 16, 8);
	add_text(l, " 00:00 ");
	add_number(l, r->object, 10, 1);
	add_char(l, ' ');
	while (*name != 0 && l->length < 73)
		add_char(l, ' ');
	add_text(l, name);
	add_char(l, '\n');
}

/* The part of a line that lies in the window of `to` from `offset`. 0 or -EFAULT. */
static int64_t put_line(const struct line *l, uint64_t position, uint64_t offset, struct grant to)
{
	uint64_t skipped = offset > position ? offset - position : 0, at = position + skipped - offset;

	if (skipped >= l->length || at >= to.length)
		return 0;
	return copy_out(to, at, l->text + skipped, MIN(l->length - skipped, to.length - at));
}

static int64_t report_regions(struct space *s, uint64_t offset, struct grant to)
{
	uint64_t position = 0, end = 0;

	for (const struct region *r; (r = region_at(s, region_after(s, end))) != NULL;) {
		struct line l = { .length = 0 };

		add_region(&l, s, r);
		end = r->end;
		if (put_line(&l, position, offset, to) != 0)
			return -EFAULT;
		position += l.length;
		if (position >= offset + to.length)
			return (int64_t)to.length;
	}
	return position > offset ? (int64_t)(position - offset) : 0;
}

/* size resident shared text lib data dt, in pages. */
static int64_t report_sizes(const struct space *s, uint64_t offset, struct grant to)
{
	const uint64_t values[] = { s->pages, s->resident, 0, 0, 0, s->data, 0 };
	struct line l = { .length = 0 };

	for (unsigned i = 0; i < COUNT_OF(values); i++) {
		add_number(&l, values[i], 10, 1);
		add_char(&l, i + 1 < COUNT_OF(values) ? ' ' : '\n');
	}
	if (put_line(&l, 0, offset, to) != 0)
		return -EFAULT;
	return l.length > offset ? (int64_t)MIN(l.length - offset, to.length) : 0;
}

int64_t vm_report(uint32_t task, uint32_t kind, uint64_t offset, struct grant to)
{
	struct space *s = space_of(task);

	if (s == NULL)
		return -ESRCH;
	return kind == 0 ? report_regions(s, offset, to) : report_sizes(s, offset, to);
}
