/* To which instruction and page does the plugin charge a count, and of which executions? Includes profile.c, with stubs
 * for QEMU. Prints the charges of three executions, the second not wanted, each in an address space of its own; then
 * those after one that did not end. */
#define KM_PLUGIN_API 1
#include "../../../../src/kernometer/guests/plugins/profile.c"
#include "stubs.h"

enum { MARKER, FETCHES, BRANCHES, LOADS, INSTRUCTIONS };
#define CODE_PAGE 0x400000

static void *number(uintptr_t instruction)
{
	return (void *)instruction; /* as the callbacks get it */
}

/* The branch's misprediction shows when the instruction after it has begun. */
static void execute(void)
{
	cache_counts.l1[CODE] += 100; /* before the region */
	spaces.current++;
	at_begin(0, number(MARKER));
	on_instruction(0, number(FETCHES));
	cache_counts.l1[CODE]++;
	on_asked(CODE_PAGE, TOUCHED);
	on_instruction(0, number(BRANCHES));
	tlbs[0].counts.walks += 2;
	cache_counts.loads++;
	on_asked(0xffff800000003040, TOUCHED);
	on_instruction(0, number(LOADS));
	predictor.missed[0]++;
	cache_counts.l2[LOAD]++;
	on_asked(0x7ff8, TOUCHED);
}

int main(void)
{
	int i;

	known = or_abort(calloc(INSTRUCTIONS, sizeof *known));
	for (n_known = 0; n_known < INSTRUCTIONS; n_known++) {
		known[n_known] = or_abort(calloc(1, sizeof **known));
		known[n_known]->address = CODE_PAGE + n_known;
	}
	wanted_execution = ALL;
	charged = "5";
	for (i = 0; i < 3; i++) {
		execute();
		at_end(0, NULL);
	}
	write_memory(stdout);
	write_pages(stdout);
	puts("killed");
	complete = 0;
	execute();
	write_memory(stdout);
	execute();
	at_end(0, NULL);
	write_memory(stdout);
	return 0;
}
