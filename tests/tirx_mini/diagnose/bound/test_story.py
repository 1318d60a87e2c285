"""One story: the terms of a time add up, the headline names the largest, and all outputs have the same figures."""

from __future__ import annotations

import re
from functools import cache

import pytest

import tirx_mini as tvm
import utils
from tirx_mini.commands.ladder_table import ladder_table, why_table
from tirx_mini.commands.progress import progress_table
from tirx_mini.course import (
    STEPS,
    Standing,
    State,
    Task,
    Traced,
    arch_folder,
    default_kernels,
    load_kernels,
    run_task,
    timeline_form,
)
from tirx_mini.diagnose import Bound, Report, as_dict, rate_figure, rate_text, us_text
from tirx_mini.hardware import GPUS, gpu_spec
from tirx_mini.report import plain, report_html, report_page
from tirx_mini.report.timeline.page_data import RunData
from tirx_mini.report.timeline.roofline import roofline

SMALL = 256
CASES = [(step, gpu, SMALL if step < 10 else 512, None) for gpu in GPUS for step in STEPS]
"""(step, GPU, size, SMs): all of the SMs, and so few that each has several tiles."""
CASES += [(step, gpu, 1024, 8) for gpu in ("b200", "h100") for step in STEPS]


@cache
def run(step: int, gpu: str, size: int, sms: int | None) -> Report:
    spec = gpu_spec(gpu).with_sms(sms)
    kernels = load_kernels(default_kernels(), arch_folder(spec.arch), sms=sms)
    return tvm.simulate(kernels[step](*STEPS[step].shape(size)), gpu=spec, data=False, trace=True, single=step > 7)


def bound_of(report: Report) -> Bound:
    assert report.bound is not None
    return report.bound


def us_of(report: Report) -> str:
    assert report.time_us is not None
    return us_text(report.time_us)


@pytest.mark.parametrize(("step", "gpu", "size", "sms"), CASES)
def test_the_terms_of_a_time_add_up_and_the_headline_names_the_largest(
    step: int, gpu: str, size: int, sms: int | None
) -> None:
    report = run(step, gpu, size, sms)
    bound = bound_of(report)
    assert sum(term.percent for term in bound.shares) == 100
    assert f"{sum(term.us for term in bound.shares):.1f} µs" == us_of(report)
    for term in bound.shares:
        assert term.share >= 0 and abs(term.percent - 100 * term.share) < 1 and term.percent <= bound.shares[0].percent
    largest = max(bound.shares, key=lambda term: term.share)
    assert str(bound).startswith(f"bound by {largest.resource}, {largest.percent} % of the {us_of(report)}")
    assert largest.resource in bound.cause.terms or f"first to remove ({bound.cause.name})" in str(bound)


@pytest.mark.parametrize("gpu", GPUS)
def test_the_terms_in_cycles_add_up_to_the_time_at_the_clock_of_the_run(gpu: str) -> None:
    report = run(7, gpu, SMALL, None)
    assert report.bound is not None and report.time_us is not None
    cycles = sum(term.cycles for term in report.bound.shares)
    assert cycles / report.stats["clock_ghz"] / 1e3 == pytest.approx(report.time_us)


@pytest.mark.parametrize(("step", "gpu", "size", "sms"), CASES)
def test_parts_that_a_sentence_divides_a_time_into_are_terms_of_it(
    step: int, gpu: str, size: int, sms: int | None
) -> None:
    report = run(step, gpu, size, sms)
    for part, whole in re.findall(r"take ([\d.]+) of ([\d.]+ µs)", str(report.bound)):
        assert whole == us_of(report) and float(part) < float(whole[:-3])
    for whole, *parts in re.findall(
        r"of ([\d.]+) µs, launch and set-up take ([\d.]+), the loop ([\d.]+), and the write-back after it ([\d.]+)",
        str(report.bound),
    ):
        assert f"{whole} µs" == us_of(report) and f"{sum(map(float, parts)):.1f}" == whole


@pytest.mark.parametrize(("step", "gpu", "size", "sms"), CASES)
def test_every_output_has_the_same_figures(step: int, gpu: str, size: int, sms: int | None) -> None:
    report = run(step, gpu, size, sms)
    timing, spec = report.timing, gpu_spec(gpu).with_sms(sms)
    assert timing is not None and timing.tflops is not None
    time, rate, said = timing.row.text, timing.rate, timing.sentence(report.gpu)
    assert time.endswith(us_text(timing.row.us)) and rate.startswith(rate_figure(timing.tflops))
    assert rate_figure(timing.tflops) != "0" and time in said and rate in said
    page = RunData(report, spec).header
    texts = (str(report), plain(report_page(report), 10_000), re.sub(r"<[^>]*>", "", report_html(report)))
    for text in texts:
        flat = " ".join(text.split())
        assert said in flat and timing.parts[1:] in flat and f"{bound_of(report)}"[1:] in flat
    figures = dict(page["figures"])
    assert (figures["in a row of launches"], figures["at"]) == (time, rate)
    assert page["bound"]["name"] + page["bound"]["rest"] == str(report.bound).removeprefix("bound by ")
    assert [term["percent"] for term in page["bound"]["shares"]] == [term.percent for term in bound_of(report).shares]
    title = Traced(report, spec).heading.title
    assert time in title and rate in title and as_dict(report)["time_us"] == timing.row.us
    roofs = roofline(report, spec)
    reaches = f"reaches {rate_figure(timing.tflops)} of {rate_text(spec.peak_tflops)}"
    assert roofs is None or reaches in roofs.sentences[0]
    if timing.single is not None and timing.single.us < timing.row.us:
        assert "; a row is slower for its" in str(report)


@pytest.mark.parametrize("step", [1, 4, 7])
def test_tables_and_the_step_test_have_them_too(step: int) -> None:
    shape = STEPS[step].shape(SMALL)
    row = run_task(Task(default_kernels(), step, shape, why=True))
    kernel = load_kernels(default_kernels(), arch_folder(gpu_spec("b200").arch))[step](*shape)
    report = tvm.simulate(kernel, gpu="b200", data=False, trace=True)
    assert report.tflops is not None and report.time_us is not None
    rate = rate_figure(report.tflops)
    table = plain(ladder_table([row], "b200"), 200)
    assert f" {us_of(report)[:-3]} " in table and f" {rate} " in table
    assert str(report.bound).removeprefix("bound by ") in " ".join(plain(why_table([row]), 10_000).split())
    standing = Standing(step, State.FAST, tests=1, passed=1, shape=shape, tflops=row.tflops)
    assert f" {rate}\n" in plain(progress_table([standing]), 200)
    tested = utils.compile_and_run(kernel, *utils.prepare_data(*shape, target="sim", arrays=True), target="sim")
    assert f"{us_of(report)} predicted on B200, {rate} TFLOPS" in str(tested)
    description = timeline_form(Traced(report, gpu_spec("b200")), ".txt")
    assert f"{us_of(report)}, {rate} TFLOPS" in description and str(report.bound)[1:40] in description
