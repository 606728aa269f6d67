"""The pairs: our row, their command, one operation on either side, and why the two differ."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kernometer.targets import build
from studies.peers import reading
from studies.peers.reading import MIB, Reading

LOOP = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
FORK = "fork, exit of the child, wait"
#: Whole commands: one that only starts and ends, and one with work of the shell.
COMMANDS: dict[str, tuple[str, ...]] = {"true": ("/bin/true",), "loop": ("/bin/sh", "-c", LOOP)}


@dataclass(frozen=True, slots=True)
class Pair:
    """One operation, measured by both."""

    rows: tuple[str, ...]  #: ours, of several the sum; `-- COMMAND`: the real time of a whole command
    package: str  #: Debian's, with the other tool
    theirs: tuple[str, ...]  #: their command, run in an empty directory
    read: Reading  #: its output, in ns of an operation of ours
    operation: str  #: on either side
    why: str  #: what each side does and the other does not
    figure: Literal["cost", "gross"] = "cost"  #: ours: net of what the row subtracts, or gross
    cpus: int = 1  #: both sides run on this many CPUs, the last ones
    file: str = ""  #: the file with its result in that directory; "": it prints the result
    before: tuple[str, ...] = ()  #: run once in that directory, before the first block
    #: A command whose time is added to the rows' (if any), and its output; (): none
    added: tuple[str, ...] = ()
    read_added: Reading = reading.witness

    @property
    def name(self) -> str:
        return " + ".join((*self.rows, *([shlex.join(self.added)] if self.added else ())))

    @property
    def command(self) -> tuple[str, ...]:
        """Our whole command; else ()."""
        return COMMANDS[self.rows[0].removeprefix("-- ")] if self.name.startswith("-- ") else ()


def stress(name: str, operations: int, *more: str) -> tuple[str, ...]:
    return ("stress-ng", f"--{name}", "1", f"--{name}-ops", str(operations), *more, "--metrics")


def fio_read(size: str, loops: int) -> tuple[str, ...]:
    words = ("--name=peer", "--filename=peer", "--size=64M", "--rw=read", f"--bs={size}", f"--loops={loops}")
    return ("fio", *words, "--ioengine=sync", "--invalidate=0", "--gtod_reduce=1", "--output-format=json")


def sysbench_memory(kind: str) -> tuple[str, ...]:
    words = ("--memory-block-size=1M", "--memory-total-size=4G", f"--memory-oper={kind}", "--time=0")
    return ("sysbench", "memory", *words, "run")


FILEIO = ("sysbench", "fileio", "--file-num=1", "--file-total-size=64M")
START = "a process is started, runs the command and is waited for"

PAIRS = (
    Pair(
        ("syscall/getppid",), "linux-perf", ("perf", "bench", "syscall", "basic", "-l", "2000000"),
        reading.perf_usecs, "one getppid()",
        "theirs divides the whole time of its loop, with loop and library call in it and whatever interrupted it; "
        "ours is the median sample, less clock and empty loop",
    ),
    Pair(
        ("ctx/pipe-pair@same-cpu",), "linux-perf", ("perf", "bench", "sched", "pipe", "-l", "60000"),
        reading.perf_usecs, "a word to and fro over two pipes, on one CPU",
        "the same calls (4 bytes theirs, 8 ours); theirs is a mean with its start and its interruptions, ours a "
        "median",
        figure="gross",
    ),
    Pair(
        ("ctx/pipe-pair@other-cpu",), "linux-perf", ("perf", "bench", "sched", "pipe", "-l", "60000"),
        reading.perf_usecs, "the same with two CPUs",
        "ours keeps each process on its own CPU; theirs leaves that to the scheduler, which often puts both on "
        "one, where a round trip needs no wake-up across CPUs",
        figure="gross", cpus=2,
    ),
    Pair(
        ("ctx/pipe-pair@same-cpu",), "stress-ng", stress("switch", 100_000),
        reading.stress_rate("switch"), "there and back again between two processes",
        "theirs is one write and one read of a byte: the pipe holds one message, so that the writer waits too; "
        "ours is two of each. Theirs counts what was written and looks at the clock now and then",
        figure="gross",
    ),
    Pair(
        ("ipc/eventfd@same-cpu",), "stress-ng", stress("eventfd", 30_000),
        reading.stress_rate("eventfd"), "a word to and fro over two eventfds",
        "the same four calls and two switches, and in theirs /proc/PID/fdinfo/FD opened, read and closed each time",
        figure="gross",
    ),
    Pair(
        ("proc/fork-exit",), "stress-ng", stress("fork", 1_000, "--fork-max", "1"),
        reading.stress_rate("fork"), FORK,
        "their child makes ten further calls first (setsid, vhangup, four setpgid, sched_yield, …), and the "
        "process that is copied is larger and linked dynamically; our child only ends",
    ),
    Pair(
        ("proc/thread",), "stress-ng", stress("pthread", 3_000, "--pthread-max", "1"),
        reading.stress_rate("pthread"), "a thread is created and joined",
        "theirs clears 1.4 MB before each thread, takes a lock 1,000 times to see whether it runs, and hands the "
        "kernel an endless list of robust locks, which it walks at the thread's end; ours counts itself and ends",
    ),
    Pair(
        ("mem/fault-prot",), "stress-ng", stress("sigsegv", 60_000),
        reading.stress_rate("sigsegv"), "a fault that becomes SIGSEGV and is handled",
        "their handler leaves by a jump, which restores the signal mask by a call, and the handlers of three "
        "signals are set anew each time; ours returns to the store. Most of their faults are the processor's "
        "general-protection faults, ours are stores to a read-only page",
    ),
    Pair(
        ("clock/monotonic",), "stress-ng", stress("vdso", 10_000_000, "--vdso-func", "clock_gettime"),
        reading.stress_nanoseconds("vdso", "per call (excluding test overhead)"),
        "one clock_gettime without a system call",
        "theirs calls the kernel's page directly and takes its loop off; ours calls libc, which calls it, by a "
        "pointer",
    ),
    Pair(
        ("clock/cycles",), "stress-ng", stress("tsc", 200_000),
        reading.stress_nanoseconds("tsc", "per time counter read"), "one rdtsc",
        "nothing lies between 32 reads of theirs; ours is called by a pointer as every sample's two reads are",
    ),
    Pair(
        ("ipc/pipe-throughput",), "rt-tests", ("hackbench", "-p", "-f", "1", "-g", "1", "-s", "512", "-l", "200000"),
        reading.hackbench(200_000), "512 bytes written to a pipe and read",
        "theirs goes between two processes, which change places whenever the pipe is full or empty (every 128 "
        "messages); ours stays within one and compares a word",
    ),
    Pair(
        ("ipc/unix-bw@total=1048576,message=4096,same-cpu",), "rt-tests",
        ("hackbench", "-f", "1", "-g", "1", "-s", "4096", "-l", "50000"),
        reading.hackbench(50_000 / 256), "1 MiB in messages of 4 KiB over a pair of UNIX sockets",
        "theirs starts its processes within the time; ours adds a word that asks for each MiB, and compares a word"
        " a message",
    ),
    Pair(
        ("mem/copy-bw@bytes=2097152",), "linux-perf",
        ("perf", "bench", "--format=simple", "mem", "memcpy", "-s", "1MB", "-l", "2000", "-f", "default"),
        reading.perf_bytes(MIB), "1 MiB copied",
        "theirs is the C library's memcpy, with the widest instructions of this processor; ours moves one machine "
        "word at a time, the same on every system",
    ),
    Pair(
        ("mem/write-bw@bytes=1048576",), "linux-perf",
        ("perf", "bench", "--format=simple", "mem", "memset", "-s", "1MB", "-l", "3000", "-f", "default"),
        reading.perf_bytes(MIB), "1 MiB written", "the same: memset against single words",
    ),
    Pair(
        ("mem/write-bw@bytes=1048576",), "sysbench", sysbench_memory("write"),
        reading.sysbench_memory(MIB), "1 MiB written",
        "both store machine words; theirs takes the time of every MiB, and its rate counts start and end of its "
        "thread",
    ),
    Pair(
        ("mem/read-bw@bytes=1048576",), "sysbench", sysbench_memory("read"),
        reading.sysbench_memory(MIB), "1 MiB read",
        "both load machine words; theirs may use wider registers where its compiler did, and keeps only the last "
        "word; ours adds all of them up",
    ),
    Pair(
        ("fs/read-buffer@buffer=4096,file_kib=65536",), "fio", fio_read("4k", 12),
        reading.fio("read"), "4 KiB of a cached file read",
        "both make one read each (strace shows no other call); theirs does its book-keeping of a request around it",
    ),
    Pair(
        ("fs/read-buffer@buffer=65536,file_kib=65536",), "fio", fio_read("64k", 40),
        reading.fio("read"), "64 KiB of a cached file read",
        "the same, where a request's book-keeping is small against its copy",
    ),
    Pair(
        ("fs/read-buffer@buffer=4096,file_kib=65536",), "sysbench",
        (*FILEIO, "--file-block-size=4096", "--file-test-mode=seqrd", "--file-fsync-freq=0", "--file-fsync-end=off",
         "--events=100000", "--time=0", "run"),
        reading.sysbench_reads, "4 KiB of a cached file read",
        "theirs chooses each request, takes its time and counts it; it reads by pread",
        before=(*FILEIO, "prepare"),
    ),
    Pair(
        ("fs/fsync@bytes=4096",), "fio",
        ("fio", "--name=peer", "--filename=peer", "--size=64k", "--rw=write", "--overwrite=1", "--bs=4k", "--loops=16",
         "--fsync=1", "--ioengine=sync", "--gtod_reduce=1", "--output-format=json"),
        reading.fio("write"), "4 KiB of a file overwritten and made durable",
        "the same calls; what they cost is the disk's, which differs from one second to the next",
    ),
    Pair(
        ("syscall/read-zero", "syscall/write-null"), "coreutils",
        ("dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000000"),
        reading.dd(1_000_000), "one byte read from /dev/zero and one written to /dev/null",
        "theirs is one loop of both calls, with its counting of blocks and bytes; ours is the sum of two rows",
    ),
    Pair(
        ("-- true",), "hyperfine",
        ("hyperfine", "-N", "--warmup", "2", "--runs", "100", "--style", "none", "--export-json", "peer.json",
         "/bin/true"),
        reading.hyperfine, START,
        "theirs starts it by vfork, after opening /dev/null three times within the time; ours by fork, with a pipe"
        " for its errno",
        file="peer.json",
    ),
    Pair(
        ("-- loop",), "hyperfine",
        ("hyperfine", "-N", "--warmup", "1", "--runs", "15", "--style", "none", "--export-json", "peer.json",
         f"/bin/sh -c '{LOOP}'"),
        reading.hyperfine, f"{START}, which counts to 20,000",
        "the same, where the start is a small part",
        file="peer.json",
    ),
)  # fmt: skip  # a pair in few lines: what, how, why


def witness() -> tuple[Pair, ...]:
    """Three rows against witness.c, which is compiled as the probe is. Raises MissingError without a compiler."""
    source = Path(__file__).with_name("witness.c")
    make = (*build.DEFAULT.commands()[0], "-o", "witness", str(source))

    def pair(row: str, words: str, operation: str, why: str, figure: Literal["cost", "gross"] = "cost") -> Pair:
        return Pair((row,), "gcc", ("./witness", *words.split()), reading.witness, operation, why, figure, before=make)

    return (
        pair("syscall/getppid", "getppid", "one getppid()", "the same; theirs with its loop and its clock inside"),
        pair("ctx/pipe-pair@same-cpu", "pipe", "a word to and fro over two pipes", "the same calls", "gross"),
        pair("proc/fork-exit", "fork", FORK, "their process is smaller: 20 KiB touched, 10 mappings, 4 faults"),
        pair("proc/fork-exit", "fork 184", FORK, "the same with as much memory as ours: 204 KiB, 13 mappings"),
        pair("proc/fork-exit", "fork 184 4", FORK, "and with as many faults: 8, four of them by writes of the child"),
    )  # fmt: skip  # a pair in few lines: what, how, why


def causes() -> tuple[Pair, ...]:
    """The pairs whose ratio is outside 0.8 to 1.25, with its supposed cause on our side too."""
    here = Path(__file__).parent
    program = ("gcc", "-O2", "-pthread", "-o", "cause", str(here / "cause.c"))
    no_read = f"gcc -shared -fPIC -o nothing.so {here / 'nothing.c'} && {shlex.join((*FILEIO, 'prepare'))}"

    def pair_of(package: str, word: str, cpus: int = 1) -> Pair:
        pairs = (pair for pair in PAIRS if (pair.package, pair.cpus) == (package, cpus))
        (chosen,) = (pair for pair in pairs if word in shlex.join(pair.theirs))
        return chosen

    def like(word: str, package: str, theirs: str, why: str) -> Pair:
        return replace(pair_of(package, theirs), rows=(), added=("./cause", word), before=program, why=why)

    fio, sysbench = pair_of("fio", "--bs=4k --loops=12"), pair_of("sysbench", "seqrd")
    no_engine = tuple(word.replace("=sync", "=null") for word in fio.theirs)
    return (
        like("eventfd", "stress-ng", "--eventfd", "theirs opens, reads and closes /proc/PID/fdinfo/FD each time, and "
             "tries a read of seven bytes"),
        like("fork", "stress-ng", "--fork", "168 mappings, 1.2 MiB of its own, ten calls in the child"),
        like("thread", "stress-ng", "--pthread", "1.4 MB cleared, 1,000 looks at a lock, an endless robust list, 40 "
             "calls"),
        like("sigsegv", "stress-ng", "--sigsegv", "three sigaction, a jump out of the handler"),
        like("pipe", "rt-tests", "-s 512", "two processes, one of which starts within the time"),
        like("store", "sysbench", "--memory-oper=write", "one store of a word after the other"),
        replace(pair_of("linux-perf", "sched pipe", 2), rows=("ctx/pipe-pair@same-cpu",),
                why="our row on one CPU: where the scheduler puts theirs"),
        like("memcpy", "linux-perf", "memcpy", "the C library's memcpy of 1 MiB"),
        like("memset", "linux-perf", "memset", "the C library's memset of 1 MiB"),
        replace(fio, added=no_engine, read_added=fio.read,
                why="our row, and their program with an engine that reads nothing"),
        replace(sysbench, added=("env", "LD_PRELOAD=./nothing.so", *sysbench.theirs), read_added=sysbench.read,
                before=("sh", "-c", no_read), why="our row, and their program with a pread that reads nothing"),
    )  # fmt: skip  # a pair in few lines
