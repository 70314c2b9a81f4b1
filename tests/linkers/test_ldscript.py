"""GNU ld's default script with an exact order put into it."""

import re
import subprocess

import pytest

from buildkit import compiled, run, said, text_lines
from layoutrand.errors import FeatureUnsupported
from layoutrand.linkers.ldscript import default_script, ordered_script, symbol_order
from layoutrand.objects.unique_names import section_name
from workshop import require

MODES = {
    "non-PIE": [],
    "PIE": ["-pie"],
    "shared": ["-shared"],
    "static": ["-static"],
    "static PIE": ["-static", "-pie", "--no-dynamic-linker"],
    "one segment": ["-z", "noseparate-code"],
    "now and relro": ["-pie", "-z", "now", "-z", "relro"],
    "combreloc off": ["-z", "nocombreloc"],
    "text writable": ["-N"],
    "not paged": ["-n"],
}
SOURCE = "".join(f"int f{n}(void) {{ return {n}; }}\n" for n in range(6)) + "int _start(void) { return f0() + f5(); }\n"


def script_of(*flags):
    """The default script that GNU ld uses with these flags."""
    done = subprocess.run([require("ld.bfd", "binutils"), *flags, "--verbose"], capture_output=True, text=True)
    return default_script(done.stdout)


@pytest.mark.parametrize("flags", MODES.values(), ids=MODES.keys())
def test_gnu_ld_takes_its_own_script_back_with_the_order_in_it(tmp_path, flags):
    """In each mode of the linker the sections stand in the order asked for and nothing is lost."""
    obj = compiled(tmp_path, "a.c", SOURCE, "-fPIC")
    renamed = tmp_path / "renamed.o"
    order = [4, 2, 6, 0, 5, 1, 3]
    names = [f".text.f{n}" for n in range(6)] + [".text._start"]
    pairs = [f"--rename-section={name}={section_name(index)}" for index, name in enumerate(names)]
    run("objcopy", *pairs, obj, renamed)
    script = tmp_path / "layout.ld"
    script.write_text(ordered_script(script_of(*flags), text_lines(order)))

    run("ld.bfd", *flags, "-T", script, renamed, "-o", tmp_path / "out")

    addresses = {}
    for row in said("nm", tmp_path / "out").splitlines():
        if match := re.fullmatch(r"([0-9a-f]+) T (f\d|_start)", row):
            addresses[match[2]] = int(match[1], 16)
    assert sorted(addresses, key=addresses.__getitem__) == [names[index].removeprefix(".text.") for index in order]


@pytest.mark.parametrize("flags", MODES.values(), ids=MODES.keys())
def test_an_empty_order_changes_nothing(tmp_path, flags):
    """With no section to place, linking with the script gives the same file as linking without."""
    obj = compiled(tmp_path, "a.c", SOURCE, "-fPIC")
    script = tmp_path / "layout.ld"
    script.write_text(ordered_script(script_of(*flags), text_lines([])))

    run("ld.bfd", *flags, obj, "-o", tmp_path / "plain")
    run("ld.bfd", *flags, "-T", script, obj, "-o", tmp_path / "scripted")

    assert (tmp_path / "plain").read_bytes() == (tmp_path / "scripted").read_bytes()


def test_the_order_stands_before_every_pattern_of_the_text_section():
    """The exact lines come first in .text, and only there."""
    script = ordered_script(script_of(), text_lines([1, 0]))
    text = script[re.search(r"^\s*\.text\s*:", script, re.MULTILINE).start() :]

    assert text.split("\n")[2:5] == [
        "    *(.text.lr.0000001)",
        "    *(.text.lr.0000000)",
        "    *(.text.unlikely .text.*_unlikely .text.unlikely.*)",
    ]
    assert script.count(".text.lr.") == 2


def test_only_the_first_text_section_of_a_script_gets_the_order():
    """A script that mentions .text twice places each section once."""
    text = "SECTIONS {\n  .text :\n  {\n    *(.text)\n  }\n}\n"

    assert ordered_script(text + text, text_lines([7])).split("\n").count("    *(.text.lr.0000007)") == 1


@pytest.mark.parametrize(
    "output",
    [
        "",
        "GNU gold (GNU Binutils 2.40) 1.16\n",
        f"{'=' * 50}\nSECTIONS {{}}\n{'=' * 50}\n",
        f"{'=' * 50}\n.text : {{\n",
    ],
    ids=["nothing", "another linker", "no .text", "no second rule"],
)
def test_a_linker_without_a_default_script_is_refused(output):
    """What does not print a script with a .text section is not GNU ld, and the message says what to do."""
    with pytest.raises(FeatureUnsupported, match="is it GNU ld"):
        default_script(output)


def test_what_surrounds_the_script_is_dropped():
    """Everything outside the two rules, such as the trace of a whole link, is not part of the script."""
    rule = "=" * 50
    said_by_ld = f"GNU ld\nusing internal linker script:\n{rule}\nSECTIONS {{\n  .text :\n  {{\n  }}\n}}\n\n{rule}\nattempt to open x\n"

    assert default_script(said_by_ld) == "SECTIONS {\n  .text :\n  {\n  }\n}\n\n"


def test_symbol_order_has_one_symbol_a_line():
    """lld's order file names the unique symbols in order."""
    assert symbol_order([3, 1]) == ".lr.0000003\n.lr.0000001\n"
