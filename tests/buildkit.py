"""Real compilers and linkers for tests of the code that reads and edits what they make."""

import os
import re
import subprocess
from pathlib import Path

from layoutrand.capture import objects
from layoutrand.link import codecheck
from layoutrand.linkers import ldscript
from layoutrand.model import Section
from layoutrand.objects import edit, elf, kinds
from layoutrand.objects.unique_names import section_name
from workshop import require

LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld-19"}
PACKAGES = {"bfd": "binutils", "gold": "binutils", "lld": "lld-19"}


def run(*argv, cwd=None, env=None, stdin=b"", check=True):
    """Run a program; its result with bytes. A failure shows what the program said."""
    done = subprocess.run([os.fspath(word) for word in argv], cwd=cwd, env=env, input=stdin, capture_output=True)
    if check and done.returncode != 0:
        raise AssertionError(
            f"{argv} exited with {done.returncode}:\n{(done.stderr + done.stdout).decode(errors='replace')}"
        )
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
        "index": index,
        "object": obj,
        "name": name or f".text.f{index}",
        "occurrence": 0,
        "group": "",
        "kind": "text",
        "size": 16,
        "align": 16,
        "pinned": False,
    }
    return Section(**{**values, **changes})


def marks(numbers, *, rename=True):
    """Marks for sections by header index: the symbol of the number, and with ``rename`` its name."""
    return {place: edit.Mark(number, section_name(number) if rename else None) for place, number in numbers.items()}


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


def text_lines(order):
    """The exact lines of code sections in that order, for a linker script."""
    return [("text", f"*({section_name(index)})") for index in order]


CROSS = {
    "aarch64": {"bfd": "aarch64-linux-gnu-ld.bfd", "gold": "aarch64-linux-gnu-ld.gold"},
    "riscv64": {"bfd": "riscv64-linux-gnu-ld.bfd"},
}
"""Linkers of Debian's cross compilers; lld links for every processor."""

EMULATION = {"aarch64": "aarch64linux", "riscv64": "elf64lriscv"}


def cross_linker(machine, kind):
    """Path of a linker for the machine (in the words of ``uname -m``), or skip."""
    if kind == "lld":
        return linker("lld")
    return require(CROSS[machine][kind], f"gcc-{machine}-linux-gnu")


def cross_compiled(machine, folder, name, text, *flags):
    """As `compiled`, for the machine."""
    require(f"{machine}-linux-gnu-gcc", f"gcc-{machine}-linux-gnu")
    own = ["-mno-relax"] if machine == "riscv64" else []
    return compiled(folder, name, text, *own, *flags, driver=f"{machine}-linux-gnu-gcc")


class Relinker:
    """Objects with every code (and data) section marked and named, linked by one linker in any order asked for."""

    def __init__(self, kind, folder, paths, *flags, after=(), data=False, program=None):
        self.kind, self.folder, self.flags, self.after = kind, Path(folder), list(flags), list(after)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program = program or linker(kind)
        files = {f"_build/{number}/{Path(path).name}": Path(path).read_bytes() for number, path in enumerate(paths)}
        self.found = objects.objects(files, [])
        self.chosen = objects.candidates(self.found, data=data)
        self.inputs = []
        for name, content in {
            **files,
            **dict(objects.edited_files(files, self.found, self.chosen, rename=True)),
        }.items():
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            self.inputs.append(target)
        self.script = ""
        if kind == "bfd":
            self.script = ldscript.default_script(said(self.program, *self.flags, "--verbose"))

    def name(self, index):
        """The unique name of a section."""
        return section_name(index, self.chosen[index].section.kind)

    def link(self, order, output="out"):
        """The binary with the sections in that order (capture indices)."""
        file = self.folder / "order"
        if self.kind == "bfd":
            lines = [(kinds.family(self.chosen[i].section.kind), f"*({self.name(i)})") for i in order]
            file.write_text(ldscript.ordered_script(self.script, lines))
            ordering = ["-T", file]
        elif self.kind == "lld":
            file.write_text(ldscript.symbol_order(order))
            ordering = [f"--symbol-ordering-file={file}"]
        else:
            file.write_text("".join(self.name(index) + "\n" for index in order))
            ordering = [f"--section-ordering-file={file}"]
        target = self.folder / output
        run(self.program, *self.flags, *ordering, *self.inputs, *self.after, "-o", target)
        return elf.read(target.read_bytes(), name=str(target))

    def masks(self):
        """The masks of all sections."""
        return codecheck.masks([(self.found[c.object].elf, c.header, c.section.name) for c in self.chosen])

    def code(self, binary):
        """All sections' bytes in the binary, in capture order."""
        masks = self.masks()
        where = codecheck.placed(binary, codecheck.placed_addresses(binary), masks.size)
        return codecheck.section_bytes(binary, where, masks.stored)
