"""The HTML report: one file that needs no network, from a description of the page.

Everything but the figures is escaped by the template; characters that HTML cannot hold become spaces.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape

from layoutrand.report import style
from layoutrand.report.page_parts import Page
from layoutrand.text.document import cut, plain

_MARKS: Final = {"good": "✓", "doubtful": "⚠", "bad": "✗", "unknown": "·"}


def render(page: Page, *, script: bool = True) -> str:
    """The HTML file; without ``script`` nothing in it can be executed, and nothing sorted or pointed at."""
    text = _script() if script and page.cards else ""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    allowed = f"; script-src 'sha256-{digest}'" if text else ""
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            svg=_as_it_is,
            style=style,
            sheet=Markup(style.style_sheet()),  # noqa: S704 - our own constants, kept on their lines
            script=Markup(text),  # noqa: S704 - our own file
            policy=f"default-src 'none'; style-src 'unsafe-inline'{allowed}",
            marks=_MARKS,
            order=_order,
        )
    )


@cache
def _script() -> str:
    """The one script of the page: what it does can be read in the numbers without it."""
    lines = (files("layoutrand") / "templates" / "report.js").read_text("utf-8").splitlines()
    return "\n".join(line.strip() for line in lines if line.strip() and not line.strip().startswith("//"))


def _order(effect: float) -> str:
    """A place for sorting: what has no effect comes last."""
    return f"{max(effect, -1e9):.6g}"


def _as_it_is(svg: str) -> Markup:
    return Markup(svg)  # noqa: S704 - made by our own figures, which escape every text in them


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (files("layoutrand") / "templates" / name).read_text("utf-8")),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_clean,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = _prose
    environment.filters["cut"] = cut
    return environment


def _prose(value: str) -> Markup:
    """A sentence whose percentages are not torn apart at the end of a line, with commands as such."""
    words = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", str(escape(plain(value))))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", words))  # noqa: S704 - escaped here


def _clean(value: Any) -> Any:
    """Text on one line, without control characters; markup stays as it is."""
    return value if isinstance(value, Markup) else plain(str(value))
