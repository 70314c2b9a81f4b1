"""Numbers that other programs print: harnesses, suites, profilers, counters."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from dacapokit import make_jdk
from fuzz.target import Form, Target, fixed, of_bytes, of_text
from harnesses.samplekit import left, text_of
from layoutrand.analysis.analyse import analyse
from layoutrand.build.java_project import java_project
from layoutrand.config.readings import DacapoReading, SpecReading
from layoutrand.explain.data_use import DataCounter, by_pairs
from layoutrand.harnesses.harness import LeftByHarness
from layoutrand.harnesses.known import harness_named, harnesses
from layoutrand.instruments.json_output import read_json_iterations
from layoutrand.instruments.known import cachegrind, callgrind
from layoutrand.instruments.memory_trace import TraceReader
from layoutrand.instruments.perf_script import parse_samples
from layoutrand.instruments.perf_stat import fatal_signal, parse_counts, unsupported
from layoutrand.instruments.profile import Segment
from layoutrand.instruments.program_output import read_iterations, with_last_words, without_numbers
from layoutrand.instruments.qemu_plugin import counted
from layoutrand.interop import table
from layoutrand.interop.formats import DIRECTORY_FORMAT, FORMATS, IN_DIRECTORY, parse, parse_directory
from layoutrand.interop.import_spec import parse_import
from layoutrand.interop.importing import ImportQuestion, import_selection
from layoutrand.platform import foreign
from layoutrand.suites import dacapo_output, spec_output, spec_root
from layoutrand.suites.dacapo_jar import jar_facts
from layoutrand.suites.suite import HarnessOutput
from layoutrand.text.foreign_fields import parse_number
from layoutrand.text.spec_rsf import rsf_results

JMH = [
    {
        "benchmark": "p.B.go",
        "mode": "avgt",
        "forks": 2,
        "params": {"n": "10"},
        "primaryMetric": {"scoreUnit": "us/op", "rawData": [[1.5, 2.5], [4.0, 5.0]]},
        "secondaryMetrics": {"gc.alloc": {"scoreUnit": "B/op", "rawData": [[8.0], [8.5]]}},
    },
    {
        "benchmark": "p.B.sampled",
        "mode": "sample",
        "forks": 1,
        "primaryMetric": {"scoreUnit": "s/op", "rawDataHistogram": [[[[1.0, 3], [5.0, 1]]]]},
    },
]
RENAISSANCE = {
    "format_version": 6,
    "environment": {"vm": {"termination": "normal"}},
    "data": {"als": {"results": [{"duration_ns": 2_000_000_000, "uptime_ns": 5}], "termination": "normal"}},
}
RENAISSANCE_CSV = (
    "benchmark,duration_ns,uptime_ns,extra,vm_start_unix_ms\r\nals,2000000000,7,3,9\r\nals,1000000000,8,4,9\r\n"
)
HYPERFINE = {
    "results": [
        {"command": "./a", "mean": 0.5, "times": [0.4, 0.6], "exit_codes": [0, 0], "parameters": {"n": "1"}},
        {"command": "./b", "mean": 0.7, "times": [0.7, 0.7], "exit_codes": [0, 0]},
    ]
}
PYPERF = {
    "version": "1.0",
    "metadata": {"name": "b", "unit": "second", "loops": 4, "inner_loops": 2},
    "benchmarks": [
        {
            "metadata": {"name": "go", "unit": "second"},
            "runs": [{"metadata": {"load_avg_1min": 0.1}, "values": [1.0, 2.0], "warmups": [[1, 3.0]]}],
        }
    ],
}
OWN = {
    "schema": table.SCHEMA,
    "rows": [
        {"system": "a", "benchmark": "b", "seed": n, "execution": 0, "iteration": 0, "value": 1.5 + n} for n in (1, 2)
    ],
    "labels": {"systems": {"a": "A, first"}, "benchmarks": {"b": "B"}},
}
CSV = "system,benchmark,seed,execution,iteration,metric,value,unit\na,b,1,0,0,t,1.5,s\na,b,2,0,0,t,1.25,s\n"
FLOATS = "value,seed,execution,iteration,round,warmup\n1.5,1.0,0.0,10.0,3.0,1.0\n1.25,2.0,1.0,0.0,,\n"
PROGRAMS = f"system,benchmark,seed,value,program_sha256\na,b,1,1.5,{'0' * 64}\na,b,2,1.25,\n"
QUOTED = '"system",benchmark,value\n"a",b,1.5\n"a","b, c",1.25\n'
SPEC_CSV = """\
valid,0

