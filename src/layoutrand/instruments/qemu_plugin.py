"""The plugin of qemu that counts instructions: compiled for the qemu at hand, and what it writes.

Its source is ours (``templates/qemu-instructions.c.j2``) and needs no header of qemu's.  A plugin says which version of
qemu's interface it is for, and qemu loads those of a range: in qemu 7 and 8 it ends with 1, in 9.0 it begins with 2.
"""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from layoutrand.errors import FeatureUnsupported, NoMeasurement
from layoutrand.platform.process import SubprocessRunner, find_tool
from layoutrand.text.digits import LARGEST_COUNT, whole_number
from layoutrand.text.foreign_fields import excerpt
from layoutrand.text.render import render

VARIABLE: Final = "QEMU_PLUGIN"
FLAGS: Final = ("-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-w")
_COMPILERS: Final = ("cc", "gcc", "clang")
_LONGEST: Final = 4096
_OLDEST: Final = 1
_FROM: Final = re.compile(r"supports only a minimum version of (\d{1,4})")
_NO_PROGRAM: Final = "/dev/null/no-program"
_LARGEST_PID: Final = 1 << 22


@cache
def plugin_for(qemu: str) -> bytes:
    """The plugin, compiled, that this qemu was seen to load.

    Raises `ToolNotFound` without a C compiler, and `FeatureUnsupported` where it does not compile or is not loaded.
    """
    made = _compiled(_OLDEST)
    said, loaded = _tried(qemu, made)
    if found := _FROM.search(said):
        made = _compiled(int(found[1]))
        said, loaded = _tried(qemu, made)
    if not loaded:
        raise FeatureUnsupported(
            f"{qemu} does not load the plugin that counts instructions, so nothing was executed: "
            f"{excerpt(said) if said else 'it emulates a processor that the plugin does not know'}. It takes a qemu "
            "that is linked dynamically and was built with plugins, as qemu-user of Debian 12 is"
        )
    return made


def write_plugin(path: Path, qemu: str) -> None:
    """Put it there for this qemu; for none nothing."""
    if qemu:
        path.write_bytes(plugin_for(qemu))


def words_for(plugin: Path, record: Path) -> str:
    """The value of `VARIABLE` that loads the plugin and has it write to the record; commas part qemu's words."""
    return f"{_escaped(plugin)},out={_escaped(record)}"


def instructions(text: str) -> int:
    """The instructions of all processes together.

    Raises `NoMeasurement` where one did not end in qemu's presence: nobody knows what it executed then.
    """
    total, running, gone = 0, set[int](), dict[int, int]()
    for line in text.splitlines():
        what, pid, count = _line(line)
        if what == "begin":
            total += gone.pop(pid, 0)  # the program that it has executed is emulated, too
            running.add(pid)
        elif pid not in running or (pid in gone and what != "failed"):
            raise NoMeasurement(f"the plugin wrote of a process that it had not seen begin: {excerpt(line)}")
        elif what == "end":
            total += count
            running.discard(pid)
        elif what == "exec":
            gone[pid] = count
        else:
            gone.pop(pid, None)
    if gone:
        raise NoMeasurement(
            f"process {min(gone)} executed a program that qemu does not emulate, so its instructions are not counted; "
            "a handler of binfmt_misc would have qemu start it"
        )
    if running:
        raise NoMeasurement(f"process {min(running)} was ended before it could say how many instructions it executed")
    if total == 0:
        raise NoMeasurement("qemu executed nothing with the plugin that counts instructions")
    return total


def _line(line: str) -> tuple[str, int, int]:
    words = line.split(" ")
    if len(words) == 3 and words[0] in {"begin", "exec", "failed", "end"}:
        pid, count = whole_number(words[1], _LARGEST_PID), whole_number(words[2], LARGEST_COUNT)
        if pid is not None and count is not None:
            return words[0], pid, count
    raise NoMeasurement(f"the plugin wrote a line that cannot be read: {excerpt(line)}")


def _compiled(interface: int) -> bytes:
    compiler = find_tool(_COMPILERS, path=os.environ.get("PATH", ""), purpose="a C compiler for qemu's plugin")
    with tempfile.TemporaryDirectory(prefix="layoutrand-qemu-") as place:
        source, target = Path(place) / "instructions.c", Path(place) / "instructions.so"
        source.write_text(render("qemu-instructions.c.j2", interface=interface, longest=_LONGEST))
        argv = [str(compiler), *FLAGS, "-o", str(target), str(source)]
        done = SubprocessRunner().run(argv, cwd=Path(place), env=os.environ)
        if done.returncode:
            raise FeatureUnsupported(f"{compiler} does not compile the plugin of qemu: {done.text().strip()}")
        return target.read_bytes()


def _tried(qemu: str, plugin: bytes) -> tuple[str, bool]:
    """What qemu says to it, and whether it was loaded; there is no program to execute with it."""
    with tempfile.TemporaryDirectory(prefix="layoutrand-qemu-") as place:
        file, record = Path(place) / "instructions.so", Path(place) / "record"
        file.write_bytes(plugin)
        env = {**os.environ, VARIABLE: words_for(file, record)}
        done = SubprocessRunner().run([qemu, _NO_PROGRAM], cwd=Path(place), env=env)
        return done.text().strip(), record.exists()


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")
