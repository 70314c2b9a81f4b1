"""Cargo's builds by the toolchain `rust`: the linker is the user's, flags arrive or are an error, std can be placed."""

import os
import re
import shutil
import subprocess

import pytest

from layoutrand.config.toolchain import version_number
from layoutrand.model import STOCK
from workshop import Workshop, absent, require

pytestmark = pytest.mark.slow
MAIN = """
mod parts;
fn main() {
    let n: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(10);
    let kind = if cfg!(feature = "loud") { "loud" } else { "quiet" };
    let flag = if cfg!(flagged) { "flagged" } else { "plain" };
    let checked = if cfg!(debug_assertions) { "checked" } else { "unchecked" };
    println!("{} {kind} {flag} {checked}", (0..n).fold(1, |x, i| parts::all(x ^ i)));
}
"""
PARTS = (
    "".join(
        f"#[inline(never)] pub fn f{n}(x: u64) -> u64 {{ x.wrapping_mul({2 * n + 3}).rotate_left({n + 1}) ^ {7 * n} }}\n"
        for n in range(20)
    )
    + f"pub fn all(x: u64) -> u64 {{ {' '.join(f'let x = f{n}(x);' for n in range(20))} x }}\n"
)
MANIFEST = '[package]\nname = "crunch"\nversion = "0.1.0"\nedition = "2021"\n[features]\nloud = []\n'
COMMAND = "cargo build --release"
PROGRAM = "target/release/crunch"
OWN_LINKER = (1, 90)
"""The first version of rustc that links with its own lld on x86-64."""


def release(path):
    return version_number(
        subprocess.run(["cargo", "--version"], env={**os.environ, "PATH": path}, capture_output=True, text=True).stdout
    )


@pytest.fixture(params=["Debian's", "newer"])
def rust(request, monkeypatch, tmp_path):
    """The distribution's Rust, and one that has its own linker; a project of one crate for it."""
    require("cargo", "cargo")
    path = os.environ["PATH"]
    if request.param == "Debian's":
        path = "/usr/bin:/bin"
        if shutil.which("cargo", path=path) is None or release(path)[:2] >= OWN_LINKER:
            absent("the distribution has no Rust that links with the system's linker (package cargo)")
    elif release(path)[:2] < OWN_LINKER:
        absent(f"cargo on PATH is older than {OWN_LINKER[0]}.{OWN_LINKER[1]}")
    monkeypatch.setenv("PATH", path)
    for name in [name for name in os.environ if re.match("CARGO_(?!HOME)|RUST(?!UP)", name)]:
        monkeypatch.delenv(name)
    shop = Workshop(tmp_path / "project", tmp_path / "cache", chosen="rust")
    shop.write_named({"src/main.rs": MAIN, "src/parts.rs": PARTS, "Cargo.toml": MANIFEST})
    return shop


def built(shop, *, system=None, artefact=PROGRAM, command=COMMAND, seeds=(1, 2), **changes):
    options = {"cflags": "", **(system or {})}
    return shop.built(command, artefacts=[artefact], system=options, seeds=seeds, **changes)


def failure_of(result):
    return next(failure.error for failure in result.failures if failure.layout == 1)


def test_stock_is_what_the_user_builds(rust, tmp_path):
    made = built(rust)
    made.assert_all_print_as_stock("1000")

    own = tmp_path / "own"
    shutil.copytree(rust.source, own)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=own, check=True)
    assert made.path(STOCK).read_bytes() == (own / PROGRAM).read_bytes()


def test_flags_of_a_system_reach_rustc_and_cargo(rust):
    made = built(
        rust, system={"rustflags": "--cfg flagged", "features": ["loud"], "profile": {"debug-assertions": True}}
    )

    assert made.assert_all_print_as_stock("10").decode().split()[1:] == ["loud", "flagged", "checked"]


