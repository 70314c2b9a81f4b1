"""Tables of keys for the configuration and toolchain pages: types, defaults and limits of the models, with meanings.

Meanings are those of ``config/key_meanings.toml``.
"""

from __future__ import annotations

import tomllib
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

import layoutrand.config
from layoutrand.config import config, toolchain
from layoutrand.config.image import Image
from layoutrand.config.matrix import KEYS
from layoutrand.config.metric import Printed
from layoutrand.engines.known.dask import Dask, DaskMeasure
from layoutrand.engines.known.slurm import Slurm, SlurmMeasure

MEANINGS = tomllib.loads((Path(layoutrand.config.__file__).parent / "key_meanings.toml").read_text("utf-8"))
MODELS: dict[str, tuple[type[BaseModel], ...]] = {
    "project": (config.Project,),
    "build": (config.Build,),
    "build.image": (Image,),
    "layout": (config.LayoutPolicy,),
    "systems": (config.System,),
    "benchmarks": (config.Benchmark,),
    "metric": (config.Metric,),
    "metric.printed": (Printed,),
    "run": (config.Run,),
    "run.disturbance": (config.Disturbance,),
    "suite.dacapo": (config.DacapoSuite,),
    "suite.spec-cpu": (config.SpecSuite,),
    "cluster.slurm": (Slurm,),
    "cluster.dask": (Dask,),
    "cluster.measure": (SlurmMeasure, DaskMeasure),
    "warmup": (config.ChosenWarmup,),
    "toolchain": (toolchain.Toolchain,),
    "toolchain.tools": (toolchain.Tools,),
    "toolchain.compile": (toolchain.Compile,),
    "toolchain.link": (toolchain.Link,),
}
BY_MODEL = {model.__name__: MEANINGS[table] for table, models in MODELS.items() for model in models} | {
    "FlagSet": MEANINGS["systems"],
    "matrix": MEANINGS["matrix"],
}
"""Meanings by the model that checks a key, for the JSON Schema."""

NOT_WRITTEN = {("metric", "suite")}
"""Keys that nobody writes: what the expansion of a suite adds."""

SAID_OTHERWISE = {
    ("benchmarks", "memory_limit"): "size",
    ("benchmarks", "output_limit"): "size",
    ("run", "cpu"): "`any`, `auto`, integer, array",
    ("suite.dacapo", "benchmarks"): 'array of strings, `"all"`',
    ("cluster.slurm", "sbatch"): "table",
    ("cluster.measure", "sbatch"): "table",
    ("toolchain", "extends"): "string",
}
"""Types of keys that are more than their model's annotation says, since it checks them before."""


def keys(table: str) -> dict[str, tuple[str, str]]:
    """Key -> its type and its default in words, as the models have them."""
    if table == "matrix":
        return dict.fromkeys(KEYS, ("", ""))
    found: dict[str, tuple[str, str]] = {"extends": ("string", "")} if table == "toolchain" else {}
    for model in MODELS[table]:
        for name, field in model.model_fields.items():
            key = field.alias or name
            inner = table == "toolchain" and name in {"tools", "compile", "link"}
            if (table, key) not in NOT_WRITTEN and not inner:
                kind = SAID_OTHERWISE.get((table, key)) or _kind(field.annotation)
                found[key] = (kind, "**needed**" if field.is_required() else _default(field))
    return found


def table(name: str) -> str:
    """The rows of one table, as Markdown."""
    meanings = MEANINGS[name]
    rows = [
        f"| `{key}` | {kind} | {default} | {meanings[key]} |"
        for key, (kind, default) in sorted(keys(name).items(), key=lambda item: list(meanings).index(item[0]))
    ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])


def _kind(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in {Union, types.UnionType}:
        return ", ".join(dict.fromkeys(_kind(each) for each in inner if each is not type(None)))
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in inner)
    if origin is list:
        of = inner[0]
        while get_origin(of) is Annotated:
            of = get_args(of)[0]
        if get_origin(of) is Literal:
            return f"array of {_kind(of)}" if len(get_args(of)) < 4 else "array of names"
        return "array of tables" if isinstance(of, type) and issubclass(of, BaseModel) else "array of strings"
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "table"
    return {str: "string", int: "integer", float: "number", bool: "`true`, `false`"}.get(annotation, "")


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, BaseModel) or value in ([], {}, ""):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list):
        return f"`[{', '.join(chr(34) + str(each) + chr(34) for each in value)}]`"
    return f"`{value:g}`" if isinstance(value, float) and value < 1e6 else f"`{value}`"
