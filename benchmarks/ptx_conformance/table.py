"""The table of opcodes: every form, on operands of its own."""

from __future__ import annotations

from collections.abc import Sequence

from .accesses import access_forms
from .conversions import conversion_forms
from .floats import float_forms
from .forms import Form, distinct
from .integers import integer_forms
from .program import Launch, Program

CTAS, THREADS = 2, 128
FORMS_EACH = 12
"""Forms of one kernel."""
FULL = "0xffffffff"


def all_forms() -> tuple[Form, ...]:
    """Every form that is compared."""
    return distinct([*integer_forms(), *float_forms(), *conversion_forms(), *access_forms()])


def groups(forms: Sequence[Form]) -> list[tuple[Form, ...]]:
    """Forms of one kernel each; those with a documented error stand apart, on more operands."""
    exact = [form for form in forms if form.bound is None]
    near = [form for form in forms if form.bound is not None]
    found = [tuple(exact[at : at + FORMS_EACH]) for at in range(0, len(exact), FORMS_EACH)]
    return [*found, *((form,) for form in near)]


def table_program(name: str, forms: Sequence[Form], seed: int) -> Launch:
    """A kernel that executes each form once a thread; an approximation 16 times."""
    program = Program(name, CTAS, THREADS, seed, "table")
    for form in forms:
        for _ in range(16 if form.bound is not None else 1):
            first = len(program.kinds)
            operands = [program.loaded(kind) for kind in form.operands]
            results = [program.register(kind) for kind in form.results]
            program.apply(form, operands, results, FULL)
            for register, kind in zip(results, form.results, strict=True):
                program.stored(register, kind, form.name, form, range(first, len(program.kinds)))
    return program.finished()
