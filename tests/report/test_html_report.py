"""The HTML report: well-formed, self-contained, escaped, light, the same for the same data, and true to the analysis."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import itertools
import random
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from experiments import execution, measured, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_pair
from layoutrand.analysis.conclusion_words import verdict_words
from layoutrand.analysis.layout_words import INSTEAD
from layoutrand.analysis.sentences import of_ratio, of_suite
from layoutrand.cache.capture_record import Capture, tools_of
from layoutrand.cli import run as layoutrand
from layoutrand.config.config import parse
from layoutrand.config.seeds import format_seeds
from layoutrand.errors import UnknownMetric, UsageError
from layoutrand.execute.experiment import current_context
from layoutrand.interop.importing import ImportQuestion, import_selection
from layoutrand.model import BuildFailure, Context, Measurement
from layoutrand.report import canvas, course, machine_section, plot
from layoutrand.report import row_figures as rows
from layoutrand.report.html import render
from layoutrand.report.whole_page import report
from layoutrand.text.quantities import in_a_column, ratio_words
from reportkit import HOSTILE, SVG, contexts, noise, page_of, recorded, table_of
from warningkit import Sentence

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Reader(HTMLParser):
    """Checks that tags are nested, and collects what tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.attributes, self.ids = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def html_of(selection, **options):
    return render(page_of(selection, **options))


def figures_in(text):
    return [ET.fromstring(part) for part in re.findall(r'<svg [^>]*class="figure".*?</svg>', text, re.DOTALL)]


def cards_of(page):
    return {card.name: card for card in page.cards}


def sha256_of(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_page_is_whole_and_needs_nothing_else(tmp_path):
    text = html_of(recorded(tmp_path, executions=2))

    reader = Reader(text)

    assert {"link", "img", "iframe", "object"} & set(reader.tags) == set()
    assert reader.tags.count("script") == 1
    assert not [value for name, value in reader.attributes if name in {"src", "srcset", "onload", "style"}]
    assert all(value.startswith("#") for name, value in reader.attributes if name == "href")
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert len(reader.ids) == len(set(reader.ids))
    assert {value[1:] for name, value in reader.attributes if name == "href"} <= set(reader.ids)


def test_the_one_script_is_small_and_the_only_one_that_is_allowed(tmp_path):
    text = html_of(recorded(tmp_path))

    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)

    assert len(script) < 6000
    (policy,) = [value for name, value in Reader(text).attributes if name == "content" and "default-src" in value]
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{sha256_of(script)}'"
    assert not re.search(r"\b(eval|Function|innerHTML|fetch|import)\b", script)


@pytest.mark.slow
def test_without_the_script_there_is_nothing_that_only_it_could_do(tmp_path):
    page = page_of(recorded(tmp_path))
    text = render(page, script=False)

    reader = Reader(text)

    assert {"script", "form", "button", "input", "select"} & set(reader.tags) == set()
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in reader.attributes
    with_it = Reader(render(page)).text
    assert [word for word in reader.text.split() if word not in with_it.split()] == []


def test_every_figure_is_an_image_with_a_title_and_a_description(tmp_path):
    text = html_of(recorded(tmp_path, executions=2))

    found = figures_in(text)

    assert len(found) == 2 * 5
    for figure in found:
        assert figure.get("role") == "img"
        assert figure.findtext("s:title", namespaces=SVG)
        assert figure.findtext("s:desc", namespaces=SVG)
        assert figure.get("viewBox").startswith(f"0 0 {canvas.WIDTH} ")


def test_numbers_are_those_of_the_analysis(tmp_path):
    selection = recorded(tmp_path, executions=2)
    words = Reader(html_of(selection)).text
    ratios = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)

    for pair in ratios.benchmarks:
        assert " ".join(ratio_words(pair.ratio.centre, pair.ratio.low, pair.ratio.high)) in words
        assert of_ratio(ratios, pair) in words
    suite = ratios.suite.ratio
    said = " ".join(ratio_words(suite.centre, suite.low, suite.high))
    assert f"geometric mean of 2 {said}" in " ".join(words.split())
    assert of_suite(ratios) in words
    analyses = analyse(selection, confidence=0.95, metrics=["wall_s"]).analyses
    for analysis in analyses:
        assert f"{100 * analysis.levels[0].relative_sd:.2f} %" in words
    for benchmark in ("fib", "sort"):
        means = [mean for a in analyses if a.benchmark == benchmark for _, mean in (*a.binary_means, (0, a.stock.mean))]
        assert all(said in words for said in in_a_column(means, "s"))


