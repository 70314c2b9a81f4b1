"""Toolchain files: the shipped ones, extensions, and every message."""

from pathlib import Path

import pytest

from layoutrand.config.layout_policy import Factor
from layoutrand.config.toolchain import Toolchain, parse, require_factors, require_version
from layoutrand.errors import ConfigError, FeatureUnsupported, ToolNotFound, UsageError
from layoutrand.linkers import toolbox
from layoutrand.linkers.known import names
from layoutrand.platform.process import SubprocessRunner

WHOLE = """
name = "mine"
description = "d"
[tools]
cc = ["cc"]
cxx = ["c++"]
ld = ["ld"]
ar = ["ar"]
[compile]
section_flags = ["-ffunction-sections"]
[link]
driver_flags = []
linker = "gnu"
separates_classes = true
factors = ["function-order"]
"""


def no_parent(name):
    raise AssertionError(name)


def read(text, **parents):
    """Parse a file; ``parents`` are the texts that ``extends`` may name."""
    return parse(text, path="t.toml", parent=parents.__getitem__ if parents else no_parent, linkers=names())


def problems(text, **parents):
    with pytest.raises(ConfigError) as caught:
        read(text, **parents)
    return caught.value.problems


@pytest.mark.parametrize("name", toolbox.shipped())
def test_shipped_toolchains_are_valid_and_named_after_their_file(name):
    """Every file that ships can be loaded, and says what it is."""
    toolchain = toolbox.declared(name, Path("/nonexistent"))

    assert toolchain.name == name
    assert len(toolchain.description) > 10
    assert toolchain.link.factors


def test_gcc_and_lld_ship():
    """The two back ends have a toolchain each."""
    linkers = {name: toolbox.declared(name, Path()).link.linker for name in toolbox.shipped()}

    assert linkers["gcc"] == "gnu"
    assert linkers["gcc-lld"] == "lld"


def test_an_extension_changes_only_what_it_gives():
    """Tables are merged key by key, lists are replaced."""
    child = read('name = "child"\nextends = "base"\n[tools]\nld = ["ld.lld"]\n[link]\nlinker = "lld"\n', base=WHOLE)

    assert child.model_dump() == {
        **read(WHOLE).model_dump(),
        "name": "child",
        "tools": {**read(WHOLE).tools.model_dump(), "ld": ["ld.lld"]},
        "link": {**read(WHOLE).link.model_dump(), "linker": "lld"},
    }


def test_an_extension_of_an_extension():
    """Chains are followed to their end, the nearest file winning."""
    found = read('extends = "b"\nname = "c"', b='extends = "a"\nname = "b"\ndescription = "of b"', a=WHOLE)

    assert (found.name, found.description, found.tools.cc) == ("c", "of b", ["cc"])


def test_a_circle_of_extensions_is_an_error():
    """Files that extend each other are reported instead of followed for ever."""
    assert problems('extends = "a"', a='extends = "b"', b='extends = "a"') == [
        "extends: a extends b extends a, which is a circle"
    ]


def test_all_problems_of_a_file_are_reported_at_once():
    """Unknown keys come with suggestions, missing and wrong values with their place."""
    text = (
        WHOLE.replace('name = "mine"\n', "nam = 3\n")
        .replace('linker = "gnu"', 'linker = "bfd"')
        .replace('cc = ["cc"]', "cc = []")
    )

    assert problems(text) == [
        "name: this key is required",
        "tools.cc: must not be empty",
        "link.linker: must be 'gnu', 'go', 'gold', 'lld' or 'mold' (given: 'bfd')",
        "nam: unknown key; did you mean 'name'?",
    ]


def test_an_unknown_key_inside_a_table_gets_a_suggestion():
    """The keys of that table are the ones suggested."""
    assert problems(WHOLE.replace("section_flags", "section_flag")) == [
        "compile.section_flags: this key is required",
        "compile.section_flag: unknown key; did you mean 'section_flags'?",
    ]


@pytest.mark.parametrize("value", ["3", "true", "[]", "{}"])
def test_extending_what_is_no_name_is_an_error(value):
    """The name of a toolchain is text."""
    [problem] = problems(f"extends = {value}\n")

    assert problem.startswith("extends: must be a string (given: ")


def test_a_syntax_error_is_one_problem():
    """What is no TOML is said to be none, in the file or in the one it extends."""
    assert problems("name = ")[0].startswith("not valid TOML: ")
    assert problems('extends = "a"', a="name = ")[0].startswith("not valid TOML: ")


