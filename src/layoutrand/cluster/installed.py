"""What is too large to be carried to nodes, or is installed on them: it must be there, and the same as here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutrand.config.config import Config
from layoutrand.errors import ClusterError, ConfigError, HostError
from layoutrand.jvm import home_image as images
from layoutrand.platform.disk import sha256_file
from layoutrand.suites.known import by_kind


@dataclass(frozen=True)
class InstalledPath:
    """A path that has the same content on every node: ``digest`` says which; ``key`` is what names it to the user.

    Of a template the files that match ``exclude`` do not count.
    """

    kind: str
    path: str
    key: str
    digest: str
    exclude: tuple[str, ...] = ()


def places_of(config: Config, project: Path, systems: Sequence[str]) -> tuple[InstalledPath, ...]:
    """The places that executions of these systems need; raises `HostError` or `ConfigError` where one cannot be read.

    They are given by absolute paths; what lies within the project is carried instead.
    """
    return tuple(_with_digest(place) for place in _needed(config, project.resolve(), systems))


def check_places(places: Sequence[InstalledPath], node: str) -> None:
    """Raise `ClusterError` where one is not on this node, or has another content there."""
    for place in places:
        try:
            found = _with_digest(place).digest
        except (ConfigError, HostError) as error:
            why = "; ".join(error.problems) if isinstance(error, ConfigError) else str(error)
            raise ClusterError(f"{place.key}: {place.path} cannot be used on {node}: {why}") from error
        if found != place.digest:
            raise ClusterError(
                f"{place.key}: {place.path} has another content on {node} than here; what is named by an absolute "
                "path is not carried to nodes and must be the same on all of them"
            )


def _needed(config: Config, project: Path, systems: Sequence[str]) -> Iterator[InstalledPath]:
    image, suite = config.build.image, config.suite
    if image is not None and os.path.isabs(image.template):
        yield InstalledPath("template", image.template, "build.image.template", "", tuple(image.exclude))
    for name in systems:
        folder = config.systems[name].prebuilt
        if folder is not None and os.path.isabs(folder):
            for artefact in config.build.artefacts:
                yield InstalledPath("file", os.path.join(folder, artefact), f"systems.{name}.prebuilt", "")
    if suite is not None:
        known = by_kind(suite.kind)
        yield InstalledPath(suite.kind, os.path.abspath(project / known.installed(suite)), known.place, "")


def _with_digest(place: InstalledPath) -> InstalledPath:
    path = Path(place.path)
    if place.kind == "template":
        digest = images.template_digest(path, place.exclude)
    elif place.kind == "file":
        try:
            digest = sha256_file(path)
        except OSError as error:
            raise HostError(f"cannot read {path}: {error.strerror}") from error
    else:
        digest = by_kind(place.kind).identity(path, place.path)
    return InstalledPath(place.kind, place.path, place.key, digest, place.exclude)
