/* vfs_files_seam.c: what names and files in memory call: objects of pages below the file service, grants, and of the
 * service's other parts as much as says that there is nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "devices/devices.h"
#include "files/files.h"
#include "names/names.h"
#include "pipes/pipe.h"
#include "seam.h"
#include "sockets/socket.h"
#include "terminals/tty.h"

#define OBJECTS 4096
#define OBJECT_PAGES 32
static void *object_pages[OBJECTS][OBJECT_PAGES];
static bool object_used[OBJECTS];

int64_t vm_object_create(uint32_t *object)
{
	for (uint32_t i = 1; i < OBJECTS; i++)
		if (!object_used[i]) {
			object_used[i] = true;
			*object = i;
			return 0;
		}
	return -ENOMEM;
}

int64_t vm_object_page(uint32_t object, uint64_t index, uint32_t create, uint32_t endpoint, uint64_t *address)
{
	void **page = &object_pages[object][index];

	if (*page == NULL && create && (*page = pages_take(1)) == NULL)
		return -ENOMEM;
	*address = (uint64_t)*page;
	return 0;
}

int64_t vm_object_resize(uint32_t object, uint64_t size)
{
	char *last = size / PAGE < OBJECT_PAGES ? object_pages[object][size / PAGE] : NULL;

	if (last != NULL && size % PAGE != 0)
		memset(last + size % PAGE, 0, PAGE - size % PAGE);
	for (uint64_t i = (size + PAGE - 1) / PAGE; i < OBJECT_PAGES; i++)
		if (object_pages[object][i] != NULL) {
			pages_give(object_pages[object][i], 1);
			object_pages[object][i] = NULL;
		}
	return 0;
}

int64_t vm_object_drop(uint32_t object)
{
	vm_object_resize(object, 0);
	object_used[object] = false;
	return 0;
}

int64_t vm_reap(void)
{
	return 0;
}

int64_t vm_populate(uint32_t task, uint64_t address, uint64_t length, uint64_t *next)
{
	*next = address + length;
	return 0;
}

/* What is asked here is less than a share. */
verdict give_way(struct request *r, enum ends ends)
{
	abort();
}

void raise_signal(struct request *r, uint32_t signal)
{
	r->raises = (uint8_t)signal;
}

int64_t vm_object_hold(uint32_t object)
{
	return 0;
}

int64_t vm_map_object(uint32_t task, uint64_t address, uint64_t length, uint32_t protection, uint32_t flags,
		      uint32_t object, uint64_t offset, uint32_t writable, uint64_t *out)
{
	return -ENOMEM;
}

int64_t kernel_memory_free(uint64_t *left, uint64_t *total)
{
	*total = 1 << 20;
	*left = pages_most == 0 ? *total : 512 + pages_most - pages_held;
	return 0;
}

int64_t kernel_task_calls(uint32_t task, uint64_t *reads, uint64_t *writes, uint32_t *waits)
{
	return -ESRCH;
}

long copy_string(char *to, size_t size, struct grant from)
{
	size_t length = strlen((const char *)from.id);

	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(to, (const char *)from.id, length + 1);
	return (long)length;
}

verdict park(struct queue *q, struct request *request)
{
	fprintf(stderr, "a call on a file in memory waits\n");
	exit(1);
}

verdict park_hard(struct queue *q, struct request *request)
{
	return park(q, request);
}

verdict disk_park(struct request *request)
{
	return park_hard(&vfs.disk_waiters[0], request);
}

bool is_waited_for(const struct queue *q)
{
	return q->head.next != NULL;
}

void unpark(struct queue *q)
{
}

const struct device *device_of(uint32_t mode, uint32_t number)
{
	return NULL;
}

verdict fifo_open(struct request *request, struct file *f)
{
	return refuse(request, ENXIO);
}

void fifo_forget(struct node *n)
{
}

struct node *fifo_waited(struct request *request)
{
	return NULL;
}

void fifo_waited_drop(uint32_t task)
{
}

bool fifo_is_awaited(uint32_t task, const struct mount *m)
{
	return false;
}

bool file_stays(struct file *f)
{
	return false;
}

bool lost_recover(bool surely)
{
	return false;
}

struct terminal terminal = { .session = 1 };

void terminal_session_ended(void)
{
}

const struct file_system device_file_system = { .name = "devtmpfs" }, proc_file_system = { .name = "proc" },
			 disk_file_system = { .name = "minix" };