def test_a_users_file_is_found_relative_to_the_project(tmp_path):
    """A name with a slash or .toml is a path, and may extend what ships."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "my.toml").write_text('name = "my"\nextends = "gcc"\n')
    (tmp_path / "other.toml").write_text('name = "other"\nextends = "gcc-lld"\n')

    assert toolbox.load("tools/my.toml", tmp_path).name == "my"
    assert toolbox.load("other.toml", tmp_path).link.linker == "lld"
    assert toolbox.load(str(tmp_path / "other.toml"), Path("/")).name == "other"


def test_a_users_file_that_is_not_there(tmp_path):
    """The message has the whole path and the reason."""
    with pytest.raises(UsageError, match=rf"^toolchain file {tmp_path}/x\.toml: No such file or directory$"):
        toolbox.load("x.toml", tmp_path)


def test_an_unknown_name_lists_the_known_ones(tmp_path):
    """A misspelt name gets a suggestion, also behind extends."""
    (tmp_path / "my.toml").write_text('extends = "gcc-ld"\n')

    for name in ("gcc-ld", "my.toml"):
        with pytest.raises(
            UsageError, match=r"^no toolchain called 'gcc-ld'; there are .*gcc.*; did you mean 'gcc-lld'\?$"
        ):
            toolbox.load(name, tmp_path)


def toolchain(name, *factors: Factor) -> Toolchain:
    return read(
        WHOLE.replace('"mine"', f'"{name}"').replace('["function-order"]', str(list(factors)).replace("'", '"'))
    )


def test_factors_that_the_linker_can_do():
    """Nothing is said about what can be done."""
    assert require_factors(toolchain("a", "function-order", "module-order"), ["module-order"], list) is None


def test_a_factor_that_the_linker_cannot_do_names_those_that_can():
    """The message lists the toolchains to choose instead."""
    others = [
        toolchain("b", "module-order"),
        toolchain("c", "function-order"),
        toolchain("d", "module-order", "function-order"),
    ]

    with pytest.raises(FeatureUnsupported, match=r"^toolchain 'a' cannot do 'module-order'; these can: b, d$"):
        require_factors(toolchain("a", "function-order"), ["function-order", "module-order"], lambda: others)


def test_a_factor_that_no_linker_can_do():
    """And says so where there is none."""
    with pytest.raises(FeatureUnsupported, match="no toolchain that ships with layoutrand can"):
        require_factors(toolchain("a", "function-order"), ["module-order"], lambda: [toolchain("b", "function-order")])


def test_a_factor_that_none_can_do_for_that_machine():
    """Others can, for this machine: not a word against these."""
    other = toolchain("a", "function-order").model_copy(update={"machine": "riscv64"})

    with pytest.raises(FeatureUnsupported, match="; no toolchain that ships with layoutrand can for riscv64$"):
        require_factors(other, ["block-order"], lambda: [toolchain("b", "block-order")])


def test_tools_are_found_in_order(tmp_path, monkeypatch):
    """The first name that PATH has is taken, with version and hash."""
    for name in ("second", "third"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} 1.0; echo more\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    text = WHOLE.replace('["ld"]', '["first", "second", "third"]')
    for name in ("cc", "c++", "ar"):
        text = text.replace(f'["{name}"]', '["third"]')
    found = toolbox.find(read(text), SubprocessRunner())

    assert (found.tools["ld"].path, found.tools["ld"].version) == (tmp_path / "second", "second 1.0")
    assert found.facts()["cc"]["sha256"] == found.tools["ar"].sha256 != found.tools["ld"].sha256


def test_a_tool_that_is_missing_is_named_with_its_purpose(monkeypatch, tmp_path):
    """The message has all names tried and what they are for."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ToolNotFound, match="^cc not found on PATH, needed as the C compiler of toolchain 'mine'"):
        toolbox.find(read(WHOLE), SubprocessRunner())


def test_go_is_no_c_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolNotFound, match="^go not found on PATH, needed as the Go command of toolchain 'go'"):
        toolbox.find(toolbox.declared("go", tmp_path), SubprocessRunner())


def programs(folder, *names):
    """Programs that say nothing."""
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)


