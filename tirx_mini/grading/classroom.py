"""A class: every hand-in of a folder, graded by several threads, and gone on with where it was interrupted.

What is known of a hand-in is one file, which is written whole or not at all. So whenever the process is ended, even by
SIGKILL, the next one grades what is missing, and the tables at the end are the same.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from .files import write_whole
from .handin import HandIn, HandInError, read_handin
from .results import Graded, points_text
from .similar import Likeness, Prints, likenesses
from .text import plain_line

FORMAT, VERSION = "tirx_mini class record", 1
SUFFIXES = (".py", ".tar", ".tar.gz", ".tgz")
"""Of the files that are hand-ins; so are folders."""
RECORDS, REPORTS, KERNELS = "records", "reports", "kernels"
"""Folders of the output: what is known of each hand-in, its reports, and what is known of each kernel."""


@dataclass(frozen=True)
class Entry:
    """A file or folder that one student handed in. name: unique in the class, and fit for the name of a file."""

    name: str
    path: Path


@dataclass(frozen=True)
class Outcome:
    """What came of one hand-in. prints: by step, of its kernels, for the list of likenesses."""

    graded: Graded
    prints: Mapping[int, Prints] = field(default_factory=dict)


Grader = Callable[[HandIn], Outcome]
"""Grades one hand-in. It is called by several threads at a time."""
GradeAll = Callable[[Mapping[str, HandIn]], Iterable[tuple[str, Outcome | Exception]]]
"""Grades hand-ins by name, and yields the outcome of each, or the error in its place, as soon as it is there."""


@dataclass(frozen=True)
class Standing:
    """How far the class is. done: of `among` hand-ins, those just now and those known before. last: the newest."""

    done: int
    among: int
    last: Outcome | None = None


@dataclass(frozen=True)
class Class:
    """The end. outcomes: by name. failed: hand-ins that the grader itself failed at, with its error."""

    outcomes: Mapping[str, Outcome]
    failed: Mapping[str, str]
    alike: tuple[Likeness, ...]


def entries_of(folder: Path) -> tuple[list[Entry], list[str]]:
    """The hand-ins in a folder, by name, and the names of files that are none. Hidden files are neither.

    Raises `HandInError` where there is no such folder, or none in it.
    """
    if not folder.is_dir():
        raise HandInError(f"{folder} is not a folder; name the folder that has the hand-ins")
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    found = [path for path in paths if path.is_dir() or path.name.endswith(SUFFIXES)]
    if not found:
        raise HandInError(f"{folder} has no hand-ins: files that end in {', '.join(SUFFIXES)}, or folders with one")
    names = [_name(path, found) for path in found]
    return [Entry(*each) for each in zip(names, found, strict=True)], [p.name for p in paths if p not in found]


def grade_class(
    entries: Sequence[Entry],
    out: Path,
    grade_all: GradeAll,
    *,
    settings: str,
    not_graded: Callable[[str, str], Graded],
    common: Mapping[int, Prints],
    watch: Callable[[Standing], None] = lambda standing: None,
) -> Class:
    """Grade what `out` does not know yet, and return all.

    settings: a digest of whatever else the scores depend on: a record of other settings is graded again.
    not_graded: makes the grade of a hand-in that cannot be read of its name and the problem.
    common: by step, prints that say nothing, as those of the references.
    """
    for name in (RECORDS, REPORTS):
        (out / name).mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, Outcome] = {}
    todo: dict[str, HandIn] = {}
    keys: dict[str, str] = {}
    for entry in entries:
        try:
            handin = read_handin(entry.path)
        except HandInError as error:
            outcomes[entry.name] = Outcome(not_graded(entry.path.name, str(error)))
            continue
        keys[entry.name] = _key(handin, settings)
        known = read_record(out / RECORDS / f"{entry.name}.json", keys[entry.name])
        if known is None:
            todo[entry.name] = handin
        else:
            outcomes[entry.name] = known
    failed: dict[str, str] = {}
    watch(Standing(len(outcomes), len(entries)))
    for name, made in grade_all(todo) if todo else ():
        if isinstance(made, Exception):
            failed[name] = plain_line(f"{type(made).__name__}: {made}")
        else:
            write_whole(out / RECORDS / f"{name}.json", _record(made, keys[name]))
            outcomes[name] = made
        watch(Standing(len(outcomes) + len(failed), len(entries), outcomes.get(name)))
    ordered = {entry.name: outcomes[entry.name] for entry in entries if entry.name in outcomes}
    return Class(ordered, failed, tuple(_alike(ordered, common)))


def in_threads(grader: Grader, jobs: int) -> GradeAll:
    """Grades `jobs` hand-ins at a time. An interruption drops those that have not begun."""

    def grade_all(todo: Mapping[str, HandIn]) -> Iterator[tuple[str, Outcome | Exception]]:
        with ThreadPoolExecutor(jobs, thread_name_prefix="grade") as pool:
            names = {pool.submit(grader, handin): name for name, handin in todo.items()}
            try:
                for future in as_completed(names):
                    error = future.exception()
                    yield names[future], error if isinstance(error, Exception) else future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    return grade_all


# -- what is known -----------------------------------------------------------------------------------------------------


def _key(handin: HandIn, settings: str) -> str:
    """A digest of all that the outcome of a hand-in depends on."""
    return hashlib.sha256(json.dumps([settings, handin.digest, handin.file, handin.modified]).encode()).hexdigest()


def _record(outcome: Outcome, key: str) -> str:
    prints = {str(step): sorted(found) for step, found in outcome.prints.items()}
    return json.dumps(
        {"format": FORMAT, "version": VERSION, "key": key, "graded": outcome.graded.as_dict(), "prints": prints}
    )


def read_record(path: Path, key: str) -> Outcome | None:
    """What a file knows of the hand-in of a key; None where it knows nothing, or not this."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if (data["format"], data["version"], data["key"]) != (FORMAT, VERSION, key):
            return None
        prints = {int(step): frozenset(map(int, found)) for step, found in data["prints"].items()}
        return Outcome(Graded.from_dict(data["graded"]), prints)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _name(path: Path, among: Sequence[Path]) -> str:
    """The name without its suffix where that is the only one, in letters that every file system takes."""
    stem = _stem(path)
    name = stem if [_stem(other).lower() for other in among].count(stem.lower()) == 1 else path.name
    plain = re.sub(r"[^\w.@+-]", "_", name, flags=re.ASCII)[:80]
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    return plain if plain == name else f"{plain}-{digest[:8]}"


