"""What commands that measure many targets say of those that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernometer.cli.env import Env
from kernometer.errors import TargetError
from kernometer.text import printable

if TYPE_CHECKING:
    from kernometer.campaign.many import Outcome

#: Lines of a dead target's output: its end says most.
LAST_LINES = 5
#: Characters of one line.
LINE = 300


def tell_errors(env: Env, outcomes: Sequence[Outcome]) -> None:
    """Each target that did not come to its end: why, what to do, what it last said."""
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
