/* wait.c: a parent asks what has become of its children. */
#include "pm_internal.h"

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

void process_reap(struct process *p)
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

static int64_t write_usage(const struct process *child, struct grant to)
{
	struct usage sum;
	struct linux_rusage out;

	if (to.length == 0)
		return 0;
	sum = process_usage(child);
	usage_add(&sum, &child->children_usage);
	usage_write(&out, &sum);
	return copy_out(to, 0, &out, sizeof out);
}

static verdict tell(struct request *r, struct process *child, uint32_t options, struct grant usage, uint32_t status,
		    int32_t code)
{
	int32_t number = child->number;

	r->out[OUT_PM_WAIT_STATUS] = status;
	r->out[OUT_PM_WAIT_SIGNAL_CODE] = (uint32_t)code;
	r->out[OUT_PM_WAIT_UID] = child->identity.uid;
	if (write_usage(child, usage) != 0)
		return refuse(r, EFAULT);
	if (options & WNOWAIT)
		return answer(r, number);
	if (child->zombie)
		process_reap(child);
	else if (code == CLD_STOPPED)
		child->tell_stopped = false;
	else
		child->tell_continued = false;
	return answer(r, number);
}

verdict pm_wait(struct request *r, uint32_t which, int32_t pid, uint32_t options, struct grant usage)
{
	struct process *self = asking(r)->process;
	bool some = false;

	if (which > P_PGID || !(options & (WEXITED | WUNTRACED | WCONTINUED)))
		return refuse(r, EINVAL);
	if (which == P_PGID && pid == 0)
		pid = self->group;
	EACH_CHILD(self, child)
	{
		int32_t code;
		uint32_t status;

		if (!is_meant(child, which, pid, options))
			continue;
		some = true;
		status = news_of(child, options, &code);
		if (code)
			return tell(r, child, options, usage, status, code);
	}
	if (!some)
		return refuse(r, ECHILD);
	if (options & WNOHANG)
		return answer(r, 0);
	return park(&self->waiters, r);
}
