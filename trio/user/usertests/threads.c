/* threads.c: clone as libc makes threads, and futexes. */
#include "usertests.h"

enum { FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE = 3, FUTEX_PRIVATE_FLAG = 128 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int shared, ready;

static void *add(void *many)
{
	for (long i = 0; i < (long)many; i++) {
		pthread_mutex_lock(&lock);
		shared++;
		pthread_mutex_unlock(&lock);
	}
	return (void *)(long)getpid();
}

TEST(threads, "Do threads share memory and process number, and do mutexes hold?")
{
	pthread_t threads[4];
	void *result;

	for (int i = 0; i < 4; i++)
		threads[i] = start_thread(add, (void *)20000L);
	for (int i = 0; i < 4; i++) {
		IS(pthread_join(threads[i], &result), 0);
		IS(result, getpid());
	}
	IS(shared, 80000);
}

static void *wait_for_change(void *unused)
{
	pthread_mutex_lock(&lock);
	ready++;
	while (!shared)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

TEST(thread_conditions, "Does a broadcast wake all threads that wait?")
{
	pthread_t threads[5];

	for (int i = 0; i < 5; i++)
		threads[i] = start_thread(wait_for_change, NULL);
	while (ready < 5)
		sched_yield();
	pthread_mutex_lock(&lock);
	shared = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 5; i++)
		IS(pthread_join(threads[i], NULL), 0);
}

static void *open_file(void *name)
{
	umask(0);
	OK(chdir("d"));
	return (void *)(long)open(name, O_RDONLY);
}

TEST(thread_files, "Do threads share descriptors and folder?")
{
	void *fd;
	pthread_t thread;

	OK(mkdir("d", 0755));
	make_file("d/a", "x");
	thread = start_thread(open_file, "a");
	IS(pthread_join(thread, &fd), 0);
	get((int)(long)fd);
	OK(open("a", O_RDONLY));
}

static void *exit_all(void *status)
{
	_exit((int)(long)status);
}

static void *sleep_long(void *unused)
{
	sleep(100);
	return unused;
}

TEST(thread_exit_group, "Does exit_group end all threads of the process?")
{
	IN_CHILD (23) {
		start_thread(sleep_long, NULL);
		start_thread(exit_all, (void *)23L);
		sleep(100);
	}
}

TEST(thread_killed, "Does a deadly signal end all threads of the process?")
{
	IN_CHILD (128 + SIGTERM) {
		start_thread(sleep_long, NULL);
		start_thread(sleep_long, NULL);
		raise(SIGTERM);
		sleep(100);
	}
}

static void *store_wild(void *unused)
{
	*(volatile char *)wild_pointer(0) = 1;
	return unused;
}

TEST(thread_fault, "Does a thread's fault end the whole process?")
{
	IN_CHILD (128 + SIGSEGV) {
		start_thread(store_wild, NULL);
		sleep(100);
	}
}

TEST(thread_many, "Can a process make and join a thousand threads?")
{
	for (int i = 0; i < 1000; i++) {
		void *result;
		pthread_t thread = start_thread(add, (void *)1L);

		IS(pthread_join(thread, &result), 0);
	}
	IS(shared, 1000);
}

static volatile long caught_in;

static void note_thread(int signal)
{
	(void)signal;
	caught_in = syscall(SYS_gettid);
}

static void *wait_for_signal(void *told)
{
	*(volatile long *)told = syscall(SYS_gettid);
	while (!caught_in)
		sched_yield();
	return NULL;
}

TEST(thread_signal, "Does tgkill reach the thread that is meant?")
{
	volatile long thread_id = 0;
	pthread_t thread;

	handle(SIGUSR1, note_thread, 0);
	thread = start_thread(wait_for_signal, (void *)&thread_id);
	while (!thread_id)
		sched_yield();
	TRUE(thread_id != getpid());
	OK(RAW(SYS_tgkill, getpid(), thread_id, SIGUSR1));
	IS(pthread_join(thread, NULL), 0);
	IS(caught_in, thread_id);
}

static void *exec_there(void *program)
{
	char *argv[] = { program, "--no-such-option", NULL }, *envp[] = { NULL };

	execve(program, argv, envp);
	return NULL;
}

TEST(thread_exec, "Does execve by a thread leave one process with the same number?")
{
	IN_CHILD (2) {
		OK(close(2));
		start_thread(sleep_long, NULL);
		start_thread(exec_there, "/proc/self/exe");
		sleep(100);
	}
}

TEST(thread_fork, "Does a forked child have the calling thread alone?")
{
	start_thread(sleep_long, NULL);
	IN_CHILD (6) {
		IS(RAW(SYS_gettid), getpid());
		_exit(6);
	}
}

static long futex(volatile int *at, int op, int value, const struct timespec *limit)
{
	return RAW(SYS_futex, at, op, value, limit);
}

TEST(futex_errors, "Does futex compare, time out and refuse what it should?")
{
	static volatile int word __attribute__((aligned(8))) = 5;
	struct timespec soon = { 0, 20 * MS }, bad = { 0, -1 };

	FAILS(futex(&word, FUTEX_WAIT, 4, NULL), EAGAIN);
	FAILS(futex(&word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 5, &soon), ETIMEDOUT);
	FAILS(futex(&word, FUTEX_WAIT, 5, &bad), EINVAL);
	FAILS(RAW(SYS_futex, (char *)&word + 1, FUTEX_WAIT, 5, 0), EINVAL);
	FAILS(futex(&word, 77, 5, NULL), ENOSYS);
	IS(futex(&word, FUTEX_WAKE, 1, NULL), 0);
	FAILS(RAW(SYS_futex, 16, FUTEX_WAIT, 5, 0), EFAULT);
	FAILS(RAW(SYS_futex, 0xffff800000001000, FUTEX_WAIT, 5, 0), EFAULT);
}

TEST(futex_shared, "Does a futex in shared memory wake another process?")
{
	volatile int *word = shared_room(PAGE);
	pid_t pid;

	START_CHILD (pid) {
		while (*word == 0)
			futex(word, FUTEX_WAIT, 0, NULL);
		_exit(*word);
	}
	sleep_ms(20);
	*word = 8;
	OK(futex(word, FUTEX_WAKE, 1, NULL));
	IS(reap(pid), 8);
}

TEST(futex_interrupted, "Does a signal end a futex wait?")
{
	static volatile int word;

	tick(5, note_thread, 0);
	FAILS(futex(&word, FUTEX_WAIT, 0, NULL), EINTR);
}

static volatile int *requeue_words;

static void *wait_requeued(void *unused)
{
	__sync_fetch_and_add(&ready, 1);
	futex(&requeue_words[0], FUTEX_WAIT, 0, NULL);
	__sync_fetch_and_add(&shared, 1);
	return unused;
}

TEST(futex_requeue, "Does FUTEX_REQUEUE move waiters to the other word?")
{
	static volatile int words[2];
	pthread_t threads[3];

	requeue_words = words;
	for (int i = 0; i < 3; i++)
		threads[i] = start_thread(wait_requeued, NULL);
	while (ready < 3)
		sched_yield();
	sleep_ms(50);
	IS(RAW(SYS_futex, &words[0], FUTEX_REQUEUE, 1, 10, &words[1]), 3);
	IS(futex(&words[0], FUTEX_WAKE, 10, NULL), 0);
	IS(futex(&words[1], FUTEX_WAKE, 10, NULL), 2);
	for (int i = 0; i < 3; i++)
		IS(pthread_join(threads[i], NULL), 0);
	IS(shared, 3);
}

TEST(clear_tid, "Is the word of set_tid_address cleared and woken when a thread ends?")
{
	pthread_t thread = start_thread(add, (void *)1L);
	/* libc's join waits for this. */
	IS(pthread_join(thread, NULL), 0);
	IS(RAW(SYS_set_tid_address, &shared), RAW(SYS_gettid, 0));
}

TEST(arch_prctl, "Does arch_prctl tell the thread's FS base, and refuse what it should?")
{
	unsigned long base = 0, own;

	__asm__("mov %%fs:0, %0" : "=r"(own));
	OK(RAW(SYS_arch_prctl, 0x1003, &base));
	IS(base, own);
	FAILS(RAW(SYS_arch_prctl, 0x9999, &base), EINVAL);
	FAILS(RAW(SYS_arch_prctl, 0x1002, 0xffff800000000000), EPERM);
	FAULTS(RAW(SYS_arch_prctl, 0x1003, wild));
}

TEST(clone_errors, "Does clone refuse flags that do not fit?")
{
	FAILS(RAW(SYS_clone, CLONE_THREAD | SIGCHLD, 0), EINVAL);
	FAILS(RAW(SYS_clone, CLONE_SIGHAND | SIGCHLD, 0), EINVAL);
	FAILS(RAW(SYS_clone, CLONE_THREAD | CLONE_SIGHAND, 0), EINVAL);
}

static void *wait_for_child(void *pid)
{
	int status = -1;

	OK(waitpid((pid_t)(long)pid, &status, 0));
	return (void *)(long)WEXITSTATUS(status);
}

TEST(thread_wait, "May any thread wait for the process' children?")
{
	void *status;
	pid_t pid;
	pthread_t thread;

	START_CHILD (pid) {
		sleep_ms(20);
		_exit(12);
	}
	thread = start_thread(wait_for_child, (void *)(long)pid);
	IS(pthread_join(thread, &status), 0);
	IS(status, 12);
}

static void *exit_later(void *status)
{
	sleep_ms(50);
	exit((int)(long)status);
}

TEST(thread_leader_ends, "Does a process live on when its first thread has ended?")
{
	pid_t pid = fork_checked();

	if (pid == 0) {
		start_thread(exit_later, (void *)9L);
		RAW(SYS_exit, 1);
	}
	sleep_ms(10);
	IS(waitpid(pid, NULL, WNOHANG), 0);
	OK(kill(pid, 0));
	IS(reap(pid), 9);
}

static void *block_usr1(void *unused)
{
	block(SIGUSR1);
	ready = 1;
	while (!shared)
		sched_yield();
	return unused;
}

TEST(thread_masks, "Has each thread a signal mask of its own, and does a process' signal find one that takes it?")
{
	pthread_t thread;

	handle(SIGUSR1, note_thread, 0);
	thread = start_thread(block_usr1, NULL);
	while (!ready)
		sched_yield();
	OK(kill(getpid(), SIGUSR1));
	IS(caught_in, getpid());
	shared = 1;
	IS(pthread_join(thread, NULL), 0);
}

static void *cancelled(void *unused)
{
	ready = 1;
	for (;;)
		pause();
	return unused;
}

TEST(thread_cancel, "Does cancelling end a thread that waits?")
{
	void *result;
	pthread_t thread = start_thread(cancelled, NULL);

	while (!ready)
		sched_yield();
	IS(pthread_cancel(thread), 0);
	IS(pthread_join(thread, &result), 0);
	TRUE(result == PTHREAD_CANCELED);
}

TEST(thread_robust, "Does a robust mutex tell that its owner has died?")
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t *mutex = shared_room(PAGE);

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	if (pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST))
		skip("no robust lists here");
	IS(pthread_mutex_init(mutex, &attributes), 0);
	IN_CHILD (0)
		_exit(pthread_mutex_lock(mutex));
	IS(pthread_mutex_lock(mutex), EOWNERDEAD);
	IS(pthread_mutex_consistent(mutex), 0);
	IS(pthread_mutex_unlock(mutex), 0);
	IS(pthread_mutex_lock(mutex), 0);
}

TEST(futex_shared_unreadable, "Does a futex that others share have to be readable?")
{
	uint32_t *at = (uint32_t *)mapped(PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	FAILS(RAW(SYS_futex, at, 1 /* FUTEX_WAKE */, 1), EFAULT);
	IS(RAW(SYS_futex, at, 129 /* with FUTEX_PRIVATE_FLAG */, 1), 0);
	OK(mprotect(at, PAGE, PROT_READ | PROT_WRITE));
	*at = 1;
	IS(RAW(SYS_futex, at, 1, 1), 0);
	OK(munmap(at, PAGE));
	FAILS(RAW(SYS_futex, at, 1, 1), EFAULT);
	at = (uint32_t *)mapped(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, made_file("empty", "", O_RDWR));
	FAILS(RAW(SYS_futex, at, 1, 1), EFAULT);
}
