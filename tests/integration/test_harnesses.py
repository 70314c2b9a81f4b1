"""Real harnesses, from source to conclusions: Debian's Google Benchmark, Catch2, criterion and bencher."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workshop import absent, require

pytestmark = pytest.mark.slow

GOOGLE = """
#include <benchmark/benchmark.h>
#include <vector>
static void Sum(benchmark::State &s) {
  std::vector<int> v(s.range(0), 1);
  for (auto _ : s) { long t = 0; for (int x : v) t += x; benchmark::DoNotOptimize(t); }
  s.SetItemsProcessed(s.iterations() * s.range(0));
}
BENCHMARK(Sum)->Arg(16)->Arg(256);
static void Broken(benchmark::State &s) { s.SkipWithError("no data"); for (auto _ : s) {} }
BENCHMARK(Broken);
static void Other(benchmark::State &s) { for (auto _ : s) benchmark::DoNotOptimize(s.iterations()); }
BENCHMARK(Other);
BENCHMARK_MAIN();
"""
CATCH = """
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
static unsigned long fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
TEST_CASE("Fibonacci") {
  CHECK(fib(10) == 55);
  SECTION("small") { BENCHMARK("fib 10") { return fib(10); }; }
}
TEST_CASE("Hidden", "[!benchmark]") { BENCHMARK("fib 12") { return fib(12); }; }
"""
DOCTEST = """
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
static unsigned long fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
TEST_CASE("Fibonacci, large") { CHECK(fib(22) == 17711); }
TEST_CASE("Fibonacci, small") { CHECK(fib(15) == 610); }
TEST_CASE("Other") { CHECK(fib(12) == 144); }
"""
CRITERION = """
use criterion::{black_box, criterion_group, criterion_main, Criterion};
#[inline(never)]
fn total(n: u64) -> u64 { (0..n).fold(0, |a, b| a ^ b.wrapping_mul(31)) }
fn all(c: &mut Criterion) {
    c.bench_function("total 100", |b| b.iter(|| total(black_box(100))));
    c.bench_function("total 200", |b| b.iter(|| total(black_box(200))));
}
criterion_group!(benches, all);
criterion_main!(benches);
"""
BENCHER = """
use bencher::{benchmark_group, benchmark_main, black_box, Bencher};
fn total(b: &mut Bencher) { b.iter(|| (0..black_box(100u64)).fold(0, |a, b| a ^ b.wrapping_mul(31))); }
benchmark_group!(benches, total);
benchmark_main!(benches);
"""
CARGO = """
[package]
name = "cases"
version = "0.1.0"
edition = "2021"
[dev-dependencies]
%s
[[bench]]
name = "cases"
harness = false
"""
CRATES = {"criterion": 'criterion = { version = "0.3", default-features = false }', "bencher": 'bencher = "0.1"'}
SOURCE = """
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
"""
RUST = 'env = { RUSTFLAGS = "-C linker-features=-lld" }'
"""From 1.90 on rustc brings a linker of its own, which is not the toolchain's."""

PROJECT = """
[project]
name = "cased"
[build]
source = "src"
commands = [%s]
artefacts = [%s]
[systems.one]
cxxflags = "-O1"
%s
[run]
controls = ["stock"]
%s
"""


def layoutrand(directory, *words, status=0):
    env = {**os.environ, "LAYOUTRAND_CACHE": str(directory / "cache")}
    command = [sys.executable, "-m", "layoutrand", *words]
    done = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def exported(directory):
    """(Benchmark, metric) -> its values, of what was executed."""
    rows = json.loads(layoutrand(directory, "export", "--format", "json"))["rows"]
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.get("value") is not None:
            found.setdefault((row["benchmark"], row["metric"]), []).append(row["value"])
    return found, {(row["benchmark"], row["reason"]) for row in rows if row.get("reason")}


def make(directory, commands, artefacts, benchmarks, toolchain=""):
    quoted = [", ".join(json.dumps(each) for each in some) for some in (commands, artefacts)]
    (directory / "src").mkdir(exist_ok=True)
    (directory / "layoutrand.toml").write_text(PROJECT % (*quoted, toolchain, benchmarks))


def need(path, package):
    if not Path(path).exists():
        absent(f"{path} is not there: apt-get install {package}")


