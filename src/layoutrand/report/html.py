"""The HTML report: one file that needs no network, from a description of the page.

Everything but the figures is escaped by the template; characters that HTML cannot hold become spaces.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from layoutrand.report import style
from layoutrand.text.document import Figure, Page, cut, plain


def render(page: Page) -> str:
    """The HTML file."""
    sheet = Markup(style.style_sheet())  # noqa: S704 - our own constants, kept on their lines
    return _environment().get_template("report.html.j2").render(page=page, svg=_as_it_is, style=style, sheet=sheet)


def _as_it_is(figure: Figure) -> Markup:
    return Markup(figure.svg)  # noqa: S704 - made by our own figures, which escape every text in them


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
    """A sentence whose percentages are not torn apart at the end of a line."""
    return Markup(re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", str(escape(plain(value)))))  # noqa: S704 - escaped here


def _clean(value: Any) -> Any:
    """Text on one line, without control characters; markup stays as it is."""
    return value if isinstance(value, Markup) else plain(str(value))
