/* registry.c: the one list of workloads, in the order in which they are shown. */
#include "engine.h"

/* clang-format off */ /* it would read the list as one expression */
#define WORKLOADS(X) \
	X(clock_read_monotonic) X(clock_read_monotonic_raw) X(clock_read_gettimeofday) X(clock_read_times) \
	X(clock_read_cycles) X(clock_read_cycles_serialised) \
	X(syscall_getppid) X(syscall_getpid) X(syscall_getpgid) X(syscall_write_null) X(syscall_read_zero) \
	X(syscall_stat) X(syscall_fstat) X(syscall_open_close) X(syscall_lseek) X(syscall_statvfs) \
	X(syscall_mix) X(syscall_mix_loops) X(syscall_mix_fixed_time) \
	X(syscall_gettimeofday) X(syscall_gettimeofday_fast) \
	X(ctx_pipe_pair) X(ctx_signal_pair) X(ctx_ring) X(ctx_ring_pid) X(ctx_ring_pid_hops) \
	X(ctx_yield) X(ctx_thread_pair) \
	X(ipc_pipe_throughput) X(ipc_pipe_bw) X(ipc_unix_lat) X(ipc_unix_bw) X(ipc_tcp_lat) X(ipc_tcp_bw) \
	X(ipc_udp_lat) X(ipc_tcp_connect) X(ipc_tcp_sendfile) X(ipc_sysv_msg) X(ipc_posix_mq) \
	X(ipc_eventfd) X(ipc_shm_futex) X(ipc_epoll_wait) X(ipc_epoll_ctl) \
	X(proc_fork_exit) X(proc_fork_exit_loops) X(proc_fork_exit_fixed_time) X(proc_fork_rss) X(proc_fork_rss_huge) \
	X(proc_execl) X(proc_fork_exec) X(proc_vfork_exec) X(proc_spawn) X(proc_shell) X(proc_thread) \
	X(sig_install) X(sig_catch) X(sig_raise) \
	X(mem_alloc) X(mem_touch) X(mem_fault_prot) X(mem_fault_cow) X(mem_fault_file) \
	X(mem_mmap_munmap) X(mem_mmap_munmap_file) X(mem_mprotect) X(mem_brk) \
	X(mem_latency) X(mem_latency_random) X(mem_read_bw) X(mem_read_bw_wide) X(mem_write_bw) \
	X(mem_copy_bw) X(mem_zero_copy_half) \
	X(fs_read) X(fs_write) X(fs_copy) X(fs_create_read) X(fs_read_buffer) X(fs_read_buffer_uncached) \
	X(fs_mmap_read) X(fs_mmap_read_uncached) X(fs_read_64k) X(fs_read_open2close) X(fs_mmap_open2close) \
	X(fs_create_delete) X(fs_rename) X(fs_readdir) X(fs_lock) X(fs_fsync) \
	X(fs_iotest) X(fs_iotest_latency) X(fs_iotest_disk) \
	X(fb_info) X(fb_fill) X(fb_fill_mmap) X(fb_blit) X(fb_blit_mmap) X(fb_text) X(fb_text_mmap) X(fb_rotate) \
	X(fb_rotate_mmap) X(fb_cursor) X(fb_cursor_mmap) \
	X(cpu_dhrystone) X(cpu_whetstone) X(cpu_arith_short) X(cpu_arith_int) X(cpu_arith_long) X(cpu_arith_float) \
	X(cpu_arith_double) X(cpu_arithoh) X(cpu_arith_double_soft) X(cpu_hanoi) \
	X(sh_script_1) X(sh_script_8) X(sh_script_16) X(sh_script_busybox_1) X(sh_script_busybox_8) \
	X(sh_script_busybox_16) X(sh_cc) X(sh_cc_tcc) X(sh_dc) X(sh_dc_busybox) \
	X(load_multiuser) X(limit_processes) X(limit_processes_own) X(limit_files) X(limit_memory) \
	X(limit_memory_touched)

/* clang-format on */
#define DECLARE(symbol) extern const struct workload symbol;
#define ENTRY(symbol) &symbol,

WORKLOADS(DECLARE)

const struct workload *const registry[] = { WORKLOADS(ENTRY) NULL };
