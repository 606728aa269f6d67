/* without.c: the service without lwIP's sources: there is no network. */
#include "net_serve.h"

void net_start(void)
{
}

void net_notified(uint64_t bits)
{
}

int64_t net_open(uint32_t type, uint32_t *out_socket)
{
	*out_socket = 0;
	return -EAFNOSUPPORT;
}

int64_t net_close(uint32_t socket, uint32_t hard, uint32_t *out_changed)
{
	*out_changed = 0;
	return -EAFNOSUPPORT;
}

int64_t net_bind(uint32_t socket, uint32_t address, uint32_t port)
{
	return -EAFNOSUPPORT;
}

int64_t net_listen(uint32_t socket, uint32_t backlog)
{
	return -EAFNOSUPPORT;
}

int64_t net_connect(uint32_t socket, uint32_t address, uint32_t port, uint32_t *out_changed)
{
	*out_changed = 0;
	return -EAFNOSUPPORT;
}

int64_t net_accept(uint32_t socket, uint32_t *out_end)
{
	*out_end = 0;
	return -EAFNOSUPPORT;
}

int64_t net_send(uint32_t socket, struct grant from, uint32_t address, uint32_t port, uint32_t *out_changed)
{
	*out_changed = 0;
	return -EAFNOSUPPORT;
}

int64_t net_receive(uint32_t socket, struct grant to, uint32_t peek, uint32_t *out_address, uint32_t *out_port,
		    uint32_t *out_changed)
{
	*out_address = *out_port = *out_changed = 0;
	return -EAFNOSUPPORT;
}

int64_t net_shutdown(uint32_t socket, uint32_t *out_changed)
{
	*out_changed = 0;
	return -EAFNOSUPPORT;
}

int64_t net_name(uint32_t socket, uint32_t peer, uint32_t *out_address, uint32_t *out_port)
{
	*out_address = *out_port = 0;
	return -EAFNOSUPPORT;
}

int64_t net_state(uint32_t socket, uint32_t *out_ready, uint32_t *out_bytes)
{
	*out_ready = *out_bytes = 0;
	return -EAFNOSUPPORT;
}

int64_t net_error(uint32_t socket)
{
	return -EAFNOSUPPORT;
}

int64_t net_reuse(uint32_t socket, uint32_t on)
{
	return -EAFNOSUPPORT;
}

int64_t net_changed(uint32_t *out_changed)
{
	*out_changed = 0;
	return -EAFNOSUPPORT;
}

const struct net_service net_service = NET_HANDLERS;
