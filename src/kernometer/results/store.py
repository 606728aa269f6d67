"""The store: a directory of result files, one per session; the names of results for users; results of other stores."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kernometer.cache import locked
from kernometer.errors import MissingError, ResultError, UsageError
from kernometer.processes import ahead
from kernometer.results import index
from kernometer.results.archive import is_archive, unpacked
from kernometer.results.compressed import chunks
from kernometer.results.index import Summary, host_key, summarize, summarize_imported
from kernometer.results.model import By, Publication, Result, Session
from kernometer.results.papers import Column, in_content, is_published, load, of_file
from kernometer.results.reader import DEFAULT, parse
from kernometer.results.writer import (
    SUFFIX,
    Kept,
    ResultWriter,
    is_growing,
    is_result,
    store_error,
    write_copy,
    write_publication,
)
from kernometer.text import printable

LABEL = "label:"
LABEL_CHARACTERS = 100
#: The file that is locked while a session is measured by time.
LOCK = "measuring.lock"

_AT = re.compile(r"@(last|\d{1,6})")


def default_folder() -> Path:
    """kernometer/results in the XDG data home. Raises ResultError if there is neither that nor a home."""
    given = os.environ.get("XDG_DATA_HOME", "")
    if given.startswith("/"):  # the XDG specification: a relative path is to be ignored
        return Path(given) / "kernometer" / "results"
    try:
        return Path.home() / ".local" / "share" / "kernometer" / "results"
    except RuntimeError as error:
        raise ResultError("There is no home directory for results.", "Name a directory with --store DIR.") from error


def read_file(path: Path) -> Result:
    """One file, stored or not. Raises ResultError, naming the file, if it cannot be read or is not a result."""
    try:
        return parse(chunks(path, DEFAULT.file_bytes + 1))
    except OSError as error:
        step = "'kernometer list' shows what is stored."
        raise ResultError(f"{path} cannot be read: {error.strerror}.", step) from error
    except ResultError as error:
        raise ResultError(f"{path}: {error.text}", error.next_step) from error


def without_core(result: Result) -> Result:
    """The result without the readings of the core's state: every sample counts."""
    return replace(result, runs=tuple(replace(run, loop_every=0) for run in result.runs))