@pytest.mark.hour
def test_google_benchmark_and_catch2_are_executed_under_layouts(tmp_path):
    need("/usr/include/benchmark/benchmark.h", "libbenchmark-dev")
    need("/usr/include/catch2/catch.hpp", "catch2")
    require("g++", "g++")
    commands = ["g++ $CXXFLAGS g.cc -o g $LDFLAGS -lbenchmark -lpthread", "g++ $CXXFLAGS c.cc -o c $LDFLAGS"]
    make(
        tmp_path,
        commands,
        ["g", "c"],
        """
        [[benchmarks]]
        name = "google"
        harness = "google-benchmark"
        command = ["{artefact}", "--benchmark_min_time=0.001"]
        artefact = "g"
        cases = "Sum|Broken"
        repetitions = 3
        [[benchmarks]]
        name = "catch"
        harness = "catch2"
        command = ["{artefact}", "--benchmark-warmup-time", "1"]
        artefact = "c"
        repetitions = 4
        """,
    )
    (tmp_path / "src/g.cc").write_text(GOOGLE)
    (tmp_path / "src/c.cc").write_text(CATCH)
    said = layoutrand(tmp_path, "run", "--seeds", "1..2", "--share-machine")
    assert "8 executions now" in said  # a layout and stock, two rounds, two programs
    found, failures = exported(tmp_path)
    assert {name for name, _ in found} == {"google/Sum/16", "google/Sum/256", "catch/Fibonacci/small/fib 10"}
    assert len(found["google/Sum/16", "time_s"]) == 4 * 3
    assert len(found["google/Sum/16", "items_per_second"]) == 4 * 3
    assert len(found["catch/Fibonacci/small/fib 10", "time_s"]) == 4
    assert min(value for values in found.values() for value in values) > 0
    assert failures == {("google/Broken", "the case reported an error: no data")}
    answer = json.loads(layoutrand(tmp_path, "analyse", "--json", "--benchmark", "google"))
    assert answer
    assert "0 executions now, 8 were there already" in layoutrand(tmp_path, "run", "--seeds", "1..2", "--share-machine")


def test_test_cases_of_doctest_are_timed_under_layouts(tmp_path):
    need("/usr/include/doctest/doctest.h", "doctest-dev")
    require("g++", "g++")
    make(
        tmp_path,
        ["g++ $CXXFLAGS d.cc -o d $LDFLAGS"],
        ["d"],
        """
        [[benchmarks]]
        name = "doc"
        harness = "doctest"
        command = ["{artefact}"]
        cases = "Fibonacci*"
        """,
    )
    (tmp_path / "src/d.cc").write_text(DOCTEST)
    assert "4 executions now" in layoutrand(tmp_path, "run", "--seeds", "1..2", "--share-machine")
    found, failures = exported(tmp_path)
    assert set(found) == {("doc/Fibonacci, large", "time_s"), ("doc/Fibonacci, small", "time_s")}
    assert len(found["doc/Fibonacci, large", "time_s"]) == 4
    assert not failures


@pytest.mark.parametrize(
    ("text", "libraries", "words", "case"),
    [
        (GOOGLE.replace("BENCHMARK(Broken);", ""), "-lbenchmark -lpthread", ["--benchmark_min_time=0.001"], "Sum/16"),
        pytest.param(
            CATCH,
            "",
            ["--benchmark-warmup-time", "1", "--benchmark-samples", "4"],
            "Fibonacci/small/fib 10",
            marks=pytest.mark.hour,  # Catch2 is compiled, which takes a minute
        ),
    ],
    ids=["google-benchmark", "catch2"],
)
def test_the_harness_that_a_program_is_linked_with_is_noticed(tmp_path, text, libraries, words, case):
    need("/usr/include/benchmark/benchmark.h", "libbenchmark-dev")
    need("/usr/include/catch2/catch.hpp", "catch2")
    require("g++", "g++")
    (tmp_path / "b.cc").write_text(text)
    (tmp_path / "Makefile").write_text(f"b: b.cc\n\t$(CXX) $(CXXFLAGS) -o b b.cc {libraries}\n")
    said = layoutrand(tmp_path, "init", "--", "make", "--", "./b", *words)
    assert "each of its cases is a benchmark" in said
    said = layoutrand(tmp_path, "init", "--force", "--", "make")
    assert "each of its cases is a benchmark" in said
    assert "without arguments" not in said  # the harness is told what to execute
    said = layoutrand(tmp_path, "try", "--seeds", "2", "--", "make", "--", "./b", *words)
    assert case in said


