"""A project made for one test: sources, a build script, and the real build use case on them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, ClassVar, NoReturn

import pytest

from layoutrand.build.build import SystemBuild, all_layouts, build
from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.cache.store import Cache
from layoutrand.config.config import Config, parse
from layoutrand.errors import ToolNotFound
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.model import IDENTITY, STOCK, Binary, LayoutName
from layoutrand.objects import elf
from layoutrand.platform.control_groups import NoPlace, Place, find_place
from layoutrand.platform.packages import apt_command
from layoutrand.platform.process import Completed, Runner, SubprocessRunner

LINKERS = {"gnu": "ld.bfd", "lld-19": "ld.lld-19", "lld-14": "ld.lld-14"}
SEEDS = range(1, 5)


def not_installed(program: str, package: str) -> str:
    """The reason, with what this release calls the package; ``package`` where the product knows of none."""
    return f"{program} is not installed ({apt_command([program]) or f'package {package}'})"


def require(program: str, package: str) -> str:
    """The program's path; without it the test is skipped, or fails where everything must be tested (CI=true)."""
    found = shutil.which(program)
    if found is None:
        absent(not_installed(program, package))
    return str(found)


def programs_of(toolchain: str) -> dict[str, Path]:
    """The programs, by role, that layoutrand takes on this machine for a toolchain, its own or a file.

    Which of the installed versions these are is for it to say, so tests that compare with them ask here.
    """
    try:
        found = toolboxes.find(toolboxes.load(toolchain, Path()), SubprocessRunner())
    except ToolNotFound as error:
        absent(str(error))
    return {role: tool.path for role, tool in found.tools.items()}


VERSION = {"cc": "clang-19", "ld": "ld.lld-19"}
"""LLVM's programs of the version that the table of docs/project/verified.md was made with."""


def of_one_version(base: str, folder: Path) -> str:
    """What systems.*.toolchain must say for a toolchain of LLVM's with the programs of `VERSION`; others as they are."""
    roles = {"gcc-lld": ("ld",), "clang": ("cc",), "clang-lld": ("cc", "ld")}
    roles |= dict.fromkeys(("clang-lto", "clang-thinlto", "clang-aarch64", "clang-riscv64"), roles["clang-lld"])
    if base not in roles:
        return base
    tools = {role: VERSION[role] for role in roles[base]}
    for program in tools.values():
        require(program, program.removeprefix("ld."))
    listed = "".join(f'{role} = ["{program}"]\n' for role, program in tools.items())
    file = folder / f"{base}.toml"
    file.write_text(f'name = "{base}"\ndescription = "of one version"\nextends = "{base}"\n[tools]\n{listed}')
    return str(file.absolute())


def kinds_of_programs(**more: str) -> list[object]:
    """Parameters: toolchains whose linker takes an order, with flags for each kind of program; one in `make test`."""
    kinds = {"pie": "", "no-pie": "-fno-pie -no-pie", "static": "-fno-pie -static", "gc": "-Wl,--gc-sections", **more}
    return [
        pytest.param(
            toolchain,
            flags,
            id=f"{toolchain}-{kind}",
            marks=() if (toolchain, kind) == ("gcc", "pie") else pytest.mark.slow,
        )
        for toolchain in ("gcc", "gcc-lld", "gcc-gold", "clang-lld")
        for kind, flags in kinds.items()
    ]


def require_control_groups() -> Place:
    """Where control groups can be made; without such a place as `require`."""
    place = find_place()
    if isinstance(place, NoPlace):
        absent(f"{place.why}; {place.mend}")
    return place


