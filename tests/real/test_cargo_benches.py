"""`cargo bench` of a crate that the distribution packages, with criterion: from `init` to a benchmark for each case."""

import json

import pytest

from cargo_programs import BENCHES, commands_in, path_of, prepared


@pytest.mark.slow
@pytest.mark.parametrize("given", [False, True], ids=["found", "given"])
def test_cases_of_criterion_are_benchmarks_as_init_leaves_them(tmp_path, given):
    path = path_of("newer")
    tree = prepared("httparse's benches", tmp_path, path)
    program = BENCHES["httparse's benches"]
    layoutrand = commands_in(tree, path, tmp_path / "cache")

    layoutrand("init", *(("--", *program.command, "--", program.program) if given else ()))
    written = (tree / "layoutrand.toml").read_text()
    assert 'harness = "criterion"' in written
    assert f'artefacts = ["{program.program}"]' in written
    layoutrand("run", "--seeds", "2", "--system", "O2", "--share-machine", "-q")
    rows = json.loads(layoutrand("analyse", "--system", "O2", "--json"))["benchmarks"]

    assert (tree / "layoutrand.toml").read_text() == written
    assert {(row["benchmark"], row["metric"], row["n_binaries"]) for row in rows if row["primary"]} == {
        (f"parse/{case}/{case}", "time_s", 2) for case in ("req", "req_short", "resp", "resp_short")
    }
