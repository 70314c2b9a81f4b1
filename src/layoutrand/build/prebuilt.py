"""Systems that are taken as they are: a directory of the user's with the artefacts in it, in their only layout."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from layoutrand.build.binaries import as_failure, cached_binary, store_stock
from layoutrand.build.build_setup import BuildSetup
from layoutrand.cache import keys
from layoutrand.cache.contents import content_of
from layoutrand.config.command import SYSTEM_PATH
from layoutrand.config.config import Config
from layoutrand.errors import BuildError, LayoutrandError
from layoutrand.model import STOCK, Binary, BuildFailure
from layoutrand.platform.disk import cache_errors, sha256_bytes
from layoutrand.platform.regular_file import PROGRAM, RECORD, content_of_regular, text_of_regular
from layoutrand.text.jdk_release import TOLD_BY_JAVA, java_answer, jdk_identity

LAUNCHER_OF_A_JDK: Final = "bin/java"
_VERSION_TIMEOUT_S: Final = 60.0
_LONGEST_RELEASE: Final = 1 << 16
"""Bytes of a JDK's ``release``, which has about one thousand."""


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
    project: Path,
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
        files = {b.artefact: b.stored for b in binaries if b.layout == STOCK}
        told = told_beside(config, project, system, lambda name: content_of(files[name]))
        origin = _id(config, system, {(b.artefact, b.sha256) for b in binaries if b.layout == STOCK} | told)
    return keys.in_image(origin, image) if image else origin


def present_id(setup: BuildSetup, system: str, image: str) -> str:
    """What executions of a prebuilt system's files of now are recorded under; raises `BuildError` without these."""
    contents = {name: _read(setup, system, name) for name in setup.config.build.artefacts}
    told = told_beside(setup.config, setup.project, system, contents.__getitem__)
    origin = _id(setup.config, system, {(name, sha256_bytes(data)) for name, data in contents.items()} | told)
    return recorded_under(setup.config, system, keys.in_image(origin, image) if image else origin)


def release_of(config: Config, project: Path, system: str) -> dict[str, str]:
    """What the file ``release`` says that a prebuilt system is, where it is a JDK that says it."""
    folder = config.systems[system].prebuilt
    if folder is None or not (project / folder / LAUNCHER_OF_A_JDK).exists():
        return {}
    return release_in(project / folder)


def release_in(home: Path) -> dict[str, str]:
    """What the file ``release`` in the home of a JDK says that it is."""
    try:
        text = text_of_regular(home / "release", largest=_LONGEST_RELEASE, errors="replace")
    except OSError:  # JDKs before 7 have no such file, and what is unreadable says nothing
        return {}
    return jdk_identity(text)


def java_version(setup: BuildSetup, system: str) -> str:
    """What ``java -version`` of a prebuilt system that is a JDK says, in an environment without the user's variables.

    What hinders it is said in its place: executions tell by themselves whether such a JDK works.
    """
    folder = setup.config.systems[system].prebuilt
    if folder is None or not (setup.project / folder / LAUNCHER_OF_A_JDK).exists():
        return ""
    home = (setup.project / folder).resolve()
    with tempfile.TemporaryDirectory(prefix="layoutrand-") as place:
        printed = Path(place) / "printed"
        environment = {"PATH": SYSTEM_PATH, "HOME": place, "LANG": "C.UTF-8", "TMPDIR": place}
        command = [str(home / LAUNCHER_OF_A_JDK), "-version"]
        try:
            status = setup.runner.run_logged(
                command, cwd=Path(place), env=environment, log=printed, timeout_s=_VERSION_TIMEOUT_S
            )
        except LayoutrandError as error:
            return f"no answer: {str(error).splitlines()[0]}"
        text = (
            content_of_regular(printed, largest=RECORD).decode("utf-8", "backslashreplace") if printed.exists() else ""
        )
    answer = java_answer(text)
    return answer if status == 0 else f"no answer, exit status {status}{': ' if answer else ''}{answer}"


def told_beside(
    config: Config, project: Path, system: str, content: Callable[[str], bytes]
) -> frozenset[tuple[str, str]]:
    """What the file ``release`` of a JDK says that is in none of its artefacts, whose digests do not tell it then.

    ``content`` reads an artefact.  A virtual machine as it was built holds its version, build and vendor, and is told
    by its digest alone; one that is in a JDK of another name is told from it by that name.
    """
    said = {key: value for key, value in release_of(config, project, system).items() if key in TOLD_BY_JAVA}
    if not said:
        return frozenset()
    contents = [content(artefact) for artefact in config.build.artefacts]
    return frozenset(
        (f"release {key}", value) for key, value in said.items() if not any(value.encode() in c for c in contents)
    )


def _id(config: Config, system: str, files: set[tuple[str, str]]) -> str:
    return keys.prebuilt_id(str(Path(str(config.systems[system].prebuilt))), files)
