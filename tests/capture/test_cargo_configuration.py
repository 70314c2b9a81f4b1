"""What cargo and rustup find above a project, brought along into the private copy."""

import tomllib

import pytest

from layoutrand.capture.cargo_configuration import configuration_above, configuration_digest, toolchain_variables
from layoutrand.errors import ConfigError

FAR = """
include = "more.toml"
[build]
rustflags = ["-C", "target-cpu=native"]
rustc-wrapper = "sccache"
target-dir = "elsewhere"
jobs = 1
[env]
PLACE = { value = "data", relative = true }
PLAIN = "data"
[source.vendored]
directory = "vendor"
[target.x86_64-unknown-linux-gnu]
linker = "tools/cc"
runner = ["tools/run", "-q"]
"""
NEAR = """
[build]
rustflags = ["--cfg", "near"]
jobs = 2
target = ["x86_64-unknown-linux-gnu", "own.json"]
"""


@pytest.fixture
def place(tmp_path):
    """A function that writes configurations and gives the source below them."""
    source = tmp_path / "far" / "near" / "project"
    source.mkdir(parents=True)

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / name.replace("__", "/") / ".cargo" / "config.toml"
            path.parent.mkdir(parents=True)
            path.write_text(text)
        return source

    return write


@pytest.fixture
def found(tmp_path):
    def look(source, besides=None, **environment):
        text = configuration_above(
            source, besides or tmp_path / "cache", {"HOME": str(tmp_path / "home"), **environment}
        )
        return tomllib.loads(text)

    return look


def test_all_configurations_above_are_joined_as_cargo_joins_them(place, found, tmp_path):
    far, near = tmp_path / "far", tmp_path / "far" / "near"

    assert found(place(far=FAR, far__near=NEAR, far__near__project="[build]\njobs = 3\n")) == {
        "include": f"{far}/more.toml",
        "build": {
            "rustflags": ["-C", "target-cpu=native", "--cfg", "near"],
            "rustc-wrapper": "sccache",
            "jobs": 2,
            "target": ["x86_64-unknown-linux-gnu", f"{near}/own.json"],
        },
        "env": {"PLACE": {"value": f"{far}/data", "relative": False}, "PLAIN": "data"},
        "source": {"vendored": {"directory": f"{far}/vendor"}},
        "target": {"x86_64-unknown-linux-gnu": {"linker": f"{far}/tools/cc", "runner": [f"{far}/tools/run", "-q"]}},
    }


def test_the_first_of_two_names_counts(place, found, tmp_path):
    source = place(far="[build]\njobs = 1\n")
    (tmp_path / "far" / ".cargo" / "config").write_text("[build]\njobs = 7\n")

    assert found(source) == {"build": {"jobs": 7}}


def test_what_cargo_finds_there_anyway_is_left_out(place, found, tmp_path):
    source = place(far=FAR, far__near=NEAR)

    assert found(source, besides=tmp_path / "far" / "near" / "cache") == {}
    assert found(source, HOME=str(tmp_path / "far"))["build"]["jobs"] == 2
    assert "env" not in found(source, HOME=str(tmp_path / "far"))
    assert "env" not in found(source, CARGO_HOME=str(tmp_path / "far" / ".cargo"))


@pytest.mark.parametrize(
    ("data", "words"), [(b"[build", "not valid TOML"), (b'x = "\xff"\n', "is no UTF-8")], ids=["TOML", "UTF-8"]
)
def test_one_that_cannot_be_read_is_named(place, found, tmp_path, data, words):
    source = place(far="")
    path = tmp_path / "far" / ".cargo" / "config.toml"
    path.write_bytes(data)

    with pytest.raises(ConfigError, match=words) as error:
        found(source)
    assert error.value.path == str(path)


def test_a_change_of_any_configuration_outside_of_the_source_is_told(place, tmp_path):
    environment = {"HOME": str(tmp_path / "home")}
    source = place(far__near__project=FAR)
    assert configuration_digest(source, environment) == ""

    place(far=NEAR)
    first = configuration_digest(source, environment)
    place(home=NEAR)
    second = configuration_digest(source, environment)
    (tmp_path / "home" / ".cargo" / "config.toml").write_text(FAR)

    assert len({"", first, second, configuration_digest(source, environment)}) == 4


def proxy(folder, name):
    """A PATH whose cargo is what ``name`` says: rustup's, or another."""
    folder.mkdir()
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    if name != "cargo":
        (folder / "cargo").symlink_to(name)
    return {"PATH": str(folder)}


def test_rustup_is_told_the_toolchain_of_the_source(place, tmp_path):
    tree, environment = place(), proxy(tmp_path / "bin", "rustup")
    installed, linked = tmp_path / "toolchains" / "nightly", tmp_path / "stage1"

    assert toolchain_variables(tree, installed / "bin" / "rustc", environment) == {"RUSTUP_TOOLCHAIN": "nightly"}
    assert toolchain_variables(tree, linked / "bin" / "rustc", environment) == {"RUSTUP_TOOLCHAIN": str(linked)}


@pytest.mark.parametrize("why", ["the copy says it", "the environment says it", "no rustup"])
def test_rustup_is_left_to_choose_where_it_chooses_the_same(place, tmp_path, why):
    tree, environment = place(), proxy(tmp_path / "bin", "cargo" if why == "no rustup" else "rustup")
    if why == "the copy says it":
        (tree / "rust-toolchain.toml").write_text("")
    if why == "the environment says it":
        environment["RUSTUP_TOOLCHAIN"] = "beta"

    assert toolchain_variables(tree, tmp_path / "toolchains" / "x" / "bin" / "rustc", environment) == {}
