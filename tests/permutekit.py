"""A small program, linked in several orders by GNU ld without a compiler's start files, to learn layouts from."""

from pathlib import Path

import numpy as np

from buildkit import compiled, linker, run, said
from layoutrand.link.codecheck import placed_addresses
from layoutrand.linkers import ldscript
from layoutrand.objects import edit, elf
from layoutrand.objects.unique_names import section_name, symbol_name
from layoutrand.permute.learn import LearnedLink, LearnedProgram
from layoutrand.permute.probes import telling

SOURCE = """
static const char *const words[] = {"one", "two"};
int counter = 1;
__attribute__((noinline)) int first(int x) { counter += x; return x * 3 + words[x & 1][0]; }
__attribute__((noinline)) int second(int x) {
    switch (x) { case 1: return first(x); case 2: return 5; case 3: return x * 7; case 4: return first(2 * x); case 5: return -x; }
    return first(x);
}
int (*const chosen[])(int) = {first, second};
int third(int x) { return chosen[x & 1](x) + 1; }
int fourth(int x) { return x ^ 3; }
int fifth(void) { return counter; }
void _start(void) { for (int k = 0; k < 9; k++) counter += third(k) + fourth(k) + fifth(); }
"""
FLAGS = ("-g", "-fno-pie", "-O2", "-fno-toplevel-reorder")


def linked(folder, script, source, order, *flags):
    """The file with the pieces in that order."""
    lines = [("text", f"*({section_name(number)})") for number in order]
    file = Path(folder, "script")
    file.write_text(ldscript.ordered_script(script, lines))
    target = Path(folder, "prog")
    run(linker("bfd"), "-dT", file, *flags, source, "-o", target)
    return elf.read(target.read_bytes(), name="prog")


def link_of(binary, order):
    """What is learned from one file."""
    number, address, _home = placed_addresses(binary)
    names = binary.symbol_names(np.arange(len(binary.symbols)))
    rows = np.array([names.index(symbol_name(each)) for each in number.tolist()], np.int64)
    back = np.argsort(number)
    return LearnedLink(binary, tuple(order), address[back], rows[back])


def learnable(folder, text=SOURCE, flags=FLAGS):
    """The program, identity, the same with --emit-relocs, and two more orders; and a function that links another."""
    source = compiled(folder, "a.c", text, *flags)
    object_ = elf.read(source.read_bytes(), name="a.o")
    code = [number for number, name in enumerate(object_.section_names) if name.startswith(".text.")]
    marks = {place: edit.Mark(number, section_name(number)) for number, place in enumerate(code)}
    source.write_bytes(edit.edit(source.read_bytes(), marks, name="a.o"))
    script = ldscript.default_script(said(linker("bfd"), "--verbose"))
    size, align = ([int(object_.sections[name][place]) for place in code] for name in ("size", "align"))
    identity = list(range(len(code)))

    def link(order, *flags):
        return linked(folder, script, source, order, "--build-id", "--eh-frame-hdr", *flags)

    first = link(identity)
    home = first.section_names.index(".text")
    program = LearnedProgram(
        section=np.full(len(code), home),
        size=np.array(size),
        align=np.array(align),
        free=np.ones(len(code), bool),
        owners=("a.o",) * len(code),
        linker="gnu",
        version=(2, 40),
        code=home,
    )
    draw = np.random.default_rng(1)
    drawn = (draw.permutation(len(code)).tolist() for _ in range(50))
    orders = telling(size, align, [True] * len(code), identity, drawn, int(first.sections["addr"][home]))
    probes = [link_of(link(order), order) for order in orders]
    return program, link_of(first, identity), link(identity, "--emit-relocs"), probes, link