"Full Results Table"

Benchmark,"Base # Copies","Est. Base Run Time","Est. Base Rate","Base Selected","Base Status","Peak # Copies","Est. Peak Run Time","Est. Peak Rate","Peak Selected","Peak Status",Description
500.perlbench_r,1,26.5,--,1,S,1,20.5,--,1,S,"test iteration #1"
502.gcc_r,1,--,--,0,CE,,,,,NR,"test iteration #1"
557.xz_r,,,,,NR,,,,,NR

"Selected Results Table"
"""
SPEC_RSF = """\
spec.cpu2017.lognum: 001.0
spec.cpu2017.size: refrate
spec.cpu2017.results.505_mcf_r.base.000.runmode: rate
spec.cpu2017.results.505_mcf_r.base.000.copies: 4
spec.cpu2017.results.505_mcf_r.base.000.benchmark: 505.mcf_r
spec.cpu2017.results.505_mcf_r.base.000.valid: S
spec.cpu2017.results.505_mcf_r.base.000.reported_time: 12.054889
spec.cpu2017.results.505_mcf_r.base.000.exehash: aaaa
spec.cpu2017.results.505_mcf_r.base.001.benchmark: 505.mcf_r
spec.cpu2017.results.505_mcf_r.base.001.reported_time: --
spec.cpu2017.results.505_mcf_r.base.001.valid: VE
spec.cpu2017.results.505_mcf_r.base.001.errors000: Output miscompare
"""
SPEC_REPORT = """\
                       Estimated                       Estimated
                 Base     Base        Base        Peak     Peak        Peak
Benchmarks       Copies  Run Time     Rate       Copies  Run Time     Rate
--------------- -------  ---------  ---------    -------  ---------  ---------
500.perlbench_r       4       5891      1.08   *       8       5000      2.08   *
541.leela_r           4       4978            VE
557.xz_r                                      NR
=================================================================================
 505.mcf_r: basepeak = yes
    Input set must be 'refrate' for a valid run (set to 'test' for this run)
"""
SPEC_LOG = """\
  Building 505.mcf_r base layoutrand: (build_base_layoutrand.0000)
*** Error building 505.mcf_r
src/a.c:3: error: no such thing
*** Miscompare of inp.out; for details see
    /x/inp.out.mis
runcpu finished at 2026-11-22 01:11:33; 0 total seconds elapsed
"""
DACAPO = """\
===== DaCapo 23.11-chopin fop starting warmup 1 =====
===== DaCapo 23.11-chopin fop completed warmup 1 in 829 msec =====
===== layoutrand: iteration took 828999001 nsec =====
===== DaCapo tail latency, simple: 50% 138 usec, 99% 865 usec, 99.9% 1737 usec, max 9 usec, measured over 20 events =====
===== DaCapo 23.11-chopin fop starting =====
===== DaCapo processed 200000 requests in 4935 msec, 40526 requests per second =====
===== DaCapo 23.11-chopin fop PASSED in 221 msec =====
"""
CALLGRIND = """\
version: 1
creator: callgrind-3.19.0
pid: 4711
positions: instr
events: Ir

ob=/p/prog
fn=main
0x1188 1
calls=10 0x1139
0x118f 900
cob=/usr/lib/libc.so.6
calls=1 0x4000
0x1194 10
0x119e 5

totals: 916
"""
LACKEY = """\
==7== Command: /p/prog 5
==7==
I  0401ab70,3
 S 00004018,8
I  00109050,12
 L 00004040,4
 M 1fff000778,16