def absent(reason: str) -> NoReturn:
    """Skip with the reason, or fail under CI=true."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must not skip: {reason}")
    pytest.skip(reason)


class AskedOnce(SubprocessRunner):
    """A runner that remembers what a compiler or linker says of itself, as long as its file is the same."""

    answers: ClassVar[dict[tuple[object, ...], Completed]] = {}

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Completed:
        """See `layoutrand.platform.process.Runner.run`."""
        if argv[1:] not in (["--version"], ["-print-prog-name=lto-wrapper"]) or not os.path.exists(argv[0]):
            return super().run(argv, cwd=cwd, env=env)
        file = os.stat(argv[0])
        key = (*argv, *sorted(env.items()), file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns)
        if key not in self.answers:
            self.answers[key] = super().run(argv, cwd=cwd, env=env)
        return self.answers[key]


@dataclass
class Workshop:
    """A project directory with its own cache, built with one linker."""

    project: Path
    cache: Path
    linker: str = "gnu"
    runner: Runner = field(default_factory=AskedOnce)
    said: list[str] = field(default_factory=list)
    chosen: str = ""

    def __post_init__(self) -> None:
        """Make the source directory, and the toolchain file if the linker needs one."""
        self.source.mkdir(parents=True, exist_ok=True)
        if self.linker != "gnu":
            folder = self.project / "toolchains"
            folder.mkdir(exist_ok=True)
            text = f'name = "{self.linker}"\ndescription = "one lld"\nextends = "gcc-lld"\n[tools]\nld = ["{LINKERS[self.linker]}"]\n'
            (folder / f"{self.linker}.toml").write_text(text)

    @property
    def source(self) -> Path:
        """Where the program's source is."""
        return self.project / "src"

    @property
    def toolchain(self) -> str:
        """What systems.*.toolchain must say: what was chosen, else the toolchain of this linker."""
        if self.chosen:
            return self.chosen
        return "gcc" if self.linker == "gnu" else f"toolchains/{self.linker}.toml"

    def write(self, **files: str) -> None:
        """Write source files; in names ``__`` stands for a dot, as in ``main__c``."""
        self.write_named({name.replace("__", "."): text for name, text in files.items()})

    def write_named(self, files: Mapping[str, str]) -> None:
        """Write source files by their real names."""
        for name, text in files.items():
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))

    def config(self, commands: str | Sequence[str], **changes: Any) -> Config:
        """The configuration: one system "sys"; ``changes`` are artefacts, build, layout, system, systems."""
        text = self.toml([commands] if isinstance(commands, str) else list(commands), **changes)
        return parse(text, path="layoutrand.toml")

    def toml(
        self,
        commands: Sequence[str],
        *,
        artefacts: Sequence[str] = ("prog",),
        build: Mapping[str, Any] | None = None,
        layout: Mapping[str, Any] | None = None,
        system: Mapping[str, Any] | None = None,
        systems: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> str:
        """The text of layoutrand.toml."""
        tables: dict[str, Mapping[str, Any]] = {
            "project": {"name": "test"},
            "build": {"source": "src", "commands": list(commands), "artefacts": list(artefacts), **(build or {})},
            "layout": layout or {},
        }
        for name, table in (systems or {"sys": system or {}}).items():
            tables[f"systems.{name}"] = {"toolchain": self.toolchain, "cflags": "-O2", **table}
        return "".join(
            f"[{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in table.items())
            for name, table in tables.items()
        )

    def build(
        self,
        commands: str | Sequence[str] | Config,
        *,
        seeds: Iterable[int] = SEEDS,
        controls: bool = True,
        layouts: Sequence[LayoutName] | None = None,
        jobs: int = 2,
        **changes: Any,
    ) -> SystemBuild:
        """Build the only system; failures are in the result."""
        return self.build_all(
            commands, layouts=layouts or all_layouts(list(seeds), controls=controls), jobs=jobs, **changes
        )[0]

    def build_all(
        self, commands: str | Sequence[str] | Config, *, layouts: Sequence[LayoutName], jobs: int = 2, **changes: Any
    ) -> list[SystemBuild]:
        """Build all systems."""
        config = commands if isinstance(commands, Config) else self.config(commands, **changes)
        progress = BuildProgress(self.said.append, lambda: None)
        setup = BuildSetup.of(config, self.project, Cache(self.cache), self.runner, progress, jobs=jobs)
        return build(setup, list(config.systems), layouts)

    def built(self, commands: str | Sequence[str] | Config, **options: Any) -> Built:
        """Build, and insist that nothing failed and every layout is verified and distinct."""
        return whole(self.build(commands, **options))


@dataclass(frozen=True)
class Built:
    """A build without failures, by layout."""

    result: SystemBuild
    by_layout: Mapping[LayoutName, Binary]

    @property
    def seeded(self) -> dict[LayoutName, Binary]:
        """The binaries that a seed names."""
        return {name: binary for name, binary in self.by_layout.items() if isinstance(name, int)}

    def path(self, layout: LayoutName) -> Path:
        """Where the binary of a layout is."""
        return self.by_layout[layout].path

    def outputs(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> dict[LayoutName, bytes]:
        """What each binary prints."""
        return {name: output(binary.path, *args, stdin=stdin, env=env) for name, binary in self.by_layout.items()}

    def assert_prints(self, expected: str, *args: str) -> None:
        """Every binary, stock and identity included, prints this."""
        printed = self.outputs(*args)
        assert printed == dict.fromkeys(printed, expected.encode())

    def assert_all_print_as_stock(self, *args: str, stdin: bytes = b"") -> bytes:
        """Every binary prints what stock prints, and something; returns it."""
        printed = self.outputs(*args, stdin=stdin)
        assert printed[STOCK]
        assert printed == dict.fromkeys(printed, printed[STOCK])
        return printed[STOCK]


def whole(result: SystemBuild) -> Built:
    """The build by layout; fails if a layout failed, is unverified, or has the text of another."""
    assert not result.failures, [f"{failure.layout}: {failure.error}" for failure in result.failures]
    assert result.binaries
    for binary in result.binaries:
        if binary.layout == STOCK:
            continue
        assert binary.verification is not None
        assert binary.verification.tau_request == 1.0
        assert (binary.verification.tau_identity == 1.0) == (binary.layout == IDENTITY)
    texts = [binary.text_sha256 for binary in result.binaries if isinstance(binary.layout, int)]
    assert len(set(texts)) == len(texts)
    return Built(result, {binary.layout: binary for binary in result.binaries})


def output(program: Path, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
    """Run a program that must succeed; its standard output."""
    done = subprocess.run([str(program), *args], input=stdin, capture_output=True, env=env, timeout=60)
    assert done.returncode == 0, f"{program} {args}: {done.returncode}: {done.stderr!r}"
    return done.stdout


def only_error(result: SystemBuild) -> str:
    """The one message that all failures of a build share."""
    messages = {failure.error for failure in result.failures}
    assert len(messages) == 1, messages
    return messages.pop()


def alive(pid: int) -> bool:
    """Whether a process still runs; one that nobody has waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def ended(*pids: int) -> bool:
    """Whether none of the processes runs: what was killed is there until the kernel comes to it, on a busy machine."""
    deadline = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(alive, pids))


def symbols(path: Path) -> dict[str, int]:
    """Address of each named symbol (tests use unique names)."""
    binary = elf.read(path.read_bytes(), name=str(path))
    names = binary.symbol_names(range(len(binary.symbols)))  # type: ignore[arg-type]
    return dict(zip(names, binary.symbols["value"].tolist(), strict=True))


def in_order(path: Path, names: Iterable[str]) -> list[str]:
    """The named symbols by ascending address."""
    known = symbols(path)
    return sorted(names, key=known.__getitem__)


def loaded(path: Path) -> dict[str, tuple[int, int, bytes]]:
    """What a program loads, build id aside."""
    return elf.loaded_content(elf.read(path.read_bytes(), name=str(path)), skip=frozenset({".note.gnu.build-id"}))


def many_functions(count: int, *, prefix: str = "f") -> str:
    """C source of functions that call each other and cannot be folded into one: prefix0 ... prefixN-1."""
    lines = [f"int {prefix}{k}(int x);" for k in range(count)]
    for k in range(count):
        body = f"return x * {k + 3} + {k};" if k == 0 else f"return {prefix}{k - 1}(x + {k}) ^ (x * {k * 7 + 1});"
        lines.append(f"__attribute__((noinline)) int {prefix}{k}(int x) {{ {body} }}")
    return "\n".join(lines) + "\n"


FILLER = many_functions(8, prefix="pad")
"""Functions enough for every seed to have an order of its own."""

LOADER = """
    #include <dlfcn.h>
    #include <stdio.h>
    int main(int argc, char **argv) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library) { puts(dlerror()); return 1; }
        int (*run)(void) = (int (*)(void))dlsym(library, "run");
        return run ? run() : 2;
    }
"""
"""C source of a program that loads the library it is given and calls its run()."""


def plain_program(folder: Path, source: str, *flags: str) -> Path:
    """A program compiled by gcc itself, without layoutrand."""
    target = folder / "plain-program"
    subprocess.run(["gcc", "-x", "c", "-", "-o", str(target), *flags], input=source.encode(), check=True)
    return target


def main_calling(*names: str) -> str:
    """C source of a main that prints what each named int(int) function gives."""
    declarations = "".join(f"int {name}(int);\n" for name in names)
    calls = "".join(f'  printf("{name} %d\\n", {name}(argc + 4));\n' for name in names)
    return f"#include <stdio.h>\n{declarations}int main(int argc, char **argv) {{\n{calls}  return 0;\n}}\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def start(shop: Workshop, *arguments: str) -> subprocess.Popen[str]:
    """Start `layoutrand build` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "layoutrand", "build", "--json", "-C", str(shop.project), *arguments],
        env={**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for success; the JSON document."""
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    document: dict[str, Any] = json.loads(stdout)
    assert document["failures"] == []
    return document


def hashes(document: dict[str, Any]) -> dict[object, str]:
    """Whole-file hash by seed."""
    return {binary["seed"]: binary["sha256"] for binary in document["binaries"]}


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name)
