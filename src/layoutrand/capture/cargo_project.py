"""What `cargo metadata` says of a directory: which programs, examples and benchmarks there are, and where they go."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.errors import UsageError
from layoutrand.platform.process import Runner
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

CARGO_TREE: Final = "target"
"""Where Cargo builds by default: not part of the source, and what is there would not be linked again."""

_MANIFEST: Final = "Cargo.toml"
_LOCK: Final = "Cargo.lock"

_HARNESSES: Final = (
    ("iai-callgrind", re.compile(r"\biai_callgrind::")),
    ("gungraun", re.compile(r"\bgungraun::")),  # what iai-callgrind is called from 0.17 on
    ("iai", re.compile(r"\biai::")),
    ("criterion", re.compile(r"\bcriterion_main\s*!|\bcriterion::")),
    ("divan", re.compile(r"\bdivan::")),
    ("libtest", re.compile(r"\bbenchmark_main\s*!|\bbencher::|#!\[feature\([^)]*\btest\b")),
)
"""How benchmarks name what they are written with."""


@dataclass(frozen=True)
class CargoProject:
    """A package or workspace: its ``root``, where it is built, and its targets as pairs of kind and name.

    Kinds are cargo's words: "bin", "example", "bench", "lib" ...; what a plain `cargo build` makes comes first, and of
    that the packages that lie highest. ``benches`` are names and source files of its benchmarks.
    """

    root: str
    built_in: str
    targets: tuple[tuple[str, str], ...]
    benches: tuple[tuple[str, str], ...] = ()
    outside: tuple[tuple[str, str, str], ...] = ()

    def named(self, kind: str) -> list[str]:
        """The targets of a kind by name, each once."""
        return list(dict.fromkeys(name for each, name in self.targets if each == kind))


def cargo_project(directory: Path, runner: Runner) -> CargoProject | None:
    """The project in the directory; None where cargo cannot tell, as for a manifest that it finds wrong.

    What is wrong a build says better.
    """
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    done = runner.run(command, cwd=directory, env=dict(os.environ))
    return None if done.returncode != 0 else read_metadata(done.stdout)


def read_metadata(said: bytes) -> CargoProject | None:
    """What `cargo metadata` printed; None if it is not what it prints."""
    try:
        document = json.loads(said)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    root, built_in, packages = (document.get(key) for key in ("workspace_root", "target_directory", "packages"))
    if not isinstance(root, str) or not isinstance(built_in, str) or not isinstance(packages, list):
        return None
    default = document.get("workspace_default_members")
    usual = [each for each in default if isinstance(each, str)] if isinstance(default, list) else []
    known = [each for each in packages if isinstance(each, dict) and isinstance(each.get("manifest_path"), str)]
    known.sort(key=lambda each: (each.get("id") not in usual, each["manifest_path"].count("/"), each["manifest_path"]))
    benches = tuple(pair for package in known for pair in _benches(package))
    targets = tuple(pair for package in known for pair in _targets(package))
    parts = [part for package in known for part in _parts(package)]
    outside = tuple(part for part in parts if Path(root) not in (Path(part[1]), *Path(part[1]).parents))
    return CargoProject(root, built_in, targets, benches, outside)


def cargo_command(directory: Path, project: CargoProject | None) -> str:
    """The command that builds what the project has: its programs, or else its examples, or else its benchmarks."""
    locked = _locked(directory)
    kind = _kind_built(project)
    if kind == "bench":
        return f"cargo bench --no-run{locked} -j {{jobs}}"
    return f"cargo build --release{locked}{' --examples' if kind == 'example' else ''} -j {{jobs}}"


def _kind_built(project: CargoProject | None) -> str:
    """Which targets of a project are built for somebody who named none; a library alone has only itself to build."""
    kinds = () if project is None else (kind for kind in ("bin", "example", "bench") if project.named(kind))
    return next(iter(kinds), "bin")


def cargo_benches(directory: Path, project: CargoProject | None) -> tuple[str, ...]:
    """What to give `init` or `try` for each benchmark of the project that is written with a harness that is known.

    Nothing where `cargo_command` builds the benchmarks anyway.
    """
    if project is None or _kind_built(project) == "bench":
        return ()
    return tuple(
        f"cargo bench --no-run{_locked(directory)} -- {CARGO_TREE}/release/deps/{name.replace('-', '_')}"
        for name in project.named("bench")
        if bench_harness(project, name)
    )


def _locked(directory: Path) -> str:
    return " --locked" if (directory / _LOCK).is_file() else ""


def cargo_variables(directory: Path, project: CargoProject | None) -> dict[str, str]:
    """What keeps a build in the private copy, where a configuration has it elsewhere."""
    if project is None or os.path.realpath(project.built_in) == os.path.realpath(directory / CARGO_TREE):
        return {}
    return {"CARGO_TARGET_DIR": CARGO_TREE}


def refuse_part(directory: Path, project: CargoProject | None) -> None:
    """Raise `UsageError` for a directory that cannot be built without what is not in it, which a copy would not have.

    It may be a part of a workspace above, or depend on packages beside it.
    """
    if project is None:
        return
    own, root = os.path.realpath(directory), os.path.realpath(project.root)
    beside = [(name, place) for name, place, manifest in project.outside if not _is_absolute(place, manifest, root)]
    if own != root:
        why, above = f"is a member of the Cargo workspace in {project.root}", root
    elif beside:
        name, place = beside[0]
        why = f"is built with the package {name} in {place}"
        above = os.path.commonpath([own, *(os.path.realpath(place) for _, place in beside)])
    else:
        return
    raise UsageError(
        f"{directory.absolute()} {why}, and cannot be copied without it: go to {above}, and choose it with: layoutrand "
        f"init -- cargo build --release --manifest-path {os.path.relpath(own, above)}/{_MANIFEST}"
    )


def bench_harness(project: CargoProject, name: str) -> str:
    """The harness that a benchmark of the project is written with, as its source file has it; "" for an unknown one."""
    source = next((Path(path) for each, path in project.benches if each == name), None)
    if source is None or not source.is_file():
        return ""
    return harness_in(text_of_regular(source, largest=WRITTEN_BY_HAND, errors="replace"))


def harness_in(source: str) -> str:
    """The harness that a source file of Rust calls; "" where there is none that is known."""
    return next((name for name, mark in _HARNESSES if mark.search(source)), "")


def _benches(package: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    targets = package.get("targets")
    for target in targets if isinstance(targets, list) else []:
        if isinstance(target, dict) and isinstance(target.get("kind"), list) and "bench" in target["kind"]:
            name, path = target.get("name"), target.get("src_path")
            if isinstance(name, str) and isinstance(path, str) and "\0" not in path:
                yield name, path


def _parts(package: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The package itself, and those that its manifest gives a path to: name, directory, and this manifest."""
    manifest = package["manifest_path"]
    needed = package.get("dependencies")
    own = {"name": package.get("name"), "path": os.path.dirname(manifest)}
    for each in [own, *(needed if isinstance(needed, list) else [])]:
        path = each.get("path") if isinstance(each, dict) else None
        if isinstance(path, str) and "\0" not in path + manifest:
            yield str(each.get("name")), path, manifest


def _is_absolute(place: str, manifest: str, root: str) -> bool:
    """Whether a manifest, or that of the workspace, names the place by its whole path, which a copy finds as well."""
    files = [path for path in (Path(manifest), Path(root, _MANIFEST)) if path.is_file()]
    return any(place in text_of_regular(path, largest=WRITTEN_BY_HAND, errors="replace") for path in files)


def _targets(package: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Kind and name of each; the program that `cargo run` would start is the first."""
    targets = package.get("targets")
    pairs = [
        (kind, target["name"])
        for target in (targets if isinstance(targets, list) else [])
        if isinstance(target, dict) and isinstance(target.get("name"), str) and isinstance(target.get("kind"), list)
        for kind in target["kind"]
        if isinstance(kind, str)
    ]
    first = package.get("default_run") or package.get("name")
    yield from sorted(pairs, key=lambda pair: pair[1] != first)
