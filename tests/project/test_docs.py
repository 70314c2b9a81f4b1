"""Documentation that is true: its commands exist, its configurations are valid, its links lead somewhere, outputs are real."""

import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import get_args

import pytest
import tomlkit
import typer.main
import yaml

from layoutrand.analysis import reasons
from layoutrand.analysis.layout_part import PRACTICALLY_NONE
from layoutrand.config import config, layout_policy, toolchain
from layoutrand.config.jdk import factors_of_a_jdk
from layoutrand.config.schedule import Order
from layoutrand.interop import exports, table
from layoutrand.interop import formats as importable
from manual import site
from startkit import layoutrand

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
GENERATED = {"rates.md", "inert.md", "packages.md", "reference/commands.md"}
PAGES = {"README.md": README} | {
    f"docs/{path.relative_to(DOCS)}": path
    for path in sorted(DOCS.rglob("*.md"))
    if str(path.relative_to(DOCS)) not in GENERATED
}
LINKED = (
    PAGES | {path: ROOT / path for path in site.ELSEWHERE} | {f"docs/{name}": DOCS / name for name in sorted(GENERATED)}
)
MAIN = """\
#include <stdio.h>
int square(int), cube(int);
int main(void) { printf("%d %d\\n", square(7), cube(3)); return 0; }
"""
INTERNAL = {"LAYOUTRAND_DRIVER", "LAYOUTRAND_LTO_RECORD", "LAYOUTRAND_WRAPPER_DUMP"}
"""Variables between layoutrand's own processes."""

INTERNAL_DOCUMENTS = {"bundle", "capture", "carried", "kept-build", "key", "undo", "written"}
"""Schemas of files that layoutrand writes for itself."""


def text_of(page):
    return PAGES[page].read_text("utf-8")


def section(page, title):
    """What stands under a heading of a page."""
    parts = text_of(page).split(f"\n## {title}\n")
    assert len(parts) == 2, title
    return parts[1].split("\n## ")[0]


def blocks(text, *languages):
    """Fenced code of these languages, without indentation."""
    found = re.findall(r"^( *)```(\w+)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [re.sub(f"^{indent}", "", code, flags=re.MULTILINE) for indent, name, code in found if name in languages]


def recorded(text):
    """Commands that are shown with their output: (words after layoutrand, the output)."""
    for block in blocks(text, "text"):
        if match := re.match(r"\$ layoutrand (.*--import .*)\n", block):
            yield shlex.split(match[1]), block[match.end() :]


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "myproject"
    folder.mkdir()
    (folder / "Makefile").write_text(
        "PROG = powers\npowers: main.o square.o cube.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o powers\n"
    )
    (folder / "main.c").write_text(MAIN)
    for name, value in (("square", "x * x"), ("cube", "x * x * x")):
        parts = "".join(f"int {name}{k}(int x) {{ return x + {k}; }}\n" for k in range(5))
        (folder / f"{name}.c").write_text(f"int {name}(int x) {{ return {value}; }}\n{parts}")
    return folder


def test_the_readme_is_short():
    assert len(README.read_text("utf-8").splitlines()) <= 200


@pytest.mark.slow
def test_the_commands_of_the_pages_work(project, tmp_path):
    """Every `$ layoutrand ...` line of a console block succeeds, page after page, on a small program."""
    order = ["README.md", "docs/start/own.md", *PAGES]
    code = [block for page in dict.fromkeys(order) for block in blocks(text_of(page), "console")]
    commands = list(dict.fromkeys(line[2:] for block in code for line in block.splitlines() if line.startswith("$ ")))
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}

    (tmp_path / "runs").mkdir()
    for number, name in enumerate(("gcc-1", "gcc-2", "clang-1", "clang-2")):  # as hyperfine writes them
        text = json.dumps(
            {"results": [{"command": "fib", "times": [1.5 + number, 1.25 + number], "exit_codes": [0, 0]}]}
        )
        (tmp_path / f"runs/{name}.json").write_text(text)

    results = {}
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "layoutrand"
        done = layoutrand(*words[1:], cwd=tmp_path, env=env)
        results[command] = (done.returncode, done.stderr if done.returncode else "")

    assert len(commands) >= 15
    assert results == dict.fromkeys(commands, (0, ""))


