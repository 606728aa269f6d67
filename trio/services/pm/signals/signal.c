/* signal.c: sends signals: it decides whether a signal is ignored, where it waits and which thread wakes for it. */
#include "processes/processes.h"
#include "signals/signals.h"

/* Signals that report a fault of the program. They are taken before others. */
#define FAULTS                                                                                                      \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGFPE) | \
	 SIGNAL_BIT(SIGSYS))

/* The limit of all processes together; one process may have RLIMIT_SIGPENDING of them. */
#define QUEUED 2048

struct queued {
	struct link link;
	struct queued *next_free;
	uint32_t signal;
	struct information information;
};

/* Entries from `unused` on have never been used. */
static struct queued pool[QUEUED], *unused = pool, *free_queued;

static struct queued *queued_take(void)
{
	struct queued *entry = free_queued;

	if (!entry)
		return unused < pool + QUEUED ? unused++ : NULL;
	free_queued = entry->next_free;
	return entry;
}

static void queued_free(struct process *p, struct queued *entry)
{
	list_remove(&entry->link);
	entry->next_free = free_queued;
	free_queued = entry;
	p->queued--;
}

void pending_flush(struct process *p, struct pending *pending, uint64_t set)
{
	pending->set &= ~set;
	LIST_EACH (struct queued, entry, &pending->queued, link)
		if (set & SIGNAL_BIT(entry->signal))
			queued_free(p, entry);
}

/* A signal below SIGRTMIN is queued at most once. It stays pending even if there is no room for its information. */
static int64_t pending_add(struct process *p, struct pending *pending, uint32_t signal, const struct information *i)
{
	struct queued *entry = NULL;

	if (signal < SIGRTMIN && pending->set & SIGNAL_BIT(signal))
		return 0;
	if (!pending->set)
		list_start(&pending->queued);
	if (signal < SIGRTMIN || p->queued < p->limits[RLIMIT_SIGPENDING].soft)
		entry = queued_take();
	if (!entry && signal >= SIGRTMIN && i->code < 0)
		return -EAGAIN;
	/* committed */
	pending->set |= SIGNAL_BIT(signal);
	if (!entry)
		return 0;
	p->queued++;
	*entry = (struct queued){ .signal = signal, .information = *i };
	list_add(&pending->queued, &entry->link);
	return 0;
}

static void pending_take(struct process *p, struct pending *pending, uint32_t signal, struct information *i)
{
	struct queued *first = NULL;
	bool more = false;

	LIST_EACH (struct queued, entry, &pending->queued, link) {
		if (entry->signal != signal)
			continue;
		more = first != NULL;
		if (more)
			break;
		first = entry;
	}
	if (!more)
		pending->set &= ~SIGNAL_BIT(signal);
	*i = first ? first->information : (struct information){ .code = SI_USER };
	if (first)
		queued_free(p, first);
}

uint32_t signal_take(struct thread *t, uint64_t set, struct information *i)
{
	struct process *p = t->process;
	struct pending *from = t->pending.set & set ? &t->pending : &p->pending;
	uint64_t some = from->set & set;
	uint32_t signal;

	if (some == 0)
		return 0;
	if (some & FAULTS)
		some &= FAULTS;
	signal = (uint32_t)__builtin_ctzl(some) + 1;
	pending_take(p, from, signal, i);
	return signal;
}

void thread_wake(struct thread *t, bool ends)
{
	kernel_task_attend(t->slot, ends);
	kernel_task_interrupt(t->slot);
}

static bool awaits(const struct thread *t, uint64_t bit)
{
	return t->awaiting & bit && is_waited_for(&t->waiting);
}

/* A blocked signal is kept for later. The first process gets only signals that it handles. */
static bool is_ignored(const struct process *p, const struct thread *t, uint32_t signal)
{
	uint64_t handler = handler_of(p, signal);

	if (signal == SIGKILL || signal == SIGSTOP)
		return p == pm.init;
	if (t->blocked & SIGNAL_BIT(signal) || awaits(t, SIGNAL_BIT(signal)))
		return false;
	return handler == SIG_IGN || (handler == SIG_DFL && (IGNORES & SIGNAL_BIT(signal) || p == pm.init));
}

void process_flush(struct process *p, uint64_t set)
{
	if (p->pending.set & set)
		pending_flush(p, &p->pending, set);
	EACH_THREAD (p, t) {
		if (t->pending.set & set)
			pending_flush(p, &t->pending, set);
	}
}

/* Stop signals and SIGCONT cancel each other when they are sent, whatever their actions are. */
static void undo_opposite(struct process *p, uint32_t signal)
{
	process_flush(p, signal == SIGCONT ? STOPS : SIGNAL_BIT(SIGCONT));
	if (signal == SIGCONT && p->stop)
		stop_end(p);
}

/* Returns whether this thread takes the signal. */
static bool wake_for(struct thread *t, uint32_t signal)
{
	uint64_t bit = SIGNAL_BIT(signal);

	if (awaits(t, bit)) {
		unpark(&t->waiting);
		return true;
	}
	if (t->blocked & bit || t->leaving)
		return false;
	thread_wake(t, handler_of(t->process, signal) == SIG_DFL && !(bit & (IGNORES | STOPS)));
	return true;
}

int64_t signal_send(struct process *p, struct thread *t, uint32_t signal, const struct information *i)
{
	uint64_t bit = SIGNAL_BIT(signal);

	if (p->thread_count == 0 || p->ending)
		return 0;
	if (bit & (STOPS | SIGNAL_BIT(SIGCONT)))
		undo_opposite(p, signal);
	if (is_ignored(p, t ? t : FIRST_THREAD(p), signal))
		return 0;
	if (signal == SIGKILL) {
		process_end(p, SIGKILL, NULL);
		return 0;
	}
	TRY(pending_add(p, t ? &t->pending : &p->pending, signal, i));
	if (t) {
		(void)wake_for(t, signal);
		return 0;
	}
	EACH_THREAD (p, each) {
		if (wake_for(each, signal))
			break;
	}
	return 0;
}

void signal_plain(struct process *p, uint32_t signal)
{
	(void)signal_send(p, NULL, signal, &(struct information){ .code = SI_KERNEL });
}

void signal_group(int32_t group, uint32_t signal)
{
	EACH_PROCESS (p)
		if (p->group == group)
			signal_plain(p, signal);
}
