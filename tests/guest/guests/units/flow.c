/* Does the plugin know what each instruction does to the flow of control? Includes profile.c, with stubs for QEMU.
 * Reads lines "NUMBER BYTES-IN-HEX"; prints those of another number (of `enum flow`), and how many were read. */
#define KM_PLUGIN_API 1
#include "../../../../src/kernometer/guests/plugins/profile.c"
#include "stubs.h"

int main(void)
{
	char hex[2 * MAX_INSN + 2];
	unsigned int wanted;
	int lines = 0;

	while (scanf("%u %31s", &wanted, hex) == 2) {
		unsigned char bytes[MAX_INSN + 3] = { 0 };
		struct decoded d;
		size_t i;

		for (i = 0; i < strlen(hex) / 2; i++) {
			unsigned int byte;

			sscanf(hex + 2 * i, "%2x", &byte);
			bytes[i] = (unsigned char)byte;
		}
		d = skip_prefixes(bytes);
		if (flow_of(&d) != wanted)
			printf("%s: wanted %u, got %u\n", hex, wanted, (unsigned int)flow_of(&d));
		lines++;
	}
	printf("%d read\n", lines);
	return 0;
}
