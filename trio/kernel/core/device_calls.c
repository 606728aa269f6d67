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

int64_t kernel_call_pci_find(struct kernel *self, uint32_t vendor, uint32_t device, uint32_t index, struct grant bars,
			     uint32_t *out_place)
{
	const struct pci_function *f = pci_function(vendor, device, index);
	uint64_t told[PCI_BARS + 2];

	(void)self;
	if (!f)
		return -ENODEV;
	memcpy(told, f->bars, sizeof f->bars);
	told[PCI_BARS] = f->lengths[0];
	told[PCI_BARS + 1] = f->lengths[1];
	*out_place = f->place;
	return copy_out(bars, 0, told, sizeof told);
}

int64_t kernel_call_pci_command(struct kernel *self, uint32_t place, uint32_t at, uint32_t size, uint32_t write,
				uint32_t value, uint32_t *out_value)
{
	(void)self;
	if ((size != 1 && size != 2 && size != 4) || at & (size - 1) || at >= CONFIG_BYTES || !pci_function_at(place))
		return -EINVAL;
	if (write)
		pci_write(place, at, size, value);
	*out_value = write ? value : pci_read(place, at, size);
	return 0;
}

int64_t kernel_call_device_map(struct kernel *self, uint64_t address, uint64_t length, uint64_t *out_address)
{
	uint64_t end = address + length;

	(void)self;
	if (end < address || end > DEVICES_END)
		return -EINVAL;
	for (size_t i = 0; i < boot.ram_count; i++)
		if (address < boot.ram[i].base + boot.ram[i].length && end > boot.ram[i].base)
			return -EINVAL;
	*out_address = (uint64_t)physical(address);
	if (PROCESSES && is_process(PRESENT_DOMAIN))
		*out_address = process_device(PRESENT_DOMAIN, address, length);
	return *out_address ? 0 : -ENOMEM;
}

int64_t kernel_call_dma_take(struct kernel *self, uint32_t pages, uint64_t *out_address, uint64_t *out_physical)
{
	bool process = PROCESSES && is_process(PRESENT_DOMAIN);
	size_t count = 1;

	(void)self;
	while (count < pages && count < DMA_PAGES_MOST)
		count *= 2;
	if (count < pages)
		return -ENOMEM;
	*out_address = process ? (uint64_t)process_pages_take(count) : (uint64_t)pages_take(count);
	*out_physical = *out_address - (process ? PROCESS_PAGES : DIRECT_MAP);
	return *out_address ? 0 : -ENOMEM;
}

int64_t kernel_call_irq_attach(struct kernel *self, uint32_t line, uint32_t endpoint, uint32_t bit)
{
	(void)self;
	return interrupt_attach(line, endpoint, bit);
}

int64_t kernel_call_irq_done(struct kernel *self, uint32_t line)
{
	(void)self;
	interrupt_done(line);
	return 0;
}

int64_t kernel_call_port_in(struct kernel *self, uint32_t port, uint32_t size, uint32_t *out_value)
{
	uint16_t at = (uint16_t)port;

	(void)self;
	*out_value = size == 1 ? cpu_in8(at) : size == 2 ? cpu_in16(at) : cpu_in32(at);
	return 0;
}

int64_t kernel_call_port_out(struct kernel *self, uint32_t port, uint32_t size, uint32_t value)
{
	uint16_t at = (uint16_t)port;

	(void)self;
	if (size == 1)
		cpu_out8(at, (uint8_t)value);
	else if (size == 2)
		cpu_out16(at, (uint16_t)value);
	else
		cpu_out32(at, value);
	return 0;
}

int64_t kernel_call_port_write(struct kernel *self, uint32_t port, struct grant from)
{
	uint8_t bytes[64];

	(void)self;
	for (uint64_t at = 0; at < from.length; at += sizeof bytes) {
		size_t n = MIN(from.length - at, sizeof bytes);

		if (copy_in(bytes, from, at, n))
			return -EFAULT;
		cpu_out_bytes((uint16_t)port, bytes, n);
	}
	return 0;
}
