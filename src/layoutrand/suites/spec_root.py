"""An installation of SPEC CPU on disk: what is there, the user's own config file, and what an execution left."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from layoutrand.config.spec_settings import SpecBenchmark, SpecFacts, Tool, executables_of, members_of
from layoutrand.errors import ConfigError
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.regular_file import ANY, WRITTEN_BY_HAND, open_regular, text_of_regular

_FOLDERS: Final = {"runspec": ("benchspec/CPU2006", "benchspec/CPU"), "runcpu": ("benchspec/CPU",)}
_MOST: Final = 16 << 20  # bytes of one text file; logs of a whole suite are far smaller
_INCLUDE: Final = re.compile(r"^\s*include:\s*(\S+)\s*$")
_KEPT: Final = (".log", ".rsf", ".csv", ".debug")


def of_the_user(name: str, key: str, path: str) -> Path:
    """What the ``key`` of the configuration file ``path`` names, ``~`` as a shell has it; raises `ConfigError`."""
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        user = Path(name).parts[0]
        who = f"there is no user {user[1:]!r} here" if user != "~" else "who you are here has no home"
        raise ConfigError(path, [f"{key}: {name} cannot be found, since {who}; write the whole path"]) from error


def read_root(root: Path, path: str) -> SpecFacts:
    """What the installation holds; raises `ConfigError` (for the configuration file ``path``) where there is none."""
    tool = _tool(root, path)
    try:
        version = text_of_regular(root / "version.txt", largest=WRITTEN_BY_HAND, errors="replace").split()
    except OSError:
        version = []
    folder = next((name for name in _FOLDERS[tool] if (root / name).is_dir()), None)
    if folder is None:
        raise ConfigError(path, [f"suite.root: {root} has no {_FOLDERS[tool][0]}; is SPEC CPU installed completely?"])
    if not (root / "shrc").is_file():
        raise ConfigError(
            path,
            [f"suite.root: {root} has no shrc, which sets the suite's environment up; is it installed completely?"],
        )
    try:
        entries = sorted(entry.name for entry in (root / folder).iterdir())
    except OSError as error:
        raise ConfigError(path, [f"suite.root: cannot read {error.filename}: {error.strerror}"]) from error
    names = [name for name in entries if re.fullmatch(r"\d{3}\.\w+", name)]
    sets = {name.removesuffix(".bset"): _read(root / folder / name) for name in entries if name.endswith(".bset")}
    year = 2006 if tool == "runspec" else 2017 if any(name[0] in "56" for name in names) else 2026
    return SpecFacts(
        root=str(root),
        tool=tool,
        year=year,
        version=" ".join(version[:1]) or "unknown",
        folder=folder,
        benchmarks={
            name: SpecBenchmark(name, executables_of(_read(root / folder / name / "Spec/object.pm"), name))
            for name in names
        },
        sets={name: members_of(text) for name, text in sets.items()},
    )


def _tool(root: Path, path: str) -> Tool:
    if not root.is_dir():
        raise ConfigError(path, [f"suite.root: {root} is not a directory; it must be where SPEC CPU is installed"])
    if (root / "bin/runcpu").exists():
        return "runcpu"
    if (root / "bin/runspec").exists():
        return "runspec"
    raise ConfigError(
        path,
        [
            f"suite.root: {root} has neither bin/runcpu (SPEC CPU2017, CPU2026) nor bin/runspec (CPU2006); "
            "it must be the directory that install.sh installed into, which $SPEC names once shrc is sourced"
        ],
    )


def _read(file: Path) -> str:
    try:
        return text_of_regular(file, largest=WRITTEN_BY_HAND, errors="replace")
    except OSError:
        return ""


def read_base_config(file: Path, root: Path, path: str) -> str:
    """The user's config file with what it includes in place; raises `ConfigError` where a file is not there."""
    return "\n".join(_lines(_found(file, root, path), root, path, ()))


def _found(file: Path, root: Path, path: str) -> Path:
    """The file as it is named, or in the config directory of the installation, as runcpu would find it."""
    places = [file, root / "config" / file.name, root / "config" / f"{file.name}.cfg"]
    for place in places:
        if place.is_file():
            return place
    raise ConfigError(path, [f"suite.config: there is no file {file} (nor {places[1]})"])


def _lines(file: Path, root: Path, path: str, within: tuple[Path, ...]) -> Iterable[str]:
    if file in within:
        raise ConfigError(path, [f"suite.config: {file} includes itself"])
    try:
        text = text_of_regular(file, largest=WRITTEN_BY_HAND)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(path, [f"suite.config: cannot read {file}: {error}"]) from error
    for line in text.split("\n"):
        match = _INCLUDE.match(line)
        if match is None:
            yield line
            continue
        if "%{" in match[1] or "$" in match[1]:
            raise ConfigError(
                path, [f"suite.config: {file}: {line.strip()!r}: name the file itself, so that it can be checked"]
            )
        yield from _lines(_found(file.parent / match[1], root, path), root, path, (*within, file))


def text_files(output_root: Path) -> dict[str, str]:
    """Logs, raw results and miscompares below an output root, by relative path."""
    found = [*output_root.glob("result/*"), *output_root.glob("benchspec/*/*/run/*/*.mis")]
    return {
        str(file.relative_to(output_root)): _tail(file)
        for file in sorted(found)
        if file.is_file() and (file.suffix in (".log", ".rsf", ".mis"))
    }


def _tail(file: Path) -> str:
    with open_regular(file, largest=ANY) as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - _MOST))
        return stream.read().decode("utf-8", "backslashreplace")


def digests_of(output_root: Path, artefacts: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each artefact and of its copies in run directories, by relative path; of those that are there."""
    found = {}
    for artefact in artefacts:
        place = output_root / artefact
        for file in [place, *sorted(place.parents[1].glob(f"run/*/{place.name}"))]:
            if file.is_file():
                found[str(file.relative_to(output_root))] = sha256_file(file)
    return found


def results_to_keep(output_root: Path) -> list[Path]:
    """Files of an execution that explain why it failed."""
    found = [*output_root.glob("result/*"), *output_root.glob("benchspec/*/*/run/*/*.mis")]
    found += output_root.glob("benchspec/*/*/run/*/*.err")
    return sorted(file for file in found if file.is_file() and (file.suffix in _KEPT or file.parent.name != "result"))


def executables(tree: Path, folder: str, suffix: str) -> list[str]:
    """Stems of the executables ``STEM_tune.label`` that a build left in an exe directory, ``suffix`` being the rest."""
    return sorted(file.name.removesuffix(suffix) for file in (tree / folder).glob(f"*{suffix}") if file.is_file())


def written_config(tree: Path, name: str) -> str:
    """The config file as SPEC's tools left it, hashes included: where it was, or in the output root's own directory."""
    texts = [_read(tree / place / name) for place in ("config", ".")]
    return "\n".join(texts)
