/* unix_lost.c: sockets that no descriptor refers to, and that packets still hold. A socket's file counts apart how many
 * packets name it. One without descriptors can be received again while it lies with a socket that can; those that lie
 * in nothing but each other's packets, as in a ring, are lost.
 *
 * A collection finds them in one pass over the sockets without descriptors, so it does not run whenever there may be
 * more: an alarm, the next who sends descriptors, or who finds the table of files full or memory short, starts it. What
 * is lost ends a part at a time, not one within the other, however deep sockets lie in sockets. */
#include "endpoints.h"
#include "socket.h"

/* Files, connections and packets that one call ends, and those of the last socket. */
#define PART 256
/* Until the next part; and before a collection longer by this for each that the last one looked at in vain, so that
 * collections take a small part of the time. */
#define SOON 1000000
#define SOON_EACH 1000

static void alarm_in(nanoseconds time)
{
	io.waits = true;
	alarm_at(ENDPOINT_VFS, now() + time);
}

/* A socket that only packets name may be lost from now on. */
static void doubt(void)
{
	io.doubts++;
	if (!io.waits)
		alarm_in(SOON + io.kept * SOON_EACH);
}

/* Finding ---------------------------------------------------------------------------------------------------------- */

static void reach(struct socket *s)
{
	if (s->reached)
		return;
	s->reached = true;
	s->next_reached = io.reached;
	io.reached = s;
	io.kept++;
}

enum pass { COUNT_WITHIN, REACH, LOSE };

static void rights_look(const struct rights *rights, enum pass pass)
{
	if (pass == REACH)
		io.kept += rights->count;
	for (uint32_t i = 0; i < rights->count; i++) {
		struct socket *inner = socket_in(rights->files[i]);

		if (inner == NULL || inner->unheld.next == NULL)
			continue;
		if (pass == REACH)
			reach(inner);
		else
			inner->within++;
	}
}

static void packets_look(const struct socket *s, enum pass pass)
{
	LIST_EACH (struct packet, p, &s->packets, link) {
		struct beside *b = &p->beside;

		if (b->rights == NULL)
			continue;
		if (pass != LOSE) {
			rights_look(b->rights, pass);
			continue;
		}
		b->rights->next = io.lost;
		io.lost = b->rights;
		b->rights = NULL;
	}
}

/* What lies with `s`: in its packets, and in those of connections that wait in it to be accepted. */
static void socket_look(const struct socket *s, enum pass pass)
{
	packets_look(s, pass);
	if (s->state == LISTENING)
		LIST_EACH (struct socket, waiting, &s->pending, pending)
			packets_look(waiting, pass);
}

/* Whoever lies with one that is not in the list can be received, and so can what lies with him. */
static void collect(void)
{
	io.doubts = io.kept = 0;
	LIST_EACH (struct socket, s, &io.unheld, unheld) {
		s->within = 0;
		s->reached = false;
		/* Received meanwhile. */
		if (s->file->references > 0)
			list_remove(&s->unheld);
	}
	LIST_EACH (struct socket, s, &io.unheld, unheld)
		socket_look(s, COUNT_WITHIN);
	LIST_EACH (struct socket, s, &io.unheld, unheld)
		if (s->in_flight > s->within)
			reach(s);
	while (io.reached != NULL) {
		struct socket *s = io.reached;

		io.reached = s->next_reached;
		socket_look(s, REACH);
	}
	LIST_EACH (struct socket, s, &io.unheld, unheld)
		if (!s->reached)
			socket_look(s, LOSE);
}

/* Ending ----------------------------------------------------------------------------------------------------------- */

void file_depart(struct file *f)
{
	struct socket *s = socket_in(f);

	if (s == NULL) {
		(void)file_hold(f);
		return;
	}
	f->named++;
	s->in_flight++;
}

/* One that was on its way. */
static void file_arrive(struct file *f)
{
	struct socket *s = socket_in(f);

	if (s == NULL) {
		file_drop(f);
		return;
	}
	f->named--;
	s->in_flight--;
	if (f->references > 0)
		return;
	if (s->in_flight == 0)
		file_released(f);
	else
		doubt();
}

static void part_end(void)
{
	struct rights *rights;

	io.settling = true;
	io.left = PART;
	while (io.left > 0 && (rights = io.lost) != NULL) {
		if (rights->left > 0) {
			io.left--;
			file_arrive(rights->files[--rights->left]);
			continue;
		}
		io.lost = rights->next;
		rights_give(rights);
	}
	io.settling = false;
}

void rights_settle(void)
{
	if (io.settling || io.lost == NULL)
		return;
	part_end();
	if (io.lost != NULL)
		alarm_in(SOON);
}

void rights_lose(struct rights *rights)
{
	rights->next = io.lost;
	io.lost = rights;
}

bool file_stays(struct file *f)
{
	struct socket *s = socket_in(f);

	if (s == NULL || s->in_flight == 0) {
		epoll_forget(f);
		return false;
	}
	if (s->unheld.next == NULL)
		list_add(&io.unheld, &s->unheld);
	doubt();
	return true;
}

/* When ------------------------------------------------------------------------------------------------------------- */

bool lost_recover(bool surely)
{
	if (io.settling)
		return false;
	if (io.lost == NULL && io.doubts > (surely ? 0 : PART + io.kept))
		collect();
	if (io.lost == NULL)
		return false;
	rights_settle();
	return true;
}

void lost_alarm(void)
{
	io.waits = false;
	(void)lost_recover(true);
	if (!io.waits && io.doubts > 0)
		alarm_in(SOON + io.kept * SOON_EACH);
}
