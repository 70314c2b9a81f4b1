"""Figures as PDF and PNG, by the libraries of the extra ``layoutrand[figures]``: reportlab draws, PDFium rasterises.

Only what our own figures consist of is understood: paths of straight lines, polylines, rectangles and text, with
presentation attributes, and groups that are shifted.  Fonts are embedded, so a figure looks the same everywhere, and
equal figures are equal bytes.
"""

from __future__ import annotations

import functools
import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree as ET

from layoutrand.errors import FeatureUnsupported, ToolNotFound, UsageError

_MM: Final = 72 / 25.4
_INSTALL: Final = "PDF and PNG need two libraries: pip install 'layoutrand[figures]' (SVG and LaTeX do without)"
_CAPS: Final = {"butt": 0, "round": 1, "square": 2}
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RAISED: Final = re.compile("([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)")

Point = tuple[float, float]


@dataclass(frozen=True)
class Fonts:
    """Names under which reportlab knows the fonts, and the characters that both have."""

    plain: str
    bold: str
    known: frozenset[str]


def fonts(path: str | None = None) -> Fonts:
    """Bitstream Vera Sans, which comes with reportlab, or the TrueType font of this file.

    Raises `ToolNotFound` without the libraries, `UsageError` for a file that is no such font.
    """
    if path is not None:
        return _loaded(path, path)
    try:
        import reportlab
    except ImportError as error:
        raise ToolNotFound(_INSTALL) from error
    folder = os.path.join(os.path.dirname(reportlab.__file__), "fonts")
    return _loaded(os.path.join(folder, "Vera.ttf"), os.path.join(folder, "VeraBd.ttf"))


@functools.cache
def _loaded(plain: str, bold: str) -> Fonts:
    try:
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFError, TTFont
    except ImportError as error:
        raise ToolNotFound(_INSTALL) from error
    names = []
    known: list[set[str]] = []
    for path in (plain, bold):
        try:
            font = TTFont(path, path)
        except (TTFError, OSError) as error:
            raise UsageError(f"--font {path}: not a TrueType font that can be embedded: {error}") from error
        pdfmetrics.registerFont(font)
        names.append(path)
        known.append({chr(code) for code in font.face.charToGlyph})
    return Fonts(names[0], names[1], frozenset(known[0] & known[1]))


def missing(svg: str, font: Fonts) -> str:
    """The characters of the figure's texts that the font lacks, each once."""
    words = "".join("".join(text.itertext()) for text in ET.fromstring(svg).iter() if _tag(text) == "text")  # noqa: S314
    return "".join(dict.fromkeys(c for c in words.translate(_SUPERSCRIPTS) if c not in font.known))


def pdf(svg: str, font: Fonts) -> bytes:
    """A figure made by `style.standalone` as one page of PDF, as wide as the figure says.

    Raises `FeatureUnsupported` for characters that the font lacks: they would be empty boxes.
    """
    try:
        from reportlab.pdfgen.canvas import Canvas
    except ImportError as error:
        raise ToolNotFound(_INSTALL) from error
    root = ET.fromstring(svg)  # noqa: S314 - made by our own figures
    lacking = missing(svg, font)
    title = next((element.text or "" for element in root if _tag(element) == "title"), "")
    if lacking:
        raise FeatureUnsupported(
            f"{title}: the font of PDF and PNG has no {' '.join(lacking)}; name a TrueType font that has it with "
            "--font FILE, or write SVG"
        )
    width, height = (float(root.attrib[side].removesuffix("mm")) * _MM for side in ("width", "height"))
    _, _, across, _ = (float(part) for part in root.attrib["viewBox"].split())
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(width, height), invariant=1, initialFontName=font.plain)
    canvas.setTitle(title)
    canvas.setSubject(next((element.text or "" for element in root if _tag(element) == "desc"), ""))
    canvas.setCreator("layoutrand")
    canvas.translate(0, height)
    canvas.scale(width / across, -width / across)  # from here on in the figure's units, downwards
    for element in root:
        _draw(canvas, element, font, float(root.attrib["font-size"].removesuffix("px")))
    canvas.showPage()
    canvas.save()
    return file.getvalue()


