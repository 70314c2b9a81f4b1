"""Programs of Rust whose crates the distribution packages: built offline, verified and measured as `init` leaves them."""

import json

import pytest

from cargo_programs import PROGRAMS, RUSTS, commands_in, path_of, prepared


@pytest.mark.slow
@pytest.mark.parametrize("rust", RUSTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_built_verified_and_measured_as_init_leaves_it(tmp_path, name, rust):
    path = path_of(rust)
    tree = prepared(name, tmp_path, path)
    program = PROGRAMS[name]
    layoutrand = commands_in(tree, path, tmp_path / "cache")

    stdin = () if program.stdin is None else ("--stdin", program.stdin)
    layoutrand("init", *stdin, "--", *program.command, "--", program.program, *program.words)
    written = (tree / "layoutrand.toml").read_text()
    assert 'toolchain = "rust"' in written
    made = json.loads(layoutrand("build", "--seeds", "3", "--system", "O2", "--json", "-q"))
    layoutrand("run", "--seeds", "3", "--system", "O2", "-q")
    rows = json.loads(layoutrand("analyse", "--system", "O2", "--json"))["benchmarks"]

    assert (tree / "layoutrand.toml").read_text() == written
    assert made["failures"] == []
    layouts = [each for each in made["binaries"] if isinstance(each["seed"], int)]
    assert len({each["text_sha256"] for each in layouts}) == 3
    assert [each["verified"]["tau_request"] for each in layouts] == [1, 1, 1]  # the order is the one asked for
    assert [row["n_binaries"] for row in rows if row["primary"]] == [3]
