"""Forms of cvt (PTX ISA: "cvt"): all pairs of types, with all roundings, .ftz, .sat, .relu and .satfinite."""

from __future__ import annotations

from .forms import Form, forms, unusable, written
from .kinds import FRACTION, width

_INTEGERS = tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "us")
_FLOATS = ("f16", "bf16", "f32", "f64")


def conversion_forms() -> list[Form]:
    return [*_of_integers(), *_to_integers(), *_to_floats(), *_whole(), *_between(), *_small(), *_fp8()]


def _result(kind: str) -> str:
    """The register that a result is extended to."""
    return {"u8": "u16", "s8": "s16"}.get(kind, kind)


def _one(opcode: str, of: str, to: str) -> Form:
    return written(opcode, f"{opcode} {{d}}, {{a}};", of, _result(to))


def _between() -> list[Form]:
    """Integers to integers, with and without saturation."""
    found: list[Form] = []
    for to in _INTEGERS:
        for of in _INTEGERS:
            found.append(_one(f"cvt.{to}.{of}", of, to))
            if _clamps(to, of):
                found.append(_one(f"cvt.sat.{to}.{of}", of, to))
    return found


def _clamps(to: str, of: str) -> bool:
    """Return true if an integer type lacks values of another."""
    if to[0] == of[0]:
        return width(to) < width(of)
    return to[0] == "u" or width(to) <= width(of)


def _of_integers() -> list[Form]:
    found: list[Form] = []
    for to in _FLOATS:
        for of in _INTEGERS:
            if to == "bf16" and width(of) == 8:
                continue
            for rounding in ("rn", "rz", "rm", "rp"):
                found.append(_one(f"cvt.{rounding}.{to}.{of}", of, to))
                if to != "bf16":
                    found.append(_one(f"cvt.{rounding}.sat.{to}.{of}", of, to))
    return found


def _to_integers() -> list[Form]:
    found: list[Form] = []
    for of in _FLOATS:
        for to in _INTEGERS:
            if of == "bf16" and width(to) == 8:
                continue
            for rounding in ("rni", "rzi", "rmi", "rpi"):
                found.append(_one(f"cvt.{rounding}.{to}.{of}", of, to))
                if of == "f32":
                    found.append(_one(f"cvt.{rounding}.ftz.{to}.{of}", of, to))
    return found


def _to_floats() -> list[Form]:
    """Floats to other floats: a rounding where numbers are lost."""
    found: list[Form] = []
    for to in _FLOATS:
        for of in _FLOATS:
            if to == of or {to, of} == {"f16", "bf16"}:
                continue
            loses = width(to) < width(of)
            roundings = [f".{word}" for word in ("rn", "rz", "rm", "rp")] if loses else [""]
            if to == "bf16" and of == "f32":
                roundings = [".rn", ".rz"]
            for rounding in roundings:
                found.append(_one(f"cvt{rounding}.{to}.{of}", of, to))
                if "bf16" in (to, of):
                    continue
                found.append(_one(f"cvt{rounding}.sat.{to}.{of}", of, to))
                if "f32" in (to, of):
                    found.append(_one(f"cvt{rounding}.ftz.{to}.{of}", of, to))
                    found.append(_one(f"cvt{rounding}.ftz.sat.{to}.{of}", of, to))
    return found


def _whole() -> list[Form]:
    """Floats to whole numbers of the same type."""
    found: list[Form] = []
    for kind in ("f16", "f32", "f64"):
        for rounding in ("rni", "rzi", "rmi", "rpi"):
            for mods in ("", ".sat") if kind != "f32" else ("", ".sat", ".ftz", ".ftz.sat"):
                found.append(_one(f"cvt.{rounding}{mods}.{kind}.{kind}", kind, kind))
    return found


def _small() -> list[Form]:
    """f32 to 16 bits, alone and in pairs, and to tf32."""
    found: list[Form] = []
    for kind in ("f16", "bf16"):
        for rounding in ("rn", "rz"):
            for mods in ("", ".relu", ".satfinite", ".relu.satfinite"):
                if mods:
                    found.append(_one(f"cvt.{rounding}{mods}.{kind}.f32", "f32", kind))
                found += forms(f"cvt.{rounding}{mods}.{kind}x2.f32", "f32 f32", f"{kind}x2")
    tf32 = [*forms("cvt.[rn|rz][.relu|].tf32.f32", "f32", "b32"), *forms("cvt.rna.tf32.f32", "f32", "b32")]
    tf32 += forms("cvt.rna.satfinite.tf32.f32", "f32", "b32")
    return [*found, *unusable(tf32)]


def _fp8() -> list[Form]:
    """Pairs of eight bits; the bits of their NaN are defined."""
    found: list[Form] = []
    for kind in ("e4m3x2", "e5m2x2"):
        found += forms(f"cvt.rn.satfinite[.relu|].{kind}.f32", "f32 f32", "b16")
        found += forms(f"cvt.rn.satfinite[.relu|].{kind}.f16x2", "f16x2", "b16")
        found += forms(f"cvt.rn[.relu|].f16x2.{kind}", "b16", "f16x2")
    return unusable(found)


assert set(_FLOATS) == set(FRACTION)
