"""Which call does a stack of the kernel belong to?"""

from __future__ import annotations

import pytest

from studies.kernel_calls import call

ENTRY = ("do_syscall_64", "entry_SYSCALL_64_after_hwframe", "main")


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        (("ep_poll", "__x64_sys_epoll_wait", *ENTRY), "epoll_wait"),
        (("tcp_sendmsg", "do_writev", *ENTRY), "writev"),
        (("vfs_read", "ksys_read", *ENTRY), "read"),
        (("do_mmap", "vm_mmap_pgoff", *ENTRY), "mmap"),
        (("clear_page", "exc_page_fault", "asm_exc_page_fault", "copy_from_user", "ksys_write", *ENTRY), "write"),
        (("clear_page", "exc_page_fault", "asm_exc_page_fault", "main"), "faults"),
        (("tcp_ack", "handle_softirqs", "sysvec_apic_timer_interrupt", "main"), ""),
        (("worker_thread", "kthread", "ret_from_fork", "ret_from_fork_asm"), ""),
        (ENTRY, ""),
        ((), ""),
    ],
)
def test_a_stack_belongs_to_what_the_program_asked_for(frames: tuple[str, ...], name: str) -> None:
    """Expected: the outermost call or fault, by its name in the price list. Broken: an interrupt's work is a call's."""
    assert call([*frames]) == name
