/* watch.c: processes that wait for each other by a call that does not return when the other one dies: message queues,
 * futexes, signals. Nothing is added to the timed path: a handler makes the waiting call fail with EINTR. A signal may
 * come just before the call that it is to interrupt; so an alarm repeats it. */
#include "engine.h"

enum { WATCH_SECONDS = 1 };

static volatile sig_atomic_t watch_left; /* a peer of this process has exited */
static volatile sig_atomic_t watch_is_peer;
static pid_t watch_parent;

static void watch_on(int number)
{
	int error = errno;

	if (watch_is_peer && getppid() != watch_parent)
		_exit(0);
	if (number == SIGCHLD)
		watch_left = 1;
	alarm(WATCH_SECONDS);
	errno = error;
}

void km_handle(struct km *km, int number, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigemptyset(&action.sa_mask);
	if (sigaction(number, &action, NULL) != 0)
		km_fail_call(km, "sigaction");
}

void km_watch(struct km *km)
{
	watch_parent = getpid();
	km_handle(km, SIGALRM, watch_on, 0); /* without SA_RESTART: the call that waits fails */
	km_handle(km, SIGCHLD, watch_on, 0);
}

void km_watch_parent(struct km *km)
{
	(void)km;
	watch_is_peer = 1;
	watch_on(SIGALRM);
}

void km_watch_end(struct km *km)
{
	if (signal(SIGCHLD, SIG_DFL) == SIG_ERR || signal(SIGALRM, SIG_IGN) == SIG_ERR)
		km_fail_call(km, "signal");
	alarm(0);
}

void km_watch_look(struct km *km)
{
	if (watch_left)
		km_fail(km, "a peer process has exited");
}

void km_interrupted(struct km *km, const char *call)
{
	if (errno != EINTR)
		km_fail_call(km, call);
	km_watch_look(km);
}

static void watch_keeper(int alive, int answer, int (*make)(void), int (*discard)(int))
{
	struct {
		int id, error;
	} made;
	char end;

	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	for (int fd = 0; fd < 3; fd++) /* the driver waits until the run's output closes */
		close(fd);
	made.id = make();
	made.error = errno;
	if (km_put(answer, &made, sizeof made) <= 0) /* the run then sees the end of the pipe, and does not wait */
		_exit(made.id >= 0 && discard(made.id) != 0 ? 2 : 1);
	if (made.id < 0)
		_exit(0);
	(void)km_get(alive, &end, 1);
	_exit(discard(made.id) == 0 ? 0 : 1);
}

int km_keep(struct km *km, struct km_keeper *keeper, int (*make)(void), int (*discard)(int))
{
	int alive[2], answer[2];
	struct {
		int id, error;
	} made;

	km_pipe(km, alive);
	km_pipe(km, answer);
	fflush(stdout);
	keeper->pid = (long)fork();
	if (keeper->pid < 0)
		km_fail_call(km, "fork");
	if (keeper->pid == 0) {
		close(alive[1]);
		close(answer[0]);
		watch_keeper(alive[0], answer[1], make, discard);
	}
	close(alive[0]);
	close(answer[1]);
	keeper->alive = alive[1];
	if (km_get(answer[0], &made, sizeof made) <= 0)
		km_fail(km, "the keeper of what the kernel keeps has exited");
	close(answer[0]);
	errno = made.error;
	return made.id;
}

void km_keep_end(struct km *km, struct km_keeper *keeper)
{
	km_close(&keeper->alive);
	km_peer_end(km, keeper->pid);
}
