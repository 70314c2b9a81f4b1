"""Factors of a JDK that is taken as it is: what a seed means, and that a real JVM does it."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from dacapokit import document, layoutrand, make_jdk
from layoutrand.config import jdk
from layoutrand.config.config import parse
from layoutrand.config.jdk import JvmFacts
from layoutrand.errors import ConfigError, LayoutNotApplied
from layoutrand.jvm.proof import JdkProofs
from layoutrand.jvm.start import jvm_facts
from workshop import absent, require

CLASSES = [
    "# made by a JDK",
    "java/lang/Object",
    "java/lang/String",
    "a/B id: 3",
    "java/util/List",
    "a/C super: 3 id: 4",
    "@lambda-proxy a/B run ()V",
    "@lambda-form-invoker [X] a b",
]
CONFIG = """\
[project]
name = "p"
[build]
artefacts = ["lib/server/libjvm.so"]
[layout]
factors = ["cds-order", "heap-base"]
[systems.j]
prebuilt = "jdk"
args = "-Xmx64m"
[[benchmarks]]
name = "b"
command = ["{home}/bin/java", "{args}", "-XX:TieredStopAtLevel=1", "-version"]
"""


def test_a_seed_orders_the_plain_classes_alone():
    orders = [tuple(jdk.ordered_class_list(CLASSES, seed)) for seed in range(1, 40)]
    assert len(set(orders)) > 15, "4 classes have 24 orders"
    for order in orders:
        assert sorted(order) == sorted(CLASSES)
        assert (order[0], order[5:]) == (CLASSES[0], tuple(CLASSES[5:]))
    assert jdk.ordered_class_list(CLASSES, "identity") == CLASSES
    assert orders[6][1:5] == ("a/B id: 3", "java/util/List", "java/lang/String", "java/lang/Object"), "for ever"


def test_seeds_have_heaps_of_their_own_in_one_range():
    places = {jdk.heap_base(seed) for seed in range(jdk.HEAP_PLACES)}
    assert len(places) == jdk.HEAP_PLACES
    assert (min(places), max(places)) == (8 << 30, (16 << 30) - (2 << 20))
    assert jdk.heap_base(5) == jdk.heap_base(5 + jdk.HEAP_PLACES)
    assert jdk.heap_base("identity") == 8 << 30
    assert [jdk.heap_base(seed) for seed in (1, 2)] == [0x318000000, 0x384600000], "for ever"


@pytest.mark.parametrize("factors", [("cds-order",), ("heap-base",), ("jit-stress",), ("cds-order", "heap-base")])
def test_options_are_as_many_and_as_long_for_every_layout(factors):
    words = [jdk.options(factors, layout, "/x/y.jsa") for layout in (1, 2, 2**64 - 1, "identity")]
    assert {tuple(map(len, row)) for row in words} == {tuple(map(len, words[0]))}
    varying = set(factors) - {"cds-order"}
    assert len(set(words)) == (4 if varying else 1), "the archive differs in its content, not in its name"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["/j/java", "-Xmx1g", "-jar", "x.jar", "-n"], ("-Xmx1g",)),
        (["env", "A=1", "/j/java", "-cp", "a:b", "-ea", "Main", "-Xmx2g"], ("-cp", "a:b", "-ea")),
        (["/j/java", "-Xint", "-m", "a/b"], ("-Xint",)),
        (["/j/java", "-Xint", "--module=a/b"], ("-Xint",)),
        (["/j/java", "-Xint", "@file", "Main"], ("-Xint",)),
        (["/j/java", "--add-opens", "a/b=ALL-UNNAMED", "-jar", "x.jar"], ("--add-opens", "a/b=ALL-UNNAMED")),
        (["/j/java", "--add-opens=a/b=ALL-UNNAMED", "-jar", "x.jar"], ("--add-opens=a/b=ALL-UNNAMED",)),
        (
            ["/j/java", "--patch-module", "a=b", "--limit-modules", "c", "Main"],
            ("--patch-module", "a=b", "--limit-modules", "c"),
        ),
        (["/other/java", "-Xmx1g", "Main"], ()),
    ],
)
def test_words_of_the_jvm_end_where_the_program_begins(argv, words):
    assert jdk.words_of_the_jvm(argv, "/j/java") == words


def test_what_hotspot_logs_is_read():
    log = (
        "Heap address: 0x0000000200000000, size: 64 MB, Compressed Oops mode: Zero based, Oop shift amount: 3\n"
        "java.lang.Object source: shared objects file\n klass: 0x0000000800000d68 super: 0x0 loader: [x]\n"
        "a.B source: shared objects file (top)\n klass: 0x0000000800000d70 super: 0x0\n"
        "a.C source: jrt:/java.base\n klass: 0x00000008000fffff super: 0x0\n"
    )
    flags = "     uint StressSeed      = 123     {C2 diagnostic} {command line}\n     bool StressGCM := true {x}\n"
    assert jvm_facts(log, flags) == JvmFacts(
        {"java.lang.Object": 0x800000D68, "a.B": 0x800000D70},
        0x200000000,
        "Zero based",
        {"StressSeed": "123", "StressGCM": "true"},
    )
    assert jvm_facts("", "") == JvmFacts()


def test_an_archive_is_dumped_in_the_form_that_a_jvm_printed():
    printed = (
        "      int ObjectAlignmentInBytes                   = 16                   {product lp64_product} {command line}\n"
        "     bool UseCompactObjectHeaders                  := true                {product lp64_product} {command line}\n"
        "     bool UseCompressedOops                        = false                   {product lp64_product} {ergonomic}\n"
        "     bool UseCompressedOopsOfAnother               = false                   {product lp64_product} {ergonomic}\n"
    )
    words = ("-XX:ObjectAlignmentInBytes=16", "-XX:+UseCompactObjectHeaders", "-XX:-UseCompressedOops")
    assert jdk.archive_form(printed) == words
    assert jdk.archive_form("") == ()


GOOD = JvmFacts({"a": 1}, jdk.heap_base(1), "Zero based")


@pytest.mark.parametrize(
    ("factors", "facts", "problem"),
    [
        (("cds-order",), JvmFacts(), "no class came from the archive"),
        (("heap-base",), JvmFacts(), "does not say where its heap begins"),
        (
            ("heap-base",),
            JvmFacts(heap_address=0xF0000000, heap_mode="32-bit"),
            "begins at 0xf0000000 and not at 0x318000000",
        ),
        (("heap-base",), JvmFacts(heap_address=jdk.heap_base(1) + (32 << 20), heap_mode="Zero based"), "begins at"),
        (("heap-base",), JvmFacts(heap_address=jdk.heap_base(1), heap_mode="Non-zero based"), "are 'Non-zero based'"),
        (
            ("jit-stress",),
            JvmFacts(flags={"StressLCM": "true", "StressGCM": "true", "StressSeed": "1"}),
            "its StressSeed is 1",
        ),
        (("jit-stress",), JvmFacts(), "its StressLCM is not known to it"),
    ],
)
def test_a_jvm_that_does_otherwise_is_found_out(factors, facts, problem):
    assert problem in "; ".join(jdk.not_as_asked(factors, 1, facts))


def test_a_jvm_that_does_as_asked_is_not():
    assert jdk.not_as_asked(("cds-order", "heap-base"), 1, GOOD) == []
    flags = {"StressLCM": "true", "StressGCM": "true", "StressSeed": str(jdk.stress_seed(1))}
    assert jdk.not_as_asked(("jit-stress",), 1, JvmFacts(flags=flags)) == []
    assert jdk.moved_classes(JvmFacts({"a": 1, "b": 2}), JvmFacts({"b": 3, "c": 4})) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            CONFIG.replace('"cds-order"', '"function-order"'),
            "layout.factors: heap-base is of a JDK that is taken as it is, so no factor of a link",
        ),
        (
            CONFIG.replace('"cds-order"', '"jit-stress"'),
            "layout.factors: jit-stress changes the generated code, not only where it lies, so it cannot go",
        ),
        (
            CONFIG.replace('prebuilt = "jdk"\n', ""),
            "layout.factors: cds-order is of a JDK that is taken as it is, so systems.j.prebuilt must name",
        ),
        (CONFIG.replace('"{args}", ', ""), "benchmarks[0].command: has no word {args}, behind java"),
        (
            CONFIG.replace('"-version"', '"{artefact}"'),
            "benchmarks[0].command: with cds-order a layout has no artefact",
        ),
        (CONFIG.replace('libjvm.so"]', 'libjvm.so", "lib/modules"]'), "build.artefacts: with cds-order there is one"),
    ],
)
def test_what_cannot_be_meant_is_an_error(text, problem):
    with pytest.raises(ConfigError) as caught:
        parse(text, path="layoutrand.toml")
    assert any(line.startswith(problem) for line in caught.value.problems), caught.value.problems


def project(root, home, text=CONFIG):
    root.mkdir()
    (root / "layoutrand.toml").write_text(text.replace('prebuilt = "jdk"', f'prebuilt = "{home}"'))
    return root


def seeming_jdk(home, script):
    """A home with all that layouts need, whose java is a script."""
    make_jdk(home, script)
    (home / "lib/modules").write_text("modules")
    (home / "lib/classlist").write_text("\n".join(CLASSES))
    return home


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (
            'echo "$*" | grep -q dump && exit 1; exit 0',
            "java -Xshare:dump ended with status 1 and made no archive of classes",
        ),
        ("echo Unrecognized VM option; exit 1", "system j: java does not start (status 1): Unrecognized VM option"),
        ("exit 0", "java -Xshare:dump ended with status 0 and made no archive of classes"),
        (
            'for w; do case $w in -XX:SharedArchiveFile=*) [ -e "${w#*=}" ] || echo x > "${w#*=}";; esac; done',
            "no class came from the archive dumped for cds-order",
        ),
        (
            'for w; do case $w in -XX:SharedArchiveFile=*) [ -e "${w#*=}" ] && { echo bad archive; exit 3; }; '
            'echo x > "${w#*=}";; esac; done',
            "java does not start (status 3): bad archive",
        ),
    ],
)
def test_a_layout_that_cannot_be_had_is_a_failure_that_says_why(tmp_path, monkeypatch, script, problem):
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    root = project(tmp_path / "p", seeming_jdk(tmp_path / "jdk", script))
    done = document(root, "build", "--seeds", "2", status=1)
    assert [binary["seed"] for binary in done["binaries"]] == ["stock"]
    assert {failure["seed"] for failure in done["failures"]} == {1, 2, "identity"}
    assert all(problem in " ".join(failure["error"].split()) for failure in done["failures"]), done["failures"]


def test_a_home_without_a_list_of_classes_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    root = project(tmp_path / "p", make_jdk(tmp_path / "jdk"))
    [failure] = document(root, "build", "--seeds", "1", "--no-controls", status=1)["failures"]
    assert "lib/modules: No such file or directory" in failure["error"]
    assert "are of a JDK from version 17 on, whose home systems.*.prebuilt must be" in failure["error"]


@pytest.fixture(scope="module")
def home():
    found = Path(require("java", "openjdk-17-jdk-headless")).resolve().parents[1]
    if not (found / "lib/classlist").exists():
        absent(f"{found} is not the home of a JDK with a list of classes")
    return found


@pytest.mark.slow
def test_a_real_jdk_is_laid_out_verified_cached_and_executed(tmp_path, monkeypatch, home):
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    root = project(tmp_path / "p", home)
    built = document(root, "build", "--seeds", "3")
    rows = {binary["seed"]: binary for binary in built["binaries"]}
    assert built["failures"] == []
    assert set(rows) == {"stock", 1, 2, 3, "identity"}
    assert rows["stock"]["verified"] is None
    assert rows["identity"]["verified"]["tau_identity"] == 1
    assert all(rows[seed]["verified"]["tau_identity"] < 0.99 for seed in (1, 2, 3))
    assert all(rows[seed]["verified"]["n_sections"] > 300 for seed in (1, 2, 3)), "classes from the archive"
    assert len({row["text_sha256"] for row in rows.values()}) == 5
    again = document(root, "build", "--seeds", "3")["binaries"]
    assert all(binary["cached"] for binary in again)
    assert [b["sha256"] for b in again] == [b["sha256"] for b in built["binaries"]]

    summary = document(root, "run", "--seeds", "2", "--share-machine")
    assert (summary["executed"], summary["failures"]) == (6, [])
    assert document(root, "run", "--seeds", "2", "--share-machine")["executed"] == 0
    for row in document(root, "analyse")["benchmarks"]:
        assert (row["n_binaries"], row["stock"]["n_executions"], row["identity"]["n_executions"]) == (2, 2, 2)
    words = executed(root)
    assert words["stock"] == [str(home / "bin/java"), "-Xmx64m", "-XX:TieredStopAtLevel=1", "-version"]
    assert {word.split("=")[-1] for word in words["2"] if "HeapBase" in word} == {f"0x{jdk.heap_base(2):016x}"}
    own = {layout: [len(word) for word in argv] for layout, argv in words.items() if layout != "stock"}
    assert set(own) == {"1", "2", "identity"}
    assert own["1"] == own["2"] == own["identity"], "equal lengths: nothing moves the stack"


def executed(root):
    """Layout -> argument vector of its executions, which must be the same in all of them."""
    with contextlib.closing(sqlite3.connect(root / ".layoutrand/results.sqlite")) as results:
        rows = results.execute("SELECT DISTINCT layout, argv FROM executions").fetchall()
    assert len(rows) == len({layout for layout, _ in rows})
    return {layout: json.loads(argv) for layout, argv in rows}


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    # The last is what -Xmx64m is on a machine with so much memory that a dump by itself has no compressed references.
    ["-XX:+UseZGC", "-Xmx40g -XX:+UseSerialGC", "-XX:ObjectAlignmentInBytes=16", "-XX:MaxRAM=256g -Xmx64m"],
)
def test_archives_have_the_form_that_the_systems_options_ask_for(tmp_path, monkeypatch, home, args):
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    text = CONFIG.replace(', "heap-base"', "").replace("-Xmx64m", args)
    usual = CONFIG[CONFIG.index("[systems.j]") : CONFIG.index("[[bench")].replace("systems.j", "systems.usual")
    root = project(tmp_path / "p", home, text.replace("[[bench", usual + "[[bench"))
    built = document(root, "build", "--seeds", "2")
    assert built["failures"] == []
    rows = {(binary["system"], binary["seed"]): binary for binary in built["binaries"]}
    assert all(rows[system, 1]["verified"]["n_sections"] > 300 for system in ("j", "usual"))
    is_other = "MaxRAM" not in args
    assert (rows["j", 1]["sha256"] != rows["usual", 1]["sha256"]) == is_other


@pytest.mark.slow
def test_an_archive_elsewhere_than_when_it_was_made_is_not_measured(tmp_path, monkeypatch, home):
    """The benchmark's own options come last, so they can undo the layout's: that is seen before anything is measured."""
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    relocated = CONFIG.replace('"-XX:TieredStopAtLevel=1"', '"-XX:ArchiveRelocationMode=1"')
    done = layoutrand(project(tmp_path / "p", home, relocated), "run", "--seeds", "1", "--share-machine")
    assert done.returncode == 1
    assert "classes of the archive lie elsewhere than when it was made" in " ".join(done.stderr.split())
    elsewhere = CONFIG.replace('"-XX:TieredStopAtLevel=1"', '"-XX:HeapBaseMinAddress=20g"')
    done = layoutrand(project(tmp_path / "q", home, elsewhere), "run", "--seeds", "1", "--share-machine")
    assert done.returncode == 1
    assert "its heap begins at 0x500000000 and not at" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_a_collector_that_takes_no_base_is_a_failure_with_what_to_do(tmp_path, monkeypatch, home):
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    text = CONFIG.replace('"cds-order", ', "").replace("-Xmx64m", "-Xmx64m -XX:-UseCompressedOops")
    done = document(project(tmp_path / "p", home, text), "build", "--seeds", "1", "--no-controls", status=1)
    assert "so heap-base cannot be verified" in done["failures"][0]["error"]


def test_the_compiler_takes_the_seed_of_its_stress(tmp_path, monkeypatch, home):
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    text = CONFIG.replace('"cds-order", "heap-base"', '"jit-stress"')
    built = document(project(tmp_path / "p", home, text), "build", "--seeds", "2")
    assert built["failures"] == []
    assert len({binary["text_sha256"] for binary in built["binaries"]}) == 4
    undone = text.replace("-Xmx64m", "-XX:StressSeed=7")
    shutil.rmtree(tmp_path / "cache")
    [failure] = document(project(tmp_path / "q", home, undone), "build", "--seeds", "1", "--no-controls", status=1)[
        "failures"
    ]
    assert "its StressSeed is 7 and not" in failure["error"]


def test_words_in_a_file_of_their_own_are_no_proof_of_a_layout(tmp_path):
    home = make_jdk(tmp_path / "jdk")
    proofs = JdkProofs(parse(CONFIG, path="layoutrand.toml"), tmp_path, {})
    slot = SimpleNamespace(system="j", layout=1, benchmark="b")
    with pytest.raises(LayoutNotApplied, match="what @options holds is for the JVM to read, so nothing proves"):
        proofs.prove(slot, None, [str(home / "bin/java"), "-Xmx64m", "@options", "-version"], tmp_path)