def test_as_many_marks_as_binaries_and_executions(tmp_path):
    text = html_of(recorded(tmp_path, systems=("a",), names=("fib",), n=7, executions=3, stock=False))

    strip, order, *_ = [
        [p.get("d") for p in f.findall("s:path", SVG) if p.get("class") == "dot s0"] for f in figures_in(text)
    ]

    assert strip[0].count("M") == 7
    assert order[0].count("M") == 21


def test_equal_data_give_an_equal_page(tmp_path):
    pages = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        selection = recorded(tmp_path / name)
        pages.append(html_of(selection, known=contexts(tmp_path / name, selection)))
    assert pages[0] == pages[1]


def test_hostile_names_are_shown_and_nothing_else(tmp_path):
    selection = recorded(tmp_path, n=3)
    renamed = dataclasses.replace(
        selection,
        experiment=dataclasses.replace(selection.experiment, project=HOSTILE, hostname=HOSTILE),
        samples=tuple(
            dataclasses.replace(s, benchmark=HOSTILE + s.benchmark, system=s.system + HOSTILE)
            for s in selection.samples
        ),
        executions=tuple(
            dataclasses.replace(e, benchmark=HOSTILE + e.benchmark, system=e.system + HOSTILE)
            for e in selection.executions
        ),
        failures=(dataclasses.replace(selection.executions[0], status="exit", reason=HOSTILE, log=HOSTILE),),
        build_failures=(BuildFailure("a", HOSTILE, 9, HOSTILE, None),),
        warnings=(Sentence(HOSTILE),),
    )
    facts = {"cpu_model": HOSTILE, HOSTILE: None}
    config = {
        "systems": {HOSTILE: {"toolchain": HOSTILE, "cflags": HOSTILE}},
        "benchmarks": [],
        "build": {"commands": [HOSTILE]},
    }
    known = [Context("0", config, "d", 1, facts, {"native": HOSTILE})]

    text = html_of(renamed, baseline="a" + HOSTILE, known=known)

    reader = Reader(text)
    assert reader.tags.count("script") == 1
    assert "<script>alert('1')</script> \"a\" & b </title>" in reader.text
    assert not re.search("[\0-\x09\x0b-\x1f\x7f]", text)
    assert len(figures_in(text)) == len(figures_in(html_of(selection)))


def test_one_binary_says_that_layouts_cannot_be_seen(tmp_path):
    words = Reader(html_of(recorded(tmp_path, n=1, stock=False))).text
    assert "There is one binary of each system here" in words
    assert "fib: no ratio can be given" in words or "without bounds" in words


def test_one_system_has_no_ratios_but_findings(tmp_path):
    selection = recorded(tmp_path, systems=("a",))
    page = page_of(selection)
    assert [section.title for section in page.sections][:2] == ["All benchmarks", "What the numbers rest on"]
    assert sorted(cards_of(page)) == ["fib", "sort"]
    (banner,), (forest,) = page.banners, page.forests
    assert banner.question == "How much does code layout matter?"
    assert sorted(row.name for row in forest.rows) == ["fib", "sort"]
    assert any("one more binary would show" in each for each in cards_of(page)["fib"].sentences)


def test_constant_values_are_drawn(tmp_path):
    config = make_config(table_of(["fib"]), systems=("a",))
    write(config, tmp_path, measured(config, tmp_path, "a", "fib", {k: [[0.0], [0.0]] for k in range(1, 4)}))
    text = html_of(selected(config, tmp_path))
    Reader(text)
    assert len(figures_in(text)) >= 3


def test_failures_alone_are_listed(tmp_path):
    config = make_config(table_of(["fib"]))
    failed = [execution(config, tmp_path, "a", "fib", k, status="timeout", reason="ended after 60 s") for k in (1, 2)]
    write(config, tmp_path, failed, [BuildFailure("b", "prog", 3, "ld failed", None)])

    selection = selected(config, tmp_path)
    page = page_of(selection, known=contexts(tmp_path, selection))
    words = Reader(render(page)).text

    assert {light.link for light in page.lights} <= set(Reader(render(page)).ids)
    assert "No seed was executed successfully" in words
    assert words.count("ended after 60 s") == 2
    assert "2 failed executions" in words


def test_systems_without_a_common_benchmark_are_said_to_be(tmp_path):
    config = make_config(table_of(["fib", "sort"]))
    items = measured(config, tmp_path, "a", "fib", noise(1, 3)) + measured(config, tmp_path, "b", "sort", noise(2, 3))
    write(config, tmp_path, items)
    words = Reader(html_of(selected(config, tmp_path))).text
    assert "b could not be compared with a: a and b have no benchmark in common" in words


