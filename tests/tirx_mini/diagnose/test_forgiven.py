"""docs/forgiven.md: every rule that only warns is there with its evidence, and what it says of machine code is true."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import tirx_mini as tvm
from tests.kernels_ref.edits import ROOT, SHAPES, SOURCES
from tirx_mini.course import load_kernels
from tirx_mini.diagnose import FACT_RULES
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T
from tirx_mini.sim import Hazard

PAGE = (ROOT / "docs" / "forgiven.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (TX\d{3}) .*?\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def warned() -> tuple[set[str], set[str]]:
    """The codes of rules that warn, by their decorator, their explanation or the kind of hazard; and those that may.

    A rule of several kinds may warn for each of them.
    """
    hazards = vars(inspect.getmodule(FACT_RULES[Hazard].explain))
    sure, perhaps = {hazards["KINDS"][kind].code for kind in hazards["FORGIVEN"]}, set[str]()
    for rule in FACT_RULES.values():
        source = inspect.getsource(rule.explain)
        if rule.severity == "warning" or '"warning"' in source:
            kinds = vars(inspect.getmodule(rule.explain))
            several = {kinds[name].code for name in re.findall(r"kind=([A-Z_]+)[,)\s]", source)}
            (sure if rule.kind or len(several) == 1 else perhaps).update({rule.kind.code} if rule.kind else several)
    return sure, perhaps - sure


def test_every_rule_that_warns_is_explained() -> None:
    sure, perhaps = warned()
    assert sure <= set(SECTIONS) <= sure | perhaps
    assert perhaps - set(SECTIONS) == {"TX216"}, "an MMA that a commit does not track is an error"


@pytest.mark.parametrize("code", sorted(SECTIONS))
def test_a_section_gives_the_rule_the_evidence_and_the_danger(code: str) -> None:
    text = SECTIONS[code]
    parts = r"\*\*Rule\.\*\* .*\*PTX ISA: [^*]+\*", r"\*\*Evidence\.\*\* ", r"\*\*If chips did not\.\*\* "
    assert re.search(".*".join(parts), text, re.DOTALL)


def test_every_finding_that_ends_a_run_is_listed() -> None:
    section = PAGE.partition("## What ends a run")[2].partition("Everything else is recorded")[0]
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tirx_mini" / "sim").rglob("*.py"))
    names = set(re.findall(r"Fault\(\s*([A-Z]\w+)\(", text))
    rules = {fact.__name__: rule for fact, rule in FACT_RULES.items()}
    assert len(names) > 30 and names <= set(rules)
    ending = {rules[name].kind.code for name in names if rules[name].kind is not None}
    assert ending | {"TX307", "TX311"} == set(re.findall(r"TX\d{3}", section))  # the table of instructions names these


def machine_code(text: str, step: int, path: Path) -> str:
    """The machine code of a step's kernel."""
    path.write_text(text, encoding="utf-8")
    kernel = load_kernels(path)[step](*SHAPES[step])
    return tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_100a").source("sass")


def instructions(code: str) -> Counter[str]:
    """How often each machine instruction occurs, except those that do nothing."""
    names = re.findall(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?\w+\s+)?([A-Z0-9_.]+)", code, re.MULTILINE)
    return Counter(name for name in names if name != "NOP")


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("step", "fence"),
    [
        (7, "Tx.ptx.tcgen05.fence.after_thread_sync()"),
        (7, "Tx.ptx.tcgen05.fence.before_thread_sync()"),
        (9, "Tx.ptx.fence.mbarrier_init()"),
    ],
)
def test_a_fence_that_is_forgiven_is_no_instruction_of_the_machine(step: int, fence: str, tmp_path: Path) -> None:
    text = SOURCES[step].read_text(encoding="utf-8")
    without = "".join(line for line in text.splitlines(keepends=True) if fence not in line)
    assert text != without
    both = (instructions(machine_code(source, step, tmp_path / "mine.py")) for source in (text, without))
    assert next(both) == next(both)


@pytest.mark.compiler
def test_the_proxy_fence_is_one(tmp_path: Path) -> None:
    fence = 'Tx.ptx.fence.proxy_async("shared::cta")'
    text = SOURCES[7].read_text(encoding="utf-8")
    without = "".join(line for line in text.splitlines(keepends=True) if fence not in line)
    both = (instructions(machine_code(source, 7, tmp_path / "mine.py")) for source in (text, without))
    gone = next(both) - next(both)
    assert any(name.startswith("FENCE.VIEW.ASYNC") for name in gone)


@pytest.mark.compiler
def test_a_dealloc_looks_whether_its_columns_are_allocated(tmp_path: Path) -> None:
    code = machine_code(SOURCES[7].read_text(encoding="utf-8"), 7, tmp_path / "mine.py")
    assert "guardrail_trap_unallocated_columns_being_dealloced" in code
    assert "guardrail_trap_phase_invalid_during_alloc" in code and "BPT.TRAP" in code


def handed_over(scope: str, cluster: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        words[lane] = lane
        T.ptx.mbarrier.arrive(bar.ptr_to([0]), 1 - rank, True, scope=scope)
        if cluster:
            T.ptx.mbarrier.try_wait_acquire_cluster(bar.ptr_to([0]), 0)
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        D[rank, lane] = T.ptx.ld(
            T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank), space="shared::cluster", type="u32"
        )
        T.cuda.cluster_sync()

    return kernel


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("scope", "cluster", "more"),
    [
        ("", True, {"CCTL.IVALL"}),
        ("cluster", False, {"MEMBAR.ALL.GPU", "MEMBAR.ALL.CTA", "ERRBAR", "CGAERRBAR"}),
    ],
)
def test_a_scope_is_an_instruction_of_the_machine(scope: str, cluster: bool, more: set[str]) -> None:
    both = (
        instructions(tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_100a").source("sass"))
        for kernel in (handed_over(scope, cluster), handed_over("", False))
    )
    assert set(next(both) - next(both)) == more
