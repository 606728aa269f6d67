/* init_devices.c: brings up the loopback device, loads drivers, and fills and mounts memory disks. */
#include "init.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DRIVERS_FILE "/etc/kernometer/drivers"
#define DISK_FOLDER "/etc/kernometer/disk/"

/* DRIVERS_FILE contains one driver per line, in the order of loading: its file, a space, its parameters. A driver that
 * is in the kernel already, or is for another processor (crc32c-intel), is skipped: whatever needs it fails later. */
void load_drivers(void)
{
	FILE *list = fopen(DRIVERS_FILE, "r");
	char line[1024];

	while (list && fgets(line, sizeof line, list)) {
		char *end = strchr(line, '\n'), *space = strchr(line, ' ');
		const char *parameters = space ? space + 1 : "";
		int fd;

		if (end)
			*end = '\0';
		if (space)
			*space = '\0';
		fd = open(line, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (syscall(SYS_finit_module, fd, parameters, 0) != 0 && errno != EEXIST && errno != ENODEV))
			lack(line);
		close(fd);
	}
	if (list)
		fclose(list);
}

/* The kernel sets the device's address when it comes up. Without a network the rows that need it report that. */
void bring_up_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo" };

	if (fd < 0)
		return;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &request) != 0 && errno != ENODEV)
		lack("the loopback device");
	close(fd);
}

static void put(int fd, const char *from, size_t n, uint64_t at, const char *device)
{
	while (n > 0) {
		ssize_t written = pwrite(fd, from, n, (off_t)at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			give_up(device);
		from += written;
		at += (uint64_t)written;
		n -= (size_t)written;
	}
}

/* The image's form (written by disks.py): its size, then pieces of offset, length and bytes, with zeros between them. A
 * memory disk allocates a page at its first write: every block is written here, so that this costs no row anything.
 * The last close drops the device's cache. */
static void fill(const char *device, const char *image, size_t bytes)
{
	static const char zeros[65536];
	struct {
		uint64_t offset, length;
	} piece;
	int fd = open(device, O_RDWR | O_CLOEXEC);
	uint64_t size;
	size_t at = sizeof size;

	if (fd < 0)
		give_up(device);
	memcpy(&size, image, sizeof size);
	for (uint64_t done = 0; done < size; done += sizeof zeros)
		put(fd, zeros, size - done < sizeof zeros ? size - done : sizeof zeros, done, device);
	while (bytes - at >= sizeof piece) {
		memcpy(&piece, image + at, sizeof piece);
		at += sizeof piece;
		errno = EINVAL;
		if (piece.length > bytes - at)
			give_up("a disk's image is cut");
		put(fd, image + at, piece.length, piece.offset, device);
		at += piece.length;
	}
	if (fsync(fd) != 0 || close(fd) != 0)
		give_up(device);
}

/* Makes memory disks, from /dev/ram0 on, each with its file system, for the images in the archive. */
void make_disks(void)
{
	static const struct {
		const char *kind, *image, *where, *options;
	} disks[] = {
		{ "ext4", DISK_FOLDER "ext4", "/disk/ext4", "noinit_itable" },
		{ "minix", DISK_FOLDER "minix", "/disk/minix", NULL },
	};
	char device[] = "/dev/ram0";

	for (size_t i = 0; i < sizeof disks / sizeof disks[0]; i++) {
		int fd = open(disks[i].image, O_RDONLY | O_CLOEXEC);
		struct stat s;
		void *image;

		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &s) != 0 || s.st_size < (off_t)sizeof(uint64_t))
			give_up(disks[i].image);
		image = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (image == MAP_FAILED)
			give_up(disks[i].image);
		fill(device, image, (size_t)s.st_size);
		munmap(image, (size_t)s.st_size);
		close(fd);
		unlink(disks[i].image);
		if ((mkdir("/disk", 0755) != 0 && errno != EEXIST) || mkdir(disks[i].where, 0755) != 0 ||
		    mount(device, disks[i].where, disks[i].kind, 0, disks[i].options) != 0)
			lack(disks[i].where);
		device[sizeof device - 2]++;
	}
	sync();
}
