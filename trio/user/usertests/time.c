/* time.c: clocks, sleeping and timers. */
#include "usertests.h"

static long ns(struct timespec t)
{
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long read_clock(int clock)
{
	struct timespec t;

	OK(RAW(SYS_clock_gettime, clock, &t));
	TRUE(t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
	return ns(t);
}

TEST(clock_monotonic, "Does CLOCK_MONOTONIC go on and never back?")
{
	long last = read_clock(CLOCK_MONOTONIC), first = last;

	for (int i = 0; i < 20000; i++) {
		long now = read_clock(CLOCK_MONOTONIC);

		TRUE(now >= last);
		last = now;
	}
	TRUE(last > first);
	TRUE(read_clock(CLOCK_MONOTONIC_RAW) > 0);
	TRUE(read_clock(CLOCK_BOOTTIME) > 0);
}

TEST(clock_realtime, "Do clock_gettime, gettimeofday and time tell the same time?")
{
	struct timeval tv;
	long now = read_clock(CLOCK_REALTIME) / 1000000000, seconds, told;

	OK(RAW(SYS_gettimeofday, &tv, 0));
	TRUE(tv.tv_sec - now >= 0 && tv.tv_sec - now <= 2);
	TRUE(tv.tv_usec >= 0 && tv.tv_usec < 1000000);
	told = RAW(SYS_time, &seconds);
	IS(seconds, told);
	TRUE(seconds - now >= 0 && seconds - now <= 2);
	TRUE(now > 1600000000);
	OK(RAW(SYS_gettimeofday, 0, 0));
}

TEST(clock_cpu, "Does the processor time grow by working and not by sleeping?")
{
	long before = read_clock(CLOCK_PROCESS_CPUTIME_ID), asleep;

	sleep_ms(50);
	asleep = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	TRUE(asleep - before < 40 * MS);
	work_ms(50);
	TRUE(read_clock(CLOCK_PROCESS_CPUTIME_ID) > asleep);
	TRUE(read_clock(CLOCK_THREAD_CPUTIME_ID) > 0);
}

TEST(clock_errors, "Do the clock calls refuse clocks that are none, and wild pointers?")
{
	struct timespec t = { 0, 0 };

	FAILS(RAW(SYS_clock_gettime, 77, &t), EINVAL);
	FAILS(RAW(SYS_clock_getres, 77, &t), EINVAL);
	FAILS(RAW(SYS_clock_nanosleep, 77, 0, &t, 0), EINVAL);
	FAULTS(RAW(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, wild));
	FAULTS(RAW(SYS_clock_gettime, CLOCK_REALTIME, wild));
	FAULTS(RAW(SYS_clock_getres, CLOCK_REALTIME, wild));
	FAULTS(RAW(SYS_gettimeofday, wild, 0));
	FAULTS(RAW(SYS_time, wild));
	OK(RAW(SYS_clock_getres, CLOCK_MONOTONIC, 0));
	OK(RAW(SYS_clock_getres, CLOCK_MONOTONIC, &t));
	TRUE(ns(t) > 0);
}

TEST(nanosleep, "Does nanosleep sleep as long as asked, and no shorter?")
{
	struct timespec wait = { 0, 30 * MS };
	long before = now_ms();

	OK(nanosleep(&wait, NULL));
	TRUE(now_ms() - before >= 29);
	wait.tv_nsec = 0;
	OK(nanosleep(&wait, NULL));
}

TEST(nanosleep_errors, "Does nanosleep refuse what it should?")
{
	struct timespec much = { 0, 1000000000 }, negative = { -1, 0 }, below = { 0, -1 };

	FAILS(RAW(SYS_nanosleep, &much, 0), EINVAL);
	FAILS(RAW(SYS_nanosleep, &negative, 0), EINVAL);
	FAILS(RAW(SYS_nanosleep, &below, 0), EINVAL);
	FAULTS(RAW(SYS_nanosleep, wild, 0));
}

TEST(nanosleep_interrupted, "Does an interrupted sleep tell what is left?")
{
	struct timespec wait = { 5, 0 }, left = { 0, 0 };

	tick(30, catch, SA_RESTART);
	FAILS(nanosleep(&wait, &left), EINTR);
	TRUE(left.tv_sec >= 1 && left.tv_sec < 5);
	FAILS(RAW(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &wait, &left), EINTR);
}

TEST(clock_nanosleep, "Does clock_nanosleep wake at the time given?")
{
	struct timespec at;

	OK(clock_gettime(CLOCK_MONOTONIC, &at));
	at.tv_nsec += 20 * MS;
	if (at.tv_nsec >= 1000000000) {
		at.tv_nsec -= 1000000000;
		at.tv_sec++;
	}
	OK(RAW(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0));
	TRUE(read_clock(CLOCK_MONOTONIC) >= ns(at));
	/* The time has passed now. */
	OK(RAW(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0));
	at.tv_nsec = -1;
	FAILS(RAW(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0), EINVAL);
}

TEST(alarm, "Does alarm send one SIGALRM, and tell what was left?")
{
	handle(SIGALRM, catch, 0);
	IS(alarm(100), 0);
	IS(alarm(1), 100);
	FAILS(pause(), EINTR);
	IS(caught[SIGALRM], 1);
	IS(alarm(0), 0);
}

TEST(itimer_once, "Does setitimer fire once without an interval, and tell the time left?")
{
	struct itimerval once = { { 0, 0 }, { 0, 20000 } }, left;

	handle(SIGALRM, catch, 0);
	OK(setitimer(ITIMER_REAL, &once, NULL));
	OK(getitimer(ITIMER_REAL, &left));
	TRUE(left.it_value.tv_sec == 0 && left.it_value.tv_usec > 0 && left.it_value.tv_usec <= 21000);
	FAILS(pause(), EINTR);
	sleep_ms(50);
	IS(caught[SIGALRM], 1);
	OK(getitimer(ITIMER_REAL, &left));
	IS(left.it_value.tv_sec + left.it_value.tv_usec, 0);
	once.it_value.tv_sec = 100;
	OK(setitimer(ITIMER_REAL, &once, NULL));
	once.it_value.tv_sec = once.it_value.tv_usec = 0;
	OK(setitimer(ITIMER_REAL, &once, &left));
	TRUE(left.it_value.tv_sec >= 99);
}

TEST(itimer_repeats, "Does setitimer with an interval go on?")
{
	tick(5, catch, 0);
	for (long until = now_ms() + 5000; caught[SIGALRM] < 5 && now_ms() < until;)
		pause();
	TRUE(caught[SIGALRM] >= 5);
	tick(0, NULL, 0);
}

TEST(itimer_errors, "Does setitimer refuse what it should?")
{
	struct itimerval bad = { { 0, 0 }, { 0, 1000000 } };

	FAILS(RAW(SYS_setitimer, 77, &bad, 0), EINVAL);
	FAILS(RAW(SYS_setitimer, ITIMER_REAL, &bad, 0), EINVAL);
	FAILS(RAW(SYS_getitimer, 77, &bad), EINVAL);
	FAULTS(RAW(SYS_setitimer, ITIMER_REAL, wild, 0));
	FAULTS(RAW(SYS_getitimer, ITIMER_REAL, wild));
}

TEST(itimer_after_fork, "Does a child begin without the parent's timer?")
{
	struct itimerval left;

	alarm(100);
	IN_CHILD (0) {
		OK(getitimer(ITIMER_REAL, &left));
		IS(left.it_value.tv_sec + left.it_value.tv_usec, 0);
	}
	IS(alarm(0), 100);
}

TEST(times, "Do times and getrusage tell of work done?")
{
	struct tms t;
	struct rusage used;
	long before = OK(times(&t));

	work_ms(60);
	TRUE(OK(times(&t)) > before);
	OK(getrusage(RUSAGE_SELF, &used));
	TRUE(used.ru_utime.tv_sec + used.ru_utime.tv_usec + used.ru_stime.tv_usec > 0);
	TRUE(used.ru_utime.tv_usec < 1000000 && used.ru_stime.tv_usec < 1000000);
	FAILS(getrusage(77, &used), EINVAL);
	FAULTS(RAW(SYS_getrusage, RUSAGE_SELF, wild));
	FAULTS(RAW(SYS_times, wild));
}

TEST(sleepers, "Do several sleepers wake in the order of their times?")
{
	static const int delays[] = { 60, 20, 100, 40 };
	int ends[2];
	pid_t pid[4];
	char text[4];

	OK(pipe(ends));
	for (int i = 0; i < 4; i++) {
		START_CHILD (pid[i]) {
			char name = (char)('0' + i);

			sleep_ms(delays[i] * 3);
			IS(write(ends[1], &name, 1), 1);
		}
	}
	for (int i = 0; i < 4; i++)
		IS(read(ends[0], text + i, 1), 1);
	TRUE(memcmp(text, "1302", 4) == 0);
	for (int i = 0; i < 4; i++)
		IS(reap(pid[i]), 0);
}

TEST(cpu_limit, "Does RLIMIT_CPU send SIGXCPU, then kill?")
{
	struct rlimit most = { 1, 2 };

	IN_CHILD (4) {
		handle(SIGXCPU, catch, 0);
		OK(setrlimit(RLIMIT_CPU, &most));
		while (caught[SIGXCPU] == 0)
			;
		IS(caught[SIGXCPU], 1);
		_exit(4);
	}
}

TEST(cpu_limit_late, "Is a limit of processor time for a child that has ended, and was not waited for, without effect?")
{
	struct rlimit most = { 1, 1 };

	for (int i = 0; i < 3; i++) {
		pid_t pid;
		siginfo_t info;

		START_CHILD (pid)
			_exit(i);
		OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
		OK(RAW(SYS_prlimit64, pid, RLIMIT_CPU, &most, 0));
		IS(reap(pid), i);
	}
}

static long microseconds(const struct timeval *t)
{
	return t->tv_sec * 1000000 + t->tv_usec;
}

TEST(rusage_grows, "Does neither user time nor system time ever become less?")
{
	struct rusage before = { 0 }, now;
	long end = now_ms() + 300;

	/* Alternates both kinds of work, so that their share of the time keeps changing. */
	while (now_ms() < end) {
		long until = now_ms() + 30;

		work_ms(15);
		while (now_ms() < until)
			make_file("a", "some work for the kernel");
		OK(getrusage(RUSAGE_SELF, &now));
		TRUE(microseconds(&now.ru_utime) >= microseconds(&before.ru_utime));
		TRUE(microseconds(&now.ru_stime) >= microseconds(&before.ru_stime));
		before = now;
	}
}
