/* absent.c: a call whose copies met a page that has to be read first, of a mapped file on a disk. The service that
 * copies cannot wait in the middle of its handler. It takes the page for one that does not exist, and answers EFAULT if
 * nothing is done, else what is done. Here, when the service has answered, the call waits for the page; then it is made
 * anew, or goes on with the rest. */
#include "abi/abi.h"
#include "abi/files.h"
#include "core/task.h"
#include "vfs_client.h"
#include "vm_client.h"

enum { CALL_READ = 0, CALL_WRITE = 1, CALL_PREAD = 17, CALL_PWRITE = 18 };

/* Returns 0 if the page is present. */
static int64_t page_await(struct task *t)
{
	t->work &= ~WORK_ABSENT;
	return client_vm_await(&t->request, t->absent, t->absent_access);
}

/* The same for a call that has done a part: only the end of its process ends it, no handler of a signal does. */
static int64_t page_await_for_rest(struct task *t)
{
	uint32_t signals = 0;
	int64_t result;

	do {
		signals |= t->work & WORK_ATTEND;
		t->work &= ~WORK_ATTEND;
		result = page_await(t);
	} while (result == -EINTR && !(t->work & WORK_END));
	t->work |= signals;
	return result;
}

/* Whether a call has to do all that it was asked for, if it can. A read of a pipe returns what there is. */
static bool is_to_go_on(struct task *t, int64_t number)
{
	if (number == CALL_READ)
		return client_vfs_seek(&t->request, (int32_t)t->user->rdi, 0, SEEK_CUR) >= 0;
	return number == CALL_WRITE || number == CALL_PREAD || number == CALL_PWRITE;
}

/* Does the rest by further calls. If one fails, the answer is what was done before it. */
static void go_on(struct task *t, int64_t number)
{
	const struct registers *user = t->user;
	uint64_t a[] = { user->rdi, user->rsi, user->rdx, user->r10, user->r8, user->r9 };
	int64_t more = (int64_t)user->rax;

	do {
		if (more > 0) {
			a[1] += (uint64_t)more;
			a[2] -= (uint64_t)more;
			a[3] += (uint64_t)more;
			more = 0;
		}
		if (a[2] == 0 || page_await_for_rest(t) != 0)
			break;
		t->work |= WORK_STAYS;
		more = route_of(number)->run(t, a);
		t->work &= ~WORK_STAYS;
	} while (t->work & WORK_ABSENT && (more > 0 || more == -EFAULT));
	t->user->rax = user->rdx - a[2] + (uint64_t)MAX(more, 0);
}

void call_met_absent(struct task *t)
{
	int64_t number = t->system_call, result = (int64_t)t->user->rax, came;

	if (t->user->trap == TRAP_SYSCALL && number >= 0 && result == -EFAULT) {
		came = page_await(t);
		/* It is made anew after a signal's handler, too. */
		if (came == 0 || came == -EINTR)
			call_begin_anew(t, (uint64_t)number);
	} else if (t->user->trap == TRAP_SYSCALL && result > 0 && is_to_go_on(t, number)) {
		go_on(t, number);
	}
	t->work &= ~WORK_ABSENT;
}