==7== Exit code:       0
"""
CACHEGRIND = """\
desc: I1 cache:         32768 B, 64 B, 8-way associative
cmd: ./program
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
fl=a.c
fn=main
12 1000 20 3 400 50 6 70 8 9 100 11 12 13
summary: 1000 20 3 400 50 6 70 8 9 100 11 12 13
"""
PERF_STAT = """\
# started on Sat Nov 21 21:20:29 2026

3202417;;instructions:u;1203945;100.00;1.21;insn per cycle
1.12;msec;task-clock;1115120;100.00;0.684;CPUs utilized
"""
PERF_SCRIPT = """\
17149 PERF_RECORD_MMAP2 17149/17149: [0x55eacd472000(0x1000) @ 0x1000 fe:00 1714742 572444611]: r-xp /p/prog
17149 PERF_RECORD_MMAP2 17149/17149: [0x7f4bf6438000(0x2000) @ 0 00:00 0 0]: r-xp [vdso]
17149      7f4bf644e62a
17149      55eacd47214e
17150      55eacd47214e
"""
EVENTS = ("instructions:u", "task-clock")


def _spec(data: bytes, place: Path) -> None:
    del place
    text = data.decode("utf-8", "backslashreplace")
    files = {"result/CPU2017.001.intrate.test.rsf": text, "result/CPU2017.001.log": SPEC_LOG.partition("\n")[2]}
    spec_output.judge(_of_spec(), HarnessOutput("ok", "", 0, "", "", files, expected={}, digests={}))


def _spec_log(data: bytes, place: Path) -> None:
    del place
    text = data.decode("utf-8", "backslashreplace")
    for status in ("ok", "exit", "timeout"):
        spec_output.judge(_of_spec(), HarnessOutput(status, "", 0, text, text, {"result/a.log": text}))
    spec_output.build_problems(text, text)
    spec_output.stored_exehashes(text)


def _of_spec() -> SpecReading:
    return SpecReading(kind="spec-rsf", benchmark="505.mcf_r")


def _dacapo(data: bytes, place: Path) -> None:
    del place
    text = data.decode("utf-8", "backslashreplace")
    for iterations in (2, None):
        for status in ("ok", "exit", "timeout"):
            reading = DacapoReading(kind="dacapo", benchmark="fop", iterations=iterations)
            dacapo_output.judge(reading, HarnessOutput(status, "", 0, text, "", {}))
            asked = reading.model_copy(update={"latency": ["simple", "metered"], "nanoseconds": True})
            dacapo_output.judge(asked, HarnessOutput(status, "", 0, text, "", {}))


def _harness(name: str) -> Iterator[Target]:
    """Whatever stands in what the harness's program printed, and in each kind of file that it left."""
    harness, sample = harness_named(name), left(name)
    for kind in sorted({Path(path).name for path in sample.files}):
        of_kind = [path for path in sample.files if Path(path).name == kind]

        def attack_file(data: bytes, _place: Path, path: str = of_kind[0]) -> None:
            text = data.decode("utf-8", "backslashreplace")
            harness.read(LeftByHarness(text, text, {**sample.files, path: text}))

        form: Form = "json" if kind.endswith(".json") else "text"
        yield Target(f"harness {name}, {kind}", attack_file, fixed(sample.files[of_kind[0]]), form, cost=2)
    if not sample.files:
        yield Target(f"harness {name}", of_text(lambda text: harness.read(LeftByHarness(text))), fixed(sample.output))


def _imported(data: bytes, place: Path) -> None:
    """From the file to the conclusions: numbers that are read must be numbers that can be worked with."""
    file = place / "given"
    file.write_bytes(data)
    question = ImportQuestion([f"x={file}"], None, "benchmarks", 0, (), ())
    analyse(import_selection(question), confidence=0.95, metrics=())


def _import_word(text: str) -> None:
    parse_import(text)


def _jar(data: bytes, place: Path) -> None:
    jar = place / "dacapo-23.11.jar"
    jar.write_bytes(data)
    jar_facts(jar, config=place / "layoutrand.toml", home=place)


