/* device_calls.c: calls 40 to 48 of kernel.idl, by which drivers reach their devices. */
#include "core/memory.h"
#include "ipc.h"
#include "kernel_serve.h"
#include "structure.h"
#include "x86/cpu.h"
#include "x86/machine.h"

/* Where the present service reaches physical memory that it shares with a device; 0: no memory. */
static uint64_t device_address(uint64_t at, uint64_t length)
{
	if (BY_PROCESS)
		return process_device(PRESENT_DOMAIN, at, length);
	return (uint64_t)physical(at);
}

static bool is_device(uint64_t address, uint64_t length)
{
	return address < DEVICES_END && length <= DEVICES_END - address && !boot_has_ram(address, address + length);
}

int64_t kernel_device_map(uint64_t address, uint64_t length, uint64_t *out_address)
{
	if (!is_device(address, length))
		return -EINVAL;
	if (IS_REFUSED(process_may_memory(address, length)))
		return -EPERM;
	*out_address = device_address(address, length);
	return *out_address ? 0 : -ENOMEM;
}

int64_t kernel_device_memory(uint32_t id, uint64_t address, uint64_t length)
{
	if (!is_device(address, length))
		return -EINVAL;
	return !PROCESSES || process_memory_add(id, address, length) ? 0 : -ENOMEM;
}

int64_t kernel_shut_down_by(uint32_t how, uint64_t address, uint32_t size, uint32_t value)
{
	if (how > KERNEL_ENDING_AGAIN || (address > UINT16_MAX && !is_device(address, size)))
		return -EINVAL;
	machine_endings[how] = (struct machine_ending){ address, size, value };
	return 0;
}

int64_t kernel_dma_take(uint32_t pages, uint64_t *out_address, uint64_t *out_physical)
{
	size_t count = pages_for(pages * PAGE);
	uint64_t block = BY_PROCESS ? process_dma_take(count) : frames_take(count);

	if (!block)
		return -ENOMEM;
	*out_address = device_address(block, count * PAGE);
	*out_physical = block;
	return *out_address ? 0 : -ENOMEM;
}

int64_t kernel_port_in(uint32_t port, uint32_t size, uint32_t *out_value)
{
	if (IS_REFUSED(process_may_port(port, size)))
		return -EPERM;
	*out_value = cpu_in((uint16_t)port, size);
	return 0;
}

int64_t kernel_port_out(uint32_t port, uint32_t size, uint32_t value)
{
	if (IS_REFUSED(process_may_port(port, size)))
		return -EPERM;
	cpu_out((uint16_t)port, size, value);
	return 0;
}

int64_t kernel_port_write(uint32_t port, struct grant from)
{
	uint8_t bytes[64];

	if (IS_REFUSED(process_may_port(port, 1)))
		return -EPERM;
	if (from.length > PAGE)
		return -EINVAL;
	for (uint64_t at = 0; at < from.length; at += sizeof bytes) {
		size_t n = MIN(from.length - at, sizeof bytes);

		if (copy_in(bytes, from, at, n))
			return -EFAULT;
		cpu_out_bytes((uint16_t)port, bytes, n);
	}
	return 0;
}
