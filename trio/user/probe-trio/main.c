/* main.c: the probe's engine with Trio's units, which mean something on Trio alone. The engine's main is compiled as
 * probe_main. */
#include "unit.h"

int probe_main(int argc, char **argv);
int proc_execl_main(int argc, char **argv);

/* The engine calls this for a row that is not among these. */
int proc_execl_main(int argc, char **argv)
{
	fprintf(stderr, "%s: no row here executes %s\n", argv[0], argc > 2 ? argv[2] : "a chain");
	return 2;
}

static int measures(int argc, char **argv)
{
	static const char *const says[] = { "--list", "--help", "--version" };

	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof says / sizeof says[0]; k++)
			if (strcmp(argv[i], says[k]) == 0)
				return 0;
	return 1;
}

int main(int argc, char **argv)
{
	if (measures(argc, argv) && trio_syscall(TRIO_NULL, NULL, 0) != 0) {
		fputs("probe-trio: this kernel is not Trio (it has no call 1000), and these units are of Trio's own "
		      "calls; measure with probe what all kernels have\n",
		      stderr);
		return 3;
	}
	return probe_main(argc, argv);
}
