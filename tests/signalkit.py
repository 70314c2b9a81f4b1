"""Signals to commands at moments of one's choice, and what is left of them: a project in which every command has work.

`signalled` and `killed` do it once and say how it went; whoever wants hundreds gives them moments.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from keptkit import keepers, wait_until

CONFIG = """\
[project]
name = "faults"
[build]
source = "src"
commands = ["(setsid sh -c 'sleep 3' &); for f in f*.c; do $CC -c $f; done; $CC -o prog f*.o; sleep 0.1"]
artefacts = ["prog"]
[systems.sys]
[[benchmarks]]
name = "b"
command = ["/bin/sh", "-c", "(setsid sleep 3 &); sleep 0.02; {artefact}"]
"""
MAIN = "int g1(void), g2(void);\nint main(void) { return g1() + g2() - 3; }\n"
# As from a terminal, also where these tests are a background job, whose children have SIGINT ignored.
LAYOUTRAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from layoutrand.__main__ import main
main()
"""
COMMANDS = {
    "build": ["build", "--seeds", "8"],
    "run": ["run", "--seeds", "4", "--share-machine"],
    "check": ["check", "HEAD~1", "HEAD", "--budget", "3s"],
    "exec": [
        "exec",
        "--seed",
        "3",
        "--",
        "sh",
        "-c",
        "cd src && $CC -c f*.c && $CC -o ../made f*.o; rm f*.o; sleep 0.1",
    ],
    "demo": ["demo"],
    "analyse": ["analyse"],
    "report": ["report"],
    "cache verify": ["cache", "verify"],
    "cache ls": ["cache", "ls"],
    "help": ["--help"],
    "a command's help": ["build", "--help"],
    "an error": ["compare", "this", "that"],
}
STARTING = ("build", "run", "check", "exec", "demo")
"""Those that start programs."""

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KILLED = ("upper", "lower", "worker", "group")


class FaultProject:
    """A program of two commits, built and executed once; its cache is copied for whoever needs a fresh one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = root / "project"
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "LAYOUTRAND_CACHE": str(root / "cache"),
            "LAYOUTRAND_LOCK_DIR": str(root),
            "HOME": str(root),
        }
        (self.place / "src").mkdir(parents=True)
        (self.place / "layoutrand.toml").write_text(CONFIG)
        (self.place / "src/f0.c").write_text(MAIN)
        for k in (1, 2):
            functions = "".join(f"int g{k}{j}(void) {{ return {j}; }}\n" for j in range(8))
            (self.place / f"src/f{k}.c").write_text(f"{functions}int g{k}(void) {{ return {k}; }}\n")
        git = ["git", "-c", "user.name=n", "-c", "user.email=n@localhost", "-C", str(self.place)]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "1"]):
            subprocess.run([*git, *words], check=True, env=self.env)
        with (self.place / "src/f1.c").open("a") as file:
            file.write("int unused(void) { return 7; }\n")
        subprocess.run([*git, "commit", "-qam", "2"], check=True, env=self.env)

    def start(self, command: str, *, fresh: bool) -> subprocess.Popen[str]:
        """Begin a command; ``fresh`` with a cache that has nothing."""
        env = self.env | ({"LAYOUTRAND_CACHE": str(self.root / f"cache-{random.getrandbits(64):x}")} if fresh else {})
        return subprocess.Popen(
            [sys.executable, "-c", LAYOUTRAND, *COMMANDS[command]],
            cwd=self.place,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def processes(self) -> list[str]:
        """The processes that have to do with the project, by directory, environment or words; none that has ended."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    told = [process.cwd(), *process.cmdline(), process.environ().get("TMPDIR", "")]
                    if any(str(self.root) in word for word in told):
                        found.append(f"{process.pid}: {' '.join(process.cmdline())}"[:200])
        return found


@dataclass(frozen=True)
class Fault:
    """What was done to a command when, in seconds after it could be done, and how that ended."""

    command: str
    what: str
    moment_s: float
    status: int
    said: str
    left: tuple[str, ...]

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was said that only a programmer understands."""
        return not any(words in self.said for words in ("Traceback", "Exception ignored", "Error:", "resource_tracker"))


def hears(pid: int) -> bool:
    """Whether SIGTERM is caught or waited for; before, the interpreter starts, and nobody can do anything about it."""
    bit = 1 << (signal.SIGTERM - 1)
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        masks = dict(line.split(":", 1) for line in lines if line.startswith(("SigCgt", "SigBlk")))
        return any(int(mask, 16) & bit for mask in masks.values())
    return True


def signalled(
    project: FaultProject, command: str, number: signal.Signals, moment_s: float, *, fresh: bool, more: int = 0
) -> Fault:
    """Send a signal to the command, and ``more`` of the same while it ends."""
    process = project.start(command, fresh=fresh)
    wait_until(lambda: hears(process.pid))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(moment_s)
    process.send_signal(number)
    for _ in range(more):
        time.sleep(0.01)
        process.send_signal(number)
    _, said = process.communicate(timeout=120)
    status = process.returncode
    wait_until(lambda: not project.processes(), 2.0)
    left = () if status == 0 else tuple(project.processes())
    return Fault(command, number.name, moment_s, status, said, left)


def killed(project: FaultProject, command: str, who: str, moment_s: float, *, fresh: bool) -> Fault:
    """``kill -9`` of one of the command's processes, or of its group."""
    process = project.start(command, fresh=fresh)
    three = keepers(process.pid)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(moment_s)
    with contextlib.suppress(ProcessLookupError):
        if who == "group":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            os.kill(three[KILLED.index(who)], signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    left: tuple[str, ...] = ()
    if process.returncode < 0:
        wait_until(lambda: not project.processes(), 2.0)
        left = tuple(project.processes())
    return Fault(command, f"kill -9 {who}", moment_s, process.returncode, said, left)
