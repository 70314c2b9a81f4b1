"""The plugin of qemu that counts: compiled for the qemu at hand, and what it writes.

Its source is ours (``templates/qemu-plugin.c.j2``) and needs no header of qemu's.  A plugin says which version of
qemu's interface it is for, and qemu loads those of a range: in qemu 7 and 8 it ends with 1, in 9.0 it begins with 2.
It is one of two: what counts instructions alone does so by blocks, what simulates caches sees each access.
"""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from layoutrand.errors import FeatureUnsupported, NoMeasurement
from layoutrand.instruments.simulated_caches import D1, I1, LINE, LL
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

INSTRUCTIONS: Final = ("instructions",)
CACHES: Final = (
    *INSTRUCTIONS,
    *("i1_misses", "ll_i_misses"),
    *("data_reads", "data_writes", "d1_misses", "ll_d_misses"),
)
"""What each of the two counts, in the order of its lines."""


@cache
def plugin_for(qemu: str, counts: tuple[str, ...] = INSTRUCTIONS) -> bytes:
    """The plugin that counts these, compiled, that this qemu was seen to load.

    Raises `ToolNotFound` without a C compiler, and `FeatureUnsupported` where it does not compile or is not loaded.
    """
    made = _compiled(_OLDEST, counts)
    said, loaded = _tried(qemu, made)
    if found := _FROM.search(said):
        made = _compiled(int(found[1]), counts)
        said, loaded = _tried(qemu, made)
    if not loaded:
        raise FeatureUnsupported(
            f"{qemu} does not load layoutrand's plugin, so nothing was executed: "
            f"{excerpt(said) if said else 'it emulates a processor that the plugin does not know'}. It takes a qemu "
            "that is linked dynamically and was built with plugins, as qemu-user of Debian 12 is"
        )
    return made


def write_plugin(path: Path, qemu: str, counts: tuple[str, ...]) -> None:
    """Put it there for this qemu; for none nothing."""
    if qemu:
        path.write_bytes(plugin_for(qemu, counts))


def words_for(plugin: Path, record: Path) -> str:
    """The value of `VARIABLE` that loads the plugin and has it write to the record; commas part qemu's words."""
    return f"{_escaped(plugin)},out={_escaped(record)}"


def counted(text: str, counts: tuple[str, ...] = INSTRUCTIONS) -> dict[str, int]:
    """The counts of all processes together.

    Raises `NoMeasurement` where one did not end in qemu's presence: nobody knows what it executed then.
    """
    nothing = (0,) * len(counts)
    total, running, gone = nothing, set[int](), dict[int, tuple[int, ...]]()
    for line in text.splitlines():
        what, pid, count = _line(line, len(counts))
        if what == "begin":
            total = _sum(total, gone.pop(pid, nothing))  # the program that it has executed is emulated, too
            running.add(pid)
        elif pid not in running or (pid in gone and what != "failed"):
            raise NoMeasurement(f"the plugin wrote of a process that it had not seen begin: {excerpt(line)}")
        elif what == "end":
            total = _sum(total, count)
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
    if total[0] == 0:
        raise NoMeasurement("qemu executed nothing with the plugin that counts instructions")
    return dict(zip(counts, total, strict=True))


def _sum(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _line(line: str, width: int) -> tuple[str, int, tuple[int, ...]]:
    words = line.split(" ")
    if len(words) == 2 + width and words[0] in {"begin", "exec", "failed", "end"}:
        pid = whole_number(words[1], _LARGEST_PID)
        count = tuple(number for word in words[2:] if (number := whole_number(word, LARGEST_COUNT)) is not None)
        if pid is not None and len(count) == width:
            return words[0], pid, count
    raise NoMeasurement(f"the plugin wrote a line that cannot be read: {excerpt(line)}")


def _compiled(interface: int, counts: tuple[str, ...]) -> bytes:
    compiler = find_tool(_COMPILERS, path=os.environ.get("PATH", ""), purpose="a C compiler for qemu's plugin")
    with tempfile.TemporaryDirectory(prefix="layoutrand-qemu-") as place:
        source, target = Path(place) / "plugin.c", Path(place) / "plugin.so"
        source.write_text(
            render(
                "qemu-plugin.c.j2",
                interface=interface,
                longest=_LONGEST,
                caches=counts == CACHES,
                counts=counts,
                line_bits=LINE.bit_length() - 1,
                i1=I1,
                d1=D1,
                ll=LL,
            )
        )
        argv = [str(compiler), *FLAGS, "-o", str(target), str(source)]
        done = SubprocessRunner().run(argv, cwd=Path(place), env=os.environ)
        if done.returncode:
            raise FeatureUnsupported(f"{compiler} does not compile the plugin of qemu: {done.text().strip()}")
        return target.read_bytes()


def _tried(qemu: str, plugin: bytes) -> tuple[str, bool]:
    """What qemu says to it, and whether it was loaded; there is no program to execute with it."""
    with tempfile.TemporaryDirectory(prefix="layoutrand-qemu-") as place:
        file, record = Path(place) / "plugin.so", Path(place) / "record"
        file.write_bytes(plugin)
        env = {**os.environ, VARIABLE: words_for(file, record)}
        done = SubprocessRunner().run([qemu, _NO_PROGRAM], cwd=Path(place), env=env)
        return done.text().strip(), record.exists()


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")
