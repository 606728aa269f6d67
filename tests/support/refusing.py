"""Runs a command whose system calls of one name are refused, as a container's filter refuses them.

usage: python -m tests.support.refusing CALL COMMAND…    (Linux, x86-64 and aarch64; CALL is one of NUMBERS)
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

#: By machine, the numbers of the calls.
NUMBERS = {"sched_setaffinity": {"x86_64": 203, "aarch64": 122}}

_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_LOAD_NUMBER, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def refuse(call: str, error: int = errno.EPERM) -> None:
    """From now on this process and its children get `error` for that call. Raises OSError where there is no filter."""
    number = NUMBERS[call][os.uname().machine]
    steps = (
        (_LOAD_NUMBER, 0, 0, 0),
        (_EQUAL, 0, 1, number),
        (_RETURN, 0, 0, _ERRNO | error),
        (_RETURN, 0, 0, _ALLOW),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, filters, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606  # the tests' own command
