/* clock.c: Linux's clocks, and random numbers. The time of day is the time since boot plus what the battery-backed
 * clock (the calendar) said then, or what it was set to since. */
#include "abi/time.h"
#include "clock_serve.h"
#include "kernel.h"

/* Nanoseconds fit into 64 bits until 2554; a clock cannot be set later. */
#define SECONDS_MOST 9223372036LL

/* The calendar is a PC's MC146818. It tells the date in decimal digits or binary, with 12 or 24 hours. These are its
 * registers; the last one is where PCs and their emulators have it. */
#define INDEX 0x70U
#define VALUE 0x71U
enum { SECOND, MINUTE = 2, HOUR = 4, DAY = 7, MONTH, YEAR, STATUS_A, STATUS_B, CENTURY = 0x32 };

#define A_UPDATING 0x80U
#define B_BINARY 0x04U
#define B_24_HOURS 0x02U
#define AFTERNOON 0x80U
/* An update takes at most 2 milliseconds, a look at least a microsecond. */
#define LOOKS 10000

#define CPUID_FEATURES 1
#define HAS_RDRAND (1U << 30)

static struct {
	/* The time of day when `now` was 0, in nanoseconds since 1970. */
	uint64_t epoch;
	/* Requests of all clocks; they look again when the time of day is set. */
	struct queue sleepers;
} state;

static uint32_t get(uint32_t number)
{
	uint32_t value = 0xff;

	kernel_port_out(INDEX, 1, number);
	kernel_port_in(VALUE, 1, &value);
	return value;
}

static uint32_t binary(uint32_t value, uint32_t mode)
{
	return mode & B_BINARY ? value : (value >> 4) * 10 + (value & 15);
}

/* The calendar's date in seconds since 1970; 0: there is none, or it is invalid. */
static uint64_t calendar_seconds(void)
{
	uint32_t mode = get(STATUS_B), hour_read, hour, second, minute, day, month, century;
	uint64_t year, from_march, days;

	/* The registers must not be read during an update. */
	for (unsigned looks = 0; get(STATUS_A) & A_UPDATING; looks++)
		if (looks == LOOKS)
			return 0;
	hour_read = get(HOUR);
	hour = binary(hour_read & ~AFTERNOON, mode);
	if (!(mode & B_24_HOURS))
		hour = hour % 12 + (hour_read & AFTERNOON ? 12 : 0);
	second = binary(get(SECOND), mode);
	minute = binary(get(MINUTE), mode);
	day = binary(get(DAY), mode);
	month = binary(get(MONTH), mode);
	century = binary(get(CENTURY), mode);
	year = (century >= 19 && century <= 25 ? century : 20) * 100 + binary(get(YEAR), mode);
	if (second >= 60 || minute >= 60 || hour >= 24 || day - 1 >= 31 || month - 1 >= 12 || year < 1970)
		return 0;
	/* Years that begin in March end with the leap day and have months of regular lengths. */
	year -= month <= 2;
	from_march = (month + 9) % 12;
	days = year * 365 + year / 4 - year / 100 + year / 400 + (from_march * 153 + 2) / 5 + day - 1;
	/* 719468 is 1 January 1970, counted like this. */
	return (((days - 719468) * 24 + hour) * 60 + minute) * 60 + second;
}

void clock_start(void)
{
	uint64_t seconds;

	/* The time may have been set before the service was restarted. */
	state.epoch = kept(ENDPOINT_CLOCK);
	if (state.epoch)
		return;
	seconds = calendar_seconds();
	if (!seconds)
		log_line("clock: the machine does not say what time it is: 1970");
	state.epoch = seconds * NS_PER_SECOND - (seconds ? now() : 0);
	keep(ENDPOINT_CLOCK, state.epoch);
}

void clock_notified(uint64_t bits)
{
}

/* Returns false if there is no such clock. pm serves the clock of a process, because it knows the threads. */
static bool clock_read(uint32_t task, uint32_t clock, uint64_t *ns)
{
	uint64_t user = 0, system = 0, faults, voluntary, involuntary;

	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		*ns = state.epoch + now();
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*ns = now();
		return true;
	case CLOCK_THREAD_CPUTIME_ID:
		kernel_task_usage(task, &user, &system, &faults, &voluntary, &involuntary);
		*ns = user + system;
		return true;
	default:
		return false;
	}
}