def test_iterations_get_an_autocorrelation(tmp_path):
    metric = "metric = {regex = '(x)', name = 'op', unit = 'ms', wall = false}"
    config = make_config(f'[[benchmarks]]\nname = "fib"\ncommand = ["x"]\n{metric}\n', systems=("a",))
    draw = random.Random(3)
    items = []
    for seed in (1, 2, 3):
        values = tuple(Measurement("op", "ms", k, 5 + draw.random(), warmup=False) for k in range(20))
        items.append(execution(config, tmp_path, "a", "fib", seed, measurements=values))
    write(config, tmp_path, items)
    words = Reader(html_of(selected(config, tmp_path))).text
    assert "20 iterations of the first execution of seed 1" in words
    assert "op [ms]" in words


def test_imported_numbers_make_a_page_without_host(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(
        "system,benchmark,seed,value\n" + "".join(f"{s},fib,{k},{k + 1}.5\n" for s in "xy" for k in range(4))
    )
    selection = import_selection(ImportQuestion([str(path)], None, "benchmarks", 0, [], []))
    words = Reader(html_of(selection, baseline="x")).text
    assert "do not say in which order" in words
    assert "y / x" in words


def test_how_to_make_it_again_is_told_as_recorded(tmp_path):
    selection = recorded(tmp_path)
    words = Reader(html_of(selection, known=contexts(tmp_path, selection))).text
    assert "layoutrand run --seeds 1..5" in words
    assert "2001-09-09 01:46 UTC" in words
    assert "schedule seed 1 " in words
    assert "'<b>&x'" in words


@pytest.mark.parametrize(
    "values", [[], [0.0], [5e-324], [1e308, -1e308], [1e9, 1e9 + 1e-6], [float("inf"), 1.0], [3.0, 3.0]]
)
def test_any_values_can_be_drawn(values):
    chart = rows.RowChart(
        "t", "d", "x", [rows.FigureRow("r", "v", 0, points=values, interval=(float("-inf"), 1.0, float("inf")))]
    )
    points = [(v, v) for v in values if v != float("inf")]
    drawn = [rows.draw(chart), plot.draw(plot.Plot("t", "d", "x", "y", [plot.Series("s", 1, "points", points)]))]
    for svg in drawn:
        ET.fromstring(svg)
        assert "nan" not in svg
        assert all(-1 <= float(x) <= canvas.WIDTH + 1 for x in re.findall(r"M(-?[\d.]+) ", svg))


def test_tick_labels_differ():
    for low, high in ((0.9991, 0.9999), (27_000_100, 27_000_190), (1e12, 1e12 + 7), (0, 1e-9)):
        labels = [label for _, label in canvas.labelled_ticks(low, high)]
        assert len(labels) == len(set(labels)) >= 3


@pytest.mark.hour
@pytest.mark.slow
def test_a_large_experiment_makes_a_file_below_two_megabytes(tmp_path):
    names = [f"benchmark-{k}" for k in range(20)]
    text = html_of(recorded(tmp_path, systems=("a", "b", "c"), names=names, n=100))
    Reader(text)
    assert len(text.encode()) < 1.7e6


def test_the_command_writes_a_file(tmp_path, monkeypatch, capsys):
    path = tmp_path / "in.csv"
    path.write_text(
        "system,benchmark,seed,value\n" + "".join(f"{s},fib,{k},{k + 1}.5\n" for s in "xy" for k in range(4))
    )
    monkeypatch.chdir(tmp_path)

    assert layoutrand(["report", "--import", str(path), "-o", "out.html", "--baseline", "y"]) == 0

    assert "x / y" in (tmp_path / "out.html").read_text()
    assert "wrote out.html\n" in capsys.readouterr().err
    assert "<script>" in (tmp_path / "out.html").read_text()
    assert layoutrand(["report", "--import", str(path), "-o", "mail.html", "--no-script"]) == 0
    assert "<script>" not in (tmp_path / "mail.html").read_text()
    assert layoutrand(["report", "--import", str(path), "--baseline", "nobody"]) == UsageError.exit_status


def test_another_metric_can_be_reported(tmp_path):
    config = make_config(table_of(["fib"]))
    values = (
        Measurement("wall_s", "s", 0, 1.0, warmup=False),
        Measurement("max_rss_bytes", "B", 0, 2.0**21, warmup=False),
    )
    items = [execution(config, tmp_path, s, "fib", k, measurements=values) for s in "ab" for k in (1, 2)]
    write(config, tmp_path, items)
    selection = selected(config, tmp_path)

    words = Reader(render(report(selection, [], "a", confidence=0.95, threshold=0.01, metric="max_rss_bytes"))).text

    assert "max_rss_bytes [MiB]" in words
    assert "wall_s" not in words
    with pytest.raises(UnknownMetric, match="no execution measured 'x'"):
        report(selection, [], "a", confidence=0.95, threshold=0.01, metric="x")


def test_levels_of_the_machine_are_shaded_and_lead_from_the_light(tmp_path):
    config = make_config(table_of(["fib"]), systems=("a",))
    draw = random.Random(2)
    names = [each for k in range(1, 13) for each in (k, "stock", "stock")]
    items = []
    for place, layout in enumerate(names):
        slow = place % 20 in range(9, 16)
        own = measured(config, tmp_path, "a", "fib", {layout: [[draw.gauss(1, 0.002) * (1.5 if slow else 1)]]})
        items += [dataclasses.replace(each, round=place, started_at=1e9 + place) for each in own]
    write(config, tmp_path, items)

    page = page_of(selected(config, tmp_path))

    lights = {light.name: light for light in page.lights}
    assert (lights["machine quiet"].state, lights["nothing failed"].state) == ("doubtful", "good")
    order = next(figure for figure in page.cards[0].figures if figure.anchor == lights["machine quiet"].link)
    assert order.svg.count('class="regime"') == 2
    assert order.caption.startswith("The machine switched between levels, ")
    assert {f"#{light.link}" for light in page.lights} <= {f"#{name}" for name in Reader(render(page)).ids}


def test_a_machine_that_changed_once_did_so_once(tmp_path):
    """The caption of a figure for a paper had "1 times"."""
    config = make_config(table_of(["fib"]), systems=("a",))
    draw = random.Random(2)
    items = []
    for place, layout in enumerate([each for k in range(1, 13) for each in (k, "stock", "stock")]):
        own = measured(config, tmp_path, "a", "fib", {layout: [[draw.gauss(1, 0.002) * (1.5 if place > 17 else 1)]]})
        items += [dataclasses.replace(each, round=place, started_at=1e9 + place) for each in own]
    write(config, tmp_path, items)
    captions = [figure.caption for figure in page_of(selected(config, tmp_path)).cards[0].figures]
    assert any(each.startswith("The machine switched between levels, once: one binary ") for each in captions)


def rounds_of(project, value, systems=("a",)):
    """Thirty rounds of systems with both controls, as `tests/analysis/test_machine.py` has them, and a page of it."""
    config = make_config(table_of(["fib"]), systems=systems)
    rows = []
    for seed in range(1, 31):
        for layout, system in itertools.product((seed, "stock", "identity"), systems):
            measurement = Measurement("wall_s", "s", 0, value(layout, len(rows)), warmup=False)
            made = execution(config, project, system, "fib", layout, round=seed, measurements=(measurement,))
            rows.append(dataclasses.replace(made, started_at=1e9 + len(rows)))
    write(config, project, rows)
    return page_of(selected(config, project))


def test_why_no_part_is_known_is_told_once_for_all_systems(tmp_path):
    draw = random.Random(2)
    page = rounds_of(
        tmp_path, lambda _, place: (107 if place % 60 in range(25, 50) else 72) * draw.gauss(1, 0.02), ("a", "b")
    )
    assert page.cards[0].shares == [("a, b", "", INSTEAD)]
    assert "as shares of the variance" not in Reader(render(page)).text


def what_varies_of(page):
    """Bars and words of the card, and (what, its size, its share) of the table behind the figure."""
    (card,) = page.cards
    (figure,) = [each for each in card.more if each.heading == "What varies"]
    return [(bar, words) for _, bar, words in card.shares], [row[1:] for row in figure.table.rows]


def test_no_part_of_the_variance_is_called_that_of_layouts_where_the_machine_made_it(tmp_path):
    draw = random.Random(2)
    page = rounds_of(tmp_path, lambda _, place: (107 if place % 60 in range(25, 50) else 72) * draw.gauss(1, 0.02))

    (share,), table = what_varies_of(page)

    assert share == ("", INSTEAD)
    assert [row[0] for row in table] == ["layout", "executions of one binary"]
    assert table[0][1:] == ("cannot tell: machine", "-")
    assert table[1][2] == "-"
    text = Reader(render(page)).text
    assert not re.search(r"layout \d+ %", text)
    assert "machine, not layout: that the machine changed its speed" in text
    (summary,) = [each for each in page.sections if each.anchor == "summary"]
    (row,) = summary.tables[0].rows
    assert row[summary.tables[0].columns.index("layout matters?")] == "cannot tell: machine"


@pytest.mark.parametrize(("of_layouts", "has_bar"), [(0.002, False), (0.05, True)])
def test_the_bar_of_what_varies_needs_a_verdict_that_bears_it_out(tmp_path, of_layouts, has_bar):
    draw = random.Random(3)
    moved = {seed: draw.gauss(1, of_layouts) for seed in range(1, 31)}
    page = rounds_of(tmp_path, lambda layout, _: moved.get(layout, 1.0) * draw.gauss(1, 0.02))

    ((bar, words),), table = what_varies_of(page)

    assert bool(bar) is has_bar
    assert words.startswith("layout " if has_bar else "cannot tell whether layout matters: it may add up to")
    assert all((share != "-") is has_bar for *_, share in table)


def test_the_lights_tell_what_is_not_known_and_what_went_wrong(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(
        "system,benchmark,seed,value\n" + "".join(f"{s},fib,{k},{k + 1}.5\n" for s in "xy" for k in range(4))
    )
    imported = page_of(import_selection(ImportQuestion([str(path)], None, "benchmarks", 0, [], [])), baseline="x")
    assert {light.name: light.state for light in imported.lights} == {
        "machine quiet": "unknown",
        "nothing failed": "unknown",
        "layouts enough": "doubtful",
        "no drift": "unknown",
    }

    assert {light.link for light in imported.lights} <= set(Reader(render(imported)).ids)
    selection = recorded(tmp_path, systems=("a",), names=("fib",), n=3, stock=False)
    failed = dataclasses.replace(selection.executions[0], status="exit", reason="no")
    page = page_of(dataclasses.replace(selection, failures=(failed,)))
    lights = {light.name: light for light in page.lights}
    assert (lights["nothing failed"].state, lights["nothing failed"].link) == ("bad", "failures")
    assert "failures" in page.unfolded
    assert lights["no drift"].state == "unknown"  # three executions do not tell
    assert (
        lights["layouts enough"].sentence.startswith("fib: ")
        or "cannot tell on fib" in lights["layouts enough"].sentence
    )
    assert lights["layouts enough"].state == "bad"


def test_means_around_zero_are_no_error(tmp_path):
    config = make_config(table_of(["fib"]), systems=("a",))
    data = {1: [[-1.0]], 2: [[1.0]], "stock": [[-1.0], [1.0]]}
    write(config, tmp_path, measured(config, tmp_path, "a", "fib", data))
    assert "the mean over 2 layouts is 0" in Reader(html_of(selected(config, tmp_path))).text


def test_what_was_recorded_beside_the_executions_is_read_back(tmp_path):
    selection = recorded(tmp_path, n=2)
    assert contexts(tmp_path, selection) == [current_context(make_config(table_of(("fib", "sort"))))]


def test_no_system_vanishes_when_executions_are_thinned(tmp_path, monkeypatch):
    monkeypatch.setattr(course, "_MOST_PLOTTED", 10)
    config = make_config(table_of(["fib"]))
    pairs = zip(*(measured(config, tmp_path, s, "fib", noise(k, 10)) for k, s in enumerate("ab")), strict=True)
    items = [dataclasses.replace(e, started_at=float(n)) for n, e in enumerate(e for pair in pairs for e in pair)]
    write(config, tmp_path, items)

    text = html_of(selected(config, tmp_path))

    (order,) = [f for f in figures_in(text) if f.findtext("s:title", namespaces=SVG) == "fib: order of execution"]
    drawn = [(p.get("class"), p.get("d").count("M")) for p in order.findall("s:path", SVG)]
    assert {("dot s0", 5), ("square s1", 5)} <= set(drawn)
    assert "One in 2 of the 20 executions is shown" in Reader(text).text


def test_benchmarks_without_the_metric_are_named(tmp_path):
    config = make_config(table_of(["fib", "sort"]), systems=("a",))
    items = measured(config, tmp_path, "a", "fib", noise(1, 3))
    items += measured(config, tmp_path, "a", "sort", noise(2, 3), metric="max_rss_bytes", unit="B")
    write(config, tmp_path, items)
    words = Reader(html_of(selected(config, tmp_path))).text
    assert "sort: no execution measured its main metric, so it is not in this report" in words


@pytest.mark.parametrize(
    ("seeds", "text"), [([], ""), ([7], "7..7"), ([3, 1, 2, 9], "1..3,9"), ([5, 4, 7, 8], "4..5,7..8")]
)
def test_seeds_are_written_as_they_are_asked_for(seeds, text):
    assert format_seeds(seeds) == text


def capture_of(system, *, source, cc="gcc (Debian) 12.2.0", ld="GNU ld 2.40"):
    tools = {"cc": {"version": cc}, "cxx": {"version": "g++ 12"}, "ld": {"version": ld}}
    return Capture(f"capture-of-{system}", system, "gcc", True, tools, source, 1.0, 1, ())


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"commit": "ab" * 20, "repo": "/r.git"}, "commit abababababab of /r.git"),
        ({"digest": "cd" * 32, "git": None}, "files cdcdcdcdcdcd"),
        (
            {"digest": "cd" * 32, "git": {"commit": "ef" * 20, "dirty": True}},
            "files cdcdcdcdcdcd, commit efefefefefef with changes",
        ),
        ({}, "not recorded"),
    ],
)
def test_compiler_linker_and_source_are_told_where_they_were_recorded(tmp_path, source, text):
    selection = recorded(tmp_path)
    made = {"capture-of-a": tools_of(capture_of("a", source=source))}
    known = [dataclasses.replace(context, tools=made) for context in contexts(tmp_path, selection)]
    page = report(selection, known, "a", confidence=0.9, threshold=0.02)
    (host,) = [section for section in page.sections if section.anchor == "host"]
    (tools,) = [table for table in host.tables if "linkers" in table.caption]

    assert tools.rows == [("a", "gcc (Debian) 12.2.0; g++ 12", "GNU ld 2.40", text)]
    assert list(host.paragraphs) == [
        "Compiler, linker and source of b are not known: they were not recorded with the executions."
    ]
    assert "--threshold 2% --confidence 0.9" in Reader(render(page)).text


