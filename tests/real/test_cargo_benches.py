"""`cargo bench` with criterion, bencher, libtest and divan: from `init` to a benchmark for each case.

criterion's are those of a crate that the distribution packages; of the others it has no such crate, so they are written
here.
"""

import json
from dataclasses import dataclass

import pytest

from cargo_programs import BENCHES, commands_in, path_of, prepared, written
from workshop import require

MANIFEST = """
[package]
name = "summing"
version = "0.1.0"
edition = "2021"
"""
LIBRARY = "pub fn total(n: u64) -> u64 { (0..n).fold(0, |a, b| a ^ b.wrapping_mul(31)) }\n"
WITHOUT_LIBTEST = """
[[bench]]
name = "sums"
harness = false
"""
BENCHER = """
use bencher::{benchmark_group, benchmark_main, black_box, Bencher};
fn few(b: &mut Bencher) { b.iter(|| summing::total(black_box(100))); }
fn many(b: &mut Bencher) { b.iter(|| summing::total(black_box(200))); }
benchmark_group!(benches, few, many);
benchmark_main!(benches);
"""
LIBTEST = """
#![feature(test)]
extern crate test;
use test::{black_box, Bencher};
#[bench]
fn few(b: &mut Bencher) { b.iter(|| summing::total(black_box(100))); }
mod deep {
    use super::*;
    #[bench]
    fn many(b: &mut Bencher) { b.iter(|| summing::total(black_box(200))); }
}
"""
DIVAN = """
use divan::{black_box, counter::BytesCount, AllocProfiler, Bencher};
#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();
fn main() { divan::main(); }
#[divan::bench(args = [100, 200])]
fn sum(n: u64) -> u64 { summing::total(black_box(n)) }
#[divan::bench(ignore)]
fn never() -> u64 { summing::total(black_box(1)) }
mod deep {
    use super::*;
    #[divan::bench(args = [7], threads = [1, 16])]
    fn on_threads(n: u64) -> u64 { summing::total(black_box(n)) }
    #[divan::bench(args = ["10 µs ago"])]
    fn named(bencher: Bencher, text: &str) {
        bencher.counter(BytesCount::of_str(text)).bench(|| black_box(text).to_owned());
    }
}
"""

IAI_CALLGRIND = """
iai_callgrind::main!(library_benchmark_groups = all);
"""
IAI_CALLGRIND_CRATE = """
pub fn start(work: fn() -> u64) {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["--iai-run"] {
        std::process::exit((work() == 1) as i32);
    }
    let own = std::env::current_exe().unwrap();
    let ended = std::process::Command::new("iai-callgrind-runner").arg(own).args(words).status();
    std::process::exit(ended.expect("iai-callgrind-runner on PATH").code().unwrap_or(1));
}
#[macro_export]
macro_rules! main { ($($all:tt)*) => { fn main() { $crate::start(|| summing::total(std::hint::black_box(1000))) } } }
"""
IAI_CALLGRIND_RUNNER = """\
#!/bin/sh
set -e
cargo metadata --no-deps --format-version 1 > /dev/null  # which fails outside of the project
[ "$2 $3" = "--bench --output-format=json" ]
out=$IAI_CALLGRIND_HOME/out
valgrind --tool=callgrind --callgrind-out-file="$out" "$1" --iai-run
count=$(sed -n 's/^\\(summary\\|totals\\): \\([0-9]*\\)$/\\2/p' "$out" | tail -1)
printf '{"module_path": "sums::all::total", "id": "one", "kind": "LibraryBenchmark", "profiles": [{"summaries": {"total":'
printf '{"summary": {"Callgrind": {"Ir": {"metrics": {"Left": {"Int": %s}}}}}}}}]}\\n' "$count"
"""
"""No release packages the crate or its runner: these do in small what the true ones (0.16.1) do."""


@dataclass(frozen=True)
class Written:
    """Benchmarks written with a harness: the crate that it is, the manifest's words, the source, and the cases."""

    crate: str
    manifest: str
    source: str
    harness: str
    cases: tuple[str, ...]
    config: str = ""


