"""Course mode: what a run conceals is told in four steps; TODOs with hints, quizzes, and drills."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Generator, Mapping
from types import MappingProxyType
from typing import Any

from tirx_mini.course import (
    DRILLS,
    LEVELS,
    QUESTIONS,
    REPAIRED,
    SHOWN,
    STEPS,
    Hints,
    Notes,
    NotesError,
    Session,
    Symptom,
    Todo,
    answer_of,
    answered,
    arch_folder,
    architecture_in,
    code_of,
    hints_of,
    marked,
    matched,
    plain_links,
    question_key,
    session,
    todos_in,
)

from .asked import BadRequest, RunRequest, text_of, whole_of
from .course_runs import STEPS_OF_REVEAL, DrillFix
from .filling import course_missing
from .findings import Data
from .runs import Run, Runs
from .simulating import SIMULATE_S, Simulators
from .source import Source

_MOST_DRILLS = 16
_NEAR = 1
"""The distance from a line of a finding at which a marked line is right, as for a missing statement."""
_SYMPTOMS: Mapping[Symptom, str] = MappingProxyType({
    Symptom.HANGS: "On a GPU, the launch does not end.",
    Symptom.WRONG: "On a GPU, the launch ends, and D is wrong, or may be.",
    Symptom.SLOW: "On a GPU, D is right, and the kernel takes longer than it must.",
})  # fmt: skip


class Missing(Exception):
    """The error for what is not there; the message is a sentence."""


class Teaching:
    """The course beside a file. Answers to quizzes and drills are kept in the notes in its folder."""

    def __init__(self, source: Source, runs: Runs, simulators: Simulators) -> None:
        self._source, self._runs, self._simulators = source, runs, simulators
        self._lock = threading.Lock()
        self._drills: OrderedDict[str, Session] = OrderedDict()

    # -- what a run conceals -------------------------------------------------------------------------------------------

    def reveal(self, data: Mapping[str, Any]) -> Data:
        """Answer {"run", "stage", "line"}. Raises `BadRequest` and `Missing`."""
        run, stage = self._runs.run(data.get("run")), whole_of(data, "stage", STEPS_OF_REVEAL)
        if run is None or run.sealed is None:
            raise Missing("this run conceals nothing, or many runs have followed it: run the text again")
        if stage >= 3:
            self._note_shown(run)
        return _revealed(run.sealed, stage, data)

    def _note_shown(self, run: Run) -> None:
        opened = self._drills.get(run.request.drill)
        if opened is not None:
            self._note(opened, SHOWN)

    # -- TODOs and hints -----------------------------------------------------------------------------------------------

    def todos(self, data: Mapping[str, Any]) -> Data:
        """Answer {"text"} with the TODOs of its steps."""
        text = text_of(data, "text")
        found: list[Data] = []
        for step in (number for number in todos_in(text) if number in STEPS):
            hints, mine = self._hints(text, step)
            for hint in hints:
                todo = mine.get(hint.number)
                is_open = todo is not None and todo.open
                line = todo.line if todo is not None else 0
                name = f"{step}.{hint.number}"
                found.append({"id": name, "step": step, "line": line, "title": hint.title, "open": is_open})
        return {"todos": found}

    def hint(self, data: Mapping[str, Any]) -> Data:
        """Answer {"text", "todo", "level"}: a text in Markdown, or at the last level the reference's code."""
        text, level = text_of(data, "text"), whole_of(data, "level", LEVELS)
        step, _, number = text_of(data, "todo").partition(".")
        if not (step.isdecimal() and number.isdecimal() and int(step) in STEPS):
            raise BadRequest("todo is not the id of a TODO, as in 4.1")
        hints, _ = self._hints(text, int(step))
        chosen = next((hint for hint in hints if hint.number == int(number)), None)
        if chosen is None:
            raise Missing(f"step {step} has no TODO {number}")
        if level < LEVELS:
            return {"text": plain_links(chosen.texts[level - 1]), "code": False}
        return {"text": code_of(chosen, hints, int(step), self._arch(text)), "code": True}

    def _hints(self, text: str, step: int) -> tuple[tuple[Hints, ...], Mapping[int, Todo]]:
        if course_missing():
            raise Missing(course_missing())
        hints = hints_of(step, self._arch(text))
        return hints, matched(hints, todos_in(text).get(step, ()))

    def _arch(self, text: str) -> str:
        return arch_folder(architecture_in(self._source.path, text))

    # -- the quiz ------------------------------------------------------------------------------------------------------

    def quiz(self, data: Mapping[str, Any]) -> Data:
        """Answer {"step", "question"}, which counts from 0, with the question, or with the mark of an "answer"."""
        step = whole_of(data, "step", max(STEPS))
        folder = self._arch(self._source.read().text)
        questions = QUESTIONS[folder][step]
        number = whole_of(data, "question", len(questions) - 1, least=0) + 1
        asked = questions[number - 1]
        if data.get("answer") is None:
            return {"question": asked.asked, "unit": asked.unit, "count": len(questions)}
        why = text_of(data, "why", "")
        try:
            answer = answer_of(text_of(data, "answer"))
        except ValueError as error:
            raise BadRequest(str(error)) from None
        if course_missing():
            raise Missing(course_missing())
        worker = self._simulators.take()
        try:
            mark = worker.call(quizzed, (folder, step, number, answer), SIMULATE_S)
        except Exception:
            worker.close()
            raise
        self._simulators.give_back(worker)
        with self._lock:
            self._notes().with_prediction(question_key(folder, step, number), answer, why[:2000], mark["right"]).write()
        return mark

    # -- drills --------------------------------------------------------------------------------------------------------

    def drill(self, data: Mapping[str, Any]) -> Data:
        """Answer {"step", "seed"} with a kernel that has one mistake. seed: of one that is dealt now, or None."""
        step, seed = whole_of(data, "step", max(STEPS)), data.get("seed")
        if course_missing():
            raise Missing(course_missing())
        if seed is not None and type(seed) is not int:
            raise BadRequest("seed is not a whole number")
        arch = self._arch(self._source.read().text)
        drills = tuple(drill for drill in DRILLS[arch] if drill.step == step)
        if not drills:
            raise Missing(f"step {step} has no drills")
        with self._lock:
            notes = self._notes()
            opened = session(drills, notes, seed)
            opened.noted(notes).write()
            name = secrets.token_hex(8)
            self._drills[name] = opened
            while len(self._drills) > _MOST_DRILLS:
                self._drills.popitem(last=False)
        dealt, drill = opened.dealt, opened.dealt.drill
        return {
            "id": name, "text": dealt.text, "kernel": drill.factory, "symptom": _SYMPTOMS[drill.symptom],
            "sizes": dict(zip("mnk", drill.shape, strict=True)), "sms": drill.sms, "gpu": _key(drill.gpu.name),
            "causes": list(dealt.causes), "number": opened.number, "of": opened.of,
        }  # fmt: skip

    def answer(self, data: Mapping[str, Any]) -> Data:
        """Answer {"id", "line", "cause"}, which counts from 0, with the marks of both; what is right is not told."""
        with self._lock:
            opened = self._opened(text_of(data, "id"))
            line = whole_of(data, "line", opened.dealt.text.count("\n") + 1)
            opened = answered(opened, line, whole_of(data, "cause", len(opened.dealt.causes) - 1, least=0) + 1)
            self._drills[text_of(data, "id")] = opened
            opened.noted(self._notes()).write()
        both = opened.right_line and opened.right_cause
        marks = [f"your {what} is {'right' if right else 'not right'}" for what, right in (
            ("line", opened.right_line), ("cause", opened.right_cause),
        )]  # fmt: skip
        return {"right": both, "sentence": f"{' and '.join(marks)}; now repair the kernel, and run it"}

    def fix(self, asked: RunRequest) -> tuple[RunRequest, DrillFix | None]:
        """Return the run of a drill's repair: the drill's problem, sealed, and what judges it. Raises `Missing`."""
        if not asked.drill:
            return asked, None
        dealt = self._opened(asked.drill).dealt
        drill = dealt.drill
        gpu = _key(drill.gpu.name)
        same = asked.at(drill.factory, drill.shape, gpu, drill.sms)
        return same, DrillFix(dealt.repaired, drill.factory, drill.shape, drill.gpu, drill.sms)

    def told(self, asked: RunRequest, event: Data) -> None:
        """Add the reason to the event of a repaired drill, and note it."""
        if event["event"] != "drill" or not event["repaired"]:
            return
        opened = self._opened(asked.drill)
        dealt = opened.dealt
        event |= {"reason": dealt.reason, "cause": dealt.right, "lines": list(dealt.lines)}
        self._note(opened, REPAIRED)

    def _opened(self, name: str) -> Session:
        opened = self._drills.get(name)
        if opened is None:
            raise Missing("this drill is no longer open: deal it again")
        return opened

    def _note(self, opened: Session, state: str) -> None:
        with self._lock:
            opened.noted(self._notes(), state).write()

    def _notes(self) -> Notes:
        try:
            return Notes.read(self._source.path.parent)
        except NotesError as error:
            raise Missing(str(error)) from None


