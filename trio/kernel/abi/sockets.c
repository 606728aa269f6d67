/* sockets.c: what the calls of sockets have in memory: lengths that come back, and msghdr. */
#include "abi/abi.h"
#include "abi/socket.h"
#include "vfs_client.h"

int64_t room_of(uint64_t address, uint64_t length, struct grant *out)
{
	int32_t room = 0;

	if (address != 0 && user_get(&room, length, sizeof room) != 0)
		return -EFAULT;
	*out = user_grant_if(address, (uint32_t)room);
	return room < 0 ? -EINVAL : 0;
}

int64_t room_used(struct task *t, uint64_t address, uint64_t length, int64_t result)
{
	uint32_t used = (uint32_t)t->request.out[0];

	if (result < 0 || address == 0)
		return result;
	return user_put(length, &used, sizeof used) != 0 ? -EFAULT : result;
}

/* Reads the parts of a msghdr at `from`. */
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

	TRY(message_get(t, a[1], &message, &data));
	return client_vfs_send(&t->request, (int32_t)a[0], data, user_grant_if(message.name, message.name_length),
			       user_grant_if(message.control, message.control_length), (uint32_t)a[2]);
}

static int64_t run_recvmsg(struct task *t, const uint64_t *a)
{
	struct linux_msghdr message;
	struct grant data;
	int64_t result;

	TRY(message_get(t, a[1], &message, &data));
	result = client_vfs_receive(&t->request, (int32_t)a[0], data, user_grant_if(message.name, message.name_length),
				    user_grant_if(message.control, message.control_length), (uint32_t)a[2]);
	TRY(result);
	message.name_length = (uint32_t)t->request.out[OUT_VFS_RECEIVE_LENGTH];
	message.control_length = t->request.out[OUT_VFS_RECEIVE_CONTROL_LENGTH];
	message.flags = (int32_t)t->request.out[OUT_VFS_RECEIVE_FLAGS];
	return user_put(a[1], &message, sizeof message) != 0 ? -EFAULT : result;
}

const struct route routes_sockets[] = {
	{ 46, true, "sendmsg", run_sendmsg },
	{ 47, true, "recvmsg", run_recvmsg },
	{ 0 },
};
