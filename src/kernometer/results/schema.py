"""The JSON schema of one line of a result file, by the model: `python -m kernometer.results.schema` prints it."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from kernometer.results.model import FORMAT, AnyRecord


def schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of one line. It is stricter than the reader: it refuses what this version does not write."""
    (root,), parts = msgspec.json.schema_components((AnyRecord,), ref_template="#/$defs/{name}")
    for part in parts.values():
        if part.get("type") == "object" and "properties" in part:
            part["additionalProperties"] = False
    _finish(parts)
    root.pop("discriminator", None)  # OpenAPI's, not JSON Schema's
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a Kernometer result file, format {FORMAT}",
        "description": "docs/format.md says what each field means and which line stands where.",
        **root,
        "$defs": dict(sorted(parts.items())),
    }


def _finish(node: Any) -> None:
    """Removes docstrings, and names that depend on the module's layout."""
    if isinstance(node, dict):
        if isinstance(node.get("title"), str):
            node.pop("title")
            node.pop("description", None)
        for value in node.values():
            _finish(value)
    elif isinstance(node, list):
        for value in node:
            _finish(value)


def text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
