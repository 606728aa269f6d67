"""The flow of control in a trace: which instructions faulted and were repeated, which belong to interrupts, and the
stack of calls of each. Pure.

An exception or interrupt shows where the next instruction is neither the following one nor a jump's target. If the
processor later returns to the same instruction, that one faulted: its attempt is a step of the trace, and not an
instruction of the guest's clock. If it returns to the following one, or a string instruction goes on there, an
interrupt came between. One that comes with the return itself is not told from what was returned from.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kernometer.arrays import NDArray, np
from kernometer.guests.plugins.trace import Flow, Trace
from kernometer.results.model import STACK_DEPTH

#: Functions that leave one task's stack for another's: Linux, GNU Mach, Trio.
TASK_SWITCHES = frozenset(("__switch_to_asm", "Switch_context", "switch_context", "task_switch_stacks"))
#: The same of Trio's for a call or its reply, where what runs next has no stack: it runs for the caller.
DIRECT_SWITCHES = frozenset(("task_leave_for_process", "task_leave_for_program"))
#: A task continues where it was left, up to some pushes.
NEAR = 1024
_GOES = (Flow.CALL, Flow.RETURN, Flow.JUMP, Flow.ENTER, Flow.LEAVE, Flow.IRET)


@dataclass(frozen=True, slots=True)
class Exceptions:
    """By position in the steps."""

    taken: frozenset[int]  #: the last step before an exception's or interrupt's handler
    repeated: frozenset[int]  #: attempts that faulted, and are no instruction of the guest's clock
    interrupts: tuple[tuple[int, int], ...]  #: the first and the last step of each interrupt's handling


def exceptions(trace: Trace, space: NDArray[np.int64]) -> Exceptions:
    """Finds them in an ordered trace. `space`: the address space of each step."""
    instructions, steps = trace.instructions, trace.steps
    address, flow, kernel = instructions["address"][steps], instructions["flow"][steps], instructions["kernel"][steps]
    following, after = address + instructions["size"][steps], np.roll(address, -1)
    elsewhere = after != following
    elsewhere[-1] = False
    goes = np.isin(flow, _GOES)
    entries = np.unique(after[elsewhere & ~goes])
    taken = np.flatnonzero(elsewhere & (~goes | np.isin(after, entries)))
    returns = np.flatnonzero((flow == Flow.IRET) | (flow == Flow.LEAVE))
    waiting: dict[int, list[int]] = {}  #: by address space
    repeated: dict[int, int] = {}  #: with the end of its handling
    interrupts: dict[int, int] = {}
    marks = sorted([(int(at), 0) for at in taken] + [(int(at), 1) for at in returns if at + 1 < len(steps)])
    for at, is_return in marks:
        here = waiting.setdefault(int(space[at]), [])
        if not is_return:
            here.append(at)
            continue
        to = int(after[at])
        for begin in reversed(here):
            if to == int(address[begin]):
                (interrupts if trace.goes_on[at + 1] else repeated)[begin] = at
            elif to == int(following[begin]) and not goes[begin]:
                interrupts[begin] = at
            else:
                continue
            here.remove(begin)
            break
        else:
            if here and goes[here[-1]] and kernel[here[-1]] == kernel[at + 1]:  # it went where no page was
                here.pop()

    faults = {int(after[begin]) for begin in repeated}
    left = [begin for here in waiting.values() for begin in here]
    abandoned = {begin for begin in left if int(after[begin]) in faults and not goes[begin]}
    asynchronous = tuple((begin + 1, end) for begin, end in interrupts.items() if int(after[begin]) not in faults)
    return Exceptions(frozenset(map(int, taken)), frozenset(abandoned | set(repeated)), asynchronous)


@dataclass(slots=True)
class _Frame:
    function: int
    back: tuple[int, ...]  #: addresses at which the caller continues
    space: int
    anywhere: bool = False  #: the caller went where no page was: its address is not known


@dataclass(slots=True)
class Walk:
    """Follows calls and returns. `function`: of each step, as an index; `space`: of each step."""

    trace: Trace
    function: NDArray[np.int64]
    space: NDArray[np.int64]
    switches: frozenset[int]  #: the functions of TASK_SWITCHES and DIRECT_SWITCHES
    direct: frozenset[int]  #: those of the latter
    taken: frozenset[int]

    def stacks(self, first: int, last: int) -> tuple[Counter[tuple[int, ...]], NDArray[np.int64], str]:
        """How many of the steps from `first` to `last` have each stack, outermost function first; the task of each
        step, 0 for that of `first`; or why the stacks are not known: at the end they must be those of the begin."""
        instructions, steps = self.trace.instructions, self.trace.steps
        flow, address, size = instructions["flow"][steps], instructions["address"][steps], instructions["size"][steps]
        turns = np.isin(flow, (Flow.CALL, Flow.RETURN, Flow.ENTER, Flow.LEAVE, Flow.IRET))
        turns[:-1] |= (np.diff(self.function) != 0) | (np.diff(self.space) != 0)
        turns[[at for at in self.taken if at < len(turns)]] = True
        readings = {at: stack for at, stack, _ in self.trace.readings}
        turns[[at - 1 for at in readings if 0 < at <= len(turns)]] = True
        turns[[first, last]] = True
        counted: Counter[tuple[int, ...]] = Counter()
        now: list[_Frame] = []
        task = tasks = 0  # the present one's number, and the last
        of_task = np.zeros(len(steps), dtype=np.int64)
        suspended: dict[int, tuple[list[_Frame], int]] = {}  # by stack pointer
        leaving: tuple[int, int] | None = None  # before a switch: the stack pointer, and the function that switches
        begin: list[int] = []
        since = first + 1
        weight = np.cumsum(~self.trace.goes_on)
        for at in np.flatnonzero(turns[: last + 1]):
            here = int(at)
            function = int(self.function[here])
            if here > first:
                path = (*(frame.function for frame in now[: STACK_DEPTH - 1]), function)
                counted[path] += int(weight[here] - weight[since - 1])
                since = here + 1
            if here == first:
                begin = [frame.function for frame in now]
            if here == last:
                break
            to = int(address[here + 1])
            back = int(address[here]) + int(size[here])
            space = int(self.space[here])
            match Flow(int(flow[here])):
                case turn if here in self.taken:
                    now.append(_Frame(function, (int(address[here]), back), space, anywhere=turn in _GOES))
                case Flow.CALL if function == self.function[here + 1] and to >= back:
                    pass  # of a retpoline, or to fill the processor's stack of returns: nothing returns there
                case Flow.CALL | Flow.ENTER:
                    now.append(_Frame(function, (back,), space))
                case Flow.RETURN | Flow.LEAVE | Flow.IRET as turn:
                    _return(now, to, int(self.space[here + 1]), of_exception=turn is Flow.IRET)
                case _:
                    pass
            if (stack := readings.get(here + 1)) is not None:
                switches = int(self.function[here + 1])
                if leaving is not None and abs(stack - leaving[0]) > NEAR:
                    suspended[leaving[0]] = now, task
                    known = next((other for other in suspended if abs(other - stack) <= NEAR), None)
                    if known is not None:
                        now, task = suspended.pop(known)
                    elif leaving[1] in self.direct:
                        now = [*now]
                    else:
                        tasks += 1
                        now, task = [], tasks
                    of_task[here + 1 :] = task
                leaving = (stack, switches) if leaving is None and switches in self.switches else None
        if begin != [frame.function for frame in now]:
            return Counter(), of_task, "the stack of calls at the end of the iteration is not that of its begin"
        return +counted, of_task, ""


def _return(frames: list[_Frame], to: int, space: int, *, of_exception: bool) -> None:
    """Ends the innermost call that continues there, and those that it made. A program's address is of one space; the
    kernel, which is in all, changes the space within a call. A return to elsewhere is a jump."""
    for place in range(len(frames) - 1, -1, -1):
        if to in frames[place].back and (to >> 63 or frames[place].space == space):
            del frames[place:]
            return
    missing = [place for place, frame in enumerate(frames) if frame.anywhere] if of_exception else []
    del frames[missing[-1] if missing else len(frames) :]
