"""Findings about memory: huge pages, swap, and address-space layout."""

from __future__ import annotations

from kernometer.host.finding import Finding
from kernometer.host.tree import Tree, chosen, whole

HUGE = "sys/kernel/mm/transparent_hugepage/enabled"


def memory_findings(tree: Tree) -> tuple[Finding, ...]:
    """Huge pages, swap, address-space layout."""
    return (huge_pages(tree), swap(tree), layout(tree))


def memory_bytes(tree: Tree, name: str) -> int | None:
    """One line of /proc/meminfo in bytes; None if it is missing or no number."""
    number = whole(tree.fields("proc/meminfo").get(name, "").removesuffix("kB").strip())
    return None if number is None else number * 1024


def huge_pages(tree: Tree) -> Finding:
    """Transparent huge pages: with `always` a fault maps 1 page or 512, depending on free memory."""
    value = chosen(tree.text(HUGE))
    if not value:
        return Finding("huge pages", "not visible", "This host does not report huge pages.", "", "unknown")
    if value != "always":
        return Finding("huge pages", value, "", "", "ok")
    return Finding(
        "huge pages",
        value,
        "A fault maps one page or hundreds, depending on free memory: memory rows have two speeds.",
        f"echo madvise | sudo tee /{HUGE}",
        "disturbs",
    )


def swap(tree: Tree) -> Finding:
    """Swap: the next touch of a page on disk takes milliseconds."""
    total, free = memory_bytes(tree, "SwapTotal"), memory_bytes(tree, "SwapFree")
    if total is None or free is None:
        return Finding("swap", "not visible", "This host does not report whether pages move to disk.", "", "unknown")
    if total == 0:
        return Finding("swap", "none", "", "", "ok")
    used = max(0, total - free)
    value = f"{used >> 20} of {total >> 20} MiB used"
    if used == 0:
        return Finding("swap", value, "", "", "ok")
    return Finding("swap", value, "A page on disk is read back when touched.", "sudo swapoff -a", "note")


def layout(tree: Tree) -> Finding:
    """Address-space layout randomisation: cache and page conflicts differ between processes."""
    value = tree.number("proc/sys/kernel/randomize_va_space")
    if value is None:
        return Finding("address layout", "not visible", "This host does not report its randomisation.", "", "unknown")
    if value == 0:
        return Finding("address layout", "fixed", "All runs have the same layout, with the same conflicts.", "", "note")
    return Finding(
        "address layout",
        "random",
        "Each process has other addresses and conflicts: runs differ, and many runs average this out.",
        "To fix it: kernometer run --on 'wrap:setarch -R'",
        "note",
    )
