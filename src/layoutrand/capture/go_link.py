"""From a recorded link of Go's linker to a captured one.

The proof has the links that `layoutrand.capture.ingest` has, by other means.  (1) The recorded command, replayed on
the captured packages alone, gives the artefact that the build made, byte for byte; go writes the build id into the
file after the link, so the linker is given the one that is there.  (2) Linked without the options that strip symbols
it loads the same.  That is identity, and its symbols tell its order.  (3) Some layouts of the linker's own, linked at
once, show which bytes of the code are addresses (`layoutrand.link.by_symbols`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.capture.collect import IngestSetup, write_edited, write_tree
from layoutrand.capture.go_records import BUILD_ID, GNU_NOTE, given_id, note, own_id
from layoutrand.capture.identity import first_difference
from layoutrand.capture.linked_files import of_another_machine
from layoutrand.capture.records import LinkRecord
from layoutrand.errors import CaptureFailed, FeatureUnsupported, OtherMachine, WorkedOnAfterLink
from layoutrand.layout.factors import LINKER_SHUFFLE
from layoutrand.link import by_symbols
from layoutrand.link.by_symbols import ProgramCode
from layoutrand.link.program_places import Program
from layoutrand.link.relink import link_layout
from layoutrand.model import IDENTITY, Layout, Section
from layoutrand.objects import elf
from layoutrand.objects.kinds import PLAIN
from layoutrand.platform.disk import cache_errors, remove_tree, sha256_bytes, sha256_file

FOLDER: Final = "_go"
_PACKAGE: Final = "packagefile "
_STRIPS: Final = ("-s", "--s", "-s=true", "--s=true")
_FIRST_SEEDS: Final = (1, 2, 3)
"""Layouts that show where addresses are; by three, none is taken for one that is not."""

_VALUES: Final = frozenset(
    [
        "B",
        "E",
        "I",
        "L",
        "R",
        "T",
        "D",
        "H",
        "X",
        "benchmark",
        "benchmarkprofile",
        "buildid",
        "buildmode",
        "cpuprofile",
        "extar",
        "extld",
        "extldflags",
        "fipso",
        "funcalign",
        "importcfg",
        "installsuffix",
        "k",
        "libgcc",
        "linkmode",
        "memprofile",
        "o",
        "pluginpath",
        "r",
        "randlayout",
        "tmpdir",
        "capturehostobjs",
    ]
)
"""Options with a value, which may be the next word."""


def ingest_go(record: LinkRecord, setup: IngestSetup) -> tuple[CapturedLink, ProgramCode]:
    """Capture one recorded link of Go's linker into the setup's directory and prove it; also its code."""
    built = elf.read(setup.built, name=setup.artefact)
    _refuse(record, setup, built)
    link = _described(record, setup, built)
    write_tree(setup.base / "root", _files(record), setup.memory)
    write_edited(setup.base / "edited", (), setup.base / "root", link.files)
    _prove_replay(setup, link)
    identity = _layout(setup, link, IDENTITY)
    if where := first_difference(setup.built, identity.data, setup.artefact):
        raise CaptureFailed(f"{setup.artefact}: linked with symbols, it is another program: {where} differs")
    link = replace(link, sections=_sections(Program(identity)))
    others = [_layout(setup, link, seed) for seed in _FIRST_SEEDS]
    code = by_symbols.code_of(identity.data, others, setup.artefact)
    pinned = _staying(Program(identity), [Program(other) for other in others])
    sections = tuple(replace(section, pinned=section.name in pinned) for section in link.sections)
    with cache_errors("write", setup.base):
        with (setup.base / "code.npz").open("wb") as file:
            code.save(file)
        digest = sha256_file(setup.base / "code.npz")
    link = replace(link, sections=sections, identity=tuple(range(len(sections))), code_sha256=digest)
    by_symbols.verify(identity, link, _asked(IDENTITY), code)
    return link, code


def options(argv: Sequence[str]) -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    """Each option of a link line of Go's: its name, its value, and its words; last, with no name, what is linked."""
    words = iter(argv)
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            yield "", None, (word, *words)
            return
        name, equals, value = word.lstrip("-").partition("=")
        if equals:
            yield name, value, (word,)
        elif name in _VALUES:
            following = next(words, "")
            yield name, following, (word, following)
        else:
            yield name, None, (word,)


def _refuse(record: LinkRecord, setup: IngestSetup, built: elf.Elf) -> None:
    said = {name: value for name, value, _ in options(record.argv)}
    chosen = setup.toolbox.tools["ld"].path
    if posixpath.realpath(record.linker) != posixpath.realpath(chosen):
        raise CaptureFailed(
            f"{setup.artefact} was linked by {record.linker}, but toolchain 'go' is the one with {chosen}: the build "
            "uses another Go (by its path, or go.mod asks for one, which GOTOOLCHAIN=local forbids). Put that one "
            "first on PATH"
        )
    if why := of_another_machine(setup.artefact, built.data, setup.toolbox.toolchain):
        raise OtherMachine(why)
    if said.get("linkmode") == "external" or (".interp" in built.section_names and ".init" in built.section_names):
        raise FeatureUnsupported(
            f"{setup.artefact} is linked by the C compiler in the end (cgo, -linkmode=external, -race or "
            "-buildmode=pie): its C parts could not be told apart. Build with CGO_ENABLED=0 (build.env), or with "
            "-ldflags=-linkmode=internal where the standard library alone uses cgo"
        )
    if said.get("buildmode", "exe") not in ("exe", "default") or "linkshared" in said:
        raise FeatureUnsupported(
            f"{setup.artefact} is linked with -buildmode={said.get('buildmode')}; Go's layouts are of programs alone "
            "(-buildmode=exe)"
        )
    if said.get("randlayout") is not None:
        raise FeatureUnsupported(f"{setup.artefact} is linked with -randlayout already: leave it out of -ldflags")
    if given_id(record.argv).rpartition("/")[0] != own_id(built).rpartition("/")[0]:
        raise CaptureFailed(f"{setup.artefact} is not what this link of Go's made: it has another build id")


