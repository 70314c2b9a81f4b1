"""What remedies go by: the functions of the suspects that are left, and the files that these are compiled from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from layoutrand.cache.store import Cache
from layoutrand.capture.origin import Origins
from layoutrand.config.build_recipe import Recipe
from layoutrand.config.config import Config
from layoutrand.config.toolchain import Toolchain
from layoutrand.errors import BuildFailed, FeatureUnsupported
from layoutrand.explain.explain import Confirmed, ExplainSetup
from layoutrand.explain.hotness import HotFunction
from layoutrand.explain.remedies import Remedy, remedies_for
from layoutrand.explain.source_files import SourceFile, source_file
from layoutrand.explain.suspects import Explanation, Suspect
from layoutrand.model import IDENTITY


def suspects_left(explanation: Explanation, confirmed: Confirmed | None) -> tuple[Suspect, ...]:
    """Those that no new layouts have refuted, strongest first."""
    made = () if confirmed is None else confirmed.confirmations
    refuted = {each.groups.suspect.feature.name for each in made if each.verdict == "not confirmed"}
    return tuple(suspect for suspect in explanation.suspects if suspect.feature.name not in refuted)


def suspected_functions(explanation: Explanation, confirmed: Confirmed | None) -> tuple[HotFunction, ...]:
    """The functions of the first suspect that is left and about functions; none where there is no such."""
    hot = {function.name: function for function in explanation.hotness.functions}
    named = (suspect.feature.functions for suspect in suspects_left(explanation, confirmed))
    return next(
        (tuple(hot[name] for name in functions) for functions in named if functions and hot.keys() >= set(functions)),
        (),
    )


def file_remedies(
    explanation: Explanation, confirmed: Confirmed | None, toolchain: Toolchain, setup: ExplainSetup
) -> tuple[Remedy, ...]:
    """Remedies for the files of the suspected functions; none where there is no suspect.

    Raises `FeatureUnsupported` where it cannot be told which files these are, or the compiler takes no single ones.
    """
    functions = suspected_functions(explanation, confirmed)
    if not functions:
        return ()
    if toolchain.tools.cargo or not toolchain.compile.section_flags:
        raise FeatureUnsupported("its compiler takes no single files")
    if setup.config.build.generated() is not None:
        raise FeatureUnsupported("a suite's own tools say what is compiled how")
    return remedies_for(_files(explanation, functions, toolchain, setup))


def _files(
    explanation: Explanation, functions: tuple[HotFunction, ...], toolchain: Toolchain, setup: ExplainSetup
) -> list[SourceFile]:
    system, link = explanation.subject.sample.system, explanation.subject.link
    built = setup.build(system, [IDENTITY])
    if built.capture is None:
        raise BuildFailed(f"{explanation.subject.artefact} cannot be built any more")
    root = setup.cache.capture_path(built.capture.id) / str(built.capture.links.index(link)) / "root"
    names = _names(setup.config, system, toolchain, setup.project, setup.cache, setup.profiling.say)
    return [source_file(link, root, each.section, each.name, names) for each in functions]


def _names(
    config: Config, system: str, toolchain: Toolchain, project: Path, cache: Cache, say: Callable[[str], None]
) -> list[str]:
    recipe = Recipe.of(config, system, "capture", toolchain, config.layout.captured(), os.environ)
    return Origins(project, cache, say).names(recipe)