def test_of_rust_the_compiler_is_rustc_before_those_of_c():
    """A crate without any C was "built with" gcc, g++ and gfortran, and rustc was nowhere."""
    found = capture_of("a", source={})
    found.tools["rustc"] = {"version": "rustc 1.95.0"}
    assert tools_of(found)["compilers"] == "rustc 1.95.0; gcc (Debian) 12.2.0; g++ 12"


def test_what_the_numbers_rest_on_and_what_they_leave_out_is_told(tmp_path):
    metric = "metric = {regex = '(x)', name = 'op', unit = 'ms', wall = false, warmup = 3}"
    config = make_config(f'[[benchmarks]]\nname = "fib"\ncommand = ["x"]\n{metric}\n', systems=("a",))
    items = [
        execution(
            config,
            tmp_path,
            "a",
            "fib",
            seed,
            capture=capture,
            measurements=tuple(Measurement("op", "ms", k, 5.0 + seed + k, warmup=k < 3) for k in range(5)),
            started_at=seed + (capture == "new") * 100.0,
            binary_sha256=f"{capture}{seed}",
        )
        for capture in ("old", "new")
        for seed in (1, 2, 4)
    ]
    write(config, tmp_path, items)

    page = page_of(selected(config, tmp_path))

    evidence, _, warnings = (
        next(s for s in page.sections if s.anchor == name) for name in ("evidence", "failures", "warnings")
    )
    assert evidence.tables[0].rows == [("a", "1..2,4", "3", "0", "0", "new", "not recorded")]
    assert "Left out: a: 3 executions of 1 other capture (" in evidence.paragraphs[0]
    assert "fib: warm-up left out, the first 3 of 5 iterations of each execution" in warnings.sentences


