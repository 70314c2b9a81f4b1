"""Programs whose build goes on after the link, in rebuild mode: the code of relink mode, the answers of stock."""

import json
import os
import subprocess
import sys

import pytest

from debian_sources import source_tree

SEEDS = 3
pytestmark = pytest.mark.slow


def build(project, tree, cache, *, commands, artefact, toolchain, mode):
    """The JSON document of a build that must succeed."""
    project.mkdir(exist_ok=True)
    (project / "layoutrand.toml").write_text(
        f'[project]\nname = "real"\n[build]\nsource = "{tree}"\ncommands = {json.dumps(commands)}\n'
        f'artefacts = ["{artefact}"]\n[systems.A]\ntoolchain = "{toolchain}"\ncflags = "-O2"\n'
    )
    command = [sys.executable, "-m", "layoutrand", "build", "--seeds", str(SEEDS), "--json", "-q", "--mode", mode]
    done = subprocess.run(
        command, cwd=project, env={**os.environ, "LAYOUTRAND_CACHE": str(cache)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def field(document, name):
    """One value of each binary, by layout."""
    return {binary["seed"]: binary[name] for binary in document["binaries"] if binary["seed"] != "stock"}


def claims(document):
    """What is proved of each binary but stock."""
    return {binary["verified"]["post_processed"] for binary in document["binaries"] if binary["verified"]}


def test_bzip2_stripped_and_annotated(toolchain, tmp_path):
    """bzip2 with strip and objcopy after its link: the code of the seed, and it compresses as stock does."""
    tree = source_tree("bzip2", tmp_path / "source")
    make = "make -j{jobs} bzip2"
    after = "strip bzip2 && objcopy --add-section .note.package=README bzip2"
    common = {"artefact": "bzip2", "toolchain": toolchain, "cache": tmp_path / "cache"}
    relinked = build(tmp_path / "relink", tree, commands=[make], mode="relink", **common)
    rebuilt = build(tmp_path / "rebuild", tree, commands=[make, after], mode="rebuild", **common)
    packed = {
        binary["seed"]: subprocess.run(
            [binary["path"], "-9"], input=(tree / "blocksort.c").read_bytes(), capture_output=True, check=True
        ).stdout
        for binary in rebuilt["binaries"]
    }

    assert field(rebuilt, "text_sha256") == field(relinked, "text_sha256")
    assert set(field(rebuilt, "sha256").values()).isdisjoint(field(relinked, "sha256").values())
    assert claims(rebuilt) == {"loaded contents as linked"}
    assert len(packed) == SEEDS + 2
    assert set(packed.values()) == {packed["stock"]}


def test_lua_signed(tmp_path):
    """lua with a signature appended after its link; without that step both modes give the same bytes."""
    tree = source_tree("lua5.4", tmp_path / "source")
    make = "make -C src -j{jobs} linux"
    common = {"artefact": "src/lua", "toolchain": "gcc", "cache": tmp_path / "cache"}
    relinked = build(tmp_path / "project", tree, commands=[make], mode="relink", **common)
    rebuilt = build(tmp_path / "project", tree, commands=[make], mode="rebuild", **common)
    sign = "sha256sum < src/lua >> src/lua"
    signed = build(tmp_path / "project", tree, commands=[make, sign], mode="rebuild", **common)

    assert field(rebuilt, "sha256") == field(relinked, "sha256")
    assert claims(rebuilt) == {"file as linked"}
    assert field(signed, "text_sha256") == field(relinked, "text_sha256")
    assert claims(signed) == {"loaded contents as linked"}
    for binary in signed["binaries"]:
        done = subprocess.run([binary["path"], "-e", "print(6 * 7)"], capture_output=True, text=True, check=True)
        assert done.stdout == "42\n"
