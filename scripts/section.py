"""A part of a page that a script writes: what stands between its two markers."""

from __future__ import annotations


def written(page: str, script: str, text: str) -> str:
    """The page with `text` between the markers of this script. Raises ValueError where the page has them not."""
    begin, end = f"<!-- {script}: begin; written by it -->", f"<!-- {script}: end -->"
    head, found_begin, rest = page.partition(begin)
    _, found_end, foot = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"the page has no place for it: {begin} … {end}")
    return f"{head}{begin}\n\n{text.strip()}\n\n{end}{foot}"