def _stem(path: Path) -> str:
    suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), "")
    return path.name if path.is_dir() else path.name.removesuffix(suffix)


def _alike(outcomes: Mapping[str, Outcome], common: Mapping[int, Prints]) -> list[Likeness]:
    digests = {name: outcome.graded.digest for name, outcome in outcomes.items() if outcome.graded.digest}
    return likenesses({name: outcomes[name].prints for name in digests}, common, digests)


# -- tables ------------------------------------------------------------------------------------------------------------


def grades_csv(found: Class, steps: Sequence[int]) -> str:
    """A row for each hand-in: its score, that of each step, and why nothing was graded."""
    of_steps = [f"step {step}" for step in steps]
    rows: list[list[str]] = [["hand-in", "score", "of", *of_steps, "days late", "problem", "sha256"]]
    for name, outcome in found.outcomes.items():
        graded = outcome.graded
        scores = {step.step: points_text(step.score) for step in graded.steps}
        late = str(graded.late.days) if graded.late is not None else ""
        row = [name, points_text(graded.score), points_text(graded.total), *(scores.get(step, "") for step in steps)]
        rows.append([*row, late, " ".join(graded.problem.split()), graded.digest])
    rows += [[name, *[""] * (len(steps) + 3), f"not graded: {error}", ""] for name, error in found.failed.items()]
    return _csv(rows)


def alike_csv(alike: Sequence[Likeness]) -> str:
    """A row for each pair of hand-ins that are alike."""
    rows = [["hand-in", "and", "share", "same file", "steps"]]
    for pair in alike:
        steps = " ".join(f"{step}:{share:.2f}" for step, share in pair.steps)
        rows.append([pair.first, pair.second, f"{pair.share:.2f}", "yes" if pair.same_file else "", steps])
    return _csv(rows)


def _csv(rows: Sequence[Sequence[str]]) -> str:
    """The rows as CSV. A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([list(map(_cell, row)) for row in rows])
    return stream.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