verdict clock_gettime(struct request *r, uint32_t clock, struct grant to)
{
	struct linux_timespec t;
	uint64_t ns;

	if (!clock_read(r->task, clock, &ns))
		return refuse(r, EINVAL);
	t = (struct linux_timespec){ (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND) };
	return answer_with(r, 0, to, &t, sizeof t);
}

/* The time zone is always UTC. */
verdict clock_gettimeofday(struct request *r, struct grant to, struct grant zone)
{
	uint64_t ns = state.epoch + now();
	struct linux_timeval t = { (int64_t)(ns / NS_PER_SECOND), (int64_t)(ns % NS_PER_SECOND / 1000) };

	if (zone.length && copy_zeros(zone, 0, zone.length) != 0)
		return refuse(r, EFAULT);
	return answer_with(r, 0, to, &t, sizeof t);
}

verdict clock_time(struct request *r, struct grant to)
{
	int64_t seconds = (int64_t)((state.epoch + now()) / NS_PER_SECOND);

	return answer_with(r, seconds, to, &seconds, sizeof seconds);
}

/* All clocks count nanoseconds, even the coarse ones. `to` of length 0: the answer is not wanted. */
verdict clock_getres(struct request *r, uint32_t clock, struct grant to)
{
	struct linux_timespec t = { .nanoseconds = 1 };

	if (clock > CLOCK_BOOTTIME && clock != CLOCK_TAI)
		return refuse(r, EINVAL);
	return answer_with(r, 0, to, &t, sizeof t);
}

int64_t clock_set(int64_t seconds, int64_t rest)
{
	uint64_t ns = (uint64_t)seconds * NS_PER_SECOND + (uint64_t)rest;

	/* The time since boot must not begin before 1970. */
	if (seconds > SECONDS_MOST || ns < now())
		return -EINVAL;
	state.epoch = ns - now();
	keep(ENDPOINT_CLOCK, state.epoch);
	unpark(&state.sleepers);
	return 0;
}

verdict clock_sleep(struct request *r, uint32_t clock, uint64_t deadline)
{
	uint64_t begin = clock == CLOCK_REALTIME || clock == CLOCK_TAI ? state.epoch : 0;

	/* Converts to the time since boot. */
	deadline = deadline > begin ? deadline - begin : 0;
	if (now() >= deadline)
		return answer(r, 0);
	return park_until(&state.sleepers, r, deadline);
}

int64_t clock_epoch(uint64_t *out_nanoseconds)
{
	*out_nanoseconds = state.epoch;
	return 0;
}

/* For measurements of copies: this service has nothing else to do with the bytes. */
static char forgotten[PAGE];

verdict clock_forget(struct request *r, struct grant from)
{
	/* Length 0 measures the call alone, without a copy. */
	if (from.length - 1 >= sizeof forgotten)
		return from.length ? refuse(r, EINVAL) : answer(r, 0);
	if (copy_in(forgotten, from, 0, from.length))
		return refuse(r, EFAULT);
	return answer(r, (int64_t)from.length);
}

verdict clock_forget_string(struct request *r, struct grant from)
{
	return answer(r, copy_string(forgotten, sizeof forgotten, from));
}

/* Uses RDRAND if the processor has it, otherwise a mixed cycle counter (splitmix64: Steele, Lea, Flood 2014). */
static uint64_t random_word(void)
{
	static uint64_t stirred;
	uint64_t word;
	uint32_t leaf = CPUID_FEATURES, has, other;
	uint8_t ok = 0;

	__asm__ volatile("cpuid" : "+a"(leaf), "=c"(has), "=d"(other) : : "rbx");
	if (has & HAS_RDRAND)
		__asm__ volatile("rdrand %0\n\tsetc %1" : "=r"(word), "=qm"(ok));
	if (ok)
		return word;
	stirred += 0x9e3779b97f4a7c15UL + __builtin_ia32_rdtsc();
	word = (stirred ^ stirred >> 30) * 0xbf58476d1ce4e5b9UL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebUL;
	return word ^ word >> 31;
}

int64_t clock_random(struct grant to)
{
	for (uint64_t at = 0; at < to.length; at += sizeof(uint64_t)) {
		uint64_t word = random_word();

		if (copy_out(to, at, &word, MIN(sizeof word, to.length - at)) != 0)
			return -EFAULT;
	}
	return 0;
}

const struct clock_service clock_service = CLOCK_HANDLERS;
