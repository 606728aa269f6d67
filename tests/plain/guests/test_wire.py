"""QEMU's monitor and debugger at the other end of a socket: what if they are mute, talk garbage, flood, or go away?"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from kernometer.errors import TargetError
from kernometer.targets.base import Deadline
from kernometer.targets.saved import wire
from kernometer.targets.saved.wire import Debugger, LostError, Monitor

#: A wait that is to end with its deadline; the tests' own limit is far beyond.
SHORT = 0.3
LONG = 60.0
GREETING = b'{"QMP": {"version": {}, "capabilities": []}}\r\n'
DONE = b'{"return": {}}\r\n'

Serve = Callable[[Callable[[socket.socket], None]], socket.socket]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Our end of a socket, at whose other end a thread does as it is told, and then closes it."""
    ends: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def begin(act: Callable[[socket.socket], None]) -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.settimeout(LONG)

        def work() -> None:
            with theirs:
                act(theirs)

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        ends.append(ours)
        return ours

    yield begin
    for end in ends:
        end.close()
    for thread in threads:
        thread.join(LONG)


def mute(end: socket.socket) -> None:
    """Until we are gone."""
    try:
        while end.recv(4096):
            pass
    except OSError:
        return


def gone(_: socket.socket) -> None:
    """At once."""


def saying(*answers: bytes) -> Callable[[socket.socket], None]:
    """The first at once, each other one after a message of ours; then mute."""

    def act(end: socket.socket) -> None:
        for number, answer in enumerate(answers):
            if number:
                end.recv(4096)
            try:
                end.sendall(answer)
            except OSError:
                return
        mute(end)

    return act


def packet(data: bytes) -> bytes:
    return b"+$%s#%02x" % (data, sum(data) & 0xFF)


def test_what_a_command_returns_comes_through_events_and_in_pieces(serve: Serve) -> None:
    """Expected: the answer to our command. Broken: an event, or half a line, is taken for it."""
    event = b'{"event": "STOP", "timestamp": {}}\r\n'

    def act(end: socket.socket) -> None:
        end.sendall(GREETING)
        end.recv(4096)
        end.sendall(event + DONE)
        assert end.recv(4096) == b'{"execute":"query-migrate","arguments":{}}\n'
        end.sendall(event + b'{"return": {"status": ')
        time.sleep(0.05)
        end.sendall(b'"completed"}}\r\n')

    assert Monitor(serve(act), Deadline.after(LONG)).execute("query-migrate") == {"status": "completed"}


def test_a_refusal_is_qemus_own_words(serve: Serve) -> None:
    """Expected: TargetError, and not LostError: QEMU is there, and cannot do it."""
    refusal = b'{"error": {"class": "GenericError", "desc": "State blocked"}}\r\n'
    monitor = Monitor(serve(saying(GREETING, DONE, refusal)), Deadline.after(LONG))
    with pytest.raises(TargetError, match="State blocked") as caught:
        monitor.execute("migrate", uri="exec:cat")
    assert not isinstance(caught.value, LostError)


@pytest.mark.parametrize("act", [mute, saying(GREETING[:20]), saying(GREETING, b"")])
def test_a_mute_monitor_ends_with_the_deadline(serve: Serve, act: Callable[[socket.socket], None]) -> None:
    """Expected: LostError at the deadline. Broken: a wait without a limit."""
    with pytest.raises(LostError, match="does not answer"):
        Monitor(serve(act), Deadline.after(SHORT))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (gone, "ended, or closed"),
        (saying(b"SeaBIOS\n"), "invalid answer"),
        (saying(b"[1, 2]\n"), "invalid answer"),
        (saying(GREETING + b'{"event": 1}\n' * 2000), "sends events and no answer"),
        (saying(b"x" * (wire.MAX_ANSWER + (1 << 17))), "more than 1,048,576 bytes"),
    ],
)
def test_a_monitor_that_makes_no_sense_is_lost(serve: Serve, act: Callable[[socket.socket], None], words: str) -> None:
    with pytest.raises(LostError, match=words):
        Monitor(serve(act), Deadline.after(LONG))


