"""The HTML report in Chromium: nothing but the file is loaded, nothing runs over, all can be read, in light and dark."""

from __future__ import annotations

import dataclasses
import itertools

import pypdfium2
import pytest

from browserkit import chromium
from executekit import Project
from experiments import selected
from fakes import make_config, shell_binaries
from layoutrand.execute.measure import measure
from layoutrand.model import BuildFailure
from layoutrand.report.html import render
from layoutrand.report.whole_page import report
from reportkit import HOSTILE, contexts, recorded
from warningkit import Sentence

WIDTHS = (360, 768, 1280)  # a phone, a tablet, a desk
LAYOUTS = (*range(1, 5), "stock", "identity")
TABLES = """
[[benchmarks]]
name = "loop"
command = ["{artefact}"]
[[benchmarks]]
name = "iterations"
command = ["{artefact}"]
metric = { regex = "now ([0-9.]+)", name = "drawn", unit = "ms", wall = false, warmup = 2 }
"""
SCRIPT = """awk 'BEGIN { for (k = 0; k < 14; k++) print "now", 1 + rand() }'"""

OVER_THE_EDGE = """
[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide, pre, svg')
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).map(e => e.outerHTML.slice(0, 200))
"""
WORDS_OF_FIGURES = """
[...document.querySelectorAll('svg.figure')].flatMap(svg => {
  const area = svg.viewBox.baseVal, title = svg.querySelector('title').textContent, found = [];
  const words = [...svg.querySelectorAll('text')].filter(t => t.textContent).map(t => [t.textContent, t.getBBox()]);
  for (const [text, b] of words)
    if (b.x < -0.5 || b.x + b.width > area.width + 0.5 || b.y < -0.5 || b.y + b.height > area.height + 0.5)
      found.push([title, 'outside', text]);
  words.forEach(([one, a], k) => words.slice(k + 1).forEach(([two, b]) => {
    const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
    const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
    if (across > 1 && down > 3) found.push([title, 'one over the other', one, two]);
  }));
  return found;
})
"""
# WCAG 2.1, sections 1.4.3 (text) and 1.4.11 (marks of figures): text and marks whose contrast is too small.
PALE = """
(() => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((s, c, k) => s + c * [.2126, .7152, .0722][k], 0);
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const behind = e => { for (; e; e = e.parentElement) {
    const c = numbers(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] === 1) return c; } };
  const found = [], colours = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = walk.nextNode();) {
    const e = node.parentElement, svg = e.closest('svg');
    if (!node.textContent.trim() || ['title', 'desc', 'STYLE', 'SCRIPT'].includes(e.tagName)) continue;
    const style = getComputedStyle(e), colour = svg ? style.fill : style.color;
    colours.add(colour);
    if (contrast(numbers(colour), behind(svg || e)) < 4.5) found.push([node.textContent, colour]);
  }
  for (const e of document.querySelectorAll('svg [class*=" s"]')) {
    const style = getComputedStyle(e), colour = style.stroke === 'none' ? style.fill : style.stroke;
    colours.add(colour);
    if (contrast(numbers(colour), behind(e.closest('svg'))) < 3) found.push([e.outerHTML.slice(0, 60), colour]);
  }
  return [found, [...colours], document.body && getComputedStyle(document.body).backgroundColor];
})()
"""
FIGURES = """
[...document.querySelectorAll('svg.figure')].map(svg => ({
  role: svg.getAttribute('role'), title: svg.querySelector(':scope > title')?.textContent,
  desc: svg.querySelector(':scope > desc')?.textContent, caption: svg.closest('figure')?.querySelector('figcaption')?.textContent,
  table: !!svg.closest('figure')?.querySelector('table'),
  height: svg.getBoundingClientRect().height, width: svg.getBoundingClientRect().width,
}))
"""


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A report on executions that were really made."""
    folder = tmp_path_factory.mktemp("real")
    project = Project(folder)
    config = make_config(TABLES, run="executions = 2")
    summary = project.run(config, shell_binaries(folder / "cache", SCRIPT, layouts=LAYOUTS), measure)
    assert summary.failures == ()
    selection = selected(config, project.path)
    page = report(selection, contexts(project.path, selection), "a", confidence=0.95, threshold=0.01)
    path = folder / "report.html"
    path.write_text(render(page), "utf-8")
    return path


@pytest.fixture(scope="module")
def awkward(tmp_path_factory):
    """A report with many systems, long and hostile names, failures and warnings."""
    folder = tmp_path_factory.mktemp("awkward")
    systems = [f"a-system-with-quite-a-long-name-{k}" for k in range(7)]
    long = "org.openjdk.jmh.samples.cache.ComputeBenchmark.computeSameKey_computeType_ConcurrentHashMap"  # no hyphen
    names = ["fib", "a-benchmark-whose-name-goes-on-and-on-and-on-as-some-do-in-matrices", long]
    selection = recorded(folder, systems=systems, names=names, n=12)
    first = selection.executions[0]
    failed = dataclasses.replace(first, status="exit", reason=HOSTILE * 5, log="/very/long/path" * 12)
    renamed = dataclasses.replace(
        selection,
        failures=(failed,) * 3,
        build_failures=(BuildFailure(systems[0], "prog", 9, "x" * 400, None),),
        warnings=(Sentence("y" * 300), Sentence(HOSTILE)),
        samples=tuple(dataclasses.replace(s, benchmark=s.benchmark + HOSTILE) for s in selection.samples),
        executions=tuple(dataclasses.replace(e, benchmark=e.benchmark + HOSTILE) for e in selection.executions),
    )
    page = report(renamed, contexts(folder, selection), systems[0], confidence=0.95, threshold=0.01)
    path = folder / "report.html"
    path.write_text(render(page), "utf-8")
    return path


@pytest.fixture(scope="module", params=["real", "awkward"])
def path(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_but_the_file_is_loaded_and_nothing_is_complained_of(browser, path, width):
    browser.open(path, width=width)

    assert browser.requests() == [path.absolute().as_uri()]
    assert browser.said() == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_runs_over_the_edge(browser, path, width):
    browser.open(path, width=width)
    for unfolded in ("false", "true"):
        browser.value(f"document.querySelectorAll('details').forEach(e => {{ e.open = {unfolded}; }})")
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
        assert browser.value(OVER_THE_EDGE) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_words_of_figures_are_inside_and_apart(browser, path, width):
    browser.open(path, width=width)
    browser.value("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    assert browser.value("document.querySelectorAll('svg.figure text').length") > 50
    assert browser.value(WORDS_OF_FIGURES) == []


def test_text_and_marks_have_contrast_in_light_and_dark(browser, path):
    seen = {}
    for dark in (False, True):
        browser.open(path, width=768, dark=dark)
        pale, colours, paper = browser.value(PALE)
        assert pale == []
        seen[dark] = (set(colours), paper)
    assert seen[False][0].isdisjoint(seen[True][0])
    assert [seen[dark][1] for dark in (False, True)] == ["rgb(255, 255, 255)", "rgb(22, 24, 26)"]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_says_what_it_shows_in_words_and_numbers(browser, path, width):
    browser.open(path, width=width)
    browser.value("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    figures = browser.value(FIGURES)
    assert len(figures) >= 10
    for figure in figures:
        assert figure["role"] == "img"
        assert figure["title"] and figure["desc"] and figure["caption"]
        assert figure["table"], figure["title"]
        assert figure["width"] >= 300
        assert figure["height"] >= 60


def test_the_tree_of_the_accessibility_has_names_for_all(browser, real):
    browser.open(real, width=1280)
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    by_role = {}
    for node in nodes:
        if not node.get("ignored"):
            by_role.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))

    assert len(by_role["main"]) == 1
    assert by_role["RootWebArea"] == ["fake: performance over layouts"]
    assert by_role["navigation"] == ["Contents"]
    for role in ("image", "table", "region", "heading", "link"):
        assert by_role[role], role
        assert all(by_role[role]), role
    levels = browser.value("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => Number(e.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    assert browser.value("document.documentElement.lang") == "en"


def test_a_contents_link_leads_to_its_section(browser, real):
    browser.open(real, width=360)
    assert browser.value("document.querySelector('#again').open") is False
    browser.value("document.querySelector('nav a[href=\"#again\"]').click()")
    assert (
        browser.value("new Promise(done => setTimeout(() => done(location.hash + ' ' + (scrollY > 500)), 200))")
        == "#again true"
    )
    assert browser.value("document.querySelector('#again').open") is True


def test_it_can_be_printed_from_dark_as_well(browser, real):
    browser.open(real, width=1280, dark=True, media="")
    document = pypdfium2.PdfDocument(browser.printed())
    try:
        pages = [document[k].get_textpage().get_text_range() for k in range(len(document))]
        first = document[0].render(scale=0.5).to_numpy()
    finally:
        document.close()
    words = " ".join(" ".join(pages).split())
    for part in ("The answer", "b against a", "Means over layouts", "Making these numbers again", "loop"):
        assert part in words
    assert "The numbers" not in words
    assert (first > 240).mean() > 0.8  # black on white
    assert first.min() < 100


def test_these_checks_find_what_they_look_for(browser, real):
    browser.open(real, width=360)
    browser.value("document.querySelector('figcaption').style.color = '#f4f4f4'")
    browser.value("document.querySelector('h2').style.marginRight = '-50px'")
    browser.value("document.querySelectorAll('svg.figure text')[2].setAttribute('x', 1000)")
    browser.value(
        "document.querySelectorAll('svg.figure text')[1].setAttribute('y', document.querySelector('svg.figure text').getAttribute('y'))"
    )
    browser.value("document.querySelectorAll('svg.figure text')[1].setAttribute('text-anchor', 'start')")
    browser.value(
        "document.querySelectorAll('svg.figure text')[1].setAttribute('x', document.querySelector('svg.figure text').getAttribute('x'))"
    )

    assert browser.value(PALE)[0][0][1] == "rgb(244, 244, 244)"
    assert len(browser.value(OVER_THE_EDGE)) == 1
    assert {kind for _, kind, *_ in browser.value(WORDS_OF_FIGURES)} >= {"outside", "one over the other"}
    browser.value("console.error('said')")
    assert len(browser.said()) == 1


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Benchmarks with unlike verdicts: the page, and what is in it."""
    folder = tmp_path_factory.mktemp("several")
    selection = recorded(folder, names=[f"bench-{k}" for k in (2, 10, 3, 1)], n=12)
    page = report(selection, contexts(folder, selection), "a", confidence=0.95, threshold=0.01)
    path = folder / "report.html"
    path.write_text(render(page), "utf-8")
    return path, page


