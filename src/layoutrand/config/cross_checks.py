"""Problems between two keys of layoutrand.toml, which no table can see by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from layoutrand.config.command import ARGS, begins_with_program, places_launcher
from layoutrand.config.jdk import factors_of_a_jdk
from layoutrand.config.problems import REQUIRED, suggest

_OF_ANY_BUILD: Final = frozenset({"env", "mode", "timeout_s"})
"""Keys of ``[build]`` that go with a suite which says itself what is built."""


def across(table: Mapping[str, Any]) -> Iterator[str]:
    """Problems between two keys.

    Found in the table as it stands, since the models say nothing of these while any one key is wrong by itself.
    """
    build = table_at(table, "build")
    yield from _incomplete(table)
    yield from _coupled(table)
    yield from _engine(table)
    yield from _storage(table)
    yield from _of_a_jdk(table)
    yield from _launched(table)
    yield from _on_huge_pages(table)
    yield from _labels(table)
    if "repo" in build:
        if build.get("source", ".") != ".":
            yield "build: give either source or repo, not both"
        if build.get("in_place") is True:
            yield "build.in_place: builds where the source is, so it cannot go with repo"
    else:
        if "rev" in build:
            yield "build.rev: needs build.repo"
        for name, system in table_at(table, "systems").items():
            if isinstance(system, dict) and "rev" in system:
                yield f"systems.{name}.rev: needs build.repo"
        if "rev" in table_at(table, "matrix"):
            yield "matrix.rev: needs build.repo"
    artefacts = build.get("artefacts")
    known = [path for path in artefacts if isinstance(path, str)] if isinstance(artefacts, list) else []
    benchmarks = table.get("benchmarks")
    seen: dict[str, int] = {}
    for number, benchmark in enumerate(benchmarks if isinstance(benchmarks, list) else ()):
        if isinstance(benchmark, dict):
            yield from _fits(number, benchmark, known, seen)
    image = build.get("image")
    yield from _unused(
        table_at(table, "systems"), benchmarks if isinstance(benchmarks, list) else [], image=bool(image)
    )
    if isinstance(image, dict) and known and isinstance(placed := image.get("artefact"), str) and placed not in known:
        yield f"build.image.artefact: {placed!r} is not in build.artefacts{suggest(placed, known)}"


def _coupled(table: Mapping[str, Any]) -> Iterator[str]:
    """What the same addresses in all systems need."""
    if table_at(table, "layout").get("couple") != "address":
        return
    if table_at(table, "build").get("mode") == "rebuild":
        yield 'layout.couple: "address" needs captures to link, so it cannot go with build.mode = "rebuild"'


def _engine(table: Mapping[str, Any]) -> Iterator[str]:
    """Layouts are written from a capture alone, and what is kept as an order is written."""
    layout = table_at(table, "layout")
    if layout.get("storage") == "order" and layout.get("engine") == "link":
        yield (
            'layout.storage: "order" is for layouts that are written without the linker, so it cannot go with '
            'layout.engine = "link"'
        )
    for key, value in (("engine", "permute"), ("storage", "order")):
        if layout.get(key) == value:
            yield from _writing(table, f'layout.{key}: "{value}"')


def _writing(table: Mapping[str, Any], wish: str) -> Iterator[str]:
    """What the wish to have layouts written cannot go with."""
    if table_at(table, "build").get("mode") == "rebuild":
        yield f'{wish} needs captures, so it cannot go with build.mode = "rebuild"'
    factors, systems = table_at(table, "layout").get("factors"), table_at(table, "systems").values()
    asked = factors_of_a_jdk(factors) if isinstance(factors, list) else ()
    if asked:
        yield f"{wish} writes what a linker would, and {asked[0]} takes no linker: leave it out"
    elif systems and all(isinstance(system, dict) and "prebuilt" in system for system in systems):
        yield f"{wish} needs captures, and prebuilt systems have none: leave it out"


def _storage(table: Mapping[str, Any]) -> Iterator[str]:
    """Layouts are deltas as soon as they are linked where one capture gives them all."""
    if table_at(table, "layout").get("storage") == "delta" and table_at(table, "build").get("mode") == "rebuild":
        yield (
            'layout.storage: "delta" needs captures, so it cannot go with build.mode = "rebuild"; `layoutrand cache '
            "pack` makes deltas of what a rebuild left in the cache"
        )


def _labels(table: Mapping[str, Any]) -> Iterator[str]:
    """Labels that would make two things look like one."""
    benchmarks = table.get("benchmarks")
    listed = [each for each in benchmarks if isinstance(each, dict)] if isinstance(benchmarks, list) else []
    kinds: list[tuple[str, list[tuple[str, Any]]]] = [
        ("systems", list(table_at(table, "systems").items())),
        ("benchmarks", [(str(each.get("name")), each) for each in listed]),
    ]
    for kind, members in kinds:
        shown: dict[str, str] = {}
        for name, member in members:
            label = member.get("label", name) if isinstance(member, dict) else name
            if isinstance(label, str) and label in shown and label != name:
                yield f"{kind}.{name}.label: {label!r} is what {shown[label]} is shown as"
            elif isinstance(label, str) and label in shown and shown[label] != name:
                yield f"{kind}.{shown[label]}.label: {label!r} is the name of another"
            if isinstance(label, str):
                shown[label] = name


def _unused(systems: Mapping[str, Any], benchmarks: list[Any], *, image: bool) -> Iterator[str]:
    """Words of systems that no command takes, and commands that want the directory of a system that has none."""
    commands = [benchmark.get("command") for benchmark in benchmarks if isinstance(benchmark, dict)]
    words = [word for command in commands if isinstance(command, list) for word in command if isinstance(word, str)]
    for name, system in systems.items():
        if not isinstance(system, dict) or not words:
            continue
        if system.get("args") and ARGS not in words:
            yield f"systems.{name}.args: no benchmark's command has the word {ARGS}, so they would go nowhere"
        if "prebuilt" not in system and not image and any("{home}" in word.replace("{{home}}", "") for word in words):
            yield (
                f"systems.{name}: a command has {{home}}, the directory of a prebuilt system or of build.image, and "
                "this has neither"
            )


def _of_a_jdk(table: Mapping[str, Any]) -> Iterator[str]:
    """Where factors of a JDK as it is are asked for: every system must be one, and commands must take their options."""
    factors, artefacts = table_at(table, "layout").get("factors"), table_at(table, "build").get("artefacts")
    asked = factors_of_a_jdk(factors) if isinstance(factors, list) else ()
    if not asked:
        return
    for name, system in table_at(table, "systems").items():
        if isinstance(system, dict) and "prebuilt" not in system:
            yield (
                f"layout.factors: {asked[0]} is of a JDK that is taken as it is, so systems.{name}.prebuilt must name "
                "its home"
            )
    if isinstance(artefacts, list) and len(artefacts) > 1:
        yield f"build.artefacts: with {asked[0]} there is one, the JDK's libjvm.so"
    benchmarks = table.get("benchmarks")
    for number, benchmark in enumerate(benchmarks if isinstance(benchmarks, list) else ()):
        command = benchmark.get("command") if isinstance(benchmark, dict) else None
        words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else []
        if words and ARGS not in words:
            yield f"benchmarks[{number}].command: has no word {ARGS}, behind java, for the options of {asked[0]}"
        if any("{artefact" in word for word in words):
            yield f"benchmarks[{number}].command: with {asked[0]} a layout has no artefact of its own; use {{home}}"


def _launched(table: Mapping[str, Any]) -> Iterator[str]:
    """What cannot go with ``run.launcher``, and commands of which nobody can tell where it stands."""
    launcher, build, suite = table_at(table, "run").get("launcher"), table_at(table, "build"), table_at(table, "suite")
    if not isinstance(launcher, list) or not launcher:
        return
    factors = table_at(table, "layout").get("factors")
    if suite:
        yield "run.launcher: cannot go with [suite], whose harness starts programs itself"
    if "image" in build:
        yield "run.launcher: cannot go with build.image, whose set-up and check would be executed without it"
    if isinstance(factors, list) and (asked := factors_of_a_jdk(factors)):
        yield f"run.launcher: cannot go with {asked[0]}, whose JVM would be looked into without it"
    if isinstance(randomise := table_at(table, "run").get("randomise"), list) and "stack-offset" in randomise:
        yield 'run.launcher: cannot go with run.randomise = ["stack-offset"], which would move the launcher\'s stack'
    benchmarks = table.get("benchmarks")
    for number, benchmark in enumerate(benchmarks if isinstance(benchmarks, list) else ()):
        command = benchmark.get("command") if isinstance(benchmark, dict) else None
        words = command if isinstance(command, list) and all(isinstance(word, str) for word in command) else []
        if words and not places_launcher(words) and not begins_with_program(words):
            yield (
                f"benchmarks[{number}].command: begins with {words[0]!r}, so it must say where run.launcher stands: "
                "{launcher} as a word of its own, or before {artefact} in the text that a shell is given"
            )


def _on_huge_pages(table: Mapping[str, Any]) -> Iterator[str]:
    """Programs whose text ``run.hugepages`` cannot reach, whoever starts them."""
    if table_at(table, "run").get("hugepages") != "text":
        return
    factors = table_at(table, "layout").get("factors")
    if table_at(table, "suite"):
        yield 'run.hugepages: "text" cannot go with [suite], whose harness starts programs itself'
    if isinstance(factors, list) and (asked := factors_of_a_jdk(factors)):
        yield (
            f'run.hugepages: "text" cannot go with {asked[0]}: a JVM makes its code when it is executed; '
            "-XX:+UseTransparentHugePages is its own option"
        )


def _incomplete(table: Mapping[str, Any]) -> Iterator[str]:
    """What is missing for the build: required unless a suite brings it, or nothing is built at all."""
    build, systems, suite = table.get("build", {}), table.get("systems"), table_at(table, "suite")
    if not isinstance(build, dict):
        return
    all_prebuilt = (
        isinstance(systems, dict)
        and "matrix" not in table
        and bool(systems)
        and all(isinstance(system, dict) and "prebuilt" in system for system in systems.values())
    )
    if suite:
        if "benchmarks" in table:
            yield "benchmarks: cannot go with [suite], which says what is executed"
        if suite.get("kind") != "dacapo":
            yield from (
                f"build.{key}: cannot go with [suite], which says what is built"
                for key in build
                if key not in _OF_ANY_BUILD
            )
            return
        if "build" not in table:
            return
        if "image" not in build and all_prebuilt:
            yield "build: cannot go with [suite] dacapo where all systems are prebuilt, so nothing is built: leave out"
            return
        if "image" not in build:
            yield f"build.image: {REQUIRED} beside [suite] dacapo: a JDK around the artefact that is built"
    required = ["artefacts"] if all_prebuilt else ["commands", "artefacts"]
    if "build" not in table:
        yield f"build: {REQUIRED}"
    else:
        yield from (f"build.{key}: {REQUIRED}" for key in required if key not in build)


def _fits(number: int, benchmark: Mapping[str, Any], artefacts: list[str], seen: dict[str, int]) -> Iterator[str]:
    """Whether one benchmark has a name of its own, and an artefact that is built; ``seen`` has the names before it."""
    name, artefact = benchmark.get("name"), benchmark.get("artefact")
    if isinstance(name, str) and name in seen:
        yield f"benchmarks[{number}].name: benchmarks[{seen[name]}] is called {name!r} too"
    elif isinstance(name, str):
        seen[name] = number
    if isinstance(artefact, str) and artefacts and artefact not in artefacts:
        yield f"benchmarks[{number}].artefact: {artefact!r} is not in build.artefacts{suggest(artefact, artefacts)}"


def table_at(parent: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The table under the key, empty where there is none or something else stands there."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}
