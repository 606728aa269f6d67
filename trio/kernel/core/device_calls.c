/* device_calls.c: calls 40 to 48 of kernel.idl, with which drivers reach their devices. */
#include "core/interrupts.h"
#include "kernel_calls.h"
#include "structure.h"
#include "core/memory.h"
#include "x86/cpu.h"
#include "x86/machine.h"
#include "x86/pci.h"

#define DMA_PAGES_MOST 512
/* All of it is in the direct map, RAM or not. */
#define DEVICES_END 0x100000000UL
#define CONFIG_BYTES 256

int64_t kernel_call_pci_find(uint32_t vendor, uint32_t device, uint32_t index, struct grant bars, uint32_t *out_place)
{
	const struct pci_function *f = pci_function(vendor, device, index);
	uint64_t told[PCI_BARS + 2];

	if (!f)
		return -ENODEV;
	memcpy(told, f->bars, sizeof f->bars);
	told[PCI_BARS] = f->lengths[0];
	told[PCI_BARS + 1] = f->lengths[1];
	if (IS_REFUSED(process_may_device(f->place)))
		return -EPERM;
	*out_place = f->place;
	return copy_out(bars, 0, told, sizeof told);
}

int64_t kernel_call_pci_command(uint32_t place, uint32_t at, uint32_t size, uint32_t write, uint32_t value,
				uint32_t *out_value)
{
	if ((size != 1 && size != 2 && size != 4) || at & (size - 1) || at >= CONFIG_BYTES || !pci_function_at(place))
		return -EINVAL;
	/* What is written may move its memory onto others'. */
	if (IS_REFUSED(process_may_device(place) && !write))
		return -EPERM;
	if (write)
		pci_write(place, at, size, value);
	*out_value = write ? value : pci_read(place, at, size);
	return 0;
}

/* Where the present service reaches physical memory that is shared with a device; 0: no memory. */
static uint64_t device_address(uint64_t at, uint64_t length)
{
	if (BY_PROCESS)
		return process_device(PRESENT_DOMAIN, at, length);
	return (uint64_t)physical(at);
}

int64_t kernel_call_device_map(uint64_t address, uint64_t length, uint64_t *out_address)
{
	uint64_t end = address + length;

	if (end < address || end > DEVICES_END)
		return -EINVAL;
	if (IS_REFUSED(process_may_memory(address, length)))
		return -EPERM;
	for (size_t i = 0; i < boot.ram_count; i++)
		if (address < boot.ram[i].base + boot.ram[i].length && end > boot.ram[i].base)
			return -EINVAL;
	*out_address = device_address(address, length);
	return *out_address ? 0 : -ENOMEM;
}

int64_t kernel_call_dma_take(uint32_t pages, uint64_t *out_address, uint64_t *out_physical)
{
	size_t count = 1;
	uint64_t frames;

	while (count < pages && count < DMA_PAGES_MOST)
		count *= 2;
	frames = count < pages ? 0 : frames_take(count);
	if (!frames)
		return -ENOMEM;
	*out_address = device_address(frames, count * PAGE);
	*out_physical = frames;
	return *out_address ? 0 : -ENOMEM;
}

int64_t kernel_call_irq_attach(uint32_t line, uint32_t endpoint, uint32_t bit)
{
	if (IS_REFUSED(process_may_line(line) && process_is(endpoint)))
		return -EPERM;
	if (bit >= NOTIFY_CANCEL)
		return -EINVAL;
	return interrupt_attach(line, endpoint, bit);
}

int64_t kernel_call_irq_done(uint32_t line)
{
	if (IS_REFUSED(process_may_line(line)))
		return -EPERM;
	interrupt_done(line);
	return 0;
}

int64_t kernel_call_port_in(uint32_t port, uint32_t size, uint32_t *out_value)
{
	uint16_t at = (uint16_t)port;

	if (IS_REFUSED(process_may_port(port, size)))
		return -EPERM;
	*out_value = size == 1 ? cpu_in8(at) : size == 2 ? cpu_in16(at) : cpu_in32(at);
	return 0;
}

int64_t kernel_call_port_out(uint32_t port, uint32_t size, uint32_t value)
{
	uint16_t at = (uint16_t)port;

	if (IS_REFUSED(process_may_port(port, size)))
		return -EPERM;
	if (size == 1)
		cpu_out8(at, (uint8_t)value);
	else if (size == 2)
		cpu_out16(at, (uint16_t)value);
	else
		cpu_out32(at, value);
	return 0;
}

int64_t kernel_call_port_write(uint32_t port, struct grant from)
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
