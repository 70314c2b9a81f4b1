"""Real compilers and linkers for tests of the code that reads and edits what they make."""

import os
import re
import subprocess
from pathlib import Path

from workshop import require

from layoutrand.model import Section

LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld-19"}
PACKAGES = {"bfd": "binutils", "gold": "binutils", "lld": "lld-19"}


def run(*argv, cwd=None, env=None, stdin=b"", check=True):
    """Run a program; its result with bytes. A failure shows what the program said."""
    done = subprocess.run([os.fspath(word) for word in argv], cwd=cwd, env=env, input=stdin, capture_output=True)
    if check and done.returncode != 0:
        raise AssertionError(f"{argv} exited with {done.returncode}:\n{(done.stderr + done.stdout).decode(errors='replace')}")
    return done


def said(*argv, cwd=None):
    """What a program prints, as text."""
    return run(*argv, cwd=cwd).stdout.decode("utf-8", "surrogateescape")


def compiled(folder, name, text, *flags, driver="gcc"):
    """The object made of one source file with function sections; ``name`` ends in .c, .cc or .s."""
    require(driver, driver)
    source = Path(folder, name)
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    target = source.with_suffix(".o")
    run(driver, "-O1", "-ffunction-sections", *flags, "-c", source.name, "-o", target.name, cwd=source.parent)
    return target


def linker(kind):
    """Path of one of the `LINKERS`, or skip."""
    return require(LINKERS[kind], PACKAGES[kind])


def link_with(kind, folder, objects, *flags, driver="gcc", output="prog"):
    """A program linked by the driver with that linker."""
    shadow = Path(folder, f"bin-{kind}")
    if not shadow.exists():  # -fuse-ld knows no version suffix
        shadow.mkdir(parents=True)
        (shadow / "ld").symlink_to(linker(kind))
    target = Path(folder, f"{output}-{kind}")
    run(driver, f"-B{shadow}/", *objects, *flags, "-o", target)
    return target


def section(index, obj="a.o", name=None, **changes):
    """A section of a made-up capture: plain, not pinned, no group."""
    values = {
        "index": index, "object": obj, "name": name or f".text.f{index}", "occurrence": 0, "group": "", "kind": "text",
        "size": 16, "align": 16, "pinned": False,
    }  # fmt: skip
    return Section(**{**values, **changes})


def relocation_lines(path):
    """What ``readelf`` says of every relocation, symbols by name, without what an edit may move."""
    rows = []
    for row in said("readelf", "-rW", path).splitlines():
        fields = row.split()
        if len(fields) >= 4 and re.fullmatch("[0-9a-f]{12,16}", fields[0]):
            rows.append((fields[0], fields[2], *fields[4:]))  # offset, type, symbol's name and addend
        elif row.startswith("Relocation section"):
            rows.append((row.split("'")[1],))
    return rows
