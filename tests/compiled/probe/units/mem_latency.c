/* Is the chain of mem/latency and mem/latency-random one ring that visits each place once, in the stated order, and
 * does the place that verify computes agree with walking there? Prints the number of chains looked at. */
#include "stub.h"

static char area[1 << 20];

void *km_area(struct km *km, size_t bytes)
{
	if (bytes > sizeof area)
		km_fail(km, "no room");
	return area;
}

#include "../../../../probe/workloads/mem_latency.c"

/* One round from where the set-up begins; `down`: each place right below the one before. */
static void look(struct mem_latency *l, int down)
{
	static unsigned char seen[sizeof area / 16];
	char *at = l->area + mem_latency_first(l) * l->stride;

	memset(seen, 0, sizeof seen);
	for (uint64_t i = 0; i < l->places; i++) {
		size_t place = (size_t)(at - l->area) / l->stride;
		char *next = *(void **)(void *)at;

		if ((size_t)(at - l->area) % l->stride != 0 || place >= l->places || seen[place]++)
			km_fail(l->km, "load %lu of %lu is of a place that was visited", (unsigned long)i,
				(unsigned long)l->places);
		if (mem_latency_after(l, mem_latency_first(l), i) != place)
			km_fail(l->km, "after %lu loads another place was computed", (unsigned long)i);
		if (down && i + 1 < l->places && next != at - l->stride)
			km_fail(l->km, "place %lu does not lead to the one below it", (unsigned long)place);
		at = next;
	}
	if (at != l->area + mem_latency_first(l) * l->stride)
		km_fail(l->km, "the chain is no ring");
}

int main(void)
{
	const struct workload *const of[] = { &mem_latency, &mem_latency_random };
	uint64_t random = 2006, loads;
	int looked = 0;

	for (int i = 0; i < 2; i++)
		for (const struct point *p = of[i]->points; p->profile; p++) {
			struct mem_latency *l;

			if ((size_t)p->arg[0] > sizeof area)
				continue;
			stub_km.arg = p->arg;
			l = of[i]->setup(&stub_km);
			look(l, i == 0);
			of[i]->run(l, loads = stub_random(&random) % 100000);
			of[i]->verify(l, loads);
			free(l);
			looked++;
		}
	printf("%d chains\n", looked);
	return 0;
}