def test_other_tools_follow_the_version_of_the_c_compiler(tmp_path, monkeypatch):
    """{suffix} keeps versions together: with clang-19 goes clang++-19, though an older clang++ is on PATH too."""
    programs(tmp_path, "clang-19", "clang++", "clang++-19", "ld", "ld-19", "ar")
    monkeypatch.setenv("PATH", str(tmp_path))
    text = WHOLE.replace('["cc"]', '["clang", "clang-19"]').replace('["c++"]', '["clang++{suffix}"]')
    text = text.replace('["ld"]', '["ld{suffix}", "ld"]')
    found = toolbox.find(read(text), SubprocessRunner())
    (tmp_path / "clang").symlink_to("clang-19")
    plain = toolbox.find(read(text), SubprocessRunner())

    assert [found.tools[role].path.name for role in ("cc", "cxx", "ld")] == ["clang-19", "clang++-19", "ld-19"]
    assert [plain.tools[role].path.name for role in ("cc", "cxx", "ld")] == ["clang", "clang++", "ld"]


def test_tools_that_may_be_missing(tmp_path, monkeypatch):
    """Without C++ or Fortran compilers C is built; an archive indexer is looked for where the toolchain names one."""
    programs(tmp_path, "cc", "ld", "ar", "my-nm")
    monkeypatch.setenv("PATH", str(tmp_path))
    text = WHOLE.replace('ar = ["ar"]', 'ar = ["ar"]\nfc = ["gfortran"]\nnm = ["my-nm"]')

    assert set(toolbox.find(read(text), SubprocessRunner()).tools) == {"cc", "ld", "ar", "nm"}
    with pytest.raises(ToolNotFound, match="my-ranlib not found on PATH, needed as the archive indexer of toolchain"):
        toolbox.find(read(text.replace("my-nm", 'my-nm"]\nranlib = ["my-ranlib')), SubprocessRunner())


@pytest.mark.parametrize("name", ["clang", "clang-lld"])
def test_clang_takes_one_version_for_both_languages(name):
    """The shipped clang toolchains cannot mix versions of the C and C++ compilers."""
    tools = toolbox.load(name, Path()).tools

    assert tools.cxx == ["clang++{suffix}"]
    assert tools.cc == ["clang", "clang{newest}"]


def since(name, version, *factors: Factor) -> Toolchain:
    text = WHOLE.replace('"mine"', f'"{name}"').replace(
        'factors = ["function-order"]', 'factors = ["function-order", "padding"]'
    )
    return read(text.replace("[link]", f"[link]\nsince = {{ padding = {version} }}"))


@pytest.mark.parametrize("version", ["LLD 20.1.2 (compatible with GNU linkers)", "Debian LLD 22.1.8", "LLD 20.0"])
def test_a_linker_that_is_new_enough(version):
    """From the version that the file names on the factor can be had."""
    assert require_version(since("a", 20), ["function-order", "padding"], version, list) is None


@pytest.mark.parametrize(
    "version", ["Debian LLD 19.1.7 (compatible with GNU linkers)", "Ubuntu LLD 14.0.0", "", "some linker"]
)
def test_a_linker_that_is_too_old_or_unknown(version):
    """The message has what is needed, what there is, and toolchains that need no version."""
    others = [since("b", 20), toolchain("c", "padding"), toolchain("d", "function-order"), toolchain("e", "padding")]
    wanted = f"'padding' with toolchain 'a' needs version 20 of its linker or later, this is {version!r}; of any version these can: c, e"

    with pytest.raises(FeatureUnsupported) as caught:
        require_version(since("a", 20), ["padding"], version, lambda: others)

    assert str(caught.value) == wanted
    assert require_version(since("a", 20), ["function-order"], version, lambda: others) is None


def test_versions_of_unknown_factors_are_a_mistake_in_the_file():
    """A misspelt factor would silently ask for nothing."""
    with pytest.raises(ConfigError, match=r"link\.since"):
        read(WHOLE.replace("[link]", "[link]\nsince = { paddings = 20 }"))


def test_linkers_of_shipped_toolchains_that_take_an_order_take_gaps_in_any_version(tmp_path):
    """Where they have no means of their own they are given sections that take up the room."""
    files = {name: toolbox.declared(name, tmp_path) for name in toolbox.shipped()}
    ordering = {name for name, file in files.items() if "function-order" in file.link.factors}

    assert {name for name, file in files.items() if {"padding", "text-offset"} <= {*file.link.factors}} == ordering
    assert ordering == files.keys() - {"gcc-mold", "go"}
    assert all(file.link.since == {} for file in files.values())
