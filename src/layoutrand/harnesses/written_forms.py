"""JSON and XML that harnesses write: parts of the kind that they must be, or an error that says what was expected."""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar
from xml.etree import ElementTree as ET

from layoutrand.errors import NoMeasurement

_Kind = TypeVar("_Kind")
_WORDS: Final[dict[type, str]] = {dict: "an object", list: "an array", str: "text"}


def document(text: str, what: str) -> Any:
    """The JSON document; ``what`` names it in messages.  Raises `NoMeasurement`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoMeasurement(f"{what} is no JSON that can be read ({error}); was the program ended early?") from error


def part(table: Any, key: str, kind: type[_Kind], what: str) -> _Kind:
    """``table[key]``, which must be there and of this kind; raises `NoMeasurement`."""
    found = table.get(key) if isinstance(table, dict) else None
    if not isinstance(found, kind):
        raise NoMeasurement(f"{what} has no {key!r} that is {_WORDS.get(kind, kind.__name__)}")
    return found


def xml_root(text: str, what: str) -> ET.Element:
    """The root of an XML document that declares nothing of its own; raises `NoMeasurement`."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise NoMeasurement(f"{what} declares a document type, which no harness does")
    try:
        return ET.fromstring(text)  # noqa: S314 - it declares no entities, which is what attacks are made of
    except (ET.ParseError, ValueError, RecursionError) as error:
        raise NoMeasurement(f"{what} is no XML that can be read ({error}); was the program ended early?") from error