def spoken(text):
    """Command lines of layoutrand, in code of any kind."""
    for block in blocks(text, "console", "sh", "text", "yaml"):
        for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
            if match := re.match(r"(?:\$ |- run: )?\s*(?:\S*/)?(layoutrand .*)", line.strip()):
                yield match[1]
    for span in re.findall(r"`(layoutrand [^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.M)):
        yield span


def words_of(line):
    """The words before a pipe or a redirection; None for what is no whole command line."""
    if "..." in line or re.search(r"\b[A-Z]{3,}\b", line):
        return None
    words = shlex.split(line, comments=True)[1:]
    return words[: next((place for place, word in enumerate(words) if re.match(r"\d?[|>&;]", word)), None)]


EAGER = {"--help", "-h", "--version", "-V", "--install-completion", "--show-completion"}


def parsed(command, words, parent=None):
    """Raise what the command line would, without executing anything."""
    if not words or EAGER & set(words) or words[0] == "help":
        return
    context = command.make_context(command.name, [words[0]], parent=parent) if hasattr(command, "commands") else None
    if context is None:
        command.make_context(command.name, list(words), parent=parent)
        return
    assert words[0] in command.commands, f"no command {words[0]}"
    if len(words) > 1 or not hasattr(command.commands[words[0]], "commands"):
        parsed(command.commands[words[0]], words[1:] or ["--quiet"][:0], context)


@pytest.fixture(scope="module")
def root():
    """The whole command line."""
    from layoutrand.cli import make_app

    return typer.main.get_command(make_app())


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_is_one_that_there_is(page, root):
    """Commands and options of a page exist, and values are of their type; `exec` takes what follows as it is."""
    wrong = {}
    for line in spoken(text_of(page)):
        words = words_of(line)
        if not words:
            continue
        try:
            parsed(root, words)
        except Exception as error:
            if not re.search(
                r"Missing (argument|parameter|option)|requires an argument", str(error)
            ):  # it is only named
                wrong[line] = repr(error)

    assert wrong == {}


def whole(found):
    """A configuration that is whole, made of a part."""
    systems = found.get("systems", {} if "matrix" in found else {"a": {}})
    for entry in found.get("warmup", []):
        if name := entry.get("system"):
            systems.setdefault(name, {})
    names = [each["name"] for each in found.get("benchmarks", [])]
    asked = [each["benchmark"] for each in found.get("warmup", []) if each["benchmark"] not in names]
    build = {"commands": ["make"], "artefacts": ["p"]} | found.get("build", {})
    if "matrix" in found or any("rev" in each for each in systems.values()):
        build = {"repo": "r"} | build
    if factors_of_a_jdk(found.get("layout", {}).get("factors", [])):
        systems, build = {"a": {"prebuilt": "/jdk"}}, {"artefacts": ["bin/java"]}
    base = {"project": {"name": "p"}, "systems": systems, "build": build}
    if asked:
        base["benchmarks"] = [{"name": name, "command": ["{artefact}"]} for name in asked]
    return found | base if "suite" not in found else found


@pytest.mark.parametrize("page", PAGES)
def test_every_configuration_is_valid(page):
    """Each block of TOML is accepted, the tables that it leaves out added; or it is a toolchain."""
    for code in blocks(text_of(page), "toml"):
        found = tomllib.loads(code)
        if "extends" in found:
            parent = lambda name: (ROOT / f"toolchains/{name}.toml").read_text()  # noqa: E731
            toolchain.parse(code, path=page, parent=parent, linkers=["gnu", "lld", "gold", "mold", "go"])
        elif "project" in found:
            assert config.parse(code, path=page).project.name == found["project"]["name"]
        else:
            config.parse(tomlkit.dumps(whole(found)), path=page)


def test_output_is_what_is_printed():
    """Of commands on numbers that are in the repository, to the character; `make manual` writes it anew."""
    shown = {page: list(recorded(text_of(page))) for page in PAGES}
    assert {"README.md", "docs/start/first.md", "docs/start/reading.md"} <= {page for page in shown if shown[page]}

    printed = {}
    for page, outputs in shown.items():
        for words, output in outputs:
            line = shlex.join(words)
            if line not in printed:
                printed[line] = layoutrand(*words, cwd=ROOT)
            assert printed[line].returncode == 0, printed[line].stderr
            lines = [each.rstrip() for each in printed[line].stdout.strip("\n").splitlines()]
            assert lines == output.strip("\n").splitlines(), (page, line, "make manual")


def slug(heading):
    """The name of a heading in links, as GitHub and the site have it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain)).strip("-")


@pytest.mark.parametrize("page", LINKED)
def test_links_lead_somewhere(page):
    """To a file of the repository, and to a heading that it has."""
    broken = []
    for part in re.split(r"^ *```.*?^ *```", LINKED[page].read_text("utf-8"), flags=re.DOTALL | re.MULTILINE):
        for _, target in site.LINK.findall(re.sub(r"`[^`\n]*`", "`x`", part)):
            path, _, heading = target.partition("#")
            file = LINKED[page] if not path else LINKED[page].parent / path
            if re.match(r"[a-z]+:", target):
                continue
            if not file.exists():
                broken.append(target)
            elif heading and file.suffix == ".md":
                names = {slug(each) for each in re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)}
                broken += [] if heading in names else [target]

    assert broken == []


def test_every_page_is_in_the_navigation_once():
    """And nothing there that is no page."""

    def leaves(node):
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return [node] if isinstance(node, str) else [leaf for each in inner for leaf in leaves(each)]

    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]

    assert sorted(leaves(yaml.safe_load(text)["nav"])) == sorted([*pages, *site.ELSEWHERE.values()])


def test_links_of_the_site_lead_to_pages():
    """What lies outside docs/ has a page, or its text stands there."""
    lead = lambda text, place: site.LINK.sub(lambda link: site.led(link, place), text)  # noqa: E731

    assert lead("[a](../../ARCHITECTURE.md#how-to-add)", "guides/ci.md") == "[a](../project/architecture.md#how-to-add)"
    assert lead("[b](../rates.md) [c](#d)", "guides/ci.md") == "[b](../rates.md) [c](#d)"
    assert lead("[e](docs/rates.md)", "project/architecture.md") == "[e](../rates.md)"
    assert lead("[f](build.sh) [g](https://h)", "examples/cint.md") == "f [g](https://h)"
    assert site.outside_of_code("x\n```sh\nx\n```\nx\n", str.upper) == "X\n```sh\nx\n```\nX\n"


def test_the_suites_of_the_guides_are_what_their_text_says():
    """DaCapo and SPEC CPU: iterations, systems, size."""
    dacapo = config.parse(blocks(text_of("docs/guides/dacapo.md"), "toml")[0], path="dacapo.md")
    spec = config.parse(blocks(text_of("docs/guides/spec.md"), "toml")[0], path="spec.md")

    assert (dacapo.suite.iterations, list(dacapo.systems)) == (10, ["serial", "parallel"])
    assert (spec.suite.kind, spec.suite.size, list(spec.systems)) == ("spec-cpu", "ref", ["O2", "O3"])


def test_the_cluster_of_the_guide_is_what_its_text_says():
    """The defaults that are named beside it."""
    (block,) = blocks(text_of("docs/guides/cluster.md"), "toml")

    parsed_ = config.parse(tomlkit.dumps(whole(tomllib.loads(block))), path="cluster.md").cluster

    assert (parsed_.kind, parsed_.partition, parsed_.minutes, parsed_.at_once) == ("slurm", "batch", 60, 256)
    assert (parsed_.chunk, parsed_.cpus, parsed_.retries) == (8, 1, 2)


def test_the_matrix_of_the_guide_is_the_systems_it_says():
    """Six systems, named as the text does."""
    text = text_of("docs/guides/matrix.md")

    systems = list(config.parse(tomlkit.dumps(whole(tomllib.loads(blocks(text, "toml")[0]))), path="matrix.md").systems)

    assert len(systems) == 6
    assert f"six systems, `{systems[0]}` to `{systems[-1]}`" in text


def test_the_metric_of_the_guide_reads_the_numbers_that_it_says():
    """Direction and warm-up that the text gives them."""
    found = whole(tomllib.loads(blocks(text_of("docs/guides/numbers.md"), "toml")[0]))

    (benchmark,) = config.parse(tomlkit.dumps(found), path="numbers.md").benchmarks

    metric = benchmark.metric
    numbers = {
        n.name: (n.unit, n.better, metric.warmup if n.warmup is None else n.warmup) for n in metric.numbers().values()
    }
    assert numbers == {"throughput": ("1/s", "more", 5), "p99": ("ms", "less", 0)}


def test_the_orders_of_the_page_are_those_there_are():
    """One row for each."""
    table_of_orders = section("docs/concepts/executions.md", "The order of executions")

    assert re.findall(r"^\| `(\w+)` \|", table_of_orders, re.MULTILINE) == list(get_args(Order))


def test_the_factors_of_the_page_are_those_there_are():
    """Every factor has a row."""
    rows = section("docs/reference/toolchains.md", "Factors")
    there = {
        name for row in re.findall(r"^\| (`.*?) \|", rows, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", row)
    }

    assert there == set(get_args(layout_policy.Factor))


def test_the_make_targets_that_are_named_exist():
    """`make demo` and the like, on any page."""
    there = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = {name for page in PAGES for name in re.findall(r"`make ([\w-]+)", text_of(page))}

    assert named - set(there) == set()
    for target in ("demo", "test"):
        assert f"make {target}" in README.read_text("utf-8")
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_every_format_and_column_of_other_harnesses_is_documented():
    """What can be imported and exported stands on the page about it."""
    page = text_of("docs/guides/import.md")
    names = [*importable.FORMATS, *table.COLUMNS]

    assert [name for name in names if f"`{name}`" not in page] == []
    way_back = page.split("The other way, ")[1]
    assert [
        name for name in exports.FORMATS if f"--format {name} " not in way_back and name.upper() not in way_back
    ] == []


def in_source(pattern):
    return {
        found
        for folder in (ROOT / "src/layoutrand", ROOT / "templates")
        for path in folder.rglob("*")
        if path.suffix in {".py", ".j2"}
        for found in re.findall(pattern, path.read_text("utf-8"))
    }


def test_every_variable_is_documented():
    """Those that are for users."""
    page = text_of("docs/reference/environment.md")

    assert (
        set(re.findall(r"^\| `(LAYOUTRAND_\w+)`", page, re.MULTILINE))
        == in_source(r"\bLAYOUTRAND_[A-Z_]+\b") - INTERNAL
    )


def test_every_document_is_documented():
    """Schemas by name and version."""
    page = text_of("docs/reference/json.md")
    told = set(re.findall(r"`layoutrand/([a-z-]+)/(\d+)`", page))

    assert told == {
        (name, version) for name, version in in_source(r"layoutrand/([a-z-]+)/(\d+)") if name not in INTERNAL_DOCUMENTS
    }


def test_every_cause_of_not_knowing_has_a_row():
    """What takes a verdict away, by the word that stands beside it; wide intervals are told by what would decide."""
    page = text_of("docs/guides/cannot-tell.md")
    causes = {each.cause for each in reasons.MEANINGS.values() if each.effect == "undecides"}

    assert [cause for cause in causes - {"interval too wide"} if f"\n| `{cause}` |" not in page] == []


def test_every_exit_status_is_documented():
    """Those of errors, of `--fail-if`, of an interrupt."""
    page = text_of("docs/reference/exit-status.md")

    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == ["0", "1", "2", "3", "4", "130"]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("guides/factors.md", "| practically none | alone its layouts differ by less than {} %, as in `analyse` |"),
        ("concepts/statistics.md", "*practically none*, below {} %"),
    ],
)
def test_practically_none_is_what_it_is(page, words):
    assert words.format(f"{100 * PRACTICALLY_NONE:g}") in (DOCS / page).read_text("utf-8")


def test_how_far_a_change_that_changes_nothing_moves_a_build():
    """By its simulated cycles; what the page on results says of it."""
    rows = map(json.loads, (DOCS / "data/inert-cycles.jsonl").read_text("utf-8").splitlines())
    moved = sorted(abs(row["gate"]["ratio"] - 1) for row in rows if row["target"] == 0)

    assert 0.0011 < moved[int(0.9 * len(moved))] < 0.0012
    assert "nine of ten moved a build by less than 0.12 %" in (DOCS / "start/reading.md").read_text("utf-8")


def test_the_screen_of_a_history_is_what_is_printed():
    """The transcript that `tests/screens/test_history_screen.py` compares."""
    printed = (ROOT / "tests/screens/answers/history-80.txt").read_text("utf-8").strip()

    assert printed in (DOCS / "guides/over-time.md").read_text("utf-8")