def test_verdicts_of_many_benchmarks_are_counted_named_and_adjusted(tmp_path):
    names = [f"bench-{k}" for k in range(10)]
    selection = recorded(tmp_path, names=names, n=8)
    result = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)

    page = page_of(selection)

    (banner,), (forest,) = page.banners, page.forests
    slower = [pair for pair in result.benchmarks if of_pair(result, pair).verdict == "slower"]
    assert len(slower) >= 2
    assert banner.question == "b against a"
    assert ("slower", f"✗ {len(slower)} slower") in [(chip.key, chip.words) for chip in banner.chips]
    largest_first = sorted(result.benchmarks, key=lambda pair: -pair.ratio.centre)
    assert [row.name for row in forest.rows] == [*(pair.benchmark for pair in largest_first), "geometric mean of 10"]
    assert [card.name for card in page.cards] == [pair.benchmark for pair in largest_first]
    keys = {row.name: row.chip.key for row in forest.rows}
    assert {pair.benchmark for pair in slower} == {
        name for name, key in keys.items() if key == "slower" and name in keys
    } - {"geometric mean of 10"}
    table = page.sections[0].tables[0]
    adjusted = {
        pair.benchmark: verdict_words(of_pair(result, pair).beside, 0.01, of_speed=True) for pair in result.benchmarks
    }
    assert {row[0]: row[3] for row in table.rows[:-1]} == adjusted
    assert table.rows[-1][0] == "geometric mean of 10"
    assert [row[0] for row in page.sections[0].tables[1].rows] == ["a", "b"]


