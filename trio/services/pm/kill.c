/* kill.c: programs send signals: to a process, to a group, to all, to a thread, and with a value. */
#include "pm_internal.h"

/* Of a walk over several: how often it was allowed, and whether somebody was there at all. */
struct sent {
	uint32_t allowed, met;
};

static int64_t send_checked(const struct process *from, struct process *to, struct thread *t, uint32_t signal,
			    const struct information *i)
{
	if (!may_signal(from, to, signal))
		return -EPERM;
	return signal == 0 ? 0 : signal_send(to, t, signal, i);
}

static void send_one_of_many(const struct process *from, struct process *to, uint32_t signal, struct sent *sent)
{
	struct information i = from_user(from, SI_USER, 0);

	sent->met++;
	if (send_checked(from, to, NULL, signal, &i) == 0)
		sent->allowed++;
}

static int64_t kill_group(const struct process *from, int32_t group, uint32_t signal)
{
	struct sent sent = { 0 };

	EACH_PROCESS (to)
		if (to->group == group)
			send_one_of_many(from, to, signal, &sent);
	if (!sent.met)
		return -ESRCH;
	return sent.allowed ? 0 : -EPERM;
}

/* All but the first process and the sender. That some may not be signalled, or all, is no error, as in Linux. */
static int64_t kill_all(const struct process *from, uint32_t signal)
{
	struct sent sent = { 0 };

	EACH_PROCESS (to) {
		if (to != pm.init && to != from)
			send_one_of_many(from, to, signal, &sent);
	}
	return sent.met ? 0 : -ESRCH;
}

/* A process's number, or that of any thread of it. */
static struct process *process_of(int32_t pid)
{
	struct process *p = process_numbered(pid);
	struct thread *t = p ? NULL : thread_numbered(pid);

	return t ? t->process : p;
}

verdict pm_kill(struct request *r, int32_t pid, uint32_t signal)
{
	struct process *from = asking(r)->process, *to;
	struct information i = from_user(from, SI_USER, 0);

	if (signal > SIGNALS)
		return refuse(r, EINVAL);
	if (pid == -1)
		return settle(r, kill_all(from, signal));
	if (pid == INT32_MIN)
		return refuse(r, ESRCH);
	if (pid <= 0)
		return settle(r, kill_group(from, pid ? -pid : from->group, signal));
	to = process_of(pid);
	if (!to)
		return refuse(r, ESRCH);
	return settle(r, send_checked(from, to, NULL, signal, &i));
}

verdict pm_tgkill(struct request *r, int32_t group, int32_t tid, uint32_t signal)
{
	const struct process *from = asking(r)->process;
	struct information i = from_user(from, SI_TKILL, 0);
	struct thread *to = thread_numbered(tid);

	if (tid <= 0 || group < 0 || signal > SIGNALS)
		return refuse(r, EINVAL);
	if (!to || (group != 0 && to->process->number != group))
		return refuse(r, ESRCH);
	return settle(r, send_checked(from, to->process, to, signal, &i));
}

/* What the kernel's own codes are, nobody may pretend to another process. */
verdict pm_sigqueue(struct request *r, int32_t group, int32_t id, uint32_t signal, struct grant information)
{
	const struct process *from = asking(r)->process;
	struct thread *t = group ? thread_numbered(id) : NULL;
	struct process *to = t ? t->process : process_of(id);
	struct linux_siginfo given;
	struct information i;

	if (copy_in(&given, information, 0, sizeof given) != 0)
		return refuse(r, EFAULT);
	i = from_user(from, given.code, given.value);
	if (signal > SIGNALS)
		return refuse(r, EINVAL);
	if (!to || (group && (!t || to->number != group)))
		return refuse(r, ESRCH);
	if ((given.code >= 0 || given.code == SI_TKILL) && to != from)
		return refuse(r, EPERM);
	return settle(r, send_checked(from, to, t, signal, &i));
}
