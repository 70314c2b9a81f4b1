"""Stand-ins for the world: real classes that behave as their name says, no patching."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutrand.config.config import Config, parse
from layoutrand.execute.measure import Command, Outcome
from layoutrand.model import RUSAGE_METRICS, Binary, Execution, LayoutName, Measurement


@dataclass
class FakeExecutor:
    """An executor without processes: durations come from the command's text, and so repeat.

    The artefact's content decides: a line ``print TEXT`` is written to standard output, ``exit N`` and ``signal N``
    end it, ``wall X`` sets the seconds.  Whatever else it holds is ignored.
    """

    commands: list[Command] = field(default_factory=list)
    interrupt_at: int | None = None

    def __call__(self, command: Command) -> Outcome:
        """Pretend to execute the command."""
        if self.interrupt_at is not None and len(self.commands) == self.interrupt_at:
            raise KeyboardInterrupt
        self.commands.append(command)
        script = Path(command.argv[0]).read_text("utf-8")
        digest = hashlib.sha256((script + "\0".join(command.argv[1:])).encode()).digest()
        wall_s = 1.0 + int.from_bytes(digest[:2], "big") / 2**18
        output, returncode, number = "", 0, None
        for line in script.splitlines():
            verb, _, rest = line.partition(" ")
            if verb == "print":
                output += rest + "\n"
            elif verb == "exit":
                returncode = int(rest)
            elif verb == "signal":
                number = int(rest)
            elif verb == "wall":
                wall_s = float(rest)
        command.stdout.write_text(output, "utf-8")
        command.stderr.write_text("", "utf-8")
        status = "signal" if number is not None else "ok" if returncode == 0 else "exit"
        return Outcome(
            pid=1,
            started_at=1e9,
            wall_s=wall_s,
            status=status,
            reason="" if status == "ok" else f"fake {status}",
            returncode=None if number is not None else returncode,
            signal=number,
            rusage={name: wall_s for name in RUSAGE_METRICS},
        )


def make_config(benchmark: str, *, systems: Sequence[str] = ("a", "b"), run: str = "", project: str = "fake") -> Config:
    """A configuration with these ``[[benchmarks]]`` tables and this content of ``[run]``, ready to execute."""
    tables = "".join(f"[systems.{name}]\n" for name in systems)
    build = '[build]\ncommands = ["make"]\nartefacts = ["prog"]\n'
    return parse(f'[project]\nname = "{project}"\n{build}{tables}{benchmark}\n[run]\n{run}', path="layoutrand.toml")


def make_binary(directory: Path, system: str, layout: LayoutName, content: str, *, artefact: str = "prog") -> Binary:
    """An executable file with this content, as a binary of the cache."""
    path = directory / system / str(layout) / Path(artefact).name
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whole at any moment: another process may be executing what was made here before, and looks whether it is still that.
    own = path.with_name(f".{path.name}.{os.getpid()}")
    own.write_text(content, "utf-8")
    own.chmod(own.stat().st_mode | stat.S_IXUSR)
    own.replace(path)
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Binary(
        system=system,
        artefact=artefact,
        layout=layout,
        path=path,
        sha256=digest,
        text_sha256=digest,
        cached=False,
        link_s=0.0,
        verification=None,
    )


def shell_binaries(
    directory: Path,
    script: str,
    *,
    systems: Sequence[str] = ("a", "b"),
    layouts: Sequence[LayoutName] = (1, 2, "stock"),
) -> list[Binary]:
    """Shell scripts that say which layout they are of in a comment, so that all contents differ."""
    return [
        make_binary(directory, system, layout, f"#!/bin/sh\n# {system} {layout}\n{script}\n")
        for system in systems
        for layout in layouts
    ]


EXECUTION = Execution(
    system="s",
    benchmark="b",
    definition="d",
    layout=2**64 - 1,
    instrument="native",
    repetition=0,
    round=2**64 - 1,
    attempt=1,
    order=3,
    binary_sha256="x",
    capture="c",
    status="ok",
    reason="",
    returncode=0,
    signal=None,
    started_at=1.25,
    wall_s=0.1 + 0.2,
    rusage={"user_s": 1e-300},
    env_size=5,
    argv=("a", "\udcff", "\n'"),
    log="",
    conditions={"cpus": [1]},
    host_state={"load1": 0.5},
    disturbances=("swap", "steal"),
    measurements=(Measurement("value", "s", 0, 0.1 + 0.2, True), Measurement("value", "s", 1, 5e-324, False)),
)
"""What is hard to write down and to read back: bytes that are no text, the smallest and the largest numbers."""


def captures(systems: Sequence[str] = ("a", "b")) -> Mapping[str, str]:
    """A capture id for each system."""
    return {system: f"capture-of-{system}" for system in systems}


def quoted(*words: str) -> str:
    """Words as TOML array of strings."""
    return "[" + ", ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words) + "]"