def png(page: bytes, dpi: int) -> bytes:
    """The page of PDF as pixels on white; raises `ToolNotFound` without the library."""
    try:
        import pypdfium2
    except ImportError as error:
        raise ToolNotFound(_INSTALL) from error
    document = pypdfium2.PdfDocument(page)
    try:
        image = document[0].render(scale=dpi / 72).to_pil()
        file = io.BytesIO()
        image.save(file, "PNG", dpi=(dpi, dpi), optimize=True)
    finally:
        document.close()
    return file.getvalue()


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _draw(canvas: Any, element: ET.Element, font: Fonts, size: float) -> None:
    kind, values = _tag(element), element.attrib
    if kind in {"title", "desc"}:
        return
    canvas.saveState()
    if kind == "g":
        across, down = (float(part) for part in re.findall(r"-?[\d.]+", values["transform"]))
        canvas.translate(across, down)
        for inner in element:
            _draw(canvas, inner, font, size)
        canvas.restoreState()
        return
    filled, stroked = _paint(canvas, values)
    if kind == "text":
        _text(canvas, element, font, float(values.get("font-size", f"{size}px").removesuffix("px")))
    elif kind == "rect":
        place = (float(values[name]) for name in ("x", "y", "width", "height"))
        canvas.rect(*place, stroke=stroked, fill=filled)
    else:
        lines = steps(values["d"]) if kind == "path" else _corners(values["points"])
        path = canvas.beginPath()
        for command, x, y in lines:
            {"M": path.moveTo, "L": path.lineTo}[command](x, y) if command != "Z" else path.close()
        canvas.drawPath(path, stroke=stroked, fill=filled, fillMode=1)  # marks that overlap have no holes
    canvas.restoreState()


def _paint(canvas: Any, values: Mapping[str, str]) -> tuple[int, int]:
    """Set colours and line style; whether there is something to fill and to stroke."""
    from reportlab.lib.colors import HexColor

    fill, stroke = values.get("fill", "#000000"), values.get("stroke", "none")
    if fill != "none":
        canvas.setFillColor(HexColor(fill))
    if stroke != "none":
        canvas.setStrokeColor(HexColor(stroke))
        canvas.setLineWidth(float(values.get("stroke-width", "1")))
        canvas.setLineCap(_CAPS[values.get("stroke-linecap", "butt")])
        if "stroke-dasharray" in values:
            canvas.setDash([float(part) for part in values["stroke-dasharray"].split()])
    if "opacity" in values:
        canvas.setFillAlpha(float(values["opacity"]))
        canvas.setStrokeAlpha(float(values["opacity"]))
    return int(fill != "none"), int(stroke != "none")


def _text(canvas: Any, element: ET.Element, font: Fonts, size: float) -> None:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    name = font.bold if element.attrib.get("font-weight") == "bold" else font.plain
    # Digits above the line are drawn as small raised ones, because few fonts have all of them.
    pieces = [(part, _RAISED.fullmatch(part) is not None) for part in _RAISED.split(element.text or "") if part]
    shown = [
        (part.translate(_SUPERSCRIPTS), 0.7 * size if up else size, 0.35 * size if up else 0.0) for part, up in pieces
    ]
    length = sum(stringWidth(part, name, points) for part, points, _ in shown)
    start = {"start": 0.0, "middle": length / 2, "end": length}[element.attrib.get("text-anchor", "start")]
    canvas.translate(float(element.attrib["x"]) - start, float(element.attrib["y"]))
    canvas.scale(1, -1)
    drawn = canvas.beginText(0, 0)
    for part, points, rise in shown:
        drawn.setFont(name, points)
        drawn.setRise(rise)
        drawn.textOut(part)
    canvas.drawText(drawn)


def steps(path: str) -> Iterator[tuple[str, float, float]]:
    """The commands of an SVG path of straight lines as ("M", x, y), ("L", x, y) and ("Z", 0, 0), all absolute."""
    x = y = 0.0
    begun = (0.0, 0.0)
    for command, numbers in re.findall(r"([MLmlhvz])([^MLmlhvz]*)", path):
        values = [float(text) for text in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", numbers)]
        if command == "z":
            yield "Z", 0.0, 0.0
            x, y = begun
        elif command == "h":
            values = [part for value in values for part in (value, 0.0)]
        elif command == "v":
            values = [part for value in values for part in (0.0, value)]
        for number, (a, b) in enumerate(zip(values[::2], values[1::2], strict=True)):
            x, y = (x + a, y + b) if command.islower() else (a, b)
            moves = command in "Mm" and number == 0
            if moves:
                begun = (x, y)
            yield ("M" if moves else "L"), x, y


def _corners(points: str) -> Iterator[tuple[str, float, float]]:
    for number, pair in enumerate(points.split()):
        x, y = pair.split(",")
        yield ("L" if number else "M"), float(x), float(y)
