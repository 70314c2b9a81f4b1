"""What is wrong with a TOML table, in words: one line for each problem, beginning with its key path."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from layoutrand.text.foreign_fields import excerpt, plain
from layoutrand.text.strict_table import NAME_PATTERN, NAME_RULE

_KEY_MARK: Final = "[key]"  # what pydantic puts into the path of a table's name that does not fit
REQUIRED: Final = "this key is required"
_WORDS: Final = {
    "missing": REQUIRED,
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
_QUOTED: Final = re.compile(r"'([^']*)'")
_FEW_CHOICES: Final = 4
_MISSPELT: Final = re.compile(r"(?P<table>(?:.*\.)?)[^.:]+: unknown key; did you mean '(?P<key>[^']+)'\?$")

Tables = Mapping[str, Mapping[str, type[BaseModel]]]
_NONE: Final[Tables] = {}
_KIND_WANTED: Final = {"union_tag_invalid", "union_tag_not_found"}


@dataclass(frozen=True)
class TableProblem:
    """What is wrong at one place of a table; ``where`` is its key path, or nothing for the whole table."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


def explain(error: ValidationError, model: type[BaseModel], by_kind: Tables = _NONE) -> list[str]:
    """One line for each problem that pydantic found in a table meant for ``model``.

    ``by_kind`` has, for keys of the model whose type does not tell, what their table may be by its ``kind``.
    """
    return [str(problem) for problem in problems_of(error, model, by_kind)]


def problems_of(error: ValidationError, model: type[BaseModel], by_kind: Tables = _NONE) -> list[TableProblem]:
    """The same with place and message apart."""
    return [_problem(detail, model, by_kind) for detail in error.errors(include_url=False)]


def told_once(problems: Sequence[str]) -> list[str]:
    """The problems but for keys that are only missing because they are misspelt, which is a problem of its own."""
    misspelt = [match for problem in problems if (match := _MISSPELT.match(problem))]
    meant = {f"{match['table']}{match['key']}: {REQUIRED}" for match in misspelt}
    return [problem for problem in problems if problem not in meant]


def suggest(name: str, known: Sequence[str]) -> str:
    """``; did you mean 'x'?`` for the nearest known name, or nothing."""
    alike = [each for each in known if each.casefold() == name.casefold()]
    near = alike[:1] or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def key_path(location: Sequence[int | str]) -> str:
    """A place in a TOML table as its user would write it: ``benchmarks[0].name``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{plain(part)}" for part in location).lstrip(".")


def _problem(detail: ErrorDetails, model: type[BaseModel], by_kind: Tables) -> TableProblem:
    location, table = _walk([part for part in detail["loc"] if part != _KEY_MARK], model, by_kind)
    where = key_path(location)
    kind = detail["type"]
    if kind in _KIND_WANTED:
        context = detail.get("ctx", {})
        one_of = str(context.get("expected_tags", "")).replace("'", '"').replace(", ", " or ")
        tag = str(context.get("tag", ""))
        wanted = f"must be {one_of}" if one_of else REQUIRED
        return TableProblem(f"{where}.kind", f"{wanted}{given_words(tag) if tag else ''}")
    if kind == "extra_forbidden":
        known = [] if table is None else list(_keys(table))
        hint = suggest(str(location[-1]), known) or (f"; known here: {', '.join(known)}" if known else "")
        return TableProblem(where, f"unknown key{hint}")
    message = _WORDS.get(kind) or _unfit_words(detail)
    message = message or detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    return TableProblem(where, f"{message}{given_words(detail['input'])}{_near(detail)}" if where else message)


def _near(detail: ErrorDetails) -> str:
    """Which of many words was meant, perhaps; of a few that is seen."""
    choices = _QUOTED.findall(str(detail.get("ctx", {}).get("expected", "")))
    return suggest(str(detail["input"]), choices) if len(choices) > _FEW_CHOICES else ""


def _unfit_words(detail: ErrorDetails) -> str:
    """What a text must be like that fits no pattern; "" for other problems.  Names have a rule, others show theirs."""
    pattern = detail.get("ctx", {}).get("pattern")
    if pattern is None:
        return ""
    return NAME_RULE if pattern == NAME_PATTERN else f"must be of the form {pattern.strip('^$')}"


def given_words(value: object) -> str:
    """What stands there, in brackets behind a message; nothing for a table or a list."""
    if isinstance(value, bool):
        return f" (given: {str(value).lower()})"
    if isinstance(value, str):
        return f" (given: {excerpt(value)})"
    return f" (given: {value!r})" if isinstance(value, int | float) else ""


def _walk(
    location: Sequence[int | str], model: type[BaseModel], by_kind: Tables
) -> tuple[list[int | str], type[BaseModel] | None]:
    """The place as it is in the file, and the model of the table in which its last key stands.

    Where tables of several kinds are allowed, pydantic puts the kind into the path.
    """
    path: list[int | str] = []
    found: type[BaseModel] | None = model
    kinds: Mapping[str, type[BaseModel]] = {}
    for place, part in enumerate(location):
        if part in kinds:
            found, kinds = kinds[str(part)], {}
            continue
        path.append(part)
        if place == len(location) - 1:
            break
        fields = {} if found is None else _keys(found)
        if part in fields:  # else: an index or a table's name
            annotation = fields[str(part)].annotation
            found, kinds = _inner_model(annotation), by_kind.get(str(part), {}) or _kinds(annotation)
    return path, found


def _kinds(annotation: Any) -> dict[str, type[BaseModel]]:
    """The models in a union that are told apart by their ``kind``, by that."""
    found: dict[str, type[BaseModel]] = {}
    for part in get_args(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            kind = part.model_fields.get("kind")
            found |= dict.fromkeys(map(str, get_args(None if kind is None else kind.annotation)), part)
        else:
            found |= _kinds(part)
    return found


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the keys that stand for them in a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model in an annotation such as ``list[Benchmark]`` or ``dict[Name, System]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((inner for part in get_args(annotation) if (inner := _inner_model(part)) is not None), None)
