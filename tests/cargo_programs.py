"""Programs of Rust whose crates the distribution packages, and trees of them in which cargo finds all on disk.

The crates lie in ``/usr/share/cargo/registry``, put there by `apt-get build-dep` of the program or by librust-*-dev, and
those of benches by librust-criterion-dev.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from debian_sources import patched_tree, unavailable
from workshop import not_installed

REGISTRY = Path("/usr/share/cargo/registry")
OFFLINE = """
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "%s"
"""


@dataclass(frozen=True)
class CargoProgram:
    """Where a program comes from, what of its manifests the distribution's crates need otherwise, and its command."""

    source: str
    program: str
    words: tuple[str, ...]
    stdin: str | None = None
    edit: Callable[[str], str] = str
    command: tuple[str, ...] = ("cargo", "build", "--release", "--locked")

    @property
    def is_of_registry(self) -> bool:
        """Whether the source is a crate's own, and no source package."""
        return not self.source.startswith("rust-")


def _for_users(manifest):
    """Without what tests alone need, which is not all packaged and which no program is made of."""
    return re.sub(r"^\[(?:target\..*\.)?dev-dependencies\b[^\n]*\n(?:(?!\[).*\n?)*", "", manifest, flags=re.MULTILINE)


def _ripgrep(manifest):
    """Also without what the packaged crate of its own workspace no longer has."""
    return _for_users(manifest).replace('simd-accel = ["grep/simd-accel"]\n', "")


def _example(crate, name, words=(), stdin=None):
    """One of a crate's examples; they need what else tests alone would."""
    command = ("cargo", "build", "--release", "--locked", "--example", name)
    return CargoProgram(crate, f"target/release/examples/{name}", words, stdin, command=command)


PROGRAMS = {
    "ripgrep": CargoProgram("rust-ripgrep", "target/release/rg", ("-c", "fn [a-z]+", "crates/"), edit=_ripgrep),
    "fd": CargoProgram("rust-fd-find", "target/release/fd", (".", "src/"), edit=_for_users),
    "bat": CargoProgram("rust-bat", "target/release/bat", ("--color=always", "src/controller.rs"), edit=_for_users),
    "exa": CargoProgram("rust-exa", "target/release/exa", ("--long", "--recurse", "src/"), edit=_for_users),
    "lscolors": CargoProgram("lscolors", "target/release/lscolors", (), "Cargo.toml", edit=_for_users),
    "pulldown-cmark": CargoProgram(
        "pulldown-cmark", "target/release/pulldown-cmark", (), "CONTRIBUTING.md", edit=_for_users
    ),
    "xml-rs": CargoProgram("xml-rs", "target/release/xml-analyze", (), "tests/documents/sample_2.xml", edit=_for_users),
    "regex's shootout": _example("regex", "shootout-regex-dna", stdin="examples/regexdna-input.txt"),
    "csv's tutorial": _example("csv", "tutorial-read-serde-04", stdin="examples/data/uspop.csv"),
    "ignore's walk": _example("ignore", "walk", ("src/",)),
}
BENCHES = {
    "httparse's benches": CargoProgram(
        "httparse", "target/release/deps/parse", (), command=("cargo", "bench", "--no-run", "--locked")
    )
}
RUSTS = ("Debian's", "newer")


def path_of(rust):
    """PATH with the distribution's Rust alone, or with the one that comes first."""
    path = "/usr/bin:/bin" if rust == "Debian's" else os.environ["PATH"]
    found = shutil.which("cargo", path=path)
    if found is None or (rust == "newer" and os.path.samefile(found, "/usr/bin/cargo")):
        unavailable(not_installed("cargo", "cargo"))
    return path


def prepared(name, folder, path):
    """A tree of the program in which cargo finds all crates on disk."""
    program = {**PROGRAMS, **BENCHES}[name]
    if program.is_of_registry:
        found = sorted(REGISTRY.glob(f"{program.source}-[0-9]*"))
        if not found:
            unavailable(f"{REGISTRY} has no crate {program.source} (package librust-{program.source}-dev)")
        tree = folder / "tree"
        shutil.copytree(found[-1], tree, ignore=shutil.ignore_patterns(".cargo-checksum.json", "debian", "Cargo.lock"))
    else:
        tree = patched_tree(program.source, folder / "source")
    for manifest in tree.rglob("Cargo.toml"):
        manifest.write_text(program.edit(manifest.read_text()))
    (tree / ".cargo").mkdir(exist_ok=True)
    (tree / ".cargo" / "config.toml").write_text(OFFLINE % REGISTRY)
    (tree / "Cargo.lock").unlink(missing_ok=True)
    _lock(tree, path, f"crates of {name} are missing (apt-get build-dep {program.source})")
    return tree


def written(files, crate, folder, path):
    """A tree of such files, path to text, in which cargo finds ``crate`` and what it needs on disk."""
    registry = next((each for each in _registries() if not crate or any(each.glob(f"{crate}-[0-9]*"))), None)
    if registry is None:
        unavailable(
            f"there is no crate {crate}: package librust-{crate}-dev, or LAYOUTRAND_TEST_CRATES names a directory that "
            f"has it (tests/tools/fetch_crates.sh DIRECTORY {crate}, which leaves it in DIRECTORY/registry)"
        )
    tree = folder / "tree"
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    with (tree / ".cargo" / "config.toml").open("a") as config:
        config.write(OFFLINE % registry)
    _lock(tree, path, f"crates that {crate} needs are missing in {registry}")
    return tree


def _registries():
    """The distribution's crates, and those of a later one that somebody has fetched."""
    yield REGISTRY
    if fetched := os.environ.get("LAYOUTRAND_TEST_CRATES"):
        yield Path(fetched)


def _lock(tree, path, otherwise):
    locked = subprocess.run(
        ["cargo", "generate-lockfile", "--offline"],
        cwd=tree,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    if locked.returncode != 0:
        unavailable(f"{otherwise}: {locked.stderr[-500:]}")


def commands_in(tree, path, cache):
    """A function that executes layoutrand there with that PATH, and gives what it prints; of a failure the messages."""
    env = {**os.environ, "PATH": path, "LAYOUTRAND_CACHE": str(cache)}

    def layoutrand(*words, fails=False):
        command = [sys.executable, "-m", "layoutrand", *words]
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    return layoutrand
