"""Lists in one argument, split at commas that separate: targets and rows contain commas of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernometer.targets.parse import FORMS

_KINDS = tuple(form.partition(":")[0] for form, _ in FORMS)
#: A comma before a kind of target: `qemu:linux-6.1+cpu=max,-erms,local` is two.
_TARGETS = re.compile(rf",(?=(?:{'|'.join(_KINDS)})(?::|,|$))")
#: A comma before a family's slash: `ctx/ring@procs=8,token=0,syscall/*` is two.
_WORKLOADS = re.compile(r",(?=[^,@=]*/)")


def is_target(word: str) -> bool:
    """Whether a word names a target: no workload begins with a kind of them."""
    return word.partition(":")[0] in _KINDS


def targets(words: Iterable[str]) -> tuple[str, ...]:
    """The targets that `--on A,B --on C` names, each once, in order."""
    return _each(words, _TARGETS)


def workloads(words: Iterable[str]) -> tuple[str, ...]:
    """The workloads, rows and patterns that `--workloads A,B` names."""
    return _each(words, _WORKLOADS)


def _each(words: Iterable[str], comma: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for word in words for part in comma.split(word) if part))
