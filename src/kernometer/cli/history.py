"""`kernometer list --history`: since when rows cost what they cost: on the terminal, as a page, for other charts."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import msgpack

from kernometer.cache import sha256
from kernometer.cli.env import Env
from kernometer.errors import UsageError
from kernometer.explain.functions import Breakdown, Difference, breakdowns, difference
from kernometer.report.store import benchmark_action, since
from kernometer.report.store.changes import blocks, document, largest
from kernometer.report.write.file import write
from kernometer.results.commits import Commit, commit_names, commits
from kernometer.results.model import Result
from kernometer.results.rows import Row
from kernometer.results.store import Store
from kernometer.stats.changes import Course, Past, courses, past


def command(
    env: Env,
    rows: tuple[str, ...],
    report_file: Path | None,
    data_file: Path | None,
    tree: Path | None,
    wanted: Mapping[str, Any],
) -> None:
    pasts = [*_pasts(env.store(), wanted)]
    known = _commits(pasts, tree) if tree else {}
    if tree:
        env.say(f"{len(known)} of {len(pasts)} sessions name a commit of {tree}.")
        pasts = [_placed(each, known[each.entry.session]) for each in pasts if each.entry.session in known]
    shown = [course for course in courses(pasts) if not rows or any(Row(course.row).is_named(word) for word in rows)]
    if not shown:
        step = "A session's label, or -gHASH in its kernel's release, names its commit: kernometer run --label HASH"
        told = "'kernometer list' and 'kernometer show' tell what is."
        raise UsageError("No stored session has such a row.", step if tree and not known else told)
    env.answer(lambda: document(shown), blocks(shown, every=bool(rows)))
    if report_file is not None:
        write(report_file, since.render(shown, known, _functions(env.store(), pasts, shown)))
        env.say(f"The report is in {report_file}.")
    if data_file is not None:
        before = data_file.read_text(encoding="utf-8") if data_file.is_file() else ""
        all_of_them = data_file.suffix == ".js"
        data = benchmark_action.data_js(shown, known, before) if all_of_them else benchmark_action.newest(shown)
        if data is None:
            raise UsageError(f"{data_file} is there, and is no data.js of github-action-benchmark.", "Name another.")
        write(data_file, data, "data for the chart")


def _pasts(store: Store, wanted: Mapping[str, Any]) -> Iterator[Past]:
    """What the sessions say of their rows, from the index; anew if the code that makes figures is another."""
    folder = Path(__file__).parents[1]
    code = b"".join(path.read_bytes() for part in ("results", "stats") for path in sorted((folder / part).glob("*.py")))

    def packed(result: Result) -> bytes:
        return zlib.compress(msgpack.encode(past(result)), 1)

    decoder = msgpack.Decoder(Past)
    for content in store.derived(packed, sha256(code), **wanted):
        yield decoder.decode(zlib.decompress(content))


def _commits(pasts: Sequence[Past], tree: Path) -> dict[str, Commit]:
    """By session; of several names that mean commits the first counts."""
    names = {each.entry.session: commit_names(each.label, each.entry.kernel) for each in pasts}
    known = commits(tree, (name for several in names.values() for name in several))
    by_session = {session: [known[name] for name in several if name in known] for session, several in names.items()}
    return {session: commits_of[0] for session, commits_of in by_session.items() if commits_of}


def _placed(each: Past, commit: Commit) -> Past:
    return replace(each, place=commit.place, facts={"commit": commit.words, **each.facts})


def _functions(
    store: Store, pasts: Sequence[Past], shown: Sequence[Course]
) -> dict[tuple[str, since.Sides], Difference]:
    """The functions that make the changes on the page, where both sessions have profiles of the row."""
    profiled = {each.entry.session: each.profiled for each in pasts}
    paths = {each.id: each.path for each in store.summaries()} if any(profiled.values()) else {}

    @lru_cache(maxsize=4)  # changes are in the order of sessions
    def functions_of(session: str) -> Mapping[str, Breakdown]:
        return breakdowns(store.read(paths[session]))

    wanted = [
        (course.points[change.at].started, since.sides(course, change), course.row)
        for course in shown
        for change in largest(course)
    ]
    made = {}
    for _started, (a, b), row in sorted(wanted):
        if row in profiled[a] and row in profiled[b]:
            made_by = difference(functions_of(a).get(row), functions_of(b).get(row))
            if made_by is not None:
                made[row, (a, b)] = made_by
    return made