def explained(directory, case):
    """The hot functions of one case."""
    words = ("explain", "--benchmark", case, "--profiler", "callgrind", "--json")
    (found,) = json.loads(layoutrand(directory, *words))["benchmarks"]
    return [each["name"] for each in found["functions"]]


@pytest.mark.hour
def test_one_case_is_explained_by_a_profile_of_it_alone(tmp_path):
    need("/usr/include/benchmark/benchmark.h", "libbenchmark-dev")
    need("/usr/include/catch2/catch.hpp", "catch2")
    require("g++", "g++")
    require("valgrind", "valgrind")
    commands = ["g++ $CXXFLAGS g.cc -o g $LDFLAGS -lbenchmark -lpthread", "g++ $CXXFLAGS c.cc -o c $LDFLAGS"]
    make(
        tmp_path,
        commands,
        ["g", "c"],
        """
        [[benchmarks]]
        name = "google"
        harness = "google-benchmark"
        command = ["{artefact}", "--benchmark_min_time=0.001"]
        artefact = "g"
        cases = "Sum|Other"
        repetitions = 2
        [[benchmarks]]
        name = "catch"
        harness = "catch2"
        command = ["{artefact}", "--benchmark-warmup-time", "9", "--benchmark-samples", "9", "--benchmark-resamples", "9"]
        artefact = "c"
        """,
    )
    (tmp_path / "src/g.cc").write_text(GOOGLE)
    (tmp_path / "src/c.cc").write_text(CATCH.replace('BENCHMARK("fib 10")', 'BENCHMARK("fib (10)")'))
    layoutrand(tmp_path, "run", "--seeds", "8", "--no-controls", "--share-machine")
    hot = explained(tmp_path, "google/Sum/256")
    assert any("Sum" in name for name in hot)
    assert not any("Other" in name for name in hot), "the other case is not executed"
    assert any("Other" in name for name in explained(tmp_path, "google/Other"))
    assert any("fib" in name for name in explained(tmp_path, "catch/Fibonacci/small/fib (10)"))


@pytest.mark.parametrize(
    ("crate", "harness", "words", "keys", "case", "values"),
    [
        ("bencher", "libtest", [], "", "total", 1),
        pytest.param(
            "criterion",
            "criterion",
            ["--measurement-time", "1", "--warm-up-time", "1"],
            'cases = "100"\nrepetitions = 10',
            "total 100",
            10,
            marks=pytest.mark.hour,  # criterion and its forty crates are compiled twice
        ),
    ],
)
def test_benches_of_cargo_are_executed_under_layouts(tmp_path, crate, harness, words, keys, case, values):
    need("/usr/share/cargo/registry/bencher-0.1.5", "librust-bencher-dev")
    need("/usr/share/cargo/registry/criterion-0.3.6", "librust-criterion-dev")
    require("cargo", "cargo")
    copied = "cp $(ls -t target/release/deps/cases-* | grep -v '[.]d$' | head -n 1) cases"
    command = json.dumps(["{artefact}", *words])
    make(
        tmp_path,
        ["cargo bench --no-run --offline --bench cases", copied],
        ["cases"],
        f'[[benchmarks]]\nname = "rust"\nharness = "{harness}"\ncommand = {command}\n{keys}',
    )
    toml = tmp_path / "layoutrand.toml"
    toml.write_text(toml.read_text().replace('cxxflags = "-O1"', RUST))
    source = tmp_path / "src"
    for path, text in {
        "Cargo.toml": CARGO % CRATES[crate],
        ".cargo/config.toml": SOURCE,
        "src/lib.rs": "",
        "benches/cases.rs": {"criterion": CRITERION, "bencher": BENCHER}[crate],
    }.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    layoutrand(tmp_path, "run", "--seeds", "1", "--share-machine")
    found, failures = exported(tmp_path)
    assert failures == set()
    assert {name for name, _ in found} == {f"rust/{case}"}
    assert len(found[f"rust/{case}", "time_s"]) == 2 * values
    require("valgrind", "valgrind")
    layoutrand(tmp_path, "run", "--seeds", "8", "--no-controls", "--share-machine")
    assert any("total" in name or "cases" in name for name in explained(tmp_path, f"rust/{case}"))
