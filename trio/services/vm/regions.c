/* regions.c: a space's regions in order of address. Chunks of a hundred in a directory: a process has one chunk as a
 * rule, which is copied as it is on fork; one with Linux's most regions has about a thousand. */
#include "vm.h"

void regions_start(struct space *s)
{
	s->directory = s->own_directory;
	s->room = DIRECTORY_OWN;
	s->directory[0] = &s->own;
	s->some_stay = s->populates = false;
	s->own.count = 0;
	s->chunks = 1;
	s->regions = 0;
}

static void chunk_give(struct space *s, struct chunk *c)
{
	if (c != &s->own)
		pages_give(c, 1);
}

static size_t directory_pages(const struct space *s)
{
	return s->room * sizeof *s->directory / PAGE;
}

void regions_end(struct space *s)
{
	for (uint32_t i = 0; i < s->chunks; i++)
		chunk_give(s, s->directory[i]);
	if (s->directory != s->own_directory)
		pages_give(s->directory, directory_pages(s));
	regions_start(s);
}

static bool directory_grow(struct space *s)
{
	size_t pages = s->directory == s->own_directory ? 1 : 2 * directory_pages(s);
	struct chunk **wider = pages_take(pages);

	if (wider == NULL)
		return false;
	memcpy(wider, s->directory, s->chunks * sizeof *wider);
	if (s->directory != s->own_directory)
		pages_give(s->directory, directory_pages(s));
	s->directory = wider;
	s->room = (uint32_t)(pages * PAGE / sizeof *wider);
	return true;
}

/* The last chunk whose first region begins at or below `address`, or the first of all. */
static uint32_t chunk_for(const struct space *s, uint64_t address)
{
	uint32_t low = 0, high = s->chunks;

	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (s->directory[middle]->regions[0].begin <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct cursor region_after(const struct space *s, uint64_t address)
{
	uint32_t which = chunk_for(s, address);
	const struct chunk *c = s->directory[which];
	uint32_t low = 0, high = c->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (c->regions[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == c->count && which + 1 < s->chunks)
		return (struct cursor){ which + 1, 0 };
	return (struct cursor){ which, low };
}

struct region *region_next(const struct space *s, struct cursor *at)
{
	if (at->at + 1 < s->directory[at->chunk]->count || at->chunk + 1 == s->chunks)
		at->at++;
	else
		*at = (struct cursor){ at->chunk + 1, 0 };
	return region_at(s, *at);
}

/* An empty chunk behind that one; NULL: no memory. */
static struct chunk *chunk_add(struct space *s, uint32_t which)
{
	struct chunk **behind, *new;

	if (s->chunks == s->room && !directory_grow(s))
		return NULL;
	new = pages_take(1);
	if (new == NULL)
		return NULL;
	/* committed */
	behind = &s->directory[which + 1];
	memmove(behind + 1, behind, (s->chunks - which - 1) * sizeof *behind);
	*behind = new;
	s->chunks++;
	return new;
}

/* The upper half of a full chunk becomes the next one. */
static bool chunk_split(struct space *s, uint32_t which)
{
	struct chunk *full = s->directory[which], *upper = chunk_add(s, which);

	if (upper == NULL)
		return false;
	upper->count = full->count / 2;
	full->count -= upper->count;
	memcpy(upper->regions, &full->regions[full->count], upper->count * sizeof *upper->regions);
	return true;
}

bool regions_reserve(struct space *s, uint64_t address)
{
	uint32_t which = chunk_for(s, address);

	return s->directory[which]->count + 3 <= CHUNK_REGIONS || chunk_split(s, which);
}

struct cursor region_insert(struct space *s, struct cursor at, const struct region *new)
{
	struct chunk *c = s->directory[at.chunk];

	/* Before a chunk is behind the one below, and that is where room is reserved. */
	if (at.at == 0 && at.chunk > 0) {
		c = s->directory[--at.chunk];
		at.at = c->count;
	}
	memmove(&c->regions[at.at + 1], &c->regions[at.at], (c->count - at.at) * sizeof *c->regions);
	c->regions[at.at] = *new;
	c->count++;
	s->regions++;
	return at;
}

bool region_append(struct space *s, const struct region *new)
{
	struct chunk *last = s->directory[s->chunks - 1];

	if (last->count == CHUNK_REGIONS && (last = chunk_add(s, s->chunks - 1)) == NULL)
		return false;
	last->regions[last->count++] = *new;
	s->regions++;
	return true;
}

void region_erase(struct space *s, struct cursor at)
{
	struct chunk *c = s->directory[at.chunk];

	c->count--;
	s->regions--;
	memmove(&c->regions[at.at], &c->regions[at.at + 1], (c->count - at.at) * sizeof *c->regions);
	if (c->count > 0 || s->chunks == 1)
		return;
	s->chunks--;
	memmove(&s->directory[at.chunk], &s->directory[at.chunk + 1], (s->chunks - at.chunk) * sizeof *s->directory);
	chunk_give(s, c);
}

/* A region that goes across `address` becomes two. */
static void region_cut(struct space *s, uint64_t address)
{
	struct cursor at = region_after(s, address);
	struct region *r = region_at(s, at), upper = *r;

	upper.begin = address;
	if (r->object != 0)
		upper.index += (address - r->begin) / PAGE;
	object_mapped(upper.object);
	r->end = address;
	at.at++;
	(void)region_insert(s, at, &upper);
}

static bool are_alike(const struct region *a, const struct region *b)
{
	return a->end == b->begin && a->bits == b->bits && a->object == b->object &&
	       (a->object == 0 || a->index + region_pages(a) == b->index);
}

void regions_merge_from(struct space *s, struct cursor at, uint64_t end)
{
	struct region *r = region_at(s, at);

	while (r != NULL && r->begin <= end) {
		struct cursor next = at;
		struct region *other = region_next(s, &next);

		if (other == NULL || !are_alike(r, other)) {
			at = next;
			r = other;
			continue;
		}
		r->end = other->end;
		object_unmapped(other->object);
		region_erase(s, next);
	}
}

void regions_merge(struct space *s, uint64_t begin, uint64_t end)
{
	regions_merge_from(s, region_after(s, begin == 0 ? 0 : begin - 1), end);
}

static bool is_inside(const struct space *s, uint64_t address)
{
	const struct region *r = region_find(s, address);

	return r != NULL && r->begin != address;
}

bool regions_isolate(struct space *s, uint64_t begin, uint64_t end, uint32_t most)
{
	bool low = is_inside(s, begin), high = is_inside(s, end);

	INVARIANT(begin < end);
	if ((low || high) && s->regions + low + high > most)
		return false;
	if ((low && !regions_reserve(s, begin)) || (high && !regions_reserve(s, end)))
		return false;
	/* committed */
	if (low)
		region_cut(s, begin);
	if (high)
		region_cut(s, end);
	return true;
}

bool space_may_grow(const struct space *s, uint64_t pages, uint32_t bits)
{
	if (s->pages + pages > s->limit_space / PAGE)
		return false;
	return !counts_as_data(bits) || s->data + pages <= s->limit_data / PAGE;
}

void space_account(struct space *s, int64_t pages, uint32_t bits)
{
	s->pages += (uint64_t)pages;
	if (counts_as_data(bits))
		s->data += (uint64_t)pages;
}
