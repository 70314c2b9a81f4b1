"""What decides a build: flags, script and keys."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from layoutrand.config.build_recipe import BUILD_ENVIRONMENT, Recipe, binary_facts, exported_flags
from layoutrand.config.config import Build, System
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.linkers import toolbox
from layoutrand.platform.disk import canonical_json


def recipe(**changes):
    """One system's instrumented build."""
    values = {
        "system": "O2",
        "variant": "capture",
        "build": Build(commands=["make -j{jobs}"], artefacts=["prog"]),
        "options": System(cflags="-O2"),
        "toolchain": toolbox.load("gcc", Path()),
    }
    return Recipe(**{**values, **changes})


def test_the_instrumented_build_adds_sections_before_the_users_flags():
    """The user's own flags come last, so that they win."""
    assert recipe().compile_flags("/b", "cc") == ["-ffunction-sections", "-ffile-prefix-map=/b=/layoutrand", "-O2"]


def test_the_stock_build_adds_none():
    """Stock is what the user would build, but for the path of the private copy."""
    assert recipe(variant="stock").compile_flags("/b", "cc") == ["-ffile-prefix-map=/b=/layoutrand", "-O2"]


def test_flags_of_cxx_default_to_those_of_c():
    """cxxflags replaces cflags for C++ where it is given, even by nothing."""
    flags = {
        text: recipe(options=System(cflags="-O2", cxxflags=text)).compile_flags("/b", "cxx")[2:]
        for text in (None, "-O1", "")
    }

    assert flags == {None: ["-O2"], "-O1": ["-O1"], "": []}


def test_flags_of_fortran_are_its_own():
    """fflags stand alone: what suits C need not suit Fortran."""
    made = recipe(options=System(cflags="-O2", fflags="-O1 -fcheck=all"))

    assert made.compile_flags("/b", "fc")[2:] == ["-O1", "-fcheck=all"]
    assert recipe(options=System(cflags="-O2")).compile_flags("/b", "fc")[2:] == []


def test_flags_are_split_as_a_shell_does():
    """Quotes group words in cflags and ldflags."""
    made = recipe(options=System(cflags="-DX='a b' \"-DY=c d\"", ldflags="'-Wl,-rpath,$ORIGIN/x y' -lm"))

    assert made.compile_flags("/b", "cc")[2:] == ["-DX=a b", "-DY=c d"]
    assert made.link_flags() == ["-ffunction-sections", "-Wl,-rpath,$ORIGIN/x y", "-lm"]


def test_link_flags_begin_with_the_toolchains():
    """Section flags, for links that generate code; lld is asked for by its flag; and the user's flags follow."""
    assert recipe(toolchain=toolbox.load("gcc-lld", Path()), options=System(ldflags="-s")).link_flags() == [
        "-ffunction-sections",
        "-fuse-ld=lld",
        "-s",
    ]


def output(commands, jobs=3):
    """Status and output of a build script."""
    made = recipe(build=Build(commands=commands, artefacts=["x"]))
    done = subprocess.run(["bash", "-c", made.script(jobs)], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_the_script_names_each_command_before_it_executes_it():
    """A log shows which command said what."""
    assert output(["echo one", "echo {jobs} 'it''s' \"$((1+1))\""]) == (
        0,
        "layoutrand: $ echo one\none\nlayoutrand: $ echo 3 'it''s' \"$((1+1))\"\n3 its 2\n",
    )


def test_the_script_stops_at_the_first_failure():
    """What follows a failing command is not executed, and its status is the build's."""
    assert output(["true", "(exit 7)", "echo never"]) == (7, "layoutrand: $ true\nlayoutrand: $ (exit 7)\n")


def test_commands_share_one_shell():
    """cd and variables carry over, and a command may have several lines."""
    status, said = output(["cd /", "X=1", "if [ $X = 1 ]; then\n  pwd\nfi", "cat <<E\nhere\nE"])

    assert status == 0
    assert [row for row in said.splitlines() if row in ("/", "here")] == [
        "/",
        "here",
        "here",
    ]  # the command is shown, then executed


def key(made, *, source="s", tools="t", environment=None):
    return canonical_json(made.key_facts({"digest": source}, {"cc": tools}, environment or {}))


OTHER = {
    "variant": recipe(variant="stock"),
    "commands": recipe(build=Build(commands=["make"], artefacts=["prog"])),
    "artefacts": recipe(build=Build(commands=["make -j{jobs}"], artefacts=["other"])),
    "environment of the build": recipe(build=Build(commands=["make -j{jobs}"], artefacts=["prog"], env={"A": "1"})),
    "cflags": recipe(options=System(cflags="-O3")),
    "cxxflags": recipe(options=System(cflags="-O2", cxxflags="-O2")),
    "fflags": recipe(options=System(cflags="-O2", fflags="-O2")),
    "ldflags": recipe(options=System(cflags="-O2", ldflags="-s")),
    "environment of the system": recipe(options=System(cflags="-O2", env={"A": "1"})),
    "toolchain": recipe(toolchain=toolbox.load("gcc-lld", Path())),
}


@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER.keys())
def test_whatever_decides_a_build_is_in_its_key(other):
    """Each change of the configuration that could change the program gives another key."""
    assert key(other) != key(recipe())


