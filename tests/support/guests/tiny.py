"""What the small kernels of tests/guest/guests (tiny.c, bsd.c) print."""

from __future__ import annotations

import msgspec

from tests.support.results import make

#: Instructions between the clocks of their regions.
REGION = 66

RECORDS = [
    make.header(by="path", uname={"sysname": "tiny", "nodename": "", "release": "1", "version": "~", "machine": "x86"}),
    make.workload(),
    make.run(
        batch=1,
        samples=(1,),
        clock_cost=(),
        loop_batch=1,
        loop_cost=(1,),
        baseline=None,
        stopped="plan",
        involuntary=(),
        migrated=(),
    ),
]


def said() -> bytes:
    """A probe's records, with the kernel's own counts for samples ($), and what it was given (~)."""
    text = b"".join(msgspec.json.encode(record) + b"\n" for record in RECORDS)
    text = text.replace(b'"samples":[1]', b'"samples":[$]').replace(b'"samples":[1.0]', b'"samples":[$]')
    assert text.count(b"$") == text.count(b"~") == 1
    return b"#kernometer begin 1\n" + text + b"#kernometer end 3\n"
