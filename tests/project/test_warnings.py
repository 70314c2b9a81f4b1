"""Warnings are values of a kind: each kind words itself, in one place for each stage, and nobody searches sentences."""

import ast
import dataclasses
import functools
import re
import types
import typing
from pathlib import Path

import pytest

from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.build.build_warnings import CHANGED_CLAIMS, ChangedAfterLink
from layoutrand.config.disturbance import Disturbed
from layoutrand.results.damage import DamagedRow
from layoutrand.stats.stats_warning import WarningSubject
from layoutrand.warning import AnyWarning
from sourcekit import TREES
from warningkit import Sentence, kinds

ROOT = Path(__file__).resolve().parents[2]
STRINGS = {
    "cache/capture_record.py": "a record keeps what was said when it was made",
    "cli/output_formats.py": "what was printed",
    "build/exec.py": "what `exec` says of outputs, which nobody groups",
    "cluster/measuring_task.py": "what a node says while it works, which is repeated where it was submitted",
}
"""Where what a user is told is text all the same, and why."""

SEARCHES = {
    ("build/present_parts.py", "with changes"): "what results files of version 3 have in place of a field",
    ("cache/capture_record.py", " with changes"): "how this module says it of a source, which it shortens here",
    ("capture/repository.py", "ambiguous"): "git's word",
    ("config/problems.py", "Input should be"): "pydantic's",
    ("engines/lost_jobs.py", " error: "): "Slurm's",
    ("host/cores.py", "model name"): "the kernel's, in /proc/cpuinfo",
    ("host/virtual.py", " hypervisor"): "the kernel's, in /proc/cpuinfo",
    ("host/host_problems.py", "intel"): "the name of a driver of the kernel",
    ("host/tuning.py", "performance"): "the name of a governor of the kernel",
    ("interop/go_benchmark.py", "Benchmark"): "what a line of Go's benchmarks begins with",
    ("interop/spec.py", "Full Results Table"): "runcpu's heading",
    ("interop/spec_report.py", "Run Time"): "the heading of a report of SPEC's",
    ("interop/table.py", "value"): "a column's name",
    ("results/recorded_results.py", "full"): "SQLite's word",
    ("suites/spec_output.py", "ERROR: "): "runcpu's",
    ("suites/spec_output.py", "NOTICE: Nothing to run!"): "runcpu's",
    ("suites/spec_output.py", "error: "): "compilers'",
    ("text/build_output.py", "cannot open "): "linkers'",
    ("text/spec_rsf.py", "size: "): "a key of raw results of SPEC's",
    ("text/telling_line.py", ": not found"): "shells'",
    ("text/telling_line.py", "not found"): "CMake's, configure's and Meson's",
    ("text/telling_line.py", "no such"): "CMake's, configure's and Meson's",
    ("text/telling_line.py", "not be found"): "CMake's, configure's and Meson's",
}
"""(Module, what it searches in texts) that stands in a sentence of ours as well, and whose words are searched."""


KINDS = kinds()


def sample(annotation):
    """Some value of this type."""
    simple = {
        int: 7,
        str: "some name",
        float: 0.25,
        bool: True,
        AnyWarning: Sentence("what there is to know"),
        WarningSubject: WarningSubject("baseline"),
        DamagedRow: DamagedRow("executions", "id 7", "", "its checksum does not fit"),
        CoarseClock: CoarseClock(0.01, 0.025, is_open=True),
        Disturbed: Disturbed("b", 3, 1, {"busy": 1}, {"a": 1}, {}),
    }
    if annotation in simple:
        return simple[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return arguments[0]
    if origin in (typing.Union, types.UnionType):
        return sample(arguments[0])
    assert origin is tuple, annotation
    return (sample(arguments[0]),) if arguments[-1] is Ellipsis else tuple(map(sample, arguments))


def made(kind):
    hints = typing.get_type_hints(kind)
    values = {field.name: sample(hints[field.name]) for field in dataclasses.fields(kind)}
    if kind is ChangedAfterLink:
        values["claim"] = CHANGED_CLAIMS[0]
    return kind(**values)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__qualname__)
def test_each_kind_has_words(kind):
    """One line that no page need cut the end of; and equal ones are one, wherever they are grouped."""
    text = str(made(kind))

    assert len(text.split()) >= 4
    assert text == text.strip()
    assert not re.search(r"[\n{}]|\.$|\w\(\)|<\w", text), text
    assert {made(kind), made(kind)} == {made(kind)}


def test_all_kinds_are_looked_at():
    """Each stage that warns has some; a kind that is not imported would not be checked."""
    stages = {kind.__module__.split(".")[1] for kind in KINDS}
    written = {
        node.name
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "").endswith("Warning") for base in node.bases)
    }

    assert stages >= {"stats", "config", "capture", "build", "analysis", "interop", "explain"}
    bases = {
        "StatsWarning",
        "LeftOutExecutions",
        "MachineWarning",
        "MixedConditions",
        "DesignError",
        "OddValues",
        "SeriesWarning",
        "StartFilesWarning",
    }
    assert written - {kind.__name__ for kind in KINDS} == bases


