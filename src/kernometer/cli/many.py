"""Prints the failures of commands that measure many targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernometer.cli.env import Env
from kernometer.errors import TargetError
from kernometer.text import printable

if TYPE_CHECKING:
    from kernometer.campaign.many import Outcome

#: How many lines of a dead target's output are shown: the last ones, which tell most.
LAST_LINES = 5
#: Characters of one line.
LINE = 300


def tell_errors(env: Env, outcomes: Sequence[Outcome]) -> None:
    """Prints each target that failed: why, what to do, its last output."""
    for outcome in outcomes:
        error = outcome.error
        if error is None:
            continue
        env.say(printable(f"{outcome.target}: {outcome.why}", 2 * LINE))
        if error.next_step:
            env.say(f"  next: {printable(error.next_step, LINE)}")
        if isinstance(error, TargetError):
            for line in error.last_output.splitlines()[-LAST_LINES:]:
                env.say(f"  | {printable(line, LINE)}")