def test_source_tools_and_inherited_variables_are_in_the_key():
    """So do another source, another compiler, and variables that compilers read."""
    changed = [
        key(recipe(), source="x"),
        key(recipe(), tools="x"),
        *(key(recipe(), environment={name: "x"}) for name in BUILD_ENVIRONMENT),
    ]

    assert len({key(recipe()), *changed}) == len(changed) + 1


def test_a_variable_of_the_configuration_is_that_of_the_build_whatever_is_exported():
    """So a build is found again in a shell that exports another value of what build.env has, or none."""
    own = recipe(build=Build(commands=["make -j{jobs}"], artefacts=["prog"], env={"CFLAGS": "-O1"}))

    assert key(own, environment={"CFLAGS": "-O3"}) == key(own)
    assert key(own, environment={"LDFLAGS": "-s"}) != key(own)


@pytest.mark.parametrize(
    ("toolchain", "is_rust", "names"),
    [
        ("", False, ["CFLAGS", "OCAMLPARAM"]),
        ("go", False, ["GOFLAGS", "CGO_CFLAGS"]),
        ("", True, ["CFLAGS", "OCAMLPARAM", "CARGO_PROFILE_DEV_LTO", "RUSTFLAGS"]),
    ],
)
def test_flags_that_a_shell_exports_are_those_that_the_build_reads(toolchain, is_rust, names):
    exported = ("RUSTFLAGS", "CFLAGS", "OCAMLPARAM", "GOFLAGS", "CGO_CFLAGS", "CARGO_PROFILE_DEV_LTO", "PATH", "RUSTC")

    assert list(exported_flags(dict.fromkeys(exported, "x"), toolchain=toolchain, is_rust=is_rust)) == names


def test_what_does_not_decide_a_build_is_not_in_its_key():
    """The system's name, time limits and variables that no compiler reads do not force a new build."""
    same = [
        key(replace(recipe(), system="other")),
        key(recipe(build=Build(commands=["make -j{jobs}"], artefacts=["prog"], timeout_s=5))),
        key(recipe(), environment={"HOME": "x", "EDITOR": "vi"}),
    ]

    assert set(same) == {key(recipe())}


@pytest.mark.parametrize(
    "change",
    [
        {"capture_id": "d"},
        {"artefact": "b"},
        {"layout": 8},
        {"layout": "identity"},
        {"layout": "stock"},
        {"policy": LayoutPolicy(classes="mix")},
        {"policy": LayoutPolicy(factors=["module-order"])},
    ],
    ids=str,
)
def test_whatever_decides_a_binary_is_in_its_key(change):
    """Capture, artefact, seed and policy each give another binary."""
    usual = {"capture_id": "c", "artefact": "a", "policy": LayoutPolicy(), "layout": 7}

    assert binary_facts(**{**usual, **change}) != binary_facts(**usual)


def test_the_order_in_which_factors_are_written_does_not_matter():
    """Two ways of writing one policy are one binary."""
    policies = [
        LayoutPolicy(factors=list(names))
        for names in (("module-order", "function-order-in-module"), ("function-order-in-module", "module-order"))
    ]

    assert binary_facts("c", "a", policies[0], 7) == binary_facts("c", "a", policies[1], 7)


def test_identity_is_the_same_under_every_policy():
    """The identity layout does not depend on factors or classes, so it is linked once."""
    assert binary_facts("c", "a", LayoutPolicy(classes="mix"), "identity") == binary_facts(
        "c", "a", LayoutPolicy(), "identity"
    )


@pytest.mark.parametrize(
    "command",
    [
        "make -j${JOBS} A={a,b}",
        "awk '{print}' x",
        "find . -name '*.o' -exec rm {} +",
        "xargs -I{} make {}",
        "make -j{jobs}",
        "cat {{job}}",
    ],
)
def test_braces_of_the_shell_and_of_others_are_theirs(command):
    assert Build(commands=[command], artefacts=["prog"]).commands == [command]