def test_kinds_are_in_the_modules_of_words():
    """So that whoever changes a sentence knows where to look, and finds nothing else there."""
    modules = {kind.__module__.removeprefix("layoutrand.") for kind in KINDS}

    assert all(name.endswith(("_warnings", ".advice", "_advice")) for name in modules), modules
    recipes = (ROOT / "ARCHITECTURE.md").read_text()
    missing = [name for name in modules if f"`{name.replace('.', '/')}.py`" not in recipes]
    assert missing == []


def test_what_a_result_warns_of_is_no_text():
    found = set()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            name = getattr(getattr(node, "target", None), "id", "")
            if isinstance(node, ast.AnnAssign) and name in {"warnings", "remarks", "notes", "left_out"}:
                text = ast.unparse(node.annotation)
                if re.search(r"\bstr\b", text) and "AnyWarning" not in text:
                    found.add(path)
    assert found == set(STRINGS)


METHODS = {
    "count",
    "endswith",
    "find",
    "index",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rpartition",
    "rsplit",
    "split",
    "startswith",
}
PATTERNS = {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"}
SAID = re.compile(r"\b(?:text|message|sentence|reason|warning|remark|note|said|words|error|problem)s?\b|\bstr\(")


def constants(tree):
    """Names of texts at the top of a module."""
    found = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(getattr(node, "value", None), ast.Constant) and isinstance(node.value.value, str):
            found |= {target.id: node.value.value for target in targets if isinstance(target, ast.Name)}
    return found


def parts(node, known):
    """The texts in an expression that stands for some: (node, text)."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [(node, node.value)]
    if isinstance(node, ast.Name) and node.id in known:
        return [(node, known[node.id])]
    if isinstance(node, ast.JoinedStr | ast.Tuple | ast.List | ast.Set):
        inner = node.values if isinstance(node, ast.JoinedStr) else node.elts
        return [(node, text) for part in inner for _, text in parts(part, known)]
    return []


def needles(tree):
    """What is searched in texts: (node, text searched for, whether the text around it is said to somebody)."""
    known = constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            about = bool(SAID.search(ast.unparse(node.comparators[0])))
            yield from ((each, text, about) for each, text in parts(node.left, known))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            of = ast.unparse(node.func.value)
            if of == "re" and node.func.attr in PATTERNS:
                for each, pattern in parts(node.args[0], known):
                    for text in re.split(r"\\.|[][(){}.*+?^$|\\]+", pattern):
                        yield each, text, False
            elif node.func.attr in METHODS and of != "re":
                about = node.func.attr == "replace" or bool(SAID.search(of))
                yield from ((each, text, about) for each, text in parts(node.args[0], known))


def is_phrase(text, *, about):
    """Whether it is of a sentence: two words, or one with a colon; of what is said to somebody, any word."""
    if re.search(r"[A-Za-z]{2,}[,;:]? [A-Za-z]{2,}|[A-Za-z]{3,}: ", text):
        return True
    return about and re.fullmatch(r"\s*[A-Za-z]{4,}\s*", text) is not None


def sentences(tree):
    """Texts of three words or more, with gaps where values stand, that are neither documentation nor searched for."""
    known = constants(tree)
    searched = [node for node, _, _ in needles(tree)]
    names = {node.id for node in searched if isinstance(node, ast.Name)}
    skipped = {id(part) for node in searched for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr):
            skipped.add(id(node.body[0].value))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if names & {getattr(target, "id", "") for target in targets}:
                skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        if id(node) not in skipped and isinstance(node, ast.JoinedStr | ast.Constant):
            text = "".join(written(part, known) for part in getattr(node, "values", [node]))
            if len(text.split()) >= 3:
                yield text


def written(part, known):
    """A part of an f-string as it will stand there, as far as that is known; values are gaps."""
    if isinstance(part, ast.Constant):
        return part.value if isinstance(part.value, str) else ""
    return known.get(getattr(part.value, "id", ""), "\0")


@functools.cache
def ours():
    """Every sentence of the package."""
    return "\n\n".join(text for tree in TREES.values() for text in sentences(tree))


def searches(tree):
    """What is searched in texts of this module and stands in a sentence of ours."""
    replaced = {
        id(call.args[0])
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "replace" and call.args
    }  # a phrase may be put together from parts, so that no sentence has it whole
    return {
        text
        for node, text, about in needles(tree)
        if is_phrase(text, about=about) and (text in ours() or (id(node) in replaced and " " in text.strip()))
    }


@pytest.mark.slow
def test_nothing_searches_in_our_sentences():
    """But for what is said in `SEARCHES`, of which nothing is there in vain."""
    assert {(path, text) for path, tree in TREES.items() for text in searches(tree)} == set(SEARCHES)


@pytest.mark.parametrize(
    "planted",
    [
        'sides = [side for side in ("baseline", "candidate") if f" of the {side}" in text]',
        'said = text.replace("binaries", "executions")',
        'said = each.replace("binaries of the baseline", "executions of the default layout")',
        'brief = line.replace("left out ", "", 1)',
        'lost = warning.startswith("no ratio for the suite")',
        'import re\nfound = re.search("same .* mean, so the interval", text)',
        'PART = "hardly support an interval"\nis_few = PART in str(each)',
        'message = failed.error.split("\\nFull log: ")[0]',
        'is_lost = "failed" in str(error)',
    ],
)
def test_a_planted_search_is_found(planted):
    assert searches(ast.parse(planted))
