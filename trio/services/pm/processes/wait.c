/* wait.c: a parent asks for the state of its children. */
#include "processes/processes.h"
#include "signals/signals.h"

/* Options that wait4 and waitid have in common. */
#define OF_BOTH ((uint32_t)(WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WALL | WCLONE))

static bool is_meant(const struct process *child, uint32_t which, int32_t pid, uint32_t options)
{
	if ((which == P_PID && child->number != pid) || (which == P_PGID && child->group != pid))
		return false;
	if (options & WALL)
		return true;
	return (child->exit_signal != SIGCHLD) == ((options & WCLONE) != 0);
}

/* The status of a child of which there is nothing to tell. */
#define NO_NEWS UINT32_MAX

/* Returns what there is to tell of one child, as a wait4 status. */
static uint32_t news_of(const struct process *child, uint32_t options)
{
	if (child->zombie)
		return options & WEXITED ? child->status : NO_NEWS;
	if (child->tell_stopped && options & WUNTRACED)
		return child->stop << 8 | STATUS_STOPPED;
	return child->tell_continued && options & WCONTINUED ? STATUS_CONTINUED : NO_NEWS;
}

/* What a caller waits for, and where the results go; a grant of length 0 is not written. `information` says whether
 * `to` takes a siginfo or a wait4 status. */
struct wish {
	uint32_t which, options;
	int32_t pid;
	bool information;
	struct grant to, usage;
};

static verdict tell(struct request *r, struct process *child, const struct wish *w, uint32_t status)
{
	verdict told;

	if (w->usage.length) {
		struct usage all = process_usage(child);

		usage_add(&all, &child->children_usage);
		TRY_ANSWER(r, usage_write(w->usage, &all));
	}
	if (w->information) {
		struct information i = child_information(child, status);
		struct linux_siginfo all;

		siginfo_fill(&all, SIGCHLD, &i);
		/* Linux writes the fields up to the status and no others. */
		told = answer_with(r, 0, w->to, &all, w->to.length);
	} else {
		told = answer_with(r, child->number, w->to, &status, sizeof status);
	}
	if (w->options & WNOWAIT)
		return told;
	/* Each change is told once. */
	if (child->zombie) {
		usage_add(&child->parent->children_usage, &child->own);
		usage_add(&child->parent->children_usage, &child->children_usage);
		process_remove(child);
	} else if (status == STATUS_CONTINUED) {
		child->tell_continued = false;
	} else {
		child->tell_stopped = false;
	}
	return told;
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
		uint32_t news;

		if (!is_meant(child, w->which, w->pid, w->options))
			continue;
		some = true;
		news = news_of(child, w->options);
		if (news != NO_NEWS)
			return tell(r, child, w, news);
	}
	if (!some)
		return refuse(r, ECHILD);
	if (!(w->options & WNOHANG))
		return park(&self->waiters, r);
	return w->information ? answer_with(r, 0, w->to, &(struct linux_siginfo){ 0 }, w->to.length) : answer(r, 0);
}

verdict pm_wait4(struct request *r, int32_t pid, struct grant status, uint32_t options, struct grant usage)
{
	uint32_t which = pid > 0 ? P_PID : P_PGID;
	struct wish w = { pid == -1 ? P_ALL : which, options | WEXITED, pid < 0 ? -pid : pid, false, status, usage };

	if (options & ~OF_BOTH)
		return refuse(r, EINVAL);
	return pid == INT32_MIN ? refuse(r, ESRCH) : wait_for_child(r, &w);
}

verdict pm_waitid(struct request *r, uint32_t which, int32_t pid, struct grant information, uint32_t options,
		  struct grant usage)
{
	struct wish w = { which, options, pid, true, information, usage };

	if (options & ~(OF_BOTH | WEXITED | WNOWAIT))
		return refuse(r, EINVAL);
	if (which > P_PGID || (which == P_PID && pid <= 0) || (which == P_PGID && pid < 0))
		return refuse(r, EINVAL);
	return wait_for_child(r, &w);
}
