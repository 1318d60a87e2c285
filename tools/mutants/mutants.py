"""The mutants of the references: which there are, and what is known of each."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tools.source import KernelSource

from .blame import Concerned, Relations
from .judge import Task, on_small_gpu
from .mutation import Mutation, headline
from .operators import OPERATORS


@dataclass(frozen=True)
class Mutant:
    """A reference with one edit.

    line: of the changed statement, in the reference. change: the edit in words. inside, before: the headlines of the
    block that the statement is in, and of the statement after it.
    """

    step: int
    operator: str
    line: int
    change: str
    inside: str
    before: str
    text: str
    concerned: Concerned

    @property
    def task(self) -> Task:
        return Task(self.step, self.text)

    def __str__(self) -> str:
        return f"step {self.step}, line {self.line}, {self.operator}: {self.change}"


def mutants(steps: Iterable[int]) -> Iterator[Mutant]:
    """Every mutant of the references of some steps, each text once."""
    for step in steps:
        source = KernelSource(step, on_small_gpu(step, KernelSource.reference(step).text))
        relations = Relations(source)
        texts = {source.text}
        for operator, find in OPERATORS.items():
            for mutation in find(source):
                text = source.apply(mutation.edits)
                if text not in texts:
                    texts.add(text)
                    yield _mutant(source, operator, mutation, text, relations.concerned(mutation))


def _mutant(source: KernelSource, operator: str, mutation: Mutation, text: str, concerned: Concerned) -> Mutant:
    statement = mutation.place
    line = headline(source, statement)
    change = mutation.change if line in mutation.change else f"{mutation.change} in `{line}`"
    place = next((p for p in source.places if p.statement is statement), None)
    before = headline(source, place.after) if place is not None and place.after is not None else ""
    parent = source.parents.get(statement)
    inside = headline(source, parent) if isinstance(parent, ast.stmt) else ""
    return Mutant(source.step, operator, statement.lineno, change, inside, before, text, concerned)


def sample(found: Sequence[Mutant], count: int, seed: int) -> Sequence[Mutant]:
    """Some of the mutants, in their order."""
    if count >= len(found):
        return found
    chosen = sorted(random.Random(seed).sample(range(len(found)), count))
    return [found[i] for i in chosen]
