/* A kernel that boots as a multiboot kernel, for test_multiboot.py: prints its first module, with two
 * characters of it replaced: ~ by what the loader handed over (the command line, then each module's words and three
 * bytes of its content), $ by how many instructions each of three regions took. Then it resets the machine.
 *
 * With TEXT, a C string, it takes no module: it waits at a marker as a probe does, then prints that text, with ~
 * replaced by the words of its command. LOADED: bsd.c includes it, and our loader starts it. */
#define MAGIC 0x1BADB002u
#define BEGIN ".byte 0x0f, 0x1f, 0x80, 2, 0, 0x4d, 0x4b\n\t" /* region 2: nopl 0x4b4d0002(%eax) */
#define READY ".byte 0x0f, 0x1f, 0x80, 0, 0, 0x4f, 0x4b\n\t"
#define END ".byte 0x0f, 0x1f, 0x80, 2, 0, 0x4e, 0x4b\n\t"

struct module {
	const char *start, *end, *words;
	unsigned int reserved;
};

struct information {
	unsigned int flags, lower, upper, device;
	const char *command_line;
	unsigned int count;
	const struct module *modules;
};

#ifndef LOADED
__attribute__((section(".multiboot"), used, aligned(4))) static const unsigned int header[3] = { MAGIC, 3,
												 -(MAGIC + 3) };

__asm__(".pushsection .text\n\t"
	".globl _start\n"
	"_start:\n\t"
	"movl $stack_end, %esp\n\t"
	"pushl %ebx\n\t"
	"call kernel_main\n\t"
	".popsection\n\t"
	".lcomm stack, 8192\n\t"
	".set stack_end, stack + 8192\n\t");
#endif

static void out(unsigned short port, unsigned char byte)
{
	__asm__ volatile("outb %0, %1" : : "a"(byte), "Nd"(port));
}

static void put(char c)
{
#ifdef SERIAL
	unsigned char status;

	do
		__asm__ volatile("inb %1, %0" : "=a"(status) : "Nd"((unsigned short)0x3fd));
	while (!(status & 0x20));
	out(0x3f8, (unsigned char)c);
#else
	out(0xe9, (unsigned char)c);
#endif
}

static void print(const char *text)
{
	while (*text)
		put(*text++);
}

static void print_number(unsigned int n)
{
	if (n > 9)
		print_number(n / 10);
	put((char)('0' + n % 10));
}

/* From clock to clock: the first rdtsc itself, the mov, 64 nops. */
static unsigned int measure(void)
{
	unsigned int difference;

	__asm__ volatile(BEGIN "rdtsc\n\t"
			       "movl %%eax, %%ecx\n\t"
			       ".rept 64\n\tnop\n\t.endr\n\t"
			       "rdtsc\n\t"
			       "subl %%ecx, %%eax\n\t" END
			 : "=a"(difference)
			 :
			 : "ecx", "edx");
	return difference;
}

#ifdef TEXT
static const char text[] = TEXT;
static char room[4096] = "#kernometer ready 4096\n";

static const char *first(const struct information *given)
{
	(void)given;
	do
		__asm__ volatile(READY "pause" : : "a"(room) : "memory");
	while (room[0] == '#');
	return text;
}

static const char *last(const struct information *given)
{
	(void)given;
	return text + sizeof text - 1;
}

static void print_handed_over(const struct information *given)
{
	const char *word;

	for (word = room; *word; word++) { /* each ends with a NUL, and an empty one is the last */
		print(word);
		put('|');
		while (*word)
			word++;
	}
	print(given->command_line);
}
#else
static const char *first(const struct information *given)
{
	return given->modules->start;
}

static const char *last(const struct information *given)
{
	return given->modules->end;
}

static void print_handed_over(const struct information *given)
{
	unsigned int i;
	int at;

	print(given->command_line);
	for (i = 0; i < given->count; i++) {
		put('|');
		print(given->modules[i].words);
		put('[');
		for (at = 1; at < 4; at++)
			put(given->modules[i].start[at]);
		put(']');
	}
}
#endif

static void print_regions(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (i > 0)
			put(',');
		print_number(measure());
	}
}

void kernel_main(const struct information *given)
{
	const char *at;

	for (at = first(given); at < last(given); at++)
		if (*at == '~')
			print_handed_over(given);
		else if (*at == '$')
			print_regions();
		else
			put(*at);
	out(0x64, 0xfe); /* the keyboard controller's reset, which ends a QEMU that was told not to reboot */
	for (;;)
		__asm__ volatile("hlt");
}