def test_a_guest_is_waited_for_until_it_stops(serve: Serve) -> None:
    """Expected: a breakpoint, the guest goes on, and is there when QEMU says so. Broken: saved before it is ready."""
    go = threading.Event()

    def act(end: socket.socket) -> None:
        assert end.recv(4096) == b"$Z1,70000000,1#9b"
        end.sendall(packet(b"OK"))
        come = end.recv(4096)
        while b"$c#63" not in come:
            come += end.recv(4096)
        end.sendall(b"+")
        go.wait(LONG)
        end.sendall(packet(b"T05thread:01;")[1:])
        mute(end)

    debugger = Debugger(serve(act), Deadline.after(LONG))
    debugger.run_to(0x70000000)
    assert not debugger.stopped()
    go.set()
    until = Deadline.after(LONG)
    while not debugger.stopped():
        assert not until.passed


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (packet(b"E22"), "refuses b'Z1,70000000,1'"),
        (b"+$OK#00", "invalid packet"),
        (b"login: #ab", "invalid packet"),
    ],
)
def test_a_debugger_that_sets_no_breakpoint_is_lost(serve: Serve, answer: bytes, words: str) -> None:
    with pytest.raises(LostError, match=words):
        Debugger(serve(saying(b"", answer)), Deadline.after(LONG)).run_to(0x70000000)


def test_a_mute_debugger_ends_with_the_deadline(serve: Serve) -> None:
    with pytest.raises(LostError, match="does not answer"):
        Debugger(serve(mute), Deadline.after(SHORT)).run_to(0x70000000)


def answered(serve: Serve, *answers: bytes) -> tuple[Debugger, list[bytes]]:
    """A debugger whose packets get these answers in turn, and those packets, as they come."""
    said: list[bytes] = []

    def act(end: socket.socket) -> None:
        for answer in answers:
            come = b""
            while b"#" not in come[:-2]:
                come += end.recv(8192)
            said.append(come.lstrip(b"+")[1:-3])
            end.sendall(packet(answer))
        mute(end)

    return Debugger(serve(act), Deadline.after(LONG)), said


def test_memory_is_written_by_physical_address_where_the_guest_has_stopped(serve: Serve) -> None:
    """Expected: the breakpoint is left by one instruction, and the write goes to physical memory, that mode for itself
    alone. Broken: bytes at that address of whatever process runs."""
    debugger, said = answered(serve, b"OK", b"T05thread:01;", b"OK", b"OK", b"OK")
    debugger.leave(0x1000)
    debugger.write(0x2000, b"\xeb\xfe")
    assert said == [b"z1,1000,1", b"s", b"Qqemu.PhyMemMode:1", b"M2000,2:ebfe", b"Qqemu.PhyMemMode:0"]


def test_a_waiting_process_is_read_and_written_by_its_own_addresses(serve: Serve) -> None:
    """Expected: the register's eight bytes, memory of the process, and writes in pieces that QEMU takes. Broken: the
    wrong register, or a command that QEMU cuts."""
    debugger, said = answered(serve, b"00" * 8 + b"1020300000000000" + b"xx" * 8, b"6b6d", b"E14", b"OK", b"OK")
    assert debugger.register(1) == 0x302010
    assert (debugger.read(0x302010, 2), debugger.read(0, 2)) == (b"km", b"")
    debugger.put(0x1000, bytes(wire.PIECE + 1))
    assert said[:3] == [b"g", b"m302010,2", b"m0,2"]
    assert said[3:] == [b"M1000,400:" + b"00" * wire.PIECE, b"M1400,1:00"]


@pytest.mark.parametrize("answer", [packet(b"W00"), packet(b"T0bthread:01;")])
def test_a_guest_that_stops_for_another_reason_is_not_saved(serve: Serve, answer: bytes) -> None:
    """Expected: LostError. Broken: a guest that crashed or left is saved as if it were ready."""
    debugger = Debugger(serve(saying(b"", packet(b"OK") + answer)), Deadline.after(LONG))
    debugger.run_to(0x70000000)
    until = Deadline.after(LONG)
    with pytest.raises(LostError, match="another reason"):
        while not debugger.stopped():
            assert not until.passed


def test_qemu_that_goes_away_while_the_guest_boots_is_lost(serve: Serve) -> None:
    def act(end: socket.socket) -> None:
        end.recv(4096)
        end.sendall(packet(b"OK"))
        end.recv(4096)

    debugger = Debugger(serve(act), Deadline.after(LONG))
    until = Deadline.after(LONG)
    with pytest.raises(LostError):
        debugger.run_to(0x70000000)
        while not debugger.stopped():
            assert not until.passed
