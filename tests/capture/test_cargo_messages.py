"""What cargo says of executables, and which linked file each of them is."""

import json
import os

import pytest

from layoutrand.capture.cargo_messages import CargoExecutable, cargo_executables, executables_in
from layoutrand.capture.cargo_project import bench_harness, read_metadata
from layoutrand.capture.linked_files import give_names


def message(path, *kinds, name="prog", test=False, reason="compiler-artifact"):
    target = {"kind": list(kinds), "name": name}
    return json.dumps({"reason": reason, "executable": path, "target": target, "profile": {"test": test}})


def test_each_executable_is_told_with_its_kind():
    said = "\n".join(
        [
            "printed by a command of the build",
            message(None, "lib"),
            message("/t/build-script-build", "custom-build"),
            message("/t/prog", "bin"),
            message("/t/examples/e", "example", name="e"),
            message("/t/deps/fast-1", "bench", name="fast", test=True),
            message("/t/deps/prog-1", "bin", test=True),
            message("/t/deps/lib-1", "lib", test=True),
            message("/t/not", "bin", reason="build-finished"),
        ]
    )

    assert list(executables_in(said.encode())) == [
        CargoExecutable("/t/prog", "bin", "prog"),
        CargoExecutable("/t/examples/e", "example", "e"),
        CargoExecutable("/t/deps/fast-1", "bench", "fast"),
        CargoExecutable("/t/deps/prog-1", "test", "prog"),
        CargoExecutable("/t/deps/lib-1", "test", "prog"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b'{"reason": "compiler-artifact"}',
        b'{"reason": "compiler-artifact", "executable": 3, "target": {}}',
        b'{"reason": "compiler-artifact", "executable": "/a", "target": {"kind": "bin", "name": "a"}}',
        b"\xff{",
        b"[" * 100_000,
    ],
)
def test_anything_else_is_passed_over(line):
    assert list(executables_in(line)) == []


def test_all_cargos_of_a_build_are_heard_in_turn(tmp_path):
    for number, name in enumerate("ba"):
        path = tmp_path / f"cargo.{name}"
        path.write_text(message(f"/{name}", "bin"))
        os.utime(path, ns=(number, number))

    assert [each.path for each in cargo_executables(tmp_path)] == ["/b", "/a"]


@pytest.mark.parametrize("said", [b"", b"[]", b"{}", b'{"workspace_root": 3}', b"\xff"])
def test_what_is_no_metadata_is_told_from_it(said):
    assert read_metadata(said) is None


@pytest.mark.parametrize(
    ("source", "harness"),
    [
        ("use criterion::{criterion_group, criterion_main};\ncriterion_main!(benches);", "criterion"),
        ("fn main() { divan::main(); }", "divan"),
        ("use bencher::Bencher;\nbenchmark_main!(benches);", "libtest"),
        ("#![feature(core_intrinsics, test)]\nextern crate test;", "libtest"),
        ("iai_callgrind::main!(library_benchmark_groups = all);", "iai-callgrind"),
        ("use gungraun::prelude::*;\nmain!(library_benchmark_groups = all);", "gungraun"),
        ("iai::main!(few, many);", "iai"),
        ('fn main() { println!("criterion"); }', ""),
    ],
)
def test_the_harness_is_what_the_source_of_a_benchmark_calls(tmp_path, source, harness):
    path = tmp_path / "parse.rs"
    path.write_text(source)
    target = {"kind": ["bench"], "name": "parse", "src_path": str(path)}
    said = {"workspace_root": "/w", "target_directory": "/w/target"}
    packages = [{"manifest_path": "/w/Cargo.toml", "targets": [target]}]
    project = read_metadata(json.dumps({**said, "packages": packages}).encode())

    assert bench_harness(project, "parse") == harness
    assert bench_harness(project, "other") == ""


def test_a_benchmark_of_cargo_has_a_name_without_its_hash(tmp_path):
    deps = tmp_path / "target/release/deps"
    deps.mkdir(parents=True)
    made = [deps / f"parse-{'a' * 16}", deps / f"twice-{'a' * 16}", deps / f"twice-{'b' * 16}"]
    for path in made:
        path.write_text(path.name)
    executables = [CargoExecutable(str(path), "bench", path.name.partition("-")[0]) for path in made]
    (deps / "parse").write_text("of an earlier build")
    names = ["target/release/deps/parse", f"target/release/deps/parse-{'c' * 16}", "target/release/deps/twice"]
    give_names(names, executables, tmp_path)

    assert [(tmp_path / name).exists() for name in names] == [True, True, False]
    assert (deps / "parse").samefile(made[0])