class Store:
    """A directory of results. Reading changes nothing in it except the index, which is a copy."""

    def __init__(self, folder: Path, *, raw: bool = False) -> None:
        """`folder`: a directory, or a read-only archive of one. `raw`: results are read without the core's state."""
        self.archive = folder if folder.is_file() else None
        self.folder, self.raw = unpacked(folder) if self.archive else folder, raw
        if self.archive and not any(self.folder.iterdir()):
            raise ResultError(f"There is no result in {folder}.", f"An archive of a store has *{SUFFIX} files.")

    def writable(self) -> Path:
        """The directory. Raises UsageError if the store is an archive."""
        if self.archive:
            raise UsageError(f"{self.archive} is an archive: nothing is stored in it.", "Give a directory.")
        return self.folder

    def create(self, session: Session) -> ResultWriter:
        """A new file for that session. Raises ResultError if it cannot be created, UsageError for its label."""
        _check_label(session.label)
        return ResultWriter(self.writable(), session)

    def take(self, name: str, content: bytes) -> Path:
        """Stores a session's file that was measured elsewhere, under its own name; returns its path. Raises ResultError
        if it has no session's name, or if another session has it."""
        return write_copy(self.writable(), name, content)[0]

    def keep(self, publication: Publication) -> Path:
        """Stores an imported result; returns its file. Raises what `create` raises."""
        _check_label(publication.paper.label)
        return write_publication(self.writable(), publication)

    @contextmanager
    def measuring(self, by: By) -> Iterator[None]:
        """A lock for measuring a session by time into this store: two sessions at once would disturb each other. Raises
        ResultError if another process holds it. Sessions by path neither disturb nor are disturbed."""
        folder = self.writable()
        if by == "path":
            yield
            return
        with ExitStack() as held:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                taken = held.enter_context(locked(folder / LOCK, 0))
            except OSError as error:
                raise store_error(self.folder, error) from error
            if not taken:
                raise ResultError(
                    f"Another session is being measured into {self.folder}; two at once would disturb each other.",
                    "Wait until it is done ('kernometer list' shows it as measuring).",
                )
            yield

    def summaries(
        self,
        *,
        label: str = "",
        target: str = "",
        by: str = "",
        newest: int = 0,
        read: index.Read | None = None,
    ) -> list[Summary]:
        """Newest first; every filter that is not empty must match. A store that does not exist is empty. `read`: in
        place of the usual reading of files that are not in the index."""
        try:
            every = index.summaries(self.folder, read or partial(ahead, _summary_of))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise store_error(self.folder, error) from error
        wanted = {"label": label, "target": target, "by": by}
        wanted = {key: value for key, value in wanted.items() if value}
        kept = [each for each in every if all(getattr(each, key) == value for key, value in wanted.items())]
        return kept[:newest] if newest else kept

    def derived(self, make: Callable[[Result], bytes], what: str, **wanted: Any) -> Iterator[bytes]:
        """What `make` makes of every session with runs, newest first, from the index if it is there; `what` names
        function and version, `wanted` are filters of `summaries`. A file that is new to the index is read once."""
        fresh: dict[Path, bytes] = {}

        def read(paths: Sequence[Path]) -> Iterator[Summary | MissingError]:
            for path, (summary, content) in zip(paths, ahead(partial(_both_of, make=make), paths), strict=True):
                fresh.update({path: content} if content is not None else {})
                yield summary

        def made(paths: Sequence[Path]) -> Iterator[bytes]:
            others = ahead(lambda path: make(read_file(path)), [path for path in paths if path not in fresh])
            return (fresh.pop(path) if path in fresh else next(others) for path in paths)

        summaries = self.summaries(**wanted, read=read)
        paths = [each.path for each in summaries if each.runs and not (each.problem or each.growing)]
        return index.derived(self.folder, paths, what, made)

    def resolve(self, name: str) -> Path:
        """The file of RESULT: an id, the beginning of one, a label (its newest), @last, @1, a path. Raises ResultError
        if there is none, or more than one."""
        if name.startswith(LABEL):
            return self.resolve_set(name)[0]
        if is_published(name):
            raise ResultError(
                f"{printable(name, 80)} is a published table: it has no samples, and this command needs samples.",
                "'kernometer show', 'compare' and 'figure' take it.",
            )
        if "/" in name or is_result(name):
            return self._existing(Path(name))
        summaries = [summary for summary in self.summaries() if not summary.problem]
        if name.startswith("@"):
            return _at(name, [summary for summary in summaries if not summary.growing]).path
        same_id = [summary for summary in summaries if summary.id == name]
        if same_id:  # a copy of a file has the same id: prefer the file that is named after it
            return next((summary.path for summary in same_id if summary.path.name == name + SUFFIX), same_id[0].path)
        for summary in summaries:
            if name and summary.label == name:
                return summary.path
        return self._by_beginning(name, summaries)

    def resolve_set(self, name: str) -> tuple[Path, ...]:
        """All files of RESULT, newest first: for `label:NAME` a set of sessions, else one. `label:NAME@TARGET` means
        the sessions of the set that ran on that target."""
        if not name.startswith(LABEL):
            return (self.resolve(name),)
        label, target = name.removeprefix(LABEL), ""
        ended = [summary for summary in self.summaries() if not summary.problem and not summary.growing]
        paths = tuple(summary.path for summary in ended if label and summary.label == label)
        if not paths:  # a label may contain an @ itself
            label, _, target = label.partition("@")
            paths = tuple(
                summary.path for summary in ended if label and (summary.label, summary.target) == (label, target)
            )
        if not paths:
            on = f" on the target {printable(target, 80)!r}" if target else ""
            raise ResultError(
                f"No stored session has the label {printable(label, 80)!r}{on}.", "'kernometer list' shows the labels."
            )
        return paths

    def read(self, path: Path) -> Result:
        """As `read_file`; without the core's state if the store is `raw`."""
        return self.as_read(read_file(path))

    def as_read(self, result: Result) -> Result:
        """A result that was just measured, as `read` would return it."""
        return without_core(result) if self.raw else result

    def load(self, name: str) -> Result:
        return self.read(self.resolve(name))

    def load_set(self, name: str) -> tuple[Result, ...]:
        """As `resolve_set`, read."""
        return tuple(self.read(path) for path in self.resolve_set(name))

    def parted(self, name: str) -> tuple[tuple[Path, ...], tuple[Publication, ...]]:
        """The sessions that RESULT means, and the results of other suites; of a published table neither."""
        paths = () if is_published(name) else self.resolve_set(name)
        publications = {path: of_file(path) for path in paths}
        sessions = tuple(path for path, publication in publications.items() if publication is None)
        return sessions, tuple(each for each in publications.values() if each is not None and each.paper.suite)

    def column(self, name: str) -> Column | None:
        """The published table or the imported result of RESULT; None if it means sessions. Raises ResultError for an
        unknown name, UsageError for several imported results."""
        if is_published(name):
            return load(name)
        paths = self.resolve_set(name)
        publication = of_file(paths[0])
        if publication is None:
            return None
        if len(paths) > 1:
            raise UsageError(f"{name} is {len(paths)} results without samples.", "Give one: 'kernometer list'.")
        paper = publication.paper
        return Column(name, publication, paper.systems[0].system if paper.suite and paper.systems else "")

    def history(self, *likes: Result, newest: int = 30) -> Iterator[Result]:
        """Other complete sessions of the hosts of `likes`, with the same target, probe, way of taking time and profile:
        the `newest` of each such kind, newest first. Sides of an `ab`, which were measured in blocks, are left out."""
        judged = {like.session.id for like in likes}
        kinds = ((*_place(like), like.build, like.session.profile) for like in likes)
        left: dict[tuple[str, ...], int] = dict.fromkeys(kinds, newest)
        for summary in self.summaries():
            kind = (summary.host, summary.target, summary.by, summary.probe, summary.profile)
            if summary.complete and not summary.experiment and summary.id not in judged and left.get(kind):
                left[kind] -= 1
                yield self.read(summary.path)

    def earlier_probe(self, like: Result) -> Summary | None:
        """The last session before `like` on its host and target, if another build of the probe measured it."""
        before = [summary for summary in self.summaries() if summary.probe and summary.started < like.session.started]
        last = next((summary for summary in before if (summary.host, summary.target, summary.by) == _place(like)), None)
        return last if last is not None and last.probe != like.build else None

    def rotated(self, machines: int, *, newest: int = 5) -> Iterator[Result]:
        """Sessions by path of every kernel that one probe counted on at least so many machines of one board: for each
        machine the `newest` of each size. Layout floors are computed from them."""
        groups: dict[tuple[str, str, str], dict[tuple[str, str, int], list[Path]]] = {}
        for summary in self.summaries(by="path"):
            if summary.complete and summary.image and summary.board and not summary.experiment:
                alike = groups.setdefault((summary.image, summary.board, summary.probe), {})
                alike.setdefault((summary.machine, summary.profile, summary.rows), []).append(summary.path)
        for group in groups.values():
            if len({machine for machine, _profile, _rows in group}) >= machines:
                yield from (self.read(path) for paths in group.values() for path in paths[:newest])

    def remove(self, names: Sequence[str], *, sets: bool) -> list[Path]:
        """Removes the files of the names, or none if one cannot be removed; returns the removed files. Raises
        UsageError for a file outside the store, and without `sets` for a name that means several sessions."""
        self.writable()
        paths = {path: name for name in names for path in self.resolve_set(name)}
        for path, name in paths.items():
            shown = printable(name, 80)
            if path.parent.resolve() != self.folder.resolve():
                raise UsageError(f"{shown} is not in the store {self.folder}.", "Remove the file with rm.")
            if is_growing(path):
                raise UsageError(f"{shown} is being measured.", "Stop it first with Ctrl-C.")
            if not sets and [*paths.values()].count(name) > 1:
                raise UsageError(f"{shown} is {[*paths.values()].count(name)} sessions.", "To remove them all: --yes.")
        try:
            for path in paths:
                path.unlink()
        except OSError as error:
            raise store_error(self.folder, error) from error
        return [*paths]

    def _existing(self, path: Path) -> Path:
        if path.exists() or (self.folder / path).exists():
            return path if path.exists() else self.folder / path
        raise ResultError(f"There is no file {printable(str(path))}.", "'kernometer list' shows what is stored.")

    def _by_beginning(self, name: str, summaries: list[Summary]) -> Path:
        matching = [summary for summary in summaries if name and summary.id.startswith(name)]
        if len(matching) == 1:
            return matching[0].path
        shown = printable(name, 80)
        if not matching:
            if Path(name).is_file():
                return Path(name)
            on = f" --on {shown}" if ":" in name else ""  # a target
            raise ResultError(
                f"No result in {self.folder} has the id or the label {shown!r}.",
                f"'kernometer list' shows what is stored; 'kernometer run{on}' measures.",
            )
        some = ", ".join(printable(summary.id, 60) for summary in matching[:5]) + (", …" if len(matching) > 5 else "")
        raise ResultError(f"{len(matching)} results begin with {shown!r}: {some}.", "Give more of the id.")


