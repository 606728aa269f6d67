"""Findings about memory: pages that change size, move to disk, or lie elsewhere in each process."""

from __future__ import annotations

from kernometer.host.finding import Finding
from kernometer.host.tree import Tree, chosen, whole

HUGE = "sys/kernel/mm/transparent_hugepage/enabled"


def memory_findings(tree: Tree) -> tuple[Finding, ...]:
    """Huge pages, swap, address-space layout."""
    return (huge_pages(tree), swap(tree), layout(tree))


def memory_bytes(tree: Tree, name: str) -> int | None:
    """One line of /proc/meminfo in bytes; None where it is not there or no number."""
    number = whole(tree.fields("proc/meminfo").get(name, "").removesuffix("kB").strip())
    return None if number is None else number * 1024


def huge_pages(tree: Tree) -> Finding:
    """Transparent huge pages: with `always` a fault maps 1 page or 512, by what memory happens to be free."""
    value = chosen(tree.text(HUGE))
    if not value:
        return Finding("huge pages", "not visible", "Whether pages are merged is not told.", "", "unknown")
    if value != "always":
        return Finding("huge pages", value, "", "", "ok")
    return Finding(
        "huge pages",
        value,
        "A fault maps one page or hundreds, by what memory is free: memory rows have two speeds.",
        f"echo madvise | sudo tee /{HUGE}",
        "disturbs",
    )


def swap(tree: Tree) -> Finding:
    """Swap: a page that was moved to disk costs milliseconds at its next touch."""
    total, free = memory_bytes(tree, "SwapTotal"), memory_bytes(tree, "SwapFree")
    if total is None or free is None:
        return Finding("swap", "not visible", "Whether pages move to disk is not told.", "", "unknown")
    if total == 0:
        return Finding("swap", "none", "", "", "ok")
    used = max(0, total - free)
    value = f"{used >> 20} of {total >> 20} MiB used"
    if used == 0:
        return Finding("swap", value, "", "", "ok")
    return Finding("swap", value, "A page that was moved to disk is read back when touched.", "sudo swapoff -a", "note")


def layout(tree: Tree) -> Finding:
    """Address-space layout randomisation: each process has other cache and page conflicts."""
    value = tree.number("proc/sys/kernel/randomize_va_space")
    if value is None:
        return Finding("address layout", "not visible", "Whether it is random is not told.", "", "unknown")
    if value == 0:
        return Finding("address layout", "fixed", "Every run shares one layout and its luck.", "", "note")
    return Finding(
        "address layout",
        "random",
        "Each process lies elsewhere and meets other conflicts: runs differ, and many runs average it.",
        "To hold it fixed: kernometer run --on 'wrap:setarch -R'",
        "note",
    )