def test_a_layout_far_from_the_others_is_marked_and_kept(tmp_path):
    config = make_config(table_of(["fib"]), systems=("a",))
    data = noise(1, 12) | {5: [[9.0]]}
    write(config, tmp_path, measured(config, tmp_path, "a", "fib", data))

    text = html_of(selected(config, tmp_path))

    strip = figures_in(text)[0]
    drawn = {p.get("class"): p.get("d").count("M") for p in strip.findall("s:path", SVG)}
    assert drawn["dot s0"] == 12
    assert 'd="M' in text and "m0-7l7 7l-7 7l-7-7z" in text
    assert Reader(text).words.count("far from the others") == 1


def test_letters_of_controls_that_are_alike_stand_apart():
    for values in ([1.0, 1.0], [0.0, 1e-9], [2.0, 2.0], [0.5, 1.5]):
        flags = list(zip(values, "SI", strict=True))
        chart = rows.RowChart("t", "d", "x", [rows.FigureRow("r", "v", 0, points=[0.0, 2.0], flags=flags)])
        letters = [t for t in ET.fromstring(rows.draw(chart)).findall("s:text", SVG) if t.text in {"S", "I"}]
        places = sorted(float(t.get("x")) for t in letters)
        assert places[1] - places[0] >= 9.9
        assert 4 <= places[0] and places[1] <= canvas.WIDTH - 4


