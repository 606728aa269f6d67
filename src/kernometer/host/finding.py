"""What a look at this host gives: findings, facts, and the record of both that a session keeps."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

#: `ok`: nothing to do. `note`: it shapes the figures, evenly. `disturbs`: it makes figures wander. `unknown`: not told.
Severity = Literal["ok", "note", "disturbs", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that may disturb measuring."""

    name: str  #: a constant word or two: "governor", "huge pages"
    value: str  #: as this host has it
    effect: str  #: how that disturbs, one sentence; "" where it does not
    advice: str  #: a command to copy, or a sentence, which ends with a full stop; "" where nothing is to do
    severity: Severity


@dataclass(frozen=True, slots=True)
class HostReport:
    """Findings in a fixed order, and what the host is."""

    findings: tuple[Finding, ...]
    facts: dict[str, Any] = field(default_factory=dict)  #: name → string, number, or a flat dict of them

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity, in order."""
        return tuple(finding for finding in self.findings if finding.severity == severity)

    def as_record(self) -> dict[str, Any]:
        """For `Session.host`: {"findings": [{name, value, effect, advice, severity}, …], "facts": {…}}."""
        return {"findings": [asdict(finding) for finding in self.findings], "facts": dict(self.facts)}