@pytest.mark.hour
def test_what_cargo_finds_above_the_source_holds_in_the_copy(rust):
    above = rust.project / ".cargo" / "config.toml"
    above.parent.mkdir()
    above.write_text('[build]\nrustflags = ["--cfg", "flagged"]\n')
    flagged = built(rust, seeds=[1])
    above.write_text("[profile.release]\ndebug-assertions = true\n")  # which is another build
    checked = built(rust, seeds=[1])

    assert flagged.assert_all_print_as_stock("10").decode().split()[2:] == ["flagged", "unchecked"]
    assert checked.assert_all_print_as_stock("10").decode().split()[2:] == ["plain", "checked"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cflags": "-O3"}, r'cflags = "-O3" reached no compiler of C, C\+\+ or Fortran .*rustc has rustflags'),
        ({"cflags": "", "cxxflags": "-O3"}, 'cxxflags = "-O3" reached no compiler'),
    ],
)
def test_flags_that_reach_no_compiler_are_an_error(rust, options, words):
    result = rust.build(COMMAND, artefacts=[PROGRAM], system=options, seeds=[1])

    assert not result.binaries
    assert re.search(words, failure_of(result))


def test_flags_of_rust_where_there_is_none_are_an_error(rust):
    rust.write(main__c="int f(int x) { return x; } int main(void) { return f(0); }")
    options = {"toolchain": "gcc", "rustflags": "-O", "features": ["a"]}
    result = rust.build("gcc -O2 -o prog main.c", system=options, seeds=[1])

    assert 'rustflags = "-O" reached no rustc' in failure_of(result)


def configured(shop, linker):
    """The same with a linker chosen in Cargo's configuration."""
    require(f"ld.{linker}", linker)
    shop.write_named({".cargo/config.toml": f'[build]\nrustflags = ["-C", "link-arg=-fuse-ld={linker}"]\n'})
    return shop


def test_a_linker_that_cargo_is_configured_to_use(rust):
    made = built(configured(rust, "gold"))

    made.assert_all_print_as_stock("1000")
    assert made.result.capture.tools["ld"]["path"].endswith("ld.gold")


@pytest.mark.parametrize("rust", ["newer"], indirect=True)  # of Debian's, mold moves variables apart, which is refused
def test_mold_shuffles_where_cargo_is_configured_to_use_it(rust):
    made = built(configured(rust, "mold"), layout={"factors": ["linker-shuffle"]}, seeds=[1])

    made.assert_all_print_as_stock("1000")
    assert made.result.capture.tools["ld"]["path"].endswith("ld.mold")
    assert not any("keeps its place" in warning for warning in made.result.capture.links[0].warnings)  # std moves, too


@pytest.mark.hour
def test_a_linker_that_flags_of_the_system_choose(rust):
    require("ld.gold", "binutils")
    made = built(rust, system={"rustflags": "-C link-arg=-fuse-ld=gold"}, seeds=[1])

    assert made.result.capture.tools["ld"]["path"].endswith("ld.gold")


@pytest.mark.hour
def test_the_standard_library_stays_unless_archives_are_placed(rust):
    apart = built(rust).result.capture.links[0]
    whole = built(rust, layout={"archives": "all"})
    link = whole.result.capture.links[0]
    whole.assert_all_print_as_stock("1000")

    said = next(warning for warning in apart.warnings if "keeps its place" in warning)
    assert "libstd-" in said
    assert 'layout.archives = "all"' in said
    assert not any(section.pinned for section in link.sections if "libstd-" in section.object)
    assert all(section.pinned for section in apart.sections if "libstd-" in section.object)
    assert len([s for s in link.sections if not s.pinned]) > 5 * len([s for s in apart.sections if not s.pinned])
    assert not any("libstd-" in warning for warning in link.warnings)


def test_a_program_that_is_copied_after_its_link_is_known(rust):
    made = built(rust, command=f"{COMMAND} && cp {PROGRAM} shipped && rm -r target", artefact="shipped", seeds=[1])

    made.assert_all_print_as_stock("10")


def test_why_a_copied_program_cannot_be_captured_is_told(rust):
    command = f"{COMMAND} && cp {PROGRAM} shipped"
    options = {"cflags": "", "rustflags": "-C link-arg=-Wl,--build-id=uuid"}
    result = rust.build(command, artefacts=["shipped"], system=options, seeds=[1])

    assert "is linked with --build-id=uuid" in failure_of(result)