@pytest.mark.parametrize(
    ("most", "text"), [(20, "main-clang-lld-O2"), (17, "main-clang-lld-O2"), (10, "main-…d-O2"), (3, "m…2"), (1, "m…2")]
)
def test_long_names_are_cut_where_they_differ_least(most, text):
    assert canvas.cut("main-clang-lld-O2", most) == text


def test_facts_of_the_host_are_told_for_people(tmp_path):
    facts = {"smt": False, "turbo": None, "memory_bytes": 2**33, "isolated_cpus": [], "cpus_allowed": [2, 3], "cpus": 4}
    selection = recorded(tmp_path)
    page = page_of(selection, known=[Context("0", {}, "d", 1, facts, {}), Context("0", {}, "d", 1, {"cpus": 2}, {})])
    (host,) = [section for section in page.sections if section.anchor == "host"]
    assert dict(host.tables[0].rows) == {
        "smt": "no",
        "turbo": "not known",
        "memory_bytes": "8 GiB",
        "isolated_cpus": "none",
        "cpus_allowed": "2, 3",
        "cpus": "4; then 2",
    }


def test_prebuilt_systems_have_no_compiler_to_tell(tmp_path):
    selection = recorded(tmp_path)
    config = {"systems": {"a": {"prebuilt": "/jdk"}, "b": {"toolchain": "gcc", "cflags": "-O2 -g", "args": "-x"}}}
    page = page_of(selection, known=[Context("0", config, "d", 1, {}, {})])
    (host,) = [section for section in page.sections if section.anchor == "host"]
    assert [table.caption for table in host.tables] == ["Systems"]
    assert host.tables[0].rows == [
        ("a", "none: it is prebuilt", "prebuilt=/jdk"),
        ("b", "gcc", "cflags='-O2 -g' args=-x"),
    ]
    assert host.paragraphs[0].startswith("Compiler, linker and source of b are not known")


def test_a_warning_of_many_is_told_once(tmp_path):
    names = [f"bench-{k}" for k in range(7)]
    page = page_of(recorded(tmp_path, names=names, n=3))
    (warnings,) = [section for section in page.sections if section.anchor == "warnings"]
    (line,) = [line for line in warnings.sentences if "3 binaries hardly support an interval" in line]
    assert line.startswith("bench-0 with a, bench-0 with b, bench-1 with a, bench-1 with b and 10 more: 3 binaries")


def test_the_place_of_stock_has_an_interval(tmp_path):
    selection = recorded(tmp_path, systems=("a",), names=("fib",), n=6)
    (analysis,) = analyse(selection, confidence=0.95, metrics=["wall_s"]).analyses
    summary = next(section for section in page_of(selection).sections if section.anchor == "summary").tables[0]
    row = dict(zip(summary.columns, summary.rows[0], strict=True))
    stock, centre = analysis.stock, analysis.mean.centre
    low, high = (100 * (1 / bound - 1) for bound in (stock.shift.high, stock.shift.low))
    assert row["stock"] == f"{100 * (stock.mean / centre - 1):+.1f} % [{low:+.1f}, {high:+.1f}]"
    assert low < 100 * (stock.mean / centre - 1) < high
    assert (row["benchmark"], row["binaries"], row["executions"]) == ("fib", "6", "6")