def _files(record: LinkRecord) -> dict[str, bytes]:
    """Captured name -> content: the list of packages, and these, by number."""
    inputs = record.inputs()
    said = {name: value for name, value, _ in options(record.argv)}
    names = _names(record)
    files = {name: inputs[path] for path, name in names.items()}
    text = []
    for line in inputs[record.absolute(said["importcfg"] or "")].decode("utf-8", "surrogateescape").splitlines():
        package, equals, path = line.partition("=")
        known = line.startswith(_PACKAGE) and equals
        text.append(f"{package}={posixpath.basename(names[record.absolute(path)])}" if known else line)
    files[f"{FOLDER}/importcfg"] = ("\n".join(text) + "\n").encode("utf-8", "surrogateescape")
    return files


def _names(record: LinkRecord) -> dict[str, str]:
    """What each package's file is called in the capture, by its absolute path."""
    said = {name: value for name, value, _ in options(record.argv)}
    listed = record.absolute(said["importcfg"] or "")
    paths = [path for path in record.inputs() if path != listed]
    return {path: f"{FOLDER}/{number:04d}.a" for number, path in enumerate(paths)}


def _described(record: LinkRecord, setup: IngestSetup, built: elf.Elf) -> CapturedLink:
    """The link line in terms of the captured files."""
    names = _names(record)
    argv: list[str] = []
    gnu = note(built, GNU_NOTE).hex()
    own = {"o": (), "importcfg": ("-importcfg=importcfg",), "buildid": (f"{BUILD_ID}{own_id(built)}",)}
    if gnu and "B" not in {name for name, _, _ in options(record.argv)}:
        argv.append(f"-B=0x{gnu}")  # from Go 1.24 on the linker makes it of the build id before that is replaced
    for name, value, words in options(record.argv):
        if name == "":
            argv += [posixpath.basename(names.get(record.absolute(word), word)) for word in words]
        elif name == "B" and value == "gobuildid" and gnu:
            argv.append(f"-B=0x{gnu}")
        else:
            argv += own.get(name, words)
    files = _files(record)
    return CapturedLink(
        artefact=setup.artefact,
        linker=setup.linker.name,
        output=posixpath.basename(setup.artefact),
        argv=tuple(_with_symbols(argv)),
        replay_argv=tuple(argv),
        cwd=FOLDER,
        environment=dict(record.environment),
        files={name: setup.memory.sha256(data) for name, data in files.items()},
        edited={},
        members=(),
        sections=(),
        identity=(),
        other_sizes={},
        script="",
        users_script=False,
        moves={},
        code_sha256="",
        original_sha256=sha256_bytes(setup.built),
        warnings=(),
    )


def _with_symbols(argv: Sequence[str]) -> Iterator[str]:
    """Without the option that strips symbols; it means -w, too."""
    for word in argv:
        yield "-w" if word in _STRIPS else word


def _prove_replay(setup: IngestSetup, link: CapturedLink) -> None:
    done, replayed = setup.link(link, "root", replay=True)
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the captured link fails by itself: {done.text().strip()[-2000:]}")
    if replayed != setup.built:
        raise WorkedOnAfterLink(
            f"{link.artefact}: replaying its link gives another file than the build left "
            f"({len(replayed)} and {len(setup.built)} bytes). Something changed the file after the link (strip, upx, "
            "signing?): leave that step out of build.commands; -ldflags=-s strips in the link"
        )


def _asked(name: int | str) -> Layout:
    return Layout(name, (LINKER_SHUFFLE,), "mix", (), ())  # type: ignore[arg-type]


def _layout(setup: IngestSetup, link: CapturedLink, name: int | str) -> elf.Elf:
    """One layout linked for the capture's own sake."""
    scratch = setup.base / "first-layouts"
    with cache_errors("write", scratch):
        scratch.mkdir()
    binary, _, _ = link_layout(setup.runner, setup.toolbox.tools["ld"], link, setup.base, _asked(name), scratch=scratch)
    remove_tree(scratch)
    return binary


def _sections(program: Program) -> tuple[Section, ...]:
    """Each function as what is placed, in the order of identity."""
    return tuple(
        Section(index, package(name), name, 0, "", PLAIN, size, 1, False)
        for index, (name, (_, size)) in enumerate(program.functions.items())
    )


def package(symbol: str) -> str:
    """The package of a function by its symbol, as far as that tells: "net/http" of net/http.(*Client).Do."""
    plain = symbol.partition("[")[0]
    folder, slash, last = plain.rpartition("/") if "(" not in plain else plain.partition("(")[0].rpartition("/")
    return folder + slash + last.partition(".")[0]


def _staying(identity: Program, others: Sequence[Program]) -> frozenset[str]:
    """Functions that are at one address in all layouts."""
    return frozenset(
        name
        for name, (address, _) in identity.functions.items()
        if all(other.functions[name][0] == address for other in others)
    )