WRITTEN = {
    "bencher": Written(
        "bencher",
        f'[dev-dependencies]\nbencher = "0.1"\n{WITHOUT_LIBTEST}',
        BENCHER,
        "libtest",
        ("few", "many"),
    ),
    "libtest": Written(
        "",
        "",
        LIBTEST,
        "libtest",
        ("few", "deep::many"),
        '[env]\nRUSTC_BOOTSTRAP = "1"\n',  # with it any rustc has what is else the nightly's alone
    ),
    "divan": Written(
        "divan",
        f'[dev-dependencies]\ndivan = "0.1"\n{WITHOUT_LIBTEST}',
        DIVAN,
        "divan",
        (
            *("sums::sum::100", "sums::sum::200", "sums::deep::named::10 µs ago"),
            *("sums::deep::on_threads::7::t=1", "sums::deep::on_threads::7::t=16"),
        ),
    ),
}


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
    controls = ("--no-controls",) if given else ()  # four of six executions, half a minute each
    layoutrand("run", "--seeds", "2", "--system", "O2", *controls, "--share-machine", "-q")
    rows = json.loads(layoutrand("analyse", "--system", "O2", "--json"))["benchmarks"]

    assert (tree / "layoutrand.toml").read_text() == written
    assert {(row["benchmark"], row["metric"], row["n_binaries"]) for row in rows if row["primary"]} == {
        (f"parse/{case}/{case}", "time_s", 2) for case in ("req", "req_short", "resp", "resp_short")
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_cases_of_other_harnesses_are_benchmarks_as_init_leaves_them(tmp_path, name):
    path = path_of("newer")
    own = WRITTEN[name]
    files = {
        "Cargo.toml": MANIFEST + own.manifest,
        "src/lib.rs": LIBRARY,
        "benches/sums.rs": own.source,
        ".cargo/config.toml": own.config,
    }
    tree = written(files, own.crate, tmp_path, path)
    layoutrand = commands_in(tree, path, tmp_path / "cache")

    layoutrand("init")
    made = (tree / "layoutrand.toml").read_text()
    assert f'harness = "{own.harness}"' in made
    assert 'artefacts = ["target/release/deps/sums"]' in made
    layoutrand("run", "--seeds", "2", "--system", "O2", "--share-machine", "-q")
    rows = json.loads(layoutrand("analyse", "--system", "O2", "--json"))["benchmarks"]

    assert (tree / "layoutrand.toml").read_text() == made
    assert {(row["benchmark"], row["metric"], row["n_binaries"]) for row in rows if row["primary"]} == {
        (f"sums/{case}", "time_s", 2) for case in own.cases
    }


@pytest.mark.slow
def test_cases_of_iai_callgrind_are_counted_as_init_leaves_them(tmp_path):
    require("valgrind", "valgrind")
    path = path_of("newer")
    files = {
        "Cargo.toml": f'{MANIFEST}[dev-dependencies]\niai-callgrind = {{ path = "iai" }}\n{WITHOUT_LIBTEST}',
        "src/lib.rs": LIBRARY,
        "benches/sums.rs": IAI_CALLGRIND,
        ".cargo/config.toml": "",
        "iai/Cargo.toml": MANIFEST.replace("summing", "iai-callgrind"),
        "iai/src/lib.rs": IAI_CALLGRIND_CRATE,
    }
    tree = written(files, "", tmp_path, path)

    said = commands_in(tree, path, tmp_path / "cache")("init", fails=True)
    assert "iai-callgrind-runner is not on PATH" in said
    assert not (tree / "layoutrand.toml").exists()

    runner = tmp_path / "bin" / "iai-callgrind-runner"
    runner.parent.mkdir()
    runner.write_text(IAI_CALLGRIND_RUNNER)
    runner.chmod(0o755)
    layoutrand = commands_in(tree, f"{runner.parent}:{path}", tmp_path / "cache")
    layoutrand("init")
    made = (tree / "layoutrand.toml").read_text()
    assert 'harness = "iai-callgrind"' in made
    layoutrand("run", "--seeds", "2", "--system", "O2", "--share-machine", "-q")
    rows = json.loads(layoutrand("analyse", "--system", "O2", "--json"))["benchmarks"]

    assert (tree / "layoutrand.toml").read_text() == made
    (row,) = [row for row in rows if row["primary"]]
    assert (row["benchmark"], row["metric"], row["n_binaries"]) == ("sums/sums::all::total::one", "instructions", 2)
    assert row["mean"] > 1000
