"""From what was built to what is to be executed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from layoutrand.build.build import SystemBuild
from layoutrand.build.coincidence import coinciding_systems, record_of_coincidence
from layoutrand.build.made_from import built_from, jdk_as_it_is
from layoutrand.build.prebuilt import origin_of, recorded_under
from layoutrand.cache.capture_record import tools_of
from layoutrand.config.config import Config
from layoutrand.config.redaction import not_masked, redaction_of
from layoutrand.execute.images import image_of
from layoutrand.execute.run_plan import BuiltSystems, RunChoices, RunRequest
from layoutrand.execute.shared_profiles import shared_profiles
from layoutrand.model import BuiltFrom
from layoutrand.suites.known import by_kind


def make_request(config: Config, project: Path, results: Sequence[SystemBuild], choices: RunChoices) -> RunRequest:
    """The request to execute what ``results`` built."""
    image = image_of(config, project)
    origins = {
        r.system: origin_of(config, project, r.system, r.capture.id if r.capture else "", r.binaries, image, r.coupled)
        for r in results
    }
    settings = config.suite
    suite = {} if settings is None else by_kind(settings.kind).described(settings, project)
    together = record_of_coincidence(coinciding_systems(binary for r in results for binary in r.binaries))
    built = BuiltSystems(
        binaries=[binary for result in results for binary in result.binaries],
        failures=[failure for result in results for failure in result.failures],
        captures={system: recorded_under(config, system, origin) for system, origin in origins.items()},
        origins=origins,
        exehash_is_sha256=frozenset(
            r.system for r in results if r.capture and r.capture.source.get("exehash") == "sha256"
        ),
        jvms={(r.system, layout): facts for r in results for layout, facts in r.jvms.items()},
        linked={r.system: r.capture for r in results if r.capture and not r.coupled}
        if config.build.mode == "relink"
        else {},
        tools={
            recorded_under(config, r.system, origins[r.system]): {
                **tools_of(r.capture),
                **(together if r.coupled else {}),
            }
            for r in results
            if r.capture
        },
        built=[
            built_from(config, r.system, r.capture, r.facts, recorded_under(config, r.system, origins[r.system]), image)
            for r in results
            if r.capture
        ]
        + [found for r in results if (found := _jdk(config, project, r, origins[r.system], suite))],
    )
    return RunRequest(config, project, built, choices, redaction=redaction_of(config, os.environ))


def remarks(request: RunRequest) -> list[str]:
    """What the user should know before anything of the request is executed."""
    return [*not_masked(request.redaction), *shared_profiles(request)]


def _jdk(config: Config, project: Path, result: SystemBuild, origin: str, suite: Mapping[str, str]) -> BuiltFrom | None:
    return jdk_as_it_is(config, project, result, recorded_under(config, result.system, origin), suite)
