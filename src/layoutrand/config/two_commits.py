"""One system of layoutrand.toml as two: built from two commits of its repository; pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import Final, get_args

from pydantic import ValidationError

from layoutrand.config.config import Benchmark, Build, Config, System, choose
from layoutrand.config.layout_policy import Couple, LayoutPolicy
from layoutrand.config.problems import explain
from layoutrand.config.warmup_choices import ChosenWarmup
from layoutrand.errors import UsageError

BASE: Final = "base"
HEAD: Final = "head"
"""What the two are called in results; people read the labels."""


def checkable(config: Config) -> tuple[list[str], dict[str, str]]:
    """The systems that can be built from two commits, and name -> why, of those that are left out.

    Of systems that differ in their revision alone the first counts.
    """
    chosen: list[str] = []
    left: dict[str, str] = {}
    for name, system in config.systems.items():
        if system.prebuilt is not None:
            left[name] = "is prebuilt, so there are no two commits of it"
        elif twin := next((other for other in chosen if _alike(system, config.systems[other])), None):
            left[name] = f"differs from {twin} by its revision alone"
        else:
            chosen.append(name)
    return chosen, left


def coupled_by(config: Config, couple: str) -> Config:
    """The configuration with another ``layout.couple``; raises `UsageError` where that cannot be."""
    choose("coupling", [couple], list(get_args(Couple)))
    if couple != "order" and config.build.mode == "rebuild":
        raise UsageError('--couple address needs captures to link, so it does not go with build.mode = "rebuild"')
    try:
        policy = LayoutPolicy.model_validate({**config.layout.model_dump(), "couple": couple})
    except ValidationError as error:
        raise UsageError("--couple: " + "; ".join(explain(error, LayoutPolicy))) from error
    return config.model_copy(update={"layout": policy})


def _alike(one: System, other: System) -> bool:
    fields = {"rev": None, "label": None}
    return one.model_copy(update=fields) == other.model_copy(update=fields)


def two_commits(
    config: Config, system: str, url: str, commits: tuple[str, str], labels: tuple[str, str], inside: str
) -> Config:
    """The configuration with the systems `BASE` and `HEAD` alone, which are ``system`` at each of two commits.

    ``inside`` is the directory of the source in its repository: commands are executed there, and artefacts lie there.
    Both systems of a benchmark are executed next to each other, stock beside them.
    """
    own = config.systems[system]
    sides = {
        name: own.model_copy(update={"rev": commit, "label": label})
        for name, commit, label in zip((BASE, HEAD), commits, labels, strict=True)
    }
    build = config.build.model_copy(
        update={
            "repo": url,
            "rev": None,
            "source": ".",
            "in_place": False,
            "exclude": [*config.build.exclude, *(_below(inside, each) for each in config.build.exclude if inside)],
            "commands": _commands(config.build, inside),
            "artefacts": [_below(inside, artefact) for artefact in config.build.artefacts],
        }
    )
    run = config.run.model_copy(update={"order": "pairs", "controls": ["stock"]})
    return config.model_copy(
        update={
            "build": build,
            "systems": sides,
            "benchmarks": _benchmarks(config.benchmarks, inside),
            "run": run,
            "warmup": [choice for each in config.warmup for choice in _of_both(each, system)],
        }
    )


def declared_inside(config: Config, inside: str) -> Config:
    """The configuration with its benchmarks as `two_commits` declares them."""
    return config.model_copy(update={"benchmarks": _benchmarks(config.benchmarks, inside)})


def without_artefacts(config: Config, absent: Collection[str]) -> tuple[Config, list[str]]:
    """The configuration without these artefacts and the benchmarks that execute them; the names of the latter."""
    first = config.build.artefacts[0]
    dropped = [each.name for each in config.benchmarks if (each.artefact or first) in absent]
    kept = [each for each in config.build.artefacts if each not in absent]
    rest = {
        "build": config.build.model_copy(update={"artefacts": kept}),
        "benchmarks": [each for each in config.benchmarks if each.name not in dropped],
    }
    return config.model_copy(update=rest), dropped


def _of_both(choice: ChosenWarmup, system: str) -> list[ChosenWarmup]:
    """A choice of warm-up as it holds for the two, if it does."""
    if choice.system is None:
        return [choice]
    return [choice.model_copy(update={"system": name}) for name in (BASE, HEAD)] if choice.system == system else []


def _below(inside: str, path: str) -> str:
    return f"{inside}/{path}" if inside else path


def _commands(build: Build, inside: str) -> list[str]:
    return [f"cd {shlex.quote(inside)}", *build.commands] if inside else list(build.commands)


def _benchmarks(benchmarks: Sequence[Benchmark], inside: str) -> list[Benchmark]:
    return [
        each if each.artefact is None else each.model_copy(update={"artefact": _below(inside, each.artefact)})
        for each in benchmarks
    ]
