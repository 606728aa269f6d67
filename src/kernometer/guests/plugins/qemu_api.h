/* qemu_api.h: the few parts of QEMU's plugin interface that the plugins use, declared by hand.
 *
 * No Debian package contains qemu-plugin.h; QEMU's docs/devel/tcg-plugins.rst documents the interface. The compiler
 * gets KM_PLUGIN_API, the interface's number in the installed QEMU (__init__.py): 1 up to QEMU 8.2, 2 in 9.0, 3 in 9.1,
 * 4 in 9.2 and later. Only this file has #if: the plugins see count_at(), counters(), copy_bytes(),
 * ring_of_translation() and register_of_cpu(). */
#ifndef KM_QEMU_API_H
#define KM_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef KM_PLUGIN_API
#error "give -DKM_PLUGIN_API=N, the number of the plugin interface in the QEMU at hand"
#endif

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
typedef uint32_t qemu_plugin_meminfo_t;

/* Only the beginning of QEMU's struct: it is read here, never made. */
typedef struct {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
} qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

typedef void (*tb_trans_cb)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*insn_exec_cb)(unsigned int vcpu, void *userdata);
typedef void (*mem_cb)(unsigned int vcpu, qemu_plugin_meminfo_t, uint64_t address, void *userdata);
typedef void (*atexit_cb)(qemu_plugin_id_t, void *userdata);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, tb_trans_cb);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, insn_exec_cb, enum qemu_plugin_cb_flags,
					    void *userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, mem_cb, enum qemu_plugin_cb_flags,
				      enum qemu_plugin_mem_rw, void *userdata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, atexit_cb, void *userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);

EXPORT int qemu_plugin_install(qemu_plugin_id_t, const qemu_info_t *, int argc, char **argv);
EXPORT extern int qemu_plugin_version;
int qemu_plugin_version = KM_PLUGIN_API;

/* QEMU's own functions, since no interface reads a register or page tables during translation: programs that load
 * modules, as Debian's and Ubuntu's do, export them. NULL elsewhere. Registers have gdb's numbers (QEMU,
 * target/i386/gdbstub.c). */
typedef struct {
	uint8_t *data;
	unsigned int len;
} GByteArray;
__attribute__((weak)) void *qemu_get_cpu(int index);
__attribute__((weak)) int x86_cpu_gdb_read_register(void *cpu, GByteArray *to, int number);
__attribute__((weak)) GByteArray *g_byte_array_new(void);
__attribute__((weak)) GByteArray *g_byte_array_set_size(GByteArray *, unsigned int);
__attribute__((weak)) int cpu_breakpoint_insert(void *cpu, uint64_t address, int flags, void **breakpoint);
__attribute__((weak)) void cpu_exit(void *cpu);
__attribute__((weak)) int cpu_memory_rw_debug(void *cpu, uint64_t address, void *, uint64_t bytes, bool is_write);
__attribute__((weak)) void cpu_physical_memory_rw(uint64_t address, void *, uint64_t bytes, bool is_write);

#define REGISTER_RSP 7
#define REGISTER_CS 18
#define REGISTER_CR0 27
#define REGISTER_CR3 29
#define REGISTER_CR4 30
#define REGISTER_EFER 32
#define EFER_LMA 0x400u

static inline int has_registers(void)
{
	return x86_cpu_gdb_read_register != NULL && qemu_get_cpu != NULL && g_byte_array_new != NULL &&
	       g_byte_array_set_size != NULL;
}

/* A register of the one processor, where `has_registers`. Within a translation block the stack pointer may be older. */
static inline uint64_t register_of_cpu(int number)
{
	static GByteArray *bytes;
	uint64_t value = 0;
	int size;

	if (bytes == NULL)
		bytes = g_byte_array_new();
	g_byte_array_set_size(bytes, 0);
	size = x86_cpu_gdb_read_register(qemu_get_cpu(0), bytes, number);
	if (size > 0)
		memcpy(&value, bytes->data, (size_t)size < sizeof value ? (size_t)size : sizeof value);
	return value;
}

#define LONG_MODE (-1)

/* The ring for which QEMU translates code: it keeps translations apart; LONG_MODE in that mode, or if unknown. */
static inline int ring_of_translation(void)
{
	if (!has_registers() || register_of_cpu(REGISTER_EFER) & EFER_LMA)
		return LONG_MODE;
	return (int)(register_of_cpu(REGISTER_CS) & 3);
}

/* What Linux reserves for vsyscalls, which are user code. Trio has its services' text there. */
#define VSYSCALLS 0xffffffffff600000u
#define VSYSCALLS_BYTES 0x800000u

/* Whether code is the kernel's on x86-64: in long mode in the upper half of the addresses, elsewhere by its ring. */
static inline int x86_in_kernel(uint64_t address, int ring)
{
	if (ring != LONG_MODE)
		return ring < 3;
	return address >> 63 && address - VSYSCALLS >= VSYSCALLS_BYTES;
}

#define MAX_COUNTERS 32

#if KM_PLUGIN_API >= 2

struct qemu_plugin_scoreboard;
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *, unsigned int vcpu);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *, enum qemu_plugin_op,
							 qemu_plugin_u64 entry, uint64_t by);

static struct qemu_plugin_scoreboard *score;

static inline void counters_open(void)
{
	score = qemu_plugin_scoreboard_new(MAX_COUNTERS * sizeof(uint64_t));
}

static inline const uint64_t *counters(unsigned int vcpu)
{
	return qemu_plugin_scoreboard_find(score, vcpu);
}

static inline void count_at(struct qemu_plugin_insn *insn, unsigned int counter)
{
	qemu_plugin_u64 entry = { score, counter * sizeof(uint64_t) };

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, entry, 1);
}

#else

void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, enum qemu_plugin_op, void *counter,
						uint64_t by);

static uint64_t counted[MAX_COUNTERS];

static inline void counters_open(void)
{
}

static inline const uint64_t *counters(unsigned int vcpu)
{
	(void)vcpu;
	return counted;
}

static inline void count_at(struct qemu_plugin_insn *insn, unsigned int counter)
{
	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &counted[counter], 1);
}

#endif

#if KM_PLUGIN_API >= 3

size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *to, size_t n);

static inline size_t copy_bytes(const struct qemu_plugin_insn *insn, unsigned char *to, size_t n)
{
	return qemu_plugin_insn_data(insn, to, n);
}

#else

const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);

static inline size_t copy_bytes(const struct qemu_plugin_insn *insn, unsigned char *to, size_t n)
{
	size_t size = qemu_plugin_insn_size(insn);

	if (size < n)
		n = size;
	memcpy(to, qemu_plugin_insn_data(insn), n);
	return n;
}

#endif

#endif