def _place(result: Result) -> tuple[str, str, str]:
    return host_key(result), result.session.target, result.session.by


def _check_label(label: str) -> None:
    """Raises UsageError for a label that cannot be used as RESULT."""
    if len(label) > LABEL_CHARACTERS or not label.isprintable() or label.startswith((LABEL, "@", "-")) or "/" in label:
        raise UsageError(
            f"{printable(label, 80)!r} cannot be a label.",
            f"Use up to {LABEL_CHARACTERS} printable characters without '/', not beginning with '{LABEL}', '@' or '-'.",
        )


def _summary_of(path: Path) -> Summary | MissingError:
    return _both_of(path)[0]


def _both_of(path: Path, make: Callable[[Result], bytes] | None = None) -> tuple[Summary | MissingError, bytes | None]:
    """A file's summary and what `make` makes of it, if it is a session."""
    try:
        imported = of_file(path)
        if imported:
            return summarize_imported(path, imported), None
        result = read_file(path)
        return summarize(path, result), make(result) if make else None
    except ResultError as error:
        return Summary(path=path, problem=error.text), None
    except MissingError as error:
        return error, None


def _at(name: str, summaries: list[Summary]) -> Summary:
    match = _AT.fullmatch(name)
    if match is None:
        raise ResultError(f"{printable(name, 40)} is not a place in the list.", "Give @last, @1, @2, …")
    place = 0 if match[1] == "last" else int(match[1])
    if place >= len(summaries):
        raise ResultError(
            f"There is no {name}: {len(summaries)} results are stored.",
            "'kernometer run' measures this machine; 'kernometer list' shows what is stored.",
        )
    return summaries[place]


