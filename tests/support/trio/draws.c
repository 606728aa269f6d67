/* draws.c: puts /picture on the screen, a third by each way that there is: written to /dev/fb0; read into its memory,
 * which is mapped; stored there. Exit status 0: the whole is in that memory then. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
	int screen = open("/dev/fb0", O_RDWR), file = open("/picture", O_RDONLY);
	struct stat s;
	char *shown, *picture;
	size_t third;

	if (screen < 0 || file < 0 || fstat(file, &s) != 0)
		return 1;
	third = (size_t)s.st_size / 3;
	shown = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, screen, 0);
	picture = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (shown == MAP_FAILED || picture == MAP_FAILED)
		return 2;
	if (write(screen, picture, third) != (ssize_t)third)
		return 3;
	if (pread(file, shown + third, third, (off_t)third) != (ssize_t)third)
		return 4;
	memcpy(shown + 2 * third, picture + 2 * third, (size_t)s.st_size - 2 * third);
	return memcmp(shown, picture, (size_t)s.st_size) != 0;
}
