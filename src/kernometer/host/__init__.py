"""The findings and facts of this host, and their record in a session."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

#: `ok`: nothing to do. `note`: shifts all figures evenly. `disturbs`: makes figures vary. `unknown`: not known.
Severity = Literal["ok", "note", "disturbs", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition that may disturb measuring."""

    name: str  #: one or two constant words: "governor", "huge pages"
    value: str  #: this host's value
    effect: str  #: how it disturbs, one sentence; "" if it does not
    advice: str  #: a command to copy, or a sentence with a full stop; "" if nothing is to be done
    severity: Severity


@dataclass(frozen=True, slots=True)
class HostReport:
    """Findings in a fixed order, and what the host is."""

    findings: tuple[Finding, ...]
    facts: dict[str, Any] = field(default_factory=dict)  #: name → string, number, or a flat dict of them

    def with_severity(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == severity)

    def as_record(self) -> dict[str, Any]:
        """For `Session.host`: {"findings": [{name, value, effect, advice, severity}, …], "facts": {…}}."""
        return {"findings": [asdict(finding) for finding in self.findings], "facts": dict(self.facts)}
