"""What cargo says of executables, and which linked file each of them is."""

import json
import os

import pytest

from layoutrand.capture.cargo_messages import CargoExecutable, cargo_executables, executables_in
from layoutrand.capture.cargo_project import read_metadata


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