def _criterion_directory(data: bytes, place: Path) -> None:
    case = place / "a/new"
    case.mkdir(parents=True, exist_ok=True)
    (case / "benchmark.json").write_text('{"full_id": "a"}')
    (case / "sample.json").write_bytes(data)
    parse_directory(foreign.texts_below(str(place), IN_DIRECTORY), "f", None)


def _java_program(data: bytes, place: Path) -> None:
    home = make_jdk(place / "jdk")
    (place / "b.jar").write_bytes(data)
    (home / "release").write_bytes(data)
    java_project([str(home / "bin/java"), "-jar", "b.jar"], place, place, None).text()


@cache
def jars() -> tuple[bytes, ...]:
    """A jar with what is looked for in one."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr(
            "META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nSpecification-Version: 23.11-\r\n chopin\r\n\r\n"
        )
        jar.writestr("META-INF/BenchmarkList", "JMH S 5 p.B.go\n")
        jar.writestr("META-INF/cnf/fop.cnf", "benchmark fop\nsize small args\nsize default args\n")
        jar.writestr("META-INF/cnf/h2.cnf", "benchmark h2\nsize small args\n")
        jar.writestr("org/dacapo/harness/Callback.class", b"\xca\xfe\xba\xbe" * 20)
    return (made.getvalue(),)


def _memory_trace(data: bytes) -> None:
    """In two pieces, as they may come."""
    reader = TraceReader(["/p/prog"])
    counter = DataCounter([0, 1], np.array([0x4000, 0x4040]), np.array([64, 64]), moved=0, section=0)
    for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
        for stretch in reader.stretches(piece):
            counter.add(stretch.accesses, stretch.instructions)
    by_pairs(counter.use(whole=reader.has_ended), most=9)


def _spec_root(data: bytes, place: Path) -> None:
    for name in ("bin/runcpu", "shrc", "version.txt", "config/base.cfg", "benchspec/CPU/505.mcf_r/Spec/object.pm"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    (place / "benchspec/CPU/intrate.bset").write_bytes(data)
    spec_root.read_base_config(place / "config/base.cfg", place, "suite.config")
    spec_root.text_files(place)
    spec_root.read_root(place, "suite.root")


def _segments() -> list[Segment]:
    return [Segment(0x1000, 0x401000, 0x1D5)]


GO = """\
goos: linux
goarch: amd64
pkg: example.com/fib
cpu: Some CPU
BenchmarkFib/n=10-8         	 1000000	      1012 ns/op	      16 B/op	       1 allocs/op
BenchmarkFib/n=10-8         	 1000000	      1013.5 ns/op	      16 B/op	       1 allocs/op
BenchmarkCopy-8             	     300	   4000000 ns/op	 250.00 MB/s	         7.5 hits/op
PASS
ok  	example.com/fib	3.412s
"""


IMPORTED = {
    "jmh": JMH,
    "renaissance": RENAISSANCE,
    "renaissance-csv": RENAISSANCE_CSV,
    "hyperfine": HYPERFINE,
    "pyperf": PYPERF,
    "layoutrand": OWN,
    "go": GO,
    "csv": CSV,
    "spec-csv": SPEC_CSV,
    "spec-report": SPEC_REPORT,
    "spec-rsf": SPEC_RSF,
    "google-benchmark": json.loads(text_of("google-benchmark-1.7.1.json")),
    "nanobench": json.loads(text_of("nanobench-4.6.0.json")),
    "pytest-benchmark": json.loads(text_of("pytest-benchmark.json")),
    "asv": json.loads(text_of("asv-0.6.6.json")),
    "bencher": {"go": {"latency": {"value": 12.5, "lower_value": 11}, "throughput": {"value": 3}}},
    "catch2": text_of("catch2-2.13.10.xml"),
    "doctest": text_of("doctest-2.4.9.xml"),
    "libtest": text_of("bencher-0.1.5.txt"),
    "divan": text_of("divan-0.1.21.txt"),
    "rebench": text_of("rebench.data"),
}
"""Format -> a file of it."""

assert {*IMPORTED, DIRECTORY_FORMAT} == set(FORMATS)


def _file(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)


TARGETS = (
    *(
        Target(
            f"import {name}",
            of_text(lambda text, name=name: parse(text, "f", name)),  # type: ignore[misc]
            fixed(_file(content)),
            "text" if isinstance(content, str) else "json",
        )
        for name, content in IMPORTED.items()
    ),
    Target("import criterion", _criterion_directory, fixed('{"iters":[1.0,2.0],"times":[5.0,11.0]}'), "json", cost=2),
    Target("import analysed", _imported, fixed(*map(_file, IMPORTED.values())), "json", cost=10),
    Target("--import", of_text(_import_word), fixed("a=f.json", "a:3=f*.csv", "./f")),
    Target("import csv with quotes", of_text(lambda text: parse(text, "f", "csv")), fixed(QUOTED)),
    Target("import csv with programs", of_text(lambda text: parse(text, "f", "csv")), fixed(PROGRAMS)),
    Target("import csv with floats", of_text(lambda text: parse(text, "f", "csv")), fixed(FLOATS)),
    Target("header of a table", of_text(table.recognise_csv), fixed(CSV)),
    Target("number of others", of_text(lambda text: parse_number(text, "f", "x")), fixed("1.5", "-2e-3")),
    Target("SPEC raw results", of_text(lambda text: rsf_results(text, "f")), fixed(SPEC_RSF)),
    Target("SPEC execution", _spec, fixed(SPEC_RSF)),
    Target("SPEC log", _spec_log, fixed(SPEC_LOG)),
    Target(
        "SPEC installation",
        _spec_root,
        fixed("1.1.9\n", '$benchmark = "505.mcf_r";\n@benchmarks = qw(505.mcf_r);\n%deps = ();\ndefault:\n'),
        cost=2,
    ),
    Target("DaCapo output", _dacapo, fixed(DACAPO)),
    Target("DaCapo jar", _jar, jars, "bytes", cost=2),
    Target("Java program", _java_program, jars, "bytes", cost=4),
    *(target for each in harnesses() for target in _harness(each.name)),
    Target("callgrind", of_text(lambda text: callgrind.parse_profile(text, ["/p/prog"])), fixed(CALLGRIND)),
    Target("loads and stores", of_bytes(_memory_trace), fixed(LACKEY)),
    Target("counts of qemu's plugin", of_text(counted), fixed("begin 7 0\nexec 7 5\nfailed 7 6\nend 7 9\n")),
    Target("cachegrind", of_text(cachegrind.parse_counts), fixed(CACHEGRIND)),
    Target("perf stat", of_text(lambda text: parse_counts(text, EVENTS)), fixed(PERF_STAT)),
    Target("perf stat, trial", of_text(lambda text: unsupported(text, EVENTS)), fixed(PERF_STAT)),
    Target("perf stat, end", of_bytes(lambda data: fatal_signal(data, ["perf", "--", "./x"])), fixed("./x: Killed\n")),
    Target("perf script", of_text(lambda text: parse_samples(text, ["/p/prog"], _segments())), fixed(PERF_SCRIPT)),
    Target("printed numbers", of_bytes(lambda data: read_iterations(data, r"^time: (.*)$")), fixed("time: 1.5\n")),
    Target(
        "printed JSON",
        of_bytes(lambda data: read_json_iterations(data, "/a/0/t", "matching", key="metric.json")),
        fixed('{"a":[{"t":1.5}]}', 'x\n{"a":[{"t":[1,2]}]}\n'),
        "json",
    ),
    Target(
        "output without numbers",
        of_bytes(lambda data: without_numbers(data, ["t=(.)"], [("/a/0/t", "matching"), ("/a", "all")])),
        fixed('{"a":[{"t":1.5}]}', '{"a":"t=1"}\n{"a":[1,NaN,-2e7]}\n'),
        "json",
    ),
    Target("last words", of_bytes(lambda data: with_last_words("x", data, merged=False)), fixed("error: \x1b[1mno\n")),
)
