"""The colours of pictures, on light and on dark pages."""

from __future__ import annotations

from .svg import Paint

COLOURS = ("#56b4e9", "#e69f00", "#35b68f", "#d98cb8", "#f0e442", "#f0795a", "#b3a2e8", "#9fb37c")
"""Distinguishable fill colours. Dark text (class `on`) is legible on each, so they suit both kinds of pages. They are
Okabe and Ito's colour-blind safe colours, lightened (https://jfly.uni-koeln.de/color/), and two more."""

PAPER = {
    "page": Paint("fill", "#ffffff", "#14181d"),
    "lane": Paint("fill", "#f4f6f8", "#1b2127"),
    "ink": Paint("fill", "#1f2328", "#e8ebef"),
    "soft": Paint("fill", "#57606a", "#a5aeb9"),
    "halo": Paint("stroke", "#ffffff", "#14181d"),
    "on": Paint("fill", "#14181d", "#14181d"),
    "plain": Paint("fill", "#bcc4ce", "#8d97a4"),
    "edge": Paint("stroke", "#3c4650", "#c9d1da"),
    "grid": Paint("stroke", "#d8dde3", "#343c45"),
    "arrow": Paint("stroke", "#1f2328", "#e8ebef"),
    "tip": Paint("fill", "#1f2328", "#e8ebef"),
    "alarm": Paint("fill", "#b3261e", "#ff8a80"),
    "stop": Paint("stroke", "#b3261e", "#ff8a80"),
}
"""The style classes common to all pictures: page, rows, text, lines, arrows and alarms."""
