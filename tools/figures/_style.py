"""What pictures of concepts have in common: colours of light and dark pages, an arrow's tip, the hatching of waits."""

from __future__ import annotations

from tirx_mini.report.svg import Paint, Picture

PAINTS = {
    "page": Paint("fill", "#ffffff", "#14181d"),
    "ink": Paint("fill", "#1f2328", "#e8ebef"),
    "soft": Paint("fill", "#57606a", "#a5aeb9"),
    "alarm": Paint("fill", "#b3261e", "#ff8a80"),
    "line": Paint("stroke", "#c3cad2", "#3a434d"),
    "arrow": Paint("stroke", "#1f2328", "#e8ebef"),
    "stop": Paint("stroke", "#b3261e", "#ff8a80"),
    "tip": Paint("fill", "#1f2328", "#e8ebef"),
    "lane": Paint("fill", "#f4f6f8", "#1b2127"),
    "act": Paint("fill", "#e8ebef", "#333c46"),
    "blue": Paint("fill", "#cde7f8", "#1d4259"),
    "amber": Paint("fill", "#fbe3b5", "#5c4310"),
    "green": Paint("fill", "#c9ecdf", "#144d3b"),
    "rose": Paint("fill", "#f6d9e8", "#5a2743"),
    "blueish": Paint("stroke", "#0072b2", "#56b4e9"),
    "amberish": Paint("stroke", "#b37a00", "#e69f00"),
    "greenish": Paint("stroke", "#007a5a", "#35b68f"),
    "roseish": Paint("stroke", "#a8508a", "#d98cb8"),
    "wait": Paint("fill", "#8a94a0", "#77828e"),
    "halo": Paint("stroke", "#ffffff", "#14181d"),
}
"""The classes of every picture. The colours are Okabe and Ito's, pale where text lies on them."""
RULES = (
    "text{font-size:14px}.head{font-size:16px;font-weight:600}.bold{font-weight:600}.tiny{font-size:13px}.edges{font-size:12px}"
    ".blueish,.amberish,.greenish,.roseish{stroke-width:2}.arrow{fill:none;stroke-width:1.6}"
    ".dash{stroke-dasharray:5 4}.line{stroke-width:1}.stop{stroke-width:2;fill:none}"
    ".halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}"
)
HUES = ("blue", "amber", "green", "rose")


def canvas(width: float, height: float, title: str, description: str) -> Picture:
    """An empty picture on a page of its own, with the tip of arrows and the hatching of waits."""
    picture = Picture(width, height, title, description, PAINTS, RULES)
    picture.raw(
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" class="tip"/></marker><pattern id="wait" width="6" height="6" '
        'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2.4" height="6" class="wait"/>'
        "</pattern></defs>"
    )
    picture.rect(0, 0, width, height, "page")
    return picture


def hued(hue: str) -> str:
    """The classes of a box: its fill and its edge."""
    return f"{hue} {hue}ish" if hue in HUES else f"{hue} line"