ROWS = "[...document.querySelectorAll('.forest tbody tr')].filter(e => !e.hidden).map(e => e.querySelector('th').textContent)"
CARDS = "[...document.querySelectorAll('.card')].filter(e => !e.hidden).map(e => e.querySelector('h3').textContent)"


def test_rows_and_cards_are_sorted_and_the_mean_of_all_stays_last(browser, several):
    path, page = several
    browser.open(path, width=1280)
    by_effect = [row.name for row in page.forests[0].rows]
    assert browser.value(ROWS) == by_effect
    assert browser.value(CARDS) == by_effect[:-1]

    for order, names in (("name", ["bench-1", "bench-2", "bench-3", "bench-10"]), ("effect", by_effect[:-1])):
        browser.value(
            f"{{ const s = document.querySelector('select'); s.value = '{order}'; s.dispatchEvent(new Event('change')); }}"
        )
        assert browser.value(ROWS) == [*names, by_effect[-1]]
        assert browser.value(CARDS) == names


def test_chips_and_words_filter_rows_and_cards(browser, several):
    path, page = several
    browser.open(path, width=1280)
    keys = {row.name: row.chip.key for row in page.forests[0].rows[:-1]}
    assert len(set(keys.values())) > 1
    chosen = page.banners[0].chips[0].key
    expected = [name for name, key in keys.items() if key == chosen]
    chip = f"document.querySelector('button[data-key=\"{chosen}\"]')"

    browser.value(f"{chip}.click()")
    assert browser.value(CARDS) == expected
    assert browser.value(ROWS)[:-1] == expected
    assert browser.value(f"{chip}.getAttribute('aria-pressed')") == "true"
    assert browser.value("document.querySelector('output').value") == f"{len(expected)} of 4 benchmarks shown"
    browser.value(f"{chip}.click()")
    assert len(browser.value(CARDS)) == 4

    browser.value("const f = document.querySelector('input'); f.value = '-1'; f.dispatchEvent(new Event('input'))")
    assert sorted(browser.value(CARDS)) == ["bench-1", "bench-10"]
    browser.value("location.hash = '#' + document.querySelector('.card[hidden]').id")
    assert (
        browser.value(
            "new Promise(done => setTimeout(() => done(document.querySelectorAll('.card[hidden]').length), 200))"
        )
        == 0
    )


