/* kill.c: programs send signals: to a process, to a group, to all, to a thread, and with a value. */
#include "processes/processes.h"
#include "signals/signals.h"

static int64_t send_checked(const struct process *from, struct process *to, struct thread *t, uint32_t signal,
			    const struct information *i)
{
	if (!may_signal(from, to, signal))
		return -EPERM;
	return signal == 0 ? 0 : signal_send(to, t, signal, i);
}

/* Sends to all of a group. Group 0 stands for all but the first process and the sender; then it is no error if some or
 * all may not be signalled, as on Linux. */
static int64_t kill_some(const struct process *from, int32_t group, uint32_t signal, const struct information *i)
{
	bool met = false, allowed = group == 0;

	EACH_PROCESS (to) {
		if (group ? to->group != group : to == pm.init || to == from)
			continue;
		met = true;
		allowed |= send_checked(from, to, NULL, signal, i) == 0;
	}
	if (!met)
		return -ESRCH;
	return allowed ? 0 : -EPERM;
}

/* Finds a process by its number or by the number of one of its threads. */
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
		return answer(r, kill_some(from, 0, signal, &i));
	if (pid == INT32_MIN)
		return refuse(r, ESRCH);
	if (pid <= 0)
		return answer(r, kill_some(from, pid ? -pid : from->group, signal, &i));
	to = process_of(pid);
	return answer(r, to ? send_checked(from, to, NULL, signal, &i) : -ESRCH);
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
	return answer(r, send_checked(from, to->process, to, signal, &i));
}

/* Codes of the kernel's own are refused for another process. */
verdict pm_sigqueue(struct request *r, int32_t group, int32_t id, uint32_t signal, struct grant information)
{
	const struct process *from = asking(r)->process;
	struct thread *t = group ? thread_numbered(id) : NULL;
	struct process *to = t ? t->process : process_of(id);
	struct linux_siginfo given;
	struct information i;

	TRY_ANSWER(r, copy_in(&given, information, 0, sizeof given));
	i = from_user(from, given.code, given.value);
	if (signal > SIGNALS)
		return refuse(r, EINVAL);
	if (!to || (group && (!t || to->number != group)))
		return refuse(r, ESRCH);
	if ((given.code >= 0 || given.code == SI_TKILL) && to != from)
		return refuse(r, EPERM);
	return answer(r, send_checked(from, to, t, signal, &i));
}
