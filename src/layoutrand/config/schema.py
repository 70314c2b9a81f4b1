"""The JSON Schema of layoutrand.toml, made of the models that check it: editors complete and check keys with it.

It says what each key takes by itself.  What only `layoutrand.config.config.parse` knows, such as that two keys do not
go together, it leaves out, so that whatever is valid fits it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from layoutrand.config.cluster import tables
from layoutrand.config.config import ConfigFile, FlagSet
from layoutrand.text.strict_table import NAME_PATTERN

FILE_NAME: Final = "layoutrand.schema.json"
"""Its name in the package, below ``schemas``."""

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_DEFINED: Final = "#/$defs/{model}"
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT, "minItems": 1}
_MATRIX: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "[matrix]: revisions x toolchains x flags, multiplied into systems.",
    "additionalProperties": False,
    "properties": {
        "rev": {"anyOf": [_TEXTS, {"type": "object", "additionalProperties": _TEXT, "minProperties": 1}]},
        "toolchain": {"anyOf": [_TEXTS, {"type": "object", "additionalProperties": _TEXT, "minProperties": 1}]},
        "flags": {
            "type": "object",
            "additionalProperties": {"anyOf": [_TEXT, {"$ref": "#/$defs/FlagSet"}]},
            "minProperties": 1,
        },
        "name": {"type": "string", "examples": ["{rev}-{toolchain}-{flags}"]},
        "exclude": {
            "type": "array",
            "items": {"type": "object", "additionalProperties": {"anyOf": [_TEXT, _TEXTS]}},
        },
    },
}


Meanings = Mapping[str, Mapping[str, str]]
"""Name of a model, or ``matrix`` -> key -> what it means, as Markdown (``key_meanings.toml``)."""


def document(meanings: Meanings) -> dict[str, Any]:
    """The schema, as JSON values; keys are described by what the ``meanings`` say."""
    engines = tables()
    models: list[type[BaseModel]] = [ConfigFile, FlagSet, *engines.values()]
    _, found = models_json_schema([(model, "validation") for model in models], ref_template=_DEFINED)
    defined = {name: _tidy(table) for name, table in found["$defs"].items()}
    for name, told in meanings.items():
        if name in defined:
            _describe(defined[name]["properties"], told)
    whole = defined.pop("ConfigFile")
    properties = whole["properties"]
    properties["matrix"] = deepcopy(dict(_MATRIX))
    _describe(properties["matrix"]["properties"], meanings.get("matrix", {}))
    properties["cluster"] = {"oneOf": [{"$ref": _DEFINED.format(model=table.__name__)} for table in engines.values()]}
    properties["systems"]["propertyNames"] = {"pattern": NAME_PATTERN}
    whole["required"] = ["project"]  # systems may come from a matrix, and a suite brings build and benchmarks
    return {"$schema": _DRAFT, "title": "layoutrand.toml", **whole, "$defs": defined}


def text(meanings: Meanings) -> str:
    """The schema as it is shipped."""
    return json.dumps(document(meanings), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _describe(properties: dict[str, Any], told: Mapping[str, str]) -> None:
    """Give each key what is told of it, without links."""
    for key, node in properties.items():
        if key in told:
            node["description"] = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", told[key])


def _tidy(node: Any) -> Any:
    """The node without nulls, which TOML does not have, and without titles that repeat a key."""
    if isinstance(node, list):
        return [_tidy(part) for part in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: {name: _tidy(table) for name, table in value.items()} if key in {"properties", "$defs"} else _tidy(value)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and _says_nothing(value))
    }
    choices = kept.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        left = [choice for choice in choices if choice != {"type": "null"}]
        del kept["anyOf"]
        kept = {**kept, **(left[0] if len(left) == 1 else {"anyOf": left})}
    words = kept.get("description")
    if isinstance(words, str):
        kept["description"] = re.sub(r"``([^`]*)``", r"\1", " ".join(words.split()))
    return kept


def _says_nothing(default: Any) -> bool:
    """Whether a default is none, or a whole table, whose keys have their own."""
    return default is None or isinstance(default, dict)
