/* route_vfs_io.c: Linux's calls of pipes, of waiting on several files, and of sockets. */
#include "abi/abi.h"
#include "abi/poll.h"
#include "abi/signal.h"
#include "abi/socket.h"
#include "abi/time.h"
#include "pm_client.h"
#include "vfs_client.h"

/* Bytes of a signal set, which calls name beside it. */
#define SIGNAL_SET 8
#define SELECT_MOST 65536

/* Waiting ---------------------------------------------------------------------------------------------------------- */

static int64_t deadline_get(uint64_t address, bool micro, nanoseconds *deadline)
{
	int64_t error = user_deadline(address, micro, deadline);

	if (error == 0 && *deadline <= now())
		*deadline = 0;
	return error;
}

/* Linux leaves what is left of the time where it was; that it cannot is no error. */
static void deadline_put(uint64_t address, bool micro, nanoseconds deadline)
{
	nanoseconds present = now();
	uint64_t left = deadline > present ? deadline - present : 0;
	struct linux_timespec time = { (int64_t)(left / NS_PER_SECOND), (int64_t)(left % NS_PER_SECOND) };

	if (address == 0)
		return;
	if (micro)
		time.nanoseconds /= 1000;
	(void)user_put(address, &time, sizeof time);
}

/* The signal mask during a wait, where `address` is not 0. 0, -EFAULT, -EINVAL. */
static int64_t mask_set(struct task *t, uint64_t address, uint64_t size, uint64_t *old)
{
	uint64_t mask;

	if (address == 0)
		return 0;
	if (size != SIGNAL_SET)
		return -EINVAL;
	if (user_get(&mask, address, sizeof mask) != 0)
		return -EFAULT;
	client_pm_sigmask_wait(&t->request, mask);
	*old = t->request.out[OUT_PM_SIGMASK_WAIT_OLD];
	return 0;
}

/* After -EINTR the old mask is restored once the signal's handler has run, or at once where there is none: by
 * pm.attend. */
static int64_t mask_restored(struct task *t, uint64_t address, uint64_t old, int64_t result)
{
	if (address != 0 && result != -EINTR)
		client_pm_sigmask(&t->request, SIG_SETMASK, old);
	return result;
}

static struct grant polls_of(const uint64_t *a)
{
	return user_grant(a[0], (uint64_t)(uint32_t)a[1] * sizeof(struct linux_pollfd));
}

static int64_t run_ppoll(struct task *t, const uint64_t *a)
{
	nanoseconds deadline;
	uint64_t old = 0;
	int64_t result = deadline_get(a[2], false, &deadline);

	if (result == 0)
		result = mask_set(t, a[3], a[4], &old);
	if (result != 0)
		return result;
	result = client_vfs_poll(&t->request, polls_of(a), (uint32_t)a[1], deadline);
	deadline_put(a[2], false, deadline);
	return mask_restored(t, a[3], old, result);
}

static int64_t select_sets(struct task *t, const uint64_t *a, nanoseconds deadline)
{
	uint32_t count = (uint32_t)a[0];
	uint64_t bytes = ((uint64_t)MIN(count, SELECT_MOST) + 63) / 64 * 8;

	return client_vfs_select(&t->request, count, user_grant_if(a[1], bytes), user_grant_if(a[2], bytes),
				 user_grant_if(a[3], bytes), deadline);
}

static int64_t run_select(struct task *t, const uint64_t *a)
{
	nanoseconds deadline;
	int64_t result = deadline_get(a[4], true, &deadline);

	if (result != 0)
		return result;
	result = select_sets(t, a, deadline);
	deadline_put(a[4], true, deadline);
	return result;
}

static int64_t run_pselect6(struct task *t, const uint64_t *a)
{
	/* The sixth argument points to the mask's address and size. */
	uint64_t mask[2] = { 0, 0 }, old = 0;
	nanoseconds deadline;
	int64_t result = deadline_get(a[4], false, &deadline);

	if (result == 0 && a[5] != 0)
		result = user_get(mask, a[5], sizeof mask);
	if (result == 0)
		result = mask_set(t, mask[0], mask[1], &old);
	if (result != 0)
		return result;
	result = select_sets(t, a, deadline);
	deadline_put(a[4], false, deadline);
	return mask_restored(t, mask[0], old, result);
}

static int64_t run_epoll_pwait(struct task *t, const uint64_t *a)
{
	int32_t count = (int32_t)a[2];
	uint64_t old = 0;
	int64_t result = count <= 0 ? -EINVAL : mask_set(t, a[4], a[5], &old);

	if (result != 0)
		return result;
	result = client_vfs_epoll_wait(&t->request, (int32_t)a[0],
				       user_grant(a[1], (uint64_t)count * sizeof(struct linux_epoll_event)),
				       (uint32_t)count, deadline_of((int32_t)a[3]));
	return mask_restored(t, a[4], old, result);
}

static int64_t run_epoll_wait(struct task *t, const uint64_t *a)
{
	return run_epoll_pwait(t, (const uint64_t[6]){ a[0], a[1], a[2], a[3], 0, 0 });
}

/* Sockets ---------------------------------------------------------------------------------------------------------- */

/* Room for an address (or an option) that comes back: `length` points to how much; none where `address` is 0. */
static int64_t room_of(uint64_t address, uint64_t length, struct grant *out)
{
	int32_t room = 0;

	if (address != 0 && user_get(&room, length, sizeof room) != 0)
		return -EFAULT;
	*out = user_grant_if(address, (uint32_t)room);
	return room < 0 ? -EINVAL : 0;
}

