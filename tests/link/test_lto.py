"""gcc's link-time optimisation: what is read off the link line, the options and the objects."""

import subprocess
from pathlib import Path

import pytest

from buildkit import run
from layoutrand.errors import FeatureUnsupported
from layoutrand.link import lto
from layoutrand.link.lto_division import require_factors
from layoutrand.linkers import linkline
from layoutrand.objects import elf
from workshop import require
from wrapkit import SHELLS, write_script

LINE = (
    "-plugin /gcc/liblto_plugin.so -plugin-opt=/wrappers/lto-wrapper -plugin-opt=-fresolution=/tmp/cc1.res "
    "-plugin-opt=-pass-through=-lgcc -plugin-opt=--sysroot -o prog a.o -lc"
).split()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "balanced"),
        ("'-O2' '-flto=2'", "balanced"),
        ("'-flto' '-flto-partition=1to1'", "1to1"),
        ("'-flto-partition=none' '-flto-partition=one'", "one"),
        ("'-o' 'it'\\''s -flto-partition=max'", "balanced"),
        ("'-flto-partition=max' '-mtune=generic'", "max"),
    ],
)
def test_partitioning_is_the_last_one_given(options, expected):
    """COLLECT_GCC_OPTIONS is quoted for a shell; a file may be called like an option."""
    assert lto.partitioning(options) == expected


def test_the_plugin_asks_the_script_and_is_an_input_itself():
    """Only who is asked and where the resolution is written changes; options for the plugin itself stay."""
    words = lto.answering(linkline.words(LINE), "/rec/lto-wrapper")

    assert [part for word in words for part in word.argv()] == [
        "-plugin",
        "/gcc/liblto_plugin.so",
        "-plugin-opt=/rec/lto-wrapper",
        "-plugin-opt=-fresolution=/dev/null",
        "-plugin-opt=-pass-through=-lgcc",
        "-plugin-opt=--sysroot",
        "-o",
        "prog",
        "a.o",
        "-lc",
    ]
    assert [word.text for word in words if word.kind == "file"] == ["/gcc/liblto_plugin.so", "/rec/lto-wrapper"]
    assert lto.uses_plugin(words)
    assert not lto.uses_plugin(linkline.words(["a.o"]))


def compiled(folder, text, *flags):
    """One object that gcc makes."""
    require("gcc", "gcc")
    run("gcc", "-O1", "-x", "c", "-", "-c", "-o", folder / "a.o", *flags, stdin=text.encode())
    return elf.read((folder / "a.o").read_bytes(), name="a.o")


SOURCE = "int here = 1; extern int there; static int own; int f(void) { return there + own++; } int __attribute__((weak)) w(void) { return f(); }\n"


@pytest.mark.parametrize("fat", ["-ffat-lto-objects", "-fno-fat-lto-objects"])
def test_symbols_that_intermediate_code_defines(tmp_path, fat):
    """Global definitions, weak ones among them, and nothing that is only used."""
    source = compiled(tmp_path, SOURCE, "-flto", fat)

    assert set(lto.defined(source)) == {"here", "f", "w"}
    assert lto.is_intermediate(source)
    assert lto.is_slim(source) == (fat == "-fno-fat-lto-objects")


def test_machine_code_is_not_intermediate(tmp_path):
    """An ordinary object has none of it."""
    source = compiled(tmp_path, SOURCE)

    assert not lto.is_intermediate(source)
    assert not lto.is_slim(source)
    assert lto.defined(source) == []


def test_units_of_mixed_modules_are_one_object_and_others_go_by_their_module(tmp_path):
    """With one partition to a module the symbols tell which; a module without any is known by its sections."""
    natives = {
        "0": compiled(tmp_path, "int f(void) { return 1; } int g(void) { return 2; }\n"),
        "1": compiled(tmp_path, "int h(void) { return 1; }\n"),
        "2": compiled(tmp_path, "int i(void) { return 1; }\n"),
        "3": compiled(tmp_path, "int main(void) { return 1; }\n", "-ffunction-sections"),
    }
    owners = {"f": "a.o", "g": "a.o", "h": "lib.a(b.o)", "i": "a.o"}

    assert lto.unit_names(natives, owners, "balanced") == dict.fromkeys(natives, "lto")
    assert lto.unit_names(natives, owners, "1to1") == {
        "0": "lto/a.o",
        "1": "lto/lib.a(b.o)",
        "2": "lto/a.o:1",
        "3": f"lto/({first(natives['3'])})",
    }


def first(source):
    return min(name for name in source.section_names if name.startswith(".text."))


@pytest.mark.parametrize("factor", ["module-order", "function-order-in-module"])
def test_module_factors_need_modules(factor):
    """Where the partitioning mixes modules the message says what keeps them apart."""
    for division in ("balanced", "none", "one", "max", "full"):
        with pytest.raises(FeatureUnsupported, match=f"^prog: '{factor}' .*-flto-partition=1to1"):
            require_factors(division, [factor], "prog")
    for division in ("", "1to1", "thin"):
        require_factors(division, [factor], "prog")


def test_link_order_has_nothing_to_move():
    """Objects on the line hold no code; function-order works with every division."""
    with pytest.raises(FeatureUnsupported, match="^prog: 'link-order'"):
        require_factors("1to1", ["link-order"], "prog")
    require_factors("balanced", ["function-order", "data-order", "padding"], "prog")
    require_factors("", ["link-order"], "prog")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", ["plain", "a b", "it's", "$HOME", "*", "%s"])
def test_the_script_answers_with_links_to_the_objects_beside_it(tmp_path, shell, name):
    """One line for each object, in order; what the plugin then deletes are the links."""
    folder = tmp_path / name
    folder.mkdir()
    for number in (0, 1, 10):
        (folder / f"{number:05d}.o").write_text(str(number))
    script = write_script(folder / "lto-wrapper", lto.ANSWER_SCRIPT)
    done = subprocess.run([*SHELLS[shell], script, f"@{tmp_path}/args {name}"], capture_output=True, text=True)
    paths = done.stdout.splitlines()

    assert (done.returncode, done.stderr) == (0, "")
    assert paths == [f"{tmp_path}/args {name}.d/{number:05d}.o" for number in (0, 1, 10)]
    assert [Path(path).read_text() for path in paths] == ["0", "1", "10"]


def test_the_script_is_clean(tmp_path):
    """shellcheck has nothing to say."""
    script = write_script(tmp_path / "lto-wrapper", lto.ANSWER_SCRIPT)
    run(require("shellcheck", "shellcheck"), script)
