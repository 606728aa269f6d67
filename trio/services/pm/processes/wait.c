/* wait.c: a parent asks what has become of its children. */
#include "people/people.h"
#include "processes/processes.h"

static bool is_meant(const struct process *child, uint32_t which, int32_t pid, uint32_t options)
{
	if (which == P_PID && child->number != pid)
		return false;
	if (which == P_PGID && child->group != pid)
		return false;
	if (options & WALL)
		return true;
	return (child->exit_signal != SIGCHLD) == ((options & WCLONE) != 0);
}

static void process_reap(struct process *p)
{
	usage_add(&p->parent->children_usage, &p->own);
	usage_add(&p->parent->children_usage, &p->children_usage);
	process_remove(p);
}

/* What there is to tell of one child, as wait4's status; 0 in `code`: nothing. */
static uint32_t news_of(struct process *child, uint32_t options, int32_t *code)
{
	*code = 0;
	if (child->zombie) {
		if (options & WEXITED)
			*code = child->status & 0x7f ? CLD_KILLED : CLD_EXITED;
		return child->status;
	}
	if (child->tell_stopped && options & WUNTRACED) {
		*code = CLD_STOPPED;
		return child->stop << 8 | 0x7f;
	}
	if (child->tell_continued && options & WCONTINUED) {
		*code = CLD_CONTINUED;
		return 0xffff;
	}
	return 0;
}

/* What is wanted, and where what is told of it goes; length 0: nowhere. `information`: it is a siginfo, not wait4's
 * status. */
struct wish {
	uint32_t which, options;
	int32_t pid;
	bool information;
	struct grant to, usage;
};

static int64_t write_usage(const struct process *child, struct grant to)
{
	struct usage sum;

	if (to.length == 0)
		return 0;
	sum = process_usage(child);
	usage_add(&sum, &child->children_usage);
	return usage_write(to, &sum);
}

/* What waitid tells of a status: an exit status or a signal. */
static int32_t status_of(uint32_t status, int32_t code)
{
	if (code == CLD_KILLED)
		return (int32_t)(status & 0x7f);
	return code == CLD_CONTINUED ? SIGCONT : (int32_t)(status >> 8 & 0xff);
}

static verdict tell_information(struct request *r, struct grant to, int32_t number, uint32_t uid, uint32_t status,
				int32_t code)
{
	struct linux_siginfo i = { .signal = SIGCHLD, .code = code };

	i.pid = number;
	i.uid = uid;
	i.status = status_of(status, code);
	/* Linux writes these fields and no others. */
	return answer_with(r, 0, to, &i, to.length);
}

/* It is not told again. */
static void told(struct process *child, int32_t code)
{
	if (child->zombie)
		process_reap(child);
	else if (code == CLD_STOPPED)
		child->tell_stopped = false;
	else
		child->tell_continued = false;
}

static verdict tell(struct request *r, struct process *child, const struct wish *w, uint32_t status, int32_t code)
{
	int32_t number = child->number;
	uint32_t uid = child->identity.user.real;

	if (write_usage(child, w->usage) != 0)
		return refuse(r, EFAULT);
	if (!(w->options & WNOWAIT))
		told(child, code);
	if (w->information)
		return tell_information(r, w->to, number, uid, status, code);
	return answer_with(r, number, w->to, &status, sizeof status);
}

static verdict wait_for_child(struct request *r, struct wish *w)
{
	struct process *self = asking(r)->process;
	bool some = false;

	if (!(w->options & (WEXITED | WUNTRACED | WCONTINUED)))
		return refuse(r, EINVAL);
	if (w->which == P_PGID && w->pid == 0)
		w->pid = self->group;
	EACH_CHILD (self, child) {
		int32_t code;
		uint32_t status;

		if (!is_meant(child, w->which, w->pid, w->options))
			continue;
		some = true;
		status = news_of(child, w->options, &code);
		if (code)
			return tell(r, child, w, status, code);
	}
	if (!some)
		return refuse(r, ECHILD);
	if (!(w->options & WNOHANG))
		return park(&self->waiters, r);
	return w->information ? answer_with(r, 0, w->to, &(struct linux_siginfo){ 0 }, w->to.length) : answer(r, 0);
}

verdict pm_wait4(struct request *r, int32_t pid, struct grant status, uint32_t options, struct grant usage)
{
	struct wish w = { .which = pid > 0     ? P_PID
				   : pid == -1 ? P_ALL
					       : P_PGID,
			  .options = options | WEXITED,
			  .pid = pid < 0 ? -pid : pid,
			  .to = status,
			  .usage = usage };

	if (options & ~(uint32_t)(WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WALL | WCLONE))
		return refuse(r, EINVAL);
	return pid == INT32_MIN ? refuse(r, ESRCH) : wait_for_child(r, &w);
}

verdict pm_waitid(struct request *r, uint32_t which, int32_t pid, struct grant information, uint32_t options,
		  struct grant usage)
{
	struct wish w = { which, options, pid, true, information, usage };

	if (options & ~(uint32_t)(WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WALL | WCLONE | WEXITED | WNOWAIT))
		return refuse(r, EINVAL);
	if (which > P_PGID || (which == P_PID && pid <= 0) || (which == P_PGID && pid < 0))
		return refuse(r, EINVAL);
	return wait_for_child(r, &w);
}