def quizzed(payload: tuple[str, int, int, float]) -> Generator[None, None, Data]:
    """Mark an answer, in a process that simulates."""
    folder, step, number, answer = payload
    asked = QUESTIONS[folder][step][number - 1]
    yield
    mark, measured = marked(asked, answer), asked.measured()
    return {
        "right": mark.right, "figure": asked.shown(mark.figure), "said": mark.said, "reasons": list(asked.reasons),
        "measured": None if measured is None else asked.shown(measured),
    }  # fmt: skip


def _revealed(sealed: Data, stage: int, data: Mapping[str, Any]) -> Data:
    whole = sealed["whole"]["findings"]
    if stage == 1:
        return {"sentence": sealed["sentence"], "product": sealed["product"]}
    if stage == 2:
        line = whole_of(data, "line", 1 << 20)
        first = next(iter(whole), None)
        lines = [] if first is None else [first["line"], *(note["line"] for note in first["related"])]
        right = any(abs(line - each) <= _NEAR for each in lines if each)
        return {"right": right, "rule": "" if first is None else first["rule"]}
    if stage == 3:
        return {"findings": sealed["bare"]}
    helps = [finding["help"] for finding in whole if finding["help"]]
    return {"help": "\n".join(dict.fromkeys(helps)), "findings": whole}


def _key(gpu: str) -> str:
    """Return the key of a GPU in the table of them."""
    return gpu.lower()
