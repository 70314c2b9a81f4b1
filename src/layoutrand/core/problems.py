"""What is wrong with a TOML table, in words: one line for each problem, beginning with its key path."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

_KEY_MARK: Final = "[key]"  # what pydantic puts into the path of a table's name that does not fit
_WORDS: Final = {
    "missing": "this key is required",
    "string_pattern_mismatch": "use letters, digits and . _ + - only, beginning with a letter or digit",
    "too_short": "must not be empty",
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "list_type": "must be an array",
    "bool_type": "must be true or false",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
}


def explain(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """One line for each problem that pydantic found in a table meant for ``model``."""
    return [_line(detail, model) for detail in error.errors(include_url=False)]


def suggest(name: str, known: Sequence[str]) -> str:
    """``; did you mean 'x'?`` for the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def key_path(location: Sequence[int | str]) -> str:
    """A place in a TOML table as its user would write it: ``benchmarks[0].name``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


def _line(detail: ErrorDetails, model: type[BaseModel]) -> str:
    location = [part for part in detail["loc"] if part != _KEY_MARK]
    where = key_path(location)
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = _known_keys(location, model)
        hint = suggest(str(location[-1]), known) or (f"; known here: {', '.join(known)}" if known else "")
        return f"{where}: unknown key{hint}"
    message = _WORDS.get(kind) or detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    return f"{where}: {message}{_given(detail['input'])}" if where else message


def _given(value: object) -> str:
    if isinstance(value, bool):
        return f" (given: {str(value).lower()})"
    return f" (given: {value!r})" if isinstance(value, str | int | float) else ""


def _known_keys(location: Sequence[int | str], model: type[BaseModel]) -> list[str]:
    """The keys allowed where an unknown one stands, found by walking the models along its path."""
    found: Any = model
    for part in location[:-1]:
        fields = _keys(found) if isinstance(found, type) and issubclass(found, BaseModel) else {}
        found = _inner_model(fields[part].annotation) if part in fields else found  # else: an index or a table's name
    return list(_keys(found)) if found is not None else []


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the keys that stand for them in a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model in an annotation such as ``list[Benchmark]`` or ``dict[Name, System]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((inner for part in get_args(annotation) if (inner := _inner_model(part)) is not None), None)
