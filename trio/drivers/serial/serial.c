/* serial.c: the console on COM1, a 16550. Output is sent at once, as much as the transmitter's queue takes; if the line
 * is slower, an interrupt tells when to continue. Input arrives by interrupts and goes into a ring. */
#include "console_serve.h"
#include "kernel.h"
#include "vfs.h"

#define COM1 0x3f8U
#define LINE 4
#define INTERRUPT_BIT 0

/* Registers. */
enum { DATA = COM1, ENABLE, IDENTITY, LINE_CONTROL, MODEM_CONTROL, LINE_STATUS, MODEM_STATUS, SCRATCH };

#define ENABLE_RECEIVED 1U
#define ENABLE_EMPTY 2U
/* Written to IDENTITY: enables and clears the queues; interrupts come from 8 received bytes on or after a pause. */
#define QUEUES 0x87U
#define STATUS_RECEIVED 1U
#define STATUS_EMPTY 0x20U
#define IDENTITY_NONE 1U
#define IDENTITY_MASK 0x0eU
#define IDENTITY_EMPTY 2U

#define TRANSMITTER_BYTES 16
#define RING_BYTES 4096U
/* More interrupts than the device can have at once. */
#define LOOKS 256

static struct {
	bool is_there;
	/* Received and unread bytes: positions grow forever and index the ring by their remainder. */
	uint32_t received, read;
	uint8_t ring[RING_BYTES];
} serial;

static uint32_t in(uint32_t port)
{
	uint32_t value = 0;

	kernel_port_in(port, 1, &value);
	return value;
}

static void out(uint32_t port, uint32_t value)
{
	kernel_port_out(port, 1, value);
}

void console_start(void)
{
	uint32_t vector;

	out(SCRATCH, 0x5a);
	serial.is_there = in(SCRATCH) == 0x5a;
	if (!serial.is_there)
		return;
	/* The kernel's log has set up the rest. */
	out(IDENTITY, QUEUES);
	if (kernel_irq_attach(LINE, ENDPOINT_SERIAL, INTERRUPT_BIT, &vector) == 0)
		out(ENABLE, ENABLE_RECEIVED);
}

/* A byte without room is lost, as on a real line that nobody reads. */
static bool receive(void)
{
	bool any = false;

	while (in(LINE_STATUS) & STATUS_RECEIVED) {
		uint8_t byte = (uint8_t)in(DATA);

		any = true;
		if (serial.received - serial.read < RING_BYTES)
			serial.ring[serial.received++ % RING_BYTES] = byte;
	}
	return any;
}

/* One interrupt may have several reasons. Each look handles one, until there is none. */
void console_notified(uint64_t bits)
{
	bool news = false;

	if (!(bits & NOTIFIED_CONSOLE_INTERRUPT))
		return;
	for (unsigned looks = 0; looks < LOOKS; looks++) {
		uint32_t identity = in(IDENTITY);

		if (identity & IDENTITY_NONE)
			break;
		if ((identity & IDENTITY_MASK) == IDENTITY_EMPTY) {
			out(ENABLE, ENABLE_RECEIVED);
			news = true;
		}
		news |= receive();
		(void)in(MODEM_STATUS);
	}
	if (news)
		notify(ENDPOINT_VFS, VFS_CONSOLE);
}

/* Without a line, output is discarded. */
int64_t console_write(struct grant from)
{
	uint64_t done = 0;

	if (!serial.is_there)
		return (int64_t)from.length;
	while (done < from.length) {
		if (!(in(LINE_STATUS) & STATUS_EMPTY)) {
			out(ENABLE, ENABLE_RECEIVED | ENABLE_EMPTY);
			break;
		}
		if (kernel_port_write(DATA, grant_part(from, done, TRANSMITTER_BYTES)) != 0)
			return done > 0 ? (int64_t)done : -EFAULT;
		done += MIN(from.length - done, TRANSMITTER_BYTES);
	}
	return (int64_t)done;
}

int64_t console_read(struct grant to)
{
	uint64_t done = 0;

	while (done < to.length && serial.read != serial.received) {
		uint32_t at = serial.read % RING_BYTES;
		uint64_t n = MIN(MIN(serial.received - serial.read, RING_BYTES - at), to.length - done);

		if (copy_out(to, done, &serial.ring[at], n) != 0)
			return done > 0 ? (int64_t)done : -EFAULT;
		serial.read += (uint32_t)n;
		done += n;
	}
	return (int64_t)done;
}

const struct console_service serial_service = CONSOLE_HANDLERS;
