"""Grading of a class: the hand-ins of a folder, in several threads, resumable after an interruption.

The record of a hand-in is one atomically written file. After any end of the process, even by SIGKILL, the next process
grades the missing hand-ins, and the final tables are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import field
from pathlib import Path

from tirx_mini.files import write_whole
from tirx_mini.records import dataclass, replace

from .entries import Entry
from .handin import HandIn, HandInError, read_handin
from .results import Graded
from .rules import NEVER_LATE, Lateness
from .scoring import with_lateness
from .similar import Likeness, Prints, likenesses
from .submitted import Times, own_times
from .text import plain_line, shown_name

FORMAT, VERSION = "tirx_mini class record", 1
RECORDS, REPORTS, KERNELS = "records", "reports", "kernels"
"""The output folders: the record of each hand-in, its reports, and the record of each kernel."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one hand-in. prints: the prints of its kernels by step, for similarity."""

    graded: Graded
    prints: Mapping[int, Prints] = field(default_factory=dict)


Grader = Callable[[HandIn], Outcome]
"""The function that grades one hand-in, called by several threads concurrently."""
GradeAll = Callable[[Mapping[str, HandIn]], Iterable[tuple[str, Outcome | Exception]]]
"""The function that grades hand-ins by name, and yields each outcome, or its error, on completion."""


@dataclass(frozen=True)
class Standing:
    """The progress of the class. done: the graded hand-ins of `among`, new and known. last: the newest."""

    done: int
    among: int
    last: Outcome | None = None


@dataclass(frozen=True)
class Class:
    """The final result, by entry name.

    failed: hand-ins that the grader itself failed at, with its error. files: the name of each file or folder, as it is.
    times: when each was handed in, in seconds since 1970; None if that is not known.
    """

    outcomes: Mapping[str, Outcome]
    failed: Mapping[str, str]
    alike: tuple[Likeness, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def not_graded(self) -> Mapping[str, str]:
        """Return the hand-ins without a score, with reasons: the grader failed at a whole hand-in, or at a step."""
        steps = {name: each.graded.why_not for name, each in self.outcomes.items() if each.graded.not_graded}
        return {**steps, **self.failed}

    def shown(self, name: str) -> str:
        """Return the displayed name of a hand-in: the file's name if its reports' names use other letters."""
        file = self.files.get(name, name)
        return name if file.startswith(name) else shown_name(file)


def grade_class(
    entries: Sequence[Entry],
    out: Path,
    grade_all: GradeAll,
    *,
    settings: str,
    unreadable: Callable[[str, str], Graded],
    common: Mapping[int, Prints],
    lateness: Lateness = NEVER_LATE,
    times: Times = own_times,
    watch: Callable[[Standing], None] = lambda standing: None,
) -> Class:
    """Grade the hand-ins without a record in `out`, and return all results.

    settings: a digest of whatever else the scores depend on: a record of other settings is graded again.
    unreadable: makes the grade of a hand-in that cannot be read of its name and the problem.
    common: by step, prints that say nothing, as those of the references.
    lateness, times: what a hand-in of a time loses, and the time of each, wherever it was graded.
    """
    for name in (RECORDS, REPORTS):
        (out / name).mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, Outcome] = {}
    failed: dict[str, str] = {}
    todo: dict[str, HandIn] = {}
    keys: dict[str, str] = {}
    handed_in: dict[str, float | None] = {}
    for entry in entries:
        try:
            handin = _named(read_handin(entry.path), entry)
        except HandInError as error:
            outcomes[entry.name] = Outcome(unreadable(plain_line(entry.path.name), str(error)))
            handed_in[entry.name] = times(entry, None)
            continue
        except OSError as error:
            failed[entry.name] = plain_line(str(error))
            handed_in[entry.name] = times(entry, None)
            continue
        handed_in[entry.name] = times(entry, handin)
        keys[entry.name] = _key(handin, settings)
        known = read_record(out / RECORDS / f"{entry.name}.json", keys[entry.name])
        if known is None or known.graded.not_graded:
            todo[entry.name] = handin
        else:
            outcomes[entry.name] = known
    watch(Standing(len(outcomes) + len(failed), len(entries)))
    for name, made in grade_all(todo) if todo else ():
        if isinstance(made, Exception):
            failed[name] = plain_line(f"{type(made).__name__}: {made}")
        else:
            if not made.graded.not_graded:  # else the same command tries it again
                write_whole(out / RECORDS / f"{name}.json", _record(made, keys[name]))
            outcomes[name] = made
        watch(Standing(len(outcomes) + len(failed), len(entries), outcomes.get(name)))
    for name in keys.keys() & outcomes.keys():  # what cannot be read has no points to lose
        graded = with_lateness(outcomes[name].graded, lateness, handed_in[name])
        outcomes[name] = replace(outcomes[name], graded=graded)
    ordered = {entry.name: outcomes[entry.name] for entry in entries if entry.name in outcomes}
    files = {entry.name: entry.path.name for entry in entries}
    return Class(ordered, failed, tuple(_alike(ordered, common)), files, handed_in)


def _named(handin: HandIn, entry: Entry) -> HandIn:
    """Return the hand-in under the name of its folder if it is in one, because all files have the same name."""
    return replace(handin, name=f"{plain_line(entry.path.name)}/{handin.name}") if entry.path.is_dir() else handin


def in_threads(grader: Grader, jobs: int, stop: Callable[[], object] = lambda: None) -> GradeAll:
    """Return a grader of `jobs` hand-ins at a time; an interruption drops unstarted ones, and `stop` ends others."""

    def grade_all(todo: Mapping[str, HandIn]) -> Iterator[tuple[str, Outcome | Exception]]:
        with ThreadPoolExecutor(jobs, thread_name_prefix="grade") as pool:
            names = {pool.submit(grader, handin): name for name, handin in todo.items()}
            try:
                for future in as_completed(names):
                    error = future.exception()
                    yield names[future], error if isinstance(error, Exception) else future.result()
            except (KeyboardInterrupt, GeneratorExit):
                stop()
                raise
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    return grade_all


# -- what is known -----------------------------------------------------------------------------------------------------


def _key(handin: HandIn, settings: str) -> str:
    """Return a digest of all inputs of a hand-in's outcome except its time, which counts later."""
    return hashlib.sha256(json.dumps([settings, handin.digest, handin.file]).encode()).hexdigest()


def _record(outcome: Outcome, key: str) -> str:
    prints = {str(step): sorted(found) for step, found in outcome.prints.items()}
    return json.dumps(
        {"format": FORMAT, "version": VERSION, "key": key, "graded": outcome.graded.as_dict(), "prints": prints}
    )


def read_record(path: Path, key: str) -> Outcome | None:
    """Return the record of a key's hand-in in a file, or None if the file has no valid record of it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if (data["format"], data["version"], data["key"]) != (FORMAT, VERSION, key):
            return None
        prints = {int(step): frozenset(map(int, found)) for step, found in data["prints"].items()}
        return Outcome(Graded.from_dict(data["graded"]), prints)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _alike(outcomes: Mapping[str, Outcome], common: Mapping[int, Prints]) -> list[Likeness]:
    digests = {name: outcome.graded.digest for name, outcome in outcomes.items() if outcome.graded.digest}
    return likenesses({name: outcomes[name].prints for name in digests}, common, digests)