def test_small_differences_are_neither_nothing_nor_minus_nothing(tmp_path):
    """Of one value in all layouts nothing is given in percent, and the same words are used in table and sentence."""
    config = make_config(table_of(["fib", "flat"]), systems=("a",))
    rows = measured(config, tmp_path, "a", "fib", {1: [[0.9998]], 2: [[1.02]], 3: [[0.9802]], "stock": [[0.99997]] * 2})
    rows += measured(config, tmp_path, "a", "flat", {1: [[0.1]], 2: [[0.1]], 3: [[0.1]], "stock": [[0.1]] * 2})
    write(config, tmp_path, rows)
    page = page_of(selected(config, tmp_path))
    summary = next(section for section in page.sections if section.anchor == "summary").tables[0]
    fib, flat = (dict(zip(summary.columns, row, strict=True)) for row in summary.rows)

    assert (fib["one more binary"], fib["stock"].partition(" [")[0]) == ("-10 to +10 %", "0 %")
    assert (flat["one more binary"], flat["stock"].partition(" [")[0]) == ("-", "0 %"), "a clock of 10 ms tells no more"
    sentence = next(line for line in cards_of(page)["fib"].sentences if line.startswith("fib"))
    assert "-2.0 to +2.0" not in f"{summary.rows} {sentence}"  # the range of what was measured promises nothing
    assert "one more binary would show -10 to +10 % of the mean over 3 layouts (in 95 of 100 cases)" in sentence
    assert "your own build (stock) lies at 0 % [-5, +5] of the mean, measured" in sentence


def test_executions_of_one_layout_are_not_passed_off_as_layouts(tmp_path):
    text = (
        '[project]\nname = "p"\n[build]\nartefacts = ["prog"]\n[systems.old]\nprebuilt = "old"\n'
        '[systems.new]\nprebuilt = "new"\n[[benchmarks]]\nname = "fib"\ncommand = ["{artefact}"]\n'
    )
    config = parse(text, path="layoutrand.toml")
    rows = [
        row for s in ("old", "new") for row in measured(config, tmp_path, s, "fib", {"stock": [[1.0], [1.1], [1.3]]})
    ]
    write(config, tmp_path, rows)
    page = page_of(selected(config, tmp_path), baseline="old")
    summary = next(section for section in page.sections if section.anchor == "summary").tables[0]
    row = dict(zip(summary.columns, summary.rows[0], strict=True))
    card = cards_of(page)["fib"]

    assert (row["binaries"], row["executions"], row["one more binary"], row["sd"]) == ("1", "3", "-", "-")
    assert row["for ± 1 %"] == "-"
    assert page.forests[0].figure.caption.startswith(
        "Means over layouts, or over executions where a system has one layout alone,"
    )
    assert [figure.heading for figure in (*card.figures, *card.more)] == ["Binaries", "Order of execution"]
    order = (*card.figures, *card.more)[-1]
    assert "6 executions of 2 systems in the order in which they were made." in order.svg
    assert card.figures[0].caption.startswith("Each mark is one execution: there is one layout alone.")
    assert "There is one binary of each system here: how layouts differ cannot be seen." in card.absent
    assert dict(page.facts)["Seeds"] == "rounds 0..2 of one layout (3)"
    (evidence,) = [section for section in page.sections if section.anchor == "evidence"]
    assert [row[1] for row in evidence.tables[0].rows] == ["one layout, rounds 0..2"] * 2


def test_imported_numbers_with_their_starts_are_plotted_in_order_and_judged(tmp_path):
    path = tmp_path / "in.csv"
    rows = [
        f"{s},fib,{k},{10 + (k * 7 + n) % 5 / 100},{2 * k + n}\n" for k in range(12) for n, s in enumerate(("x", "y"))
    ]
    path.write_text("system,benchmark,seed,value,started_at\n" + "".join(rows))
    page = page_of(import_selection(ImportQuestion([str(path)], None, "benchmarks", 0, [], [])), baseline="x")
    text = render(page)
    assert "do not say in which order" not in text
    assert "Order of execution" in text
    assert 'data-t="' not in text  # counted numbers are no dates
    lights = {light.name: light for light in page.lights}
    assert "do not tell in which order" not in lights["no drift"].sentence


def test_failures_of_imported_numbers_are_told_of_all_that_were_made(tmp_path):
    path = tmp_path / "in.csv"
    measured_rows = [f"{s},fib,{k},{k + 1}.5,ok,\n" for s in "xy" for k in (0, 1, 2, 3)] + ["y,fib,stock,2.5,ok,\n"]
    path.write_text(
        "system,benchmark,seed,value,status,reason\n" + "".join(measured_rows) + "x,fib,4,,timeout,too long\n"
    )
    page = page_of(import_selection(ImportQuestion([str(path)], None, "benchmarks", 0, [], [])), baseline="x")
    (light,) = [light for light in page.lights if light.name == "nothing failed"]
    assert (light.state, light.sentence) == ("bad", "1 of 10 executions failed; not in the numbers")


@pytest.mark.parametrize(
    ("size", "said"),
    [(4096, "4 KiB"), (64, "64 B"), (3 * 2**19, "1.5 MiB"), (25_275_793_408, "23.54 GiB"), (3 << 40, "3 TiB")],
)
def test_a_size_of_the_machine_has_its_unit(size, said):
    """A page of 4096 bytes was 0.003906 MiB."""
    assert machine_section._said("page_bytes", size) == said