def test_pointing_at_a_mark_tells_of_it_and_rings_its_seed_everywhere(browser, several):
    browser.open(several[0], width=1280)
    x, y, seed, value = browser.value("""(() => {
      const path = document.querySelector('.card svg.figure [data-s]'), svg = path.closest('svg');
      svg.scrollIntoView();
      const [, a, b] = path.getAttribute('d').match(/M([\\d.]+) ([\\d.]+)/);
      const at = new DOMPoint(a, b).matrixTransform(svg.getScreenCTM());
      return [at.x, at.y, path.dataset.s.split('|')[0], path.dataset.v.split('|')[0]];
    })()""")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    words = browser.value("document.querySelector('.tip').textContent").split(" · ")
    assert words[0] in {"a", "b"}
    assert words[1] == f"seed {seed}"
    assert words[2].startswith(value)
    assert words[3].endswith(" UTC")
    in_figures = "[...document.querySelectorAll('.brush')].map(e => e.getAttribute('d').split('M').length - 1)"
    assert browser.value(in_figures) == [2, 2, 2] * 4  # two systems in binaries, order and distribution of each
    for kind in ("mousePressed", "mouseReleased"):
        browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert browser.value("document.querySelector('.tip').hidden") is True
    assert len(browser.value(in_figures)) == 12, "what was clicked on stays"
    browser.value("const e1 = document.forms[0].elements.seed; e1.value = ''; e1.dispatchEvent(new Event('input'))")
    assert browser.value(in_figures) == []
    browser.value("const e = document.forms[0].elements.seed; e.value = '7'; e.dispatchEvent(new Event('input'))")
    assert len(browser.value(in_figures)) == 12


def test_all_can_be_read_where_scripts_are_not_executed(browser, several):
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(several[0], width=360)
        assert browser.value("document.querySelector('.tools').hidden") is True
        shown = browser.value("document.body.innerText")
        for row in several[1].forests[0].rows:
            assert all(part in " ".join(shown.split()) for part in (row.name, row.chip.words))
        assert browser.value("document.querySelectorAll('details:not([open])').length") > 10
        browser.value("document.querySelector('#warnings > summary').click()")
        assert browser.value("document.querySelector('#warnings').open") is True
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_no_column_is_cut_off_on_a_desk(browser, real):
    browser.open(real, width=1280)
    browser.value("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    cut = "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 80))"
    assert browser.value(cut) == []
