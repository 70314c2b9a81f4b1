"""SPEC CPU as a build and benchmarks: what is generated for its tools, and what they left when they had built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.config.config import Benchmark, Build, Config
from layoutrand.config.metric import Metric
from layoutrand.config.readings import SpecReading
from layoutrand.config.spec_settings import (
    SpecBenchmark,
    SpecFacts,
    SpecSuite,
    artefact,
    chosen_benchmarks,
    exe_folder,
)
from layoutrand.config.suite_build import SuiteBenchmark, SuiteBuild
from layoutrand.errors import BuildFailed, CaptureFailed, ConfigError
from layoutrand.platform.disk import sha256_file
from layoutrand.suites import spec_config, spec_output, spec_root

_OF_THE_BUILD: Final = {"mode", "env", "timeout_s", "commands", "artefacts"}
_COMPILERS: Final = ("lr_cc=cc", "lr_cxx=c++", "lr_fc=gfortran")


def expand(suite: SpecSuite, config: Config, project: Path) -> tuple[Build, list[Benchmark]]:
    """The build of all chosen benchmarks and one benchmark for each; raises `ConfigError` that lists what is wrong."""
    path = str(project / "layoutrand.toml")
    facts = spec_root.read_root((project / spec_root.of_the_user(suite.root, "suite.root", path)).resolve(), path)
    benchmarks, problems = chosen_benchmarks(suite, facts)
    problems += _build_problems(config)
    base = None
    if suite.config is not None:
        file = project / spec_root.of_the_user(suite.config, "suite.config", path)
        base = spec_root.read_base_config(file, Path(facts.root), path)
        problems += spec_config.base_problems(suite, base, f"suite.config: {file}")
    problems += [
        f"systems.{name}.args: SPEC's tools start the benchmarks, and no system has words of its own there"
        for name, system in config.systems.items()
        if system.args
    ]
    if "stack-offset" in config.run.randomise:
        problems.append(
            "run.randomise: stack-offset moves the stack of the program that layoutrand starts, which is SPEC's tool "
            "and not the benchmark; use env-size, which reaches both"
        )
    problems += [
        f"run.randomise: {name} is proved of the program that layoutrand starts, which is SPEC's tool and not the "
        "benchmark; use env-size, which reaches both"
        for name in config.run.randomise
        if name in {"heap-offset", "mmap-offset"}
    ]
    if problems:
        raise ConfigError(path, problems)
    label = spec_config.label_of(suite, base)
    text = spec_config.config_file(suite, facts, base, label)
    return _build(suite, facts, config, benchmarks, label, text), [
        _benchmark(suite, facts, benchmark, label, text) for benchmark in benchmarks
    ]


def _build_problems(config: Config) -> list[str]:
    written = config.build.model_fields_set
    idle = sorted(written - _OF_THE_BUILD | written & {"commands", "artefacts"})
    return [f"build.{key}: SPEC CPU's own tools build here, so only mode, env and timeout_s can be set" for key in idle]


def _options(suite: SpecSuite, facts: SpecFacts, label: str) -> list[str]:
    """Arguments of every call."""
    tag = "--extension" if facts.tool == "runspec" else "--label"
    return ["--noreportable", "--ignore_errors", f"--tune={suite.tune}", f"{tag}={label}"]


def _build(
    suite: SpecSuite, facts: SpecFacts, config: Config, benchmarks: list[SpecBenchmark], label: str, text: str
) -> SuiteBuild:
    names = [benchmark.name for benchmark in benchmarks]
    script = spec_config.start_script(
        facts,
        title=f"builds {', '.join(names)} of SPEC CPU",
        build=True,
        below="",
        words=["--action=build", *_options(suite, facts, label), *names],
    )
    inside = [f"{facts.root}/{facts.folder}/{name}/{part}" for name in names for part in ("Spec", "src")]
    settings = {name: getattr(config.build, name) for name in config.build.model_fields_set & {"mode", "env"}}
    return SuiteBuild(
        commands=[f'sh ./{spec_config.SCRIPT_NAME} "$PWD" {{jobs}}'],
        artefacts=[
            artefact(facts, benchmark.name, executable, suite.tune, label)
            for benchmark in benchmarks
            for executable in benchmark.executables
        ],
        files={spec_config.CONFIG_NAME: text, spec_config.SCRIPT_NAME: script},
        outside=[f"{facts.root}/version.txt", *inside],
        suffix=f"_{suite.tune}.{label}",
        timeout_s=config.build.timeout_s,
        **settings,
    )


def _benchmark(suite: SpecSuite, facts: SpecFacts, benchmark: SpecBenchmark, label: str, text: str) -> SuiteBenchmark:
    words = ["--action=validate", "--nobuild", *_options(suite, facts, label), "--iterations=1", f"--size={suite.size}"]
    if facts.tool == "runcpu":
        words += [f"--copies={suite.copies}", *([f"--threads={suite.threads}"] if suite.threads > 1 else [])]
    for compiler in _COMPILERS:  # the config file names them, nothing is compiled
        words += ["--define", compiler]
    script = spec_config.start_script(
        facts,
        title=f"executes {benchmark.name} of SPEC CPU {facts.version} once",
        build=False,
        below=f"/{exe_folder(facts, benchmark.name)}",
        words=[*words, benchmark.name],
    )
    artefacts = [artefact(facts, benchmark.name, name, suite.tune, label) for name in benchmark.executables]
    return SuiteBenchmark(
        name=benchmark.name,
        command=["/bin/sh", spec_config.SCRIPT_NAME, "{artefact_dir}"],
        artefact=artefacts[0],
        artefacts=artefacts,
        generated={spec_config.CONFIG_NAME: text, spec_config.SCRIPT_NAME: script},
        env=suite.env,
        timeout_s=suite.timeout_s,
        metric=Metric(suite=SpecReading(kind="spec-rsf", benchmark=benchmark.name)),
    )


@dataclass(frozen=True)
class SpecTools:
    """SPEC's own tools, which do this build."""

    build: SuiteBuild

    def check(self, system: str, tree: Path, log: Path, status: int) -> None:
        """Raise `BuildFailed` or `CaptureFailed` unless SPEC's tools made every executable, and no other.

        What they logged is added to ``log``, since their own log goes with the tree.
        """
        output = log.read_text("utf-8", "backslashreplace")
        own = "\n".join(text for name, text in spec_root.text_files(tree).items() if name.endswith(".log"))
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"\nlayoutrand: SPEC's own log:\n{own}" if own else "\nlayoutrand: SPEC's tools wrote no log\n")
        made = {folder: spec_root.executables(tree, folder, self.build.suffix) for folder in self.build.expected()}
        if status == 0 and all(made[folder] == sorted(names) for folder, names in self.build.expected().items()):
            return
        what = f"system {system!r}: SPEC CPU's tools "
        problems = spec_output.build_problems(output, own)
        if problems or status != 0:
            told = "".join(f"\n  - {problem}" for problem in problems or [f"exit status {status}"])
            raise BuildFailed(f"{what}did not build what suite.benchmarks asks for:{told}", log=log)
        for folder, names in self.build.expected().items():
            found = made[folder]
            if found != sorted(names):
                benchmark = folder.split("/")[-2]
                ordered = [name for name in names if name in found] + [name for name in found if name not in names]
                listed = ", ".join(f'"{name}"' for name in ordered)
                raise CaptureFailed(
                    f"{what}made {', '.join(found) or 'nothing'} of {benchmark} where {', '.join(names)} was expected; "
                    + (
                        f"write in layoutrand.toml (the executable that is timed first):\n  [suite.executables]\n  "
                        f'"{benchmark}" = [{listed}]'
                        if found
                        else "see the log"
                    ),
                    log=log,
                )

    def exehash(self, tree: Path) -> str:
        """What ``exehash`` is in this installation: "sha256" of the executable's file, "other", or "" where unknown.

        It is read from the hashes that SPEC's tools wrote into the config file, for benchmarks of one executable.
        """
        text = spec_root.written_config(tree, spec_config.CONFIG_NAME)
        stored = {name: value for (name, _tune), value in spec_output.stored_exehashes(text).items()}
        for folder, names in self.build.expected().items():
            benchmark = folder.split("/")[-2]
            if len(names) == 1 and benchmark in stored:
                digest = sha256_file(tree / folder / f"{names[0]}{self.build.suffix}")
                return "sha256" if digest == stored[benchmark] else "other"
        return ""
