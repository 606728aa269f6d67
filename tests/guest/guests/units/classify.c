/* Does the plugin know the instructions that it counts? Includes events.c, with stubs for QEMU, and classifies bytes
 * of the processor that its argument names. Reads lines "NAME BYTES-IN-HEX"; prints the lines whose class has another
 * name, and how many were read. */
#define KM_PLUGIN_API 1
#define OWN_REGISTRATION
#include "../../../../src/kernometer/guests/plugins/events.c"
#include "stubs.h"

static const char *found;
static char found_all[64];
static insn_exec_cb marked;

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, insn_exec_cb cb,
					    enum qemu_plugin_cb_flags flags, void *userdata)
{
	(void)insn;
	(void)flags;
	if (cb == at_begin || cb == at_end)
		marked = cb;
	if (cb == on_fetch || cb == on_ending)
		free(userdata);
}

/* Counters other than USER, which every instruction here has, joined by '+'. */
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, enum qemu_plugin_op op, void *counter,
						uint64_t by)
{
	size_t which = (size_t)((uint64_t *)counter - counted);

	(void)insn;
	(void)op;
	(void)by;
	if (which == USER)
		return;
	snprintf(found_all + strlen(found_all), sizeof found_all - strlen(found_all), "%s%s", found_all[0] ? "+" : "",
		 processor->names[which]);
	found = found_all;
}

int main(int argc, char **argv)
{
	const enum block begins = USER_BLOCK;
	char name[64], hex[2 * MAX_INSN + 2];
	int lines = 0;

	processor = argc > 1 ? processor_of(argv[1]) : NULL;
	if (processor == NULL)
		return 2;

	while (scanf("%63s %31s", name, hex) == 2) {
		unsigned char *bytes = calloc(1, MAX_INSN); /* exactly what QEMU gives: a read beyond it is found */
		size_t i, n = strlen(hex) / 2;

		for (i = 0; i < n; i++) {
			unsigned int byte;

			sscanf(hex + 2 * i, "%2x", &byte);
			bytes[i] = (unsigned char)byte;
		}
		current = bytes;
		current_size = n;
		found = "nothing";
		found_all[0] = '\0';
		marked = NULL;
		instrument(NULL, LONG_MODE, &begins);
		if (marked != NULL)
			found = marked == at_begin ? "begin" : "end";
		if (strcmp(found, name) != 0)
			printf("%s: wanted %s, got %s\n", hex, name, found);
		free(bytes);
		lines++;
	}
	printf("%d read\n", lines);
	return 0;
}
