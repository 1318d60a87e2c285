"""The sources of the slides: what they refer to is there, and what is not there is said."""

from __future__ import annotations

import re

import pytest

from tools import slides
from tools.pages import blocks

SOURCE = """def f(x):
    # twice
    y = 2 * x

    if y:
        return y
    return 0
"""


def test_the_deck_can_be_made() -> None:
    text = slides.deck(slides.sources())
    assert text.startswith("---\nmarp: true")
    assert "<!-- code" not in text and "{{" not in text


def test_code_is_an_excerpt_or_not_code() -> None:
    """What is written in the sources as code is compared with a kernel; other blocks are drawings."""
    for name, text in slides.sources().items():
        python = [block for block in blocks(text) if block.language != "text"]
        excerpts = re.findall(r"^<!-- code: \S+ -->\n```python$", text, re.MULTILINE)
        assert len(python) == len(excerpts), name


@pytest.mark.parametrize(
    "code",
    [
        "y = 2 * x\nif y:\n    return y\n",
        "    y = 2 * x\n    if y:\n",
        "# twice\ny = 2 * x\n",
        "def f(x):\n…\nreturn 0\n",
    ],
)
def test_an_excerpt_is_accepted(code: str) -> None:
    slides.check_excerpt(code, SOURCE)


@pytest.mark.parametrize(
    "code",
    [
        "y = 3 * x\n",
        "y = 2 * x\nreturn 0\n",
        "y = 2 * x\nif y:\nreturn y\n",
        "return 0\n…\ndef f(x):\n",
    ],
    ids=["another value", "a line is left out", "another indentation", "another order"],
)
def test_what_is_no_excerpt_is_refused(code: str) -> None:
    with pytest.raises(slides.Stale, match="no such lines"):
        slides.check_excerpt(code, SOURCE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- code: sm100/step07 -->\n```python\nx = 1\n```", "x = 1"),
        ("<!-- code: sm100/step11 -->\n```python\nx = 1\n```", "no sm100/step11"),
        ("<!-- figures: nothing -->", "no page has a passage nothing"),
        ("<!-- table: hopper-gpus | columns: H300 -->", "no H300"),
        ("<!-- output: debug-hang | error | nothing -->", "no lines from 'error' to 'nothing'"),
        ("{{hopper-gpus | SMs | H300}}", "no H300"),
        ('![x](../docs/figures/roofline.svg "0 ~ 9000")', "no part 0 ~ 9000"),
        ('![x](../docs/figures/roofline.svg "nothing ~ end")', "no part nothing ~ end"),
    ],
)
def test_what_a_source_names_must_be_there(text: str, message: str) -> None:
    with pytest.raises(slides.Stale, match=rf"slides/one\.md: .*{re.escape(message)}"):
        slides.deck({"one.md": text})


def test_a_table_is_cut_and_its_links_are_gone() -> None:
    assert slides.table("hopper-gpus", "what, B200", "SMs").splitlines() == [
        "| what | B200 |",
        "| --- | ---: |",
        f"| SMs | {slides.cell('hopper-gpus', 'SMs', 'B200')} |",
    ]
    assert slides.cells("steps-ladder")[2][0] == "1"
    assert slides.cell("steps-ladder", "10", "at 4096, measured").isdecimal()


def test_a_picture_is_light_and_may_be_cut() -> None:
    whole = slides.picture(slides.ROOT / "docs/figures/roofline.svg", 'a "picture"', None)
    part = slides.picture(slides.ROOT / "docs/figures/roofline.svg", "", "top ~ 20; by the traffic ~ end")
    assert 'alt="a &quot;picture&quot;"' in whole and part != whole
    svg = slides.base64.b64decode(whole.split("base64,")[1].split('"')[0]).decode()
    assert "prefers-color-scheme" not in svg and svg.count("<svg") == 1
    assert (
        "url(#wait"
        not in slides.base64.b64decode(
            slides.picture(slides.ROOT / "docs/figures/step07.svg", "", None).split("base64,")[1].split('"')[0]
        ).decode()
    )
    assert slides.base64.b64decode(part.split("base64,")[1].split('"')[0]).decode().count("<svg") == 3


def test_every_command_exists() -> None:
    """Commands in the text of slides: their names, their options, and the targets of make."""
    words = "".join(slides.sources().values())
    quoted = re.findall(r"`((?:python|make|check|trace|explain|--)[^`]*)`", words)
    reference = (slides.ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    inspect = (slides.ROOT / "docs/cuda.md").read_text(encoding="utf-8")
    targets = re.findall(r"^(\w+):", (slides.ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(quoted) > 10
    for command in quoted:
        for option in re.findall(r"--[a-z-]+", command):
            assert option in reference or option in inspect, command
        for file in re.findall(r"[\w/]+\.py", command):
            assert (slides.ROOT / file).exists(), command
        if match := re.match(r"(?:python -m tirx_mini )?(check|trace|explain)\b", command):
            assert f"## `{match[1]}`" in reference or f"tirx_mini {match[1]}" in reference, command
        if match := re.match(r"make (\w+)", command):
            assert match[1] in targets, command