@dataclass(frozen=True, slots=True)
class Taken:
    """The outcome for one file."""

    source: Path
    kept: Kept | None = None
    problem: str = ""  #: why it was not taken


def results_in(source: Path) -> list[Path]:
    """The result files of a directory, of its sub-directories and of the archives in them (one that cannot be read is
    itself in the list); of an archive; or the file itself. Raises ResultError if `source` cannot be read."""
    if is_archive(source.name):
        return results_in(unpacked(source))
    if not source.is_dir():
        return [source]
    try:
        files = sorted(path for path in source.rglob("*") if path.is_file())
    except OSError as error:
        raise ResultError(f"{source} cannot be read: {error.strerror}.", "Give the directory of a store.") from error
    results = [path for path in files if is_result(path.name)]
    for path in filter(lambda path: is_archive(path.name), files):
        try:
            results += results_in(path)
        except ResultError:
            results.append(path)
    return results


def merge(folder: Path, sources: Iterable[Path]) -> Iterator[Taken]:
    """Copies each file into the store under its result's id, byte for byte; the sources stay as they are.

    A result that is there already stays, even if the source is a beginning of it; if it is a beginning of the source,
    the source replaces it. Of two different results with one id the one there stays.
    """
    for source in sources:
        try:
            yield Taken(source, _taken(folder, source))
        except (ResultError, MissingError) as error:
            yield Taken(source, problem=error.text)


def _taken(folder: Path, source: Path) -> Kept:
    if is_growing(source):
        raise ResultError("It is being measured.")
    try:
        content = b"".join(chunks(source, DEFAULT.file_bytes + 1))
    except OSError as error:
        raise ResultError(f"It cannot be read: {error.strerror}.") from error
    if len(content) > DEFAULT.file_bytes:
        raise ResultError(f"It is over {DEFAULT.file_bytes:,} bytes.")
    publication = in_content(content)
    name = publication.paper.name if publication else parse([content]).session.id
    return write_copy(folder, name + SUFFIX, content)[1]