/* How long it was goes back there. */
static int64_t room_put(uint64_t address, uint64_t length, uint64_t was, int64_t result)
{
	uint32_t value = (uint32_t)was;

	if (result < 0 || address == 0)
		return result;
	return user_put(length, &value, sizeof value) != 0 ? -EFAULT : result;
}

static int64_t run_accept4(struct task *t, const uint64_t *a)
{
	struct grant address;
	int64_t result = room_of(a[1], a[2], &address);

	if (result != 0)
		return result;
	result = client_vfs_accept(&t->request, (int32_t)a[0], address, (uint32_t)a[3]);
	return room_put(a[1], a[2], t->request.out[OUT_VFS_ACCEPT_LENGTH], result);
}

static int64_t run_accept(struct task *t, const uint64_t *a)
{
	return run_accept4(t, (const uint64_t[6]){ a[0], a[1], a[2], 0, 0, 0 });
}

static int64_t name_of(struct task *t, const uint64_t *a, uint32_t peer)
{
	struct grant address;
	int64_t result;

	if (a[1] == 0)
		return -EFAULT;
	result = room_of(a[1], a[2], &address);
	if (result != 0)
		return result;
	result = client_vfs_socket_name(&t->request, (int32_t)a[0], peer, address);
	return room_put(a[1], a[2], t->request.out[OUT_VFS_SOCKET_NAME_LENGTH], result);
}

static int64_t run_getsockname(struct task *t, const uint64_t *a)
{
	return name_of(t, a, 0);
}

static int64_t run_getpeername(struct task *t, const uint64_t *a)
{
	return name_of(t, a, 1);
}

static int64_t run_getsockopt(struct task *t, const uint64_t *a)
{
	int32_t room;
	int64_t result;

	if (user_get(&room, a[4], sizeof room) != 0)
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	result = client_vfs_socket_option(&t->request, (int32_t)a[0], (uint32_t)a[1], (uint32_t)a[2],
					  user_grant(a[3], (uint32_t)room));
	return room_put(a[4], a[4], t->request.out[OUT_VFS_SOCKET_OPTION_LENGTH], result);
}

static int64_t run_recvfrom(struct task *t, const uint64_t *a)
{
	struct grant address;
	int64_t result = room_of(a[4], a[5], &address);

	if (result != 0)
		return result;
	result = client_vfs_receive(&t->request, (int32_t)a[0], user_grant(a[1], a[2]), address, user_grant(0, 0),
				    (uint32_t)a[3]);
	return room_put(a[4], a[5], t->request.out[OUT_VFS_RECEIVE_LENGTH], result);
}

/* The parts of a msghdr at `from`. */
static int64_t message_get(struct task *t, uint64_t from, struct linux_msghdr *message, struct grant *data)
{
	if (user_get(message, from, sizeof *message) != 0)
		return -EFAULT;
	if (message->vector_count > 1024)
		return -EMSGSIZE;
	if ((int32_t)message->name_length < 0)
		return -EINVAL;
	message->name_length = MIN(message->name_length, ADDRESS_MOST);
	if (message->control_length > INT32_MAX)
		return -ENOBUFS;
	return user_vector(t, message->vector, message->vector_count, data);
}

static int64_t run_sendmsg(struct task *t, const uint64_t *a)
{
	struct linux_msghdr message;
	struct grant data;
	int64_t error = message_get(t, a[1], &message, &data);

	if (error != 0)
		return error;
	return client_vfs_send(&t->request, (int32_t)a[0], data, user_grant_if(message.name, message.name_length),
			       user_grant_if(message.control, message.control_length), (uint32_t)a[2]);
}

static int64_t run_recvmsg(struct task *t, const uint64_t *a)
{
	struct linux_msghdr message;
	struct grant data;
	int64_t result = message_get(t, a[1], &message, &data);

	if (result != 0)
		return result;
	result = client_vfs_receive(&t->request, (int32_t)a[0], data, user_grant_if(message.name, message.name_length),
				    user_grant_if(message.control, message.control_length), (uint32_t)a[2]);
	if (result < 0)
		return result;
	message.name_length = (uint32_t)t->request.out[OUT_VFS_RECEIVE_LENGTH];
	message.control_length = t->request.out[OUT_VFS_RECEIVE_CONTROL_LENGTH];
	message.flags = (int32_t)t->request.out[OUT_VFS_RECEIVE_FLAGS];
	return user_put(a[1], &message, sizeof message) != 0 ? -EFAULT : result;
}

/* poll and its like end with -EINTR even for a handler with SA_RESTART, as Linux has it; after a stop they go on (with
 * their whole time again), but for epoll_wait. */
ROUTE_TABLE(sockets, { 23, RESUMES, "select", run_select }, { 43, true, "accept", run_accept },
	    { 45, true, "recvfrom", run_recvfrom }, { 46, true, "sendmsg", run_sendmsg },
	    { 47, true, "recvmsg", run_recvmsg }, { 51, false, "getsockname", run_getsockname },
	    { 52, false, "getpeername", run_getpeername }, { 55, false, "getsockopt", run_getsockopt },
	    { 232, false, "epoll_wait", run_epoll_wait }, { 270, RESUMES, "pselect6", run_pselect6 },
	    { 271, RESUMES, "ppoll", run_ppoll }, { 281, false, "epoll_pwait", run_epoll_pwait },
	    { 288, true, "accept4", run_accept4 }, );
