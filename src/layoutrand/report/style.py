"""How figures look: the colours of light and dark, and what each class of an element means.

The HTML report has these as style sheet, with a variable for each colour.  A figure in a file of its own has them as
attributes of its elements, since most programs that read SVG know neither variables nor much of CSS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

FONT_SIZE: Final = 11
FONTS: Final = "'DejaVu Sans', 'Bitstream Vera Sans', Verdana, Arial, sans-serif"
_SVG: Final = "http://www.w3.org/2000/svg"

# Series colours are Okabe and Ito's, the pale ones darkened on white until they reach a contrast of 3:1, and a grey.
LIGHT: Final[Mapping[str, str]] = {
    "ink": "#1b1b1b",
    "quiet": "#555555",
    "rule": "#cfcfcf",
    "band": "#e3e9dc",
    "s0": "#0072b2",
    "s1": "#d55e00",
    "s2": "#00845f",
    "s3": "#a8508a",
    "s4": "#444444",
    "regime": "#e0b050",
    "better": "#00704f",
    "worse": "#b54000",
    "alike": "#0068a3",
    "open": "#7a5c00",
    "large": "#8a3d72",
}
DARK: Final[Mapping[str, str]] = {
    "ink": "#ececec",
    "quiet": "#b0b0b0",
    "rule": "#45494d",
    "band": "#2b3528",
    "s0": "#56b4e9",
    "s1": "#f08a3c",
    "s2": "#2cc296",
    "s3": "#cc79a7",
    "s4": "#d8d8d8",
    "regime": "#8a6a20",
    "better": "#2cc296",
    "worse": "#f08a3c",
    "alike": "#56b4e9",
    "open": "#e0c050",
    "large": "#d98cb8",
}

VERDICTS: Final[Mapping[str, str]] = {
    "v-faster": "better",
    "v-slower": "worse",
    "v-same": "alike",
    "v-cannot-tell": "open",
    "v-same-program": "quiet",
    "v-layout-matters": "large",
    "v-practically-none": "alike",
    "v-machine-not-layout": "open",
    "v-one-layout": "quiet",
}
"""Class of a verdict -> its colour."""

PARTS: Final[Mapping[str, str]] = {
    "p-layout": "large",
    "p-execution": "quiet",
    "p-iteration": "rule",
    "p-layout-and-execution": "open",
}
"""Class of a part of the variance -> its colour, which is that of no system."""


@dataclass(frozen=True)
class Rule:
    """Properties of ``elements`` (all where empty) that have all of ``classes``; ``@ink`` is the colour ink."""

    elements: tuple[str, ...]
    classes: tuple[str, ...]
    properties: Mapping[str, str]

    def fits(self, element: str, classes: set[str]) -> bool:
        """Whether the rule is about such an element."""
        return (not self.elements or element in self.elements) and classes.issuperset(self.classes)


def _of(*classes: str, **properties: str) -> Rule:
    return Rule((), classes, {name.replace("_", "-"): value for name, value in properties.items()})


# Later rules win over earlier ones, as in a style sheet whose selectors are alike; so rules with two classes come last.
RULES: Final = (
    Rule(("text",), (), {"fill": "@ink"}),
    Rule(("path", "polyline"), (), {"fill": "none", "stroke-width": "1.2", "stroke": "@ink"}),
    Rule(("text",), ("quiet",), {"fill": "@quiet"}),
    Rule(("text",), ("small",), {"font-size": "10px"}),
    Rule(("text",), ("strong",), {"font-weight": "bold"}),
    _of("axis", stroke="@quiet"),
    _of("thick", stroke_width="2.5"),
    _of("grid", stroke="@rule", stroke_width=".6"),
    _of("reference", stroke="@quiet", stroke_dasharray="5 3"),
    _of("band", fill="@band"),
    _of("dot", stroke_width="5", stroke_linecap="round", opacity=".8"),
    _of("square", opacity=".8"),
    _of("outline", stroke_width="1.4"),
    _of("whisker", stroke_width="2"),
    _of("bar", stroke_width="4"),
    _of("dashes", stroke_dasharray="4 3"),
    _of("flag", stroke="@ink", stroke_width="1.4", stroke_dasharray="2 2"),
    *(_of(f"s{number}", stroke=f"@s{number}") for number in range(5)),
    *(_of(name, stroke=f"@{colour}") for name, colour in VERDICTS.items()),
    *(_of(name, fill=f"@{colour}") for name, colour in PARTS.items()),
    _of("large", stroke_width="9"),
    _of("hollow", stroke="@ink", stroke_width="1.3"),
    _of("regime", fill="@regime", stroke="none", opacity=".35"),
    _of("fill", stroke="none", opacity=".6"),
    _of("square", stroke="none"),
    *(_of(kind, f"s{number}", fill=f"@s{number}") for kind in ("fill", "square") for number in range(5)),
    *(_of("square", name, fill=f"@{colour}") for name, colour in VERDICTS.items()),
)


def style_sheet() -> str:
    """The rules as CSS, for a page that has the colours as variables."""
    lines = []
    for rule in RULES:
        classes = "".join(f".{name}" for name in rule.classes)
        selector = ", ".join(f"svg {element}{classes}" for element in rule.elements or ("",))
        lines.append(f"{selector} {{ {_declarations({k: _variable(v) for k, v in rule.properties.items()})} }}")
    return "\n".join(lines)


def variables(colours: Mapping[str, str]) -> str:
    """The colours as declarations of CSS variables."""
    return _declarations({f"--{name}": value for name, value in colours.items()})


def standalone(svg: str, width_mm: float) -> str:
    """A figure as a file of its own, so wide, in the colours for paper; it means the same to every reader of SVG."""
    root = ET.fromstring(svg)  # noqa: S314 - made by our own figures
    _, _, across, down = (float(part) for part in root.attrib["viewBox"].split())
    root.attrib.pop("class", None)
    root.attrib.update(
        {
            "width": f"{width_mm:g}mm",
            "height": f"{width_mm * down / across:.2f}mm",
            "font-family": FONTS,
            "font-size": f"{FONT_SIZE}px",
        }
    )
    for element in root.iter():
        name = element.tag.removeprefix(f"{{{_SVG}}}")
        classes = set(element.attrib.pop("class", "").split())
        for key in [key for key in element.attrib if key.startswith("data-")]:
            del element.attrib[key]  # of use on a page alone
        for rule in RULES if element is not root else ():
            if rule.fits(name, classes):
                element.attrib.update({key: _coloured(value) for key, value in rule.properties.items()})
        if "dot" in classes:  # not all readers draw the caps of a line without length
            element.attrib["d"] = element.attrib["d"].replace("h0", "h.01")
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode") + "\n"


def _declarations(properties: Mapping[str, str]) -> str:
    return " ".join(f"{name}: {value};" for name, value in properties.items())


def _variable(value: str) -> str:
    return f"var(--{value[1:]})" if value.startswith("@") else value


def _coloured(value: str) -> str:
    return LIGHT[value[1:]] if value.startswith("@") else value
