"""Systems that are taken as they are: a directory of the user's with the artefacts in it, in their only layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from layoutrand.build.binaries import as_failure, cached_binary, store_stock
from layoutrand.build.build_setup import BuildSetup
from layoutrand.cache import keys
from layoutrand.config.config import Config
from layoutrand.errors import BuildError, LayoutrandError
from layoutrand.model import STOCK, Binary, BuildFailure
from layoutrand.platform.disk import cache_errors, sha256_bytes
from layoutrand.platform.regular_file import PROGRAM, content_of_regular


def take(setup: BuildSetup, name: str) -> list[Binary | BuildFailure]:
    """The artefacts of a prebuilt system, copied into the cache: what is executed cannot change under way."""
    return [_take(setup, name, artefact) for artefact in setup.config.build.artefacts]


def _take(setup: BuildSetup, name: str, artefact: str) -> Binary | BuildFailure:
    try:
        data = _read(setup, name, artefact)
        key = keys.stock_key(f"prebuilt {sha256_bytes(data)}", artefact)
        with setup.cache.lock(f"stock-{key[:32]}"), cache_errors("use", setup.cache.root):
            known = cached_binary(setup.cache, name, artefact, STOCK, key)
            return known or store_stock(setup.cache, name, artefact, key, data)
    except LayoutrandError as error:
        return as_failure(name, artefact, STOCK, error)


def _read(setup: BuildSetup, name: str, artefact: str) -> bytes:
    folder = setup.project / str(setup.config.systems[name].prebuilt)
    try:
        return content_of_regular(folder / artefact, largest=PROGRAM)
    except OSError as error:
        raise BuildError(
            f"cannot read {folder / artefact}: {error.strerror}; systems.{name}.prebuilt must be the directory in "
            "which the artefacts lie"
        ) from error


def recorded_under(config: Config, system: str, origin: str) -> str:
    """What a system's executions are recorded under, so that those of another build of it are told from them.

    Its `origin_of`, or where the system gives the programs words of its own, a digest of these and of that.
    """
    options = config.systems[system]
    return keys.with_arguments(origin, options.args) if options.args else origin


def origin_of(
    config: Config,
    system: str,
    capture: str,
    binaries: tuple[Binary, ...],
    image: str,
    coupled: Sequence[str] = (),
) -> str:
    """What tells a system's files from others.

    The id of its capture; where its layouts are reconciled, a digest of that and of the ``coupled`` captures of all
    systems; for a prebuilt system, which has none, a digest of its files; and where there is an ``image`` around its
    artefact (its key), a digest of that, too.
    """
    origin = keys.coupled_with(capture, coupled) if coupled and capture else capture
    if config.systems[system].prebuilt is not None:
        origin = _id(config, system, {(b.artefact, b.sha256) for b in binaries if b.layout == STOCK})
    return keys.in_image(origin, image) if image else origin


def present_id(setup: BuildSetup, system: str, image: str) -> str:
    """What executions of a prebuilt system's files of now are recorded under; raises `BuildError` without these."""
    files = {(name, sha256_bytes(_read(setup, system, name))) for name in setup.config.build.artefacts}
    origin = _id(setup.config, system, files)
    return recorded_under(setup.config, system, keys.in_image(origin, image) if image else origin)


def _id(config: Config, system: str, files: set[tuple[str, str]]) -> str:
    return keys.prebuilt_id(str(Path(str(config.systems[system].prebuilt))), files)
