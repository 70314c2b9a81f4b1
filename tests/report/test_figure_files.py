"""`layoutrand figures`: each figure as SVG, PDF and PNG, each table as LaTeX, whatever names the systems have."""

from __future__ import annotations

import dataclasses
import io
import itertools
import math
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from experiments import measured, selected, write
from fakes import make_config
from layoutrand import __version__
from layoutrand.capture.own_files import own_files
from layoutrand.capture.source import listing
from layoutrand.cli import run as layoutrand
from layoutrand.config.config import parse
from layoutrand.errors import AnalysisError, FeatureUnsupported, ToolNotFound, UsageError
from layoutrand.report import canvas, pdf, plot, row_figures, style
from layoutrand.report.figure_files import FORMATS, Look, figure_files
from layoutrand.text.document import Table
from layoutrand.text.latex import escape, tabular
from reportkit import HOSTILE, SVG, noise, page_of, recorded, table_of
from workshop import absent, require

FEW = {"names": ("fib",), "systems": ("a", "b"), "n": 4, "executions": 2}


def files_of(tmp_path, formats=FORMATS, look=None, **options):
    page = page_of(recorded(tmp_path, **{**FEW, **options}))
    return {file.name: file.data for file in figure_files(page, formats, look or Look())}


def chart(name="a", value="1 [0, 2]", axis="ratio"):
    shown = [
        row_figures.FigureRow(name, value, 0, interval=(0.0, 1.0, 2.0)),
        row_figures.FigureRow("b", "x", 1, bar=1.5),
    ]
    return row_figures.draw(
        row_figures.RowChart("the title", "the description", axis, shown, band=(0.9, 1.1), reference=1.0)
    )


def every_mark():
    """A plot with all that figures are made of."""
    kinds = ("points", "line", "steps", "bars", "dashed", "points", "points")
    series = [plot.Series(f"s{k}", k, kind, [(k, 1.0), (k + 1, 2.0)]) for k, kind in enumerate(kinds)]
    return plot.draw(
        plot.Plot("t", "d", "x", "y", series, horizontals=(1.5,), verticals=(plot.VerticalLine(2.0, 1, "here"),))
    )


def text_of(data):
    document = pypdfium2.PdfDocument(data)
    words = document[0].get_textpage().get_text_range()
    document.close()
    return words


def test_each_figure_is_there_in_each_format_and_each_table_as_latex(tmp_path):
    found = files_of(tmp_path)

    kinds = {kind: {n.removesuffix(f".{kind}") for n in found if n.endswith(f".{kind}")} for kind in FORMATS}
    assert kinds["svg"] == kinds["pdf"] == kinds["png"]
    figures = "Binaries", "Distribution-over-layouts", "What-varies", "Order-of-execution", "Convergence"
    assert kinds["svg"] == {"Panel", "Ratios-b-a"} | {f"fib-{name}" for name in figures}
    assert kinds["tex"] == {"captions", "Ratios-b-a", "Means-over-layouts"} | {f"fib-{name}" for name in figures}
    told = found["captions.txt"].decode()
    assert all(told.count(f"{stem}\n") == 1 for stem in kinds["svg"])
    assert all(found.values())


def test_equal_results_give_equal_files(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    assert files_of(one) == files_of(two)


def test_a_drawing_of_its_own_depends_on_no_style_sheet():
    root = ET.fromstring(style.standalone(every_mark(), 88))

    assert (root.get("width"), root.get("viewBox").split()[2]) == ("88mm", str(canvas.WIDTH))
    elements = list(root.iter())
    assert not [e for e in elements if "class" in e.attrib or "style" in e.attrib]
    assert not [v for e in elements for v in e.attrib.values() if "var(" in v or "currentColor" in v or v[0] == "@"]
    drawn = [e for e in elements if e.tag.rpartition("}")[2] in {"path", "polyline", "rect", "text"}]
    assert all({"fill", "stroke"} & e.attrib.keys() for e in drawn)
    assert root.findtext("s:title", namespaces=SVG) == "t"


def test_the_style_sheet_of_the_page_says_the_same_as_the_attributes():
    sheet = style.style_sheet()
    for rule in style.RULES:
        for name, value in rule.properties.items():
            shown = f"var(--{value[1:]})" if value.startswith("@") else value
            classes = "".join(f".{part}" for part in rule.classes)
            assert re.search(rf"svg [a-z]*{re.escape(classes)}[^{{}}]* {{[^}}]*{name}: {re.escape(shown)};", sheet)
    used = set(re.findall(r"var\(--(\w+)\)", sheet))
    assert used == style.LIGHT.keys() == style.DARK.keys()


def contrast(one, two):
    """The ratio of WCAG 2.1, section 1.4.3, of two colours ``#rrggbb``."""

    def luminance(colour):
        shares = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(one), luminance(two)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("colours", "paper"), [(style.LIGHT, "#ffffff"), (style.DARK, "#16181a")])
def test_colours_can_be_seen(colours, paper):
    for name in ("ink", "quiet"):
        assert contrast(colours[name], paper) >= 4.5
        assert contrast(colours[name], colours["band"]) >= 4.5
    for number in range(canvas.N_COLOURS):
        assert contrast(colours[f"s{number}"], paper) >= 3


def lab(colour, matrix):
    """CIE 1976 L*a*b* of ``#rrggbb`` (sRGB, D65) as somebody sees it whose cones answer with ``matrix`` times theirs."""
    coded = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    cones = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    seen = np.clip(np.linalg.inv(cones) @ matrix @ cones @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    shares = to_xyz @ seen / to_xyz.sum(axis=1)
    f = np.where(shares > 0.008856, np.cbrt(shares), 7.787 * shares + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("colours", [style.LIGHT, style.DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    "sight",
    [np.eye(3), [[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]], [[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]],
    ids=["all cones", "protanope", "deuteranope"],
)
def test_series_colours_differ_for_the_colour_blind_too(sight, colours):
    """By the simulation of Vienot, Brettel and Mollon (1999); a difference of 2.3 is just noticeable."""
    seen = [lab(colours[f"s{number}"], np.array(sight)) for number in range(canvas.N_COLOURS)]
    assert min(np.linalg.norm(one - two) for one, two in itertools.combinations(seen, 2)) > 15


def test_the_pdf_has_its_words_and_its_fonts_in_it():
    data = pdf.pdf(style.standalone(chart("O2 µ…", "0.977 [0.953, 1.003] ± 2 %"), 88), pdf.fonts())

    document = pypdfium2.PdfDocument(data)
    assert len(document) == 1
    assert document[0].get_width() == pytest.approx(88 / 25.4 * 72, abs=0.01)
    document.close()
    assert all(words in text_of(data) for words in ("O2 µ…", "0.977 [0.953, 1.003] ± 2 %", "ratio"))
    assert b"/Helvetica" not in data  # would be a font that is not embedded
    assert data.count(b"/FontFile2") == data.count(b"/BaseFont") >= 1


def test_every_mark_leaves_ink_of_its_colour():
    """Some readers draw no caps of lines without length; what we write needs none of square form."""
    image = Image.open(io.BytesIO(pdf.png(pdf.pdf(style.standalone(every_mark(), 88), pdf.fonts()), 150))).convert(
        "RGB"
    )
    found = {colour for _, colour in image.getcolors(1 << 20)}

    def near(text, colour):
        return all(abs(int(text[1 + 2 * k : 3 + 2 * k], 16) - colour[k]) < 60 for k in range(3))

    assert (255, 255, 255) in found
    for number in range(canvas.N_COLOURS):
        assert any(near(style.LIGHT[f"s{number}"], colour) for colour in found)
    assert image.width == pytest.approx(88 / 25.4 * 150, abs=1)


@pytest.mark.parametrize("series", range(7))
@pytest.mark.parametrize("verdict", style.VERDICTS)
def test_every_mark_of_a_verdict_has_its_colour(verdict, series):
    drawn = canvas.frame("t", "d", 20, [canvas.marks([(5.0, 5.0)], series, style=verdict)])
    (mark,) = ET.fromstring(style.standalone(drawn, 88)).iterfind(".//s:path", SVG)
    assert style.LIGHT[style.VERDICTS[verdict]] in {mark.get("fill"), mark.get("stroke")}


def test_squares_that_overlap_have_no_holes():
    svg = canvas.frame("t", "d", 20, [canvas.marks([(10.0, 10.0), (10.5, 10.0)], 1)])
    image = Image.open(io.BytesIO(pdf.png(pdf.pdf(style.standalone(svg, 380), pdf.fonts()), 72 * 4))).convert("RGB")
    across = image.getpixel((round(10.25 / canvas.WIDTH * image.width), round(10 / 20 * image.height)))
    assert across != (255, 255, 255)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("M1 2h3", [("M", 1, 2), ("L", 4, 2)]),
        ("M1 2v-.5z", [("M", 1, 2), ("L", 1, 1.5), ("Z", 0, 0)]),
        (
            "M0 0m-2.6-2.6l5.2 5.2m-5.2 0l5.2-5.2",
            [("M", 0, 0), ("M", -2.6, -2.6), ("L", 2.6, 2.6), ("M", -2.6, 2.6), ("L", 2.6, -2.6)],
        ),
        ("M5 5l1 1 1 1zl1 0", [("M", 5, 5), ("L", 6, 6), ("L", 7, 7), ("Z", 0, 0), ("L", 6, 5)]),
    ],
)
def test_paths_are_read_as_svg_has_them(path, expected):
    found = list(pdf.steps(path))
    assert [command for command, _, _ in found] == [command for command, _, _ in expected]
    assert [place for _, *place in found] == [pytest.approx(place) for _, *place in expected]


def test_raised_digits_need_no_font_that_has_them():
    data = pdf.pdf(style.standalone(chart(axis="cycles [10⁹]"), 88), pdf.fonts())
    assert "cycles [109]" in text_of(data).replace("\r\n", "")


def test_characters_that_the_font_lacks_are_an_error_that_names_them():
    svg = style.standalone(chart("編 a 編"), 88)
    with pytest.raises(FeatureUnsupported, match="the title: the font of PDF and PNG has no 編; name a TrueType font"):
        pdf.pdf(svg, pdf.fonts())


def test_another_font_is_embedded_and_a_file_that_is_none_is_an_error(tmp_path):
    own = tmp_path / "own.ttf"
    own.write_bytes(Path(pdf.fonts().bold).read_bytes())
    assert b"BitstreamVeraSans-Bold" in pdf.pdf(style.standalone(chart(), 88), pdf.fonts(str(own)))
    (tmp_path / "no.ttf").write_text("no font")
    for name in ("no.ttf", "absent.ttf"):
        with pytest.raises(UsageError, match=f"{name}: not a TrueType font"):
            pdf.fonts(str(tmp_path / name))


@pytest.mark.parametrize("module", ["reportlab", "pypdfium2"])
def test_without_the_libraries_the_error_names_the_extra_and_nothing_is_written(module, tmp_path, monkeypatch, capsys):
    table = tmp_path / "in.csv"
    table.write_text(
        "system,benchmark,seed,value\n" + "".join(f"{s},f,{k},{k + 1}.5\n" for s in "xy" for k in range(4))
    )
    pdf._loaded.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)

    def ask(kinds):
        return layoutrand(["figures", "--import", str(table), "-o", str(tmp_path / "out"), "--format", kinds])

    assert ask("svg,png") == ToolNotFound.exit_status
    assert "pip install 'layoutrand[figures]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert ask("svg,tex") == 0


def test_the_command_writes_what_is_asked_for(tmp_path, monkeypatch, capsys):
    table = tmp_path / "in.csv"
    table.write_text(
        "system,benchmark,seed,value\n" + "".join(f"{s},f,{k},{k + 1}.5\n" for s in "xy" for k in range(4))
    )
    monkeypatch.chdir(tmp_path)
    base = ["figures", "--import", "in.csv"]

    assert layoutrand(base) == 0
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg", ".tex", ".txt"}
    assert "files into figures: 6 svg, 7 tex and captions.txt" in capsys.readouterr().err

    assert (
        layoutrand([*base, "--format", "pdf", "--format", "png,pdf", "--width", "40", "--dpi", "100", "-o", "o"]) == 0
    )
    assert {path.suffix for path in (tmp_path / "o").iterdir()} == {".pdf", ".png", ".txt"}
    assert Image.open(io.BytesIO((tmp_path / "o/Ratios-y-x.png").read_bytes())).width == pytest.approx(
        40 / 25.4 * 100, abs=1
    )

    assert layoutrand([*base, "--format", "jpeg"]) == UsageError.exit_status
    assert layoutrand([*base, "-o", "in.csv"]) == UsageError.exit_status
    assert layoutrand(["figures", "--import-format", "csv"]) == UsageError.exit_status
    said = capsys.readouterr().err
    assert "no format called 'jpeg'; there are svg, pdf, png, tex" in said
    assert "in.csv is a file; --output names the directory" in said
    assert "--import-format is about files to import" in said


def test_names_of_files_are_plain_and_differ(tmp_path):
    page = page_of(recorded(tmp_path, **FEW))
    names = ("../../etc/passwd", "a b", "a/b", "A B", "", "編集", "x" * 300)
    cards = [dataclasses.replace(page.cards[0], name=name) for name in names]

    found = [
        file.name
        for file in figure_files(
            dataclasses.replace(page, cards=cards, forests=[], sections=[]), ["svg", "tex"], Look()
        )
    ]

    assert len({name.casefold() for name in found}) == len(found) == len(names) * 10 + 3
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,100}\.(svg|tex|txt)", name) for name in found)
    assert "etc-passwd-Binaries.svg" in found


def test_a_page_without_figures_is_an_error(tmp_path):
    page = dataclasses.replace(page_of(recorded(tmp_path, **FEW)), sections=[], cards=[], forests=[])
    with pytest.raises(AnalysisError, match="there is nothing to draw"):
        figure_files(page, ["svg"], Look())


def checked(text, columns):
    """Rows of a tabular, after a look at its syntax: environments, braces, dollars, and as many cells as columns."""
    code = [line for line in text.splitlines() if not line.startswith("%")]
    (first,) = re.findall(r"\\begin\{tabular\}\{((?:[lr]|S\[[^]]*\])+)\}", text)
    assert len(re.findall(r"[lr](?![^\[]*\])|S\[", first)) == columns
    assert code[0].startswith(r"\begin{tabular}{l")
    assert code[-1] == r"\end{tabular}"
    rules = re.compile(r" *\\(top|mid|bottom)rule")
    assert [line.strip() for line in code if rules.fullmatch(line)] == [r"\toprule", r"\midrule", r"\bottomrule"]
    body = [line.strip() for line in code[1:-1] if not rules.fullmatch(line)]
    for line in body:
        assert line.endswith(r" \\")
        bare = re.sub(r"\\[&%$#_{}]", "", line[:-2].replace(r"\,", ""))
        assert bare.count("&") == columns - 1
        assert bare.count("$") % 2 == 0
        assert not set("%#_^~") & set(bare)
        depth = 0
        for character in bare:
            depth += (character == "{") - (character == "}")
            assert depth >= 0
        assert depth == 0
        commands = re.findall(r"\\([A-Za-z]+|.)", bare)
        known = {"textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "char"}
        known |= {"textmu", "pm", "times", "surd", "ldots", "cdot", "num", "qty", "unit", "percent"}
        assert set(commands) <= known | {"second", "milli", "micro", "nano", "byte", "kibi", "mebi"}
    return body


@given(st.lists(st.lists(st.text(max_size=12), min_size=3, max_size=3), max_size=5))
def test_any_text_makes_a_table_that_latex_can_read(cells):
    body = checked(tabular(Table("c\n\\end{document}", ("a_b", "50 %", HOSTILE), cells)), 3)
    assert len(body) == 1 + len(cells)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("wall_s", r"wall\_s"),
        ("2.41 %", r"2.41\,\%"),
        ("± 2.41 %", r"$\pm$ 2.41\,\%"),
        ("12.5 µs", r"12.5\,\textmu{}s"),
        ("253.1 ms", r"253.1\,ms"),
        ("-6.0 to +24.3 %", r"$-$6.0 to +24.3\,\%"),
        ("[-0.5, 2]", r"{}[$-$0.5, 2]"),
        ("-", "--"),
        ("gcc-12 -O2", "gcc-12 -O2"),
        ("--jit ---", "-{}-jit -{}-{}-"),
        ("?`a''b", "?{`}a{'}{'}b"),
        ("a\\b^~", r"a\textbackslash{}b\textasciicircum{}\textasciitilde{}"),
        ("* {x}", r"{}* \{x\}"),
        ("run 3 steps", "run 3 steps"),
    ],
)
def test_numbers_and_names_are_typeset_as_a_person_would(words, expected):
    assert escape(words) == expected


@pytest.mark.parametrize(
    ("cells", "specification", "unit", "shown"),
    [
        (["1,234", "-", "7"], "S[table-format=4]", "", ["1234", "{--}", "7"]),
        (["3.12 ms", "12.5 ms"], "S[table-format=2.2]", r" [\unit{\milli\second}]", ["3.12", "12.5"]),
        (["+2.1 %", "-0.25 %"], "S[table-format=-1.2, retain-explicit-plus]", r" [\unit{\percent}]", ["+2.1", "-0.25"]),
        (["1", "stock"], "S[table-format=1]", "", ["1", "{stock}"]),
        (["3 ms", "2 s"], "r", "", [r"\qty{3}{\milli\second}", r"\qty{2}{\second}"]),
        (["0.98 [0.97, 1.2]"], "r", "", [r"\num{0.98} [\num{0.97}, \num{1.2}]"]),
        (["± 2.4 %"], "r", "", [r"$\pm$ \qty{2.4}{\percent}"]),
        (["main-2"], "r", "", ["main-2"]),
    ],
)
def test_numbers_line_up_and_have_their_units(cells, specification, unit, shown):
    text = tabular(Table("c", ("name", "value"), [("x", cell) for cell in cells]))
    assert f"\\begin{{tabular}}{{l{specification}}}" in text
    assert f"name & {'{value' + unit + '}' if specification != 'r' else 'value'} \\\\" in text
    assert [line.strip() for line in text.splitlines() if line.startswith("  x & ")] == [
        f"x & {cell} \\\\" for cell in shown
    ]


def test_captions_stand_alone_and_have_the_source(tmp_path):
    page = dataclasses.replace(page_of(recorded(tmp_path, **FEW)), sources=dict.fromkeys("ab", "commit 19c4d91a2b3c"))
    found = {file.name: file.data.decode() for file in figure_files(page, ["tex", "svg"], Look())}

    latex = found["captions.tex"]
    assert latex.count(r"\begin{figure}") + latex.count(r"\begin{figure*}") == sum(n.endswith(".svg") for n in found)
    assert latex.count(r"\begin{table}") == sum(n.endswith(".tex") for n in found) - 1
    assert latex.count("commit 19c4d91a2b3c") == latex.count(r"\caption{")
    assert r"\includegraphics[width=88mm]{fib-Binaries}" in latex
    assert r"\input{Means-over-layouts}" in latex
    assert "LaTeX reads PDF and PNG, which were not asked for" in latex
    assert "fib: order of execution. A slope or a step" in found["captions.txt"]
    assert all("Built from commit 19c4d91a2b3c." in found[name] for name in found), "a file is sent without its caption"


def test_captions_say_seeds_version_and_doubts(tmp_path):
    busy = {"disturbances": ("busy",), "host_state": {"other_cpu_s": 1.0}}
    names = {"names": ("fib", "sum"), "systems": ("a", "b"), "n": 4, "executions": 2}
    page = page_of(recorded(tmp_path, **names))
    calm = dataclasses.replace(page, doubts={}, forests=[dataclasses.replace(each, doubts="") for each in page.forests])
    ending = f"Seeds 1..4 (4); layoutrand {__version__}."
    assert all(each.endswith(ending) for tables in (False, True) for each in captions(calm, "", tables=tables))
    doubted = dataclasses.replace(page, doubts={"fib": "it drifts", "": "fib: it drifts"})
    assert all(each.endswith(" Doubtful: it drifts.") for each in captions(doubted, "fib-"))
    forests = [dataclasses.replace(each, doubts="sum: it failed") for each in page.forests]
    doubted = dataclasses.replace(doubted, forests=forests)
    assert all(each.endswith(" Doubtful: fib: it drifts.") for each in captions(doubted, "Panel"))
    assert all(each.endswith(" Doubtful: sum: it failed.") for each in captions(doubted, "Ratios"))
    assert not any("Doubtful" in each for each in captions(doubted, "sum-"))
    assert all(each.endswith(" Doubtful: it drifts.") for each in captions(doubted, "fib-", tables=True))
    assert all(each.endswith(" Doubtful: fib: it drifts.") for each in captions(doubted, "Means", tables=True))
    assert all(each.endswith(" Doubtful: sum: it failed.") for each in captions(doubted, "Ratios", tables=True))
    quiet, loud = (page_of(recorded(tmp_path / k, **names, **more)) for k, more in (("q", {}), ("l", busy)))
    assert "disturbed" not in str(quiet.doubts)
    assert "executions were disturbed" in loud.doubts["fib"] and "fib" in loud.doubts[""]


def test_captions_name_commits_once_and_of_what_is_shown_alone(tmp_path):
    """A matrix has a dozen systems of two commits, executed in a random order; one comparison is of two of them."""
    selection = recorded(tmp_path, names=("fib",), systems=("a", "b", "c"), n=4)
    old, new = (f"commit {digit * 12}" for digit in "12")
    made = {"c": f"{old} of /home/me/my repo", "b": f"{new} of https://host/repo", "a": f"{old} of /home/me/my repo"}
    page = page_of(dataclasses.replace(selection, made=made))
    named = {"Ratios-b-a": f"a: {old}; b: {new} of https://host/repo.", "Ratios-c-a": f"Built from {old}."}
    named |= dict.fromkeys(("fib", "Means", "Panel"), f"Built from a, c: {old}; b: {new} of https://host/repo.")
    for name, words in named.items():
        for tables in {name.startswith(("Ratios", "fib")), name not in {"Panel", "fib"}}:
            if name == "Means" and not tables:
                continue
            assert all(words in each for each in captions(page, name, tables=tables)), (name, tables)
    svg = {file.name: file.data.decode() for file in figure_files(page, ["svg"], Look())}
    assert f"Built from {old}." in svg["Ratios-c-a.svg"]


def test_the_caption_of_a_comparison_has_its_own_doubts_alone(tmp_path):
    config = make_config(table_of(("fib",)), systems=("a", "b", "c"))
    changes = (-0.19, -0.145, -0.1, -0.055, -0.01)  # p = 0.033: sure alone, and not beside another
    base = noise(1, 5)
    data = {
        "a": base,
        "b": noise(2, 5),
        "c": {k: [[value * math.exp(changes[k - 1]) for value in one] for one in base[k]] for k in base},
    }
    items = [item for system, values in data.items() for item in measured(config, tmp_path, system, "fib", values)]
    items.sort(key=lambda item: item.round)
    write(config, tmp_path, [dataclasses.replace(item, started_at=1e9 + 7 * k) for k, item in enumerate(items)])
    page = page_of(selected(config, tmp_path))
    beside = "not sure beside the 2 verdicts given at once (Holm)"
    assert all(beside in each for each in captions(page, "Ratios-c-a", "Panel"))
    assert not any(beside in each for each in captions(page, "Ratios-b-a"))
    assert all(beside in each for each in captions(page, "Ratios-c-a", tables=True))
    assert not any(beside in each for each in captions(page, "Ratios-b-a", tables=True))


def test_counts_of_benchmarks_that_were_disturbed_alike_are_their_sum(tmp_path):
    busy = {"disturbances": ("busy",), "host_state": {"other_cpu_s": 1.0}}
    page = page_of(recorded(tmp_path, names=("fib", "sum"), systems=("a", "b"), n=4, stock=False, **busy))
    assert "fib, sum: 16 of 16 executions were disturbed" in page.doubts[""], "4 layouts of 2 systems, 2 benchmarks"
    assert "8 of 8 executions were disturbed" in page.doubts["fib"]
    (quiet,) = (light for light in page.lights if light.name == "machine quiet")
    assert quiet.sentence == "fib, sum: 16 of 16 executions were disturbed"


def test_a_comparison_of_two_of_three_systems_counts_their_executions_alone(tmp_path):
    busy = {"disturbances": ("busy",), "host_state": {"other_cpu_s": 1.0}}
    page = page_of(recorded(tmp_path, names=("fib",), systems=("a", "b", "c"), n=4, stock=False, **busy))
    assert "12 of 12 executions were disturbed" in page.doubts[""], "4 layouts of each"
    assert ["8 of 8 executions were disturbed" in each.doubts for each in page.forests] == [True, True]


def captions(page, *begins, tables=False):
    """Of figures, or of tables, whose files begin so; there is one at least."""
    text = next(f.data for f in figure_files(page, ["svg", "tex"], Look()) if f.name == "captions.txt").decode()
    told = [entry.split("\n", 1) for entry in text.strip().split("\n\n")]
    found = [words.strip() for name, words in told if name.startswith(begins) and ("(table)" in name) == tables]
    assert found
    return found


@pytest.mark.slow
def test_latex_sets_every_figure_and_table(tmp_path):
    require("pdflatex", "texlive-latex-base")
    for package in ("booktabs", "siunitx"):
        if not subprocess.run(["kpsewhich", f"{package}.sty"], capture_output=True, text=True, check=False).stdout:
            absent(f"LaTeX has no {package} (texlive-latex-recommended, texlive-science)")
    page = dataclasses.replace(page_of(recorded(tmp_path, **FEW)), sources={"a": "100 % of a_b & #1 ~ {c} ^ $d \\e"})
    for file in figure_files(page, ["tex", "pdf"], Look()):
        (tmp_path / file.name).write_bytes(file.data)
    packages = "".join(rf"\usepackage{{{each}}}" for each in ("graphicx", "booktabs", "siunitx"))
    document = rf"\documentclass{{article}}{packages}\begin{{document}}\input{{captions}}\end{{document}}"
    (tmp_path / "paper.tex").write_text(document)
    call = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout.lower()
    assert (tmp_path / "paper.pdf").stat().st_size > 0


def test_the_panel_holds_the_ratios_and_each_benchmark(tmp_path):
    page = page_of(recorded(tmp_path, names=[f"bench-{k}" for k in range(9)], n=3))
    found = {file.name: file.data for file in figure_files(page, ["svg", "pdf"], Look())}

    one, two = (ET.fromstring(found[f"Panel-{k}.svg"]) for k in (1, 2))
    assert (one.get("width"), two.get("width")) == ("180mm", "180mm")
    words = [text.text for text in one.iter("{http://www.w3.org/2000/svg}text")]
    assert next(word for word in words if word.startswith("(")) == "(a) b against a"
    assert sum(bool(re.match(r"\([a-h]\) ", word)) for word in words) == 8
    assert "(b) bench-" in text_of(found["Panel-1.pdf"])


def test_what_a_table_needs_stands_above_it():
    text = tabular(Table("Ratios", ("name", "value"), [("a", "3 µs to 4"), ("編集", "1")] + [("b", "2")] * 50))
    head = [line for line in text.splitlines() if line.startswith("%")]
    assert head == [
        "% Ratios",
        r"% Needs \usepackage{booktabs}.",
        r"% LaTeX before 2020 needs \usepackage{textcomp}, too.",
        "% Has 編 集, which take xelatex or lualatex and a font that has them.",
        "% 52 rows: longer than a page.",
    ]


def test_the_tables_of_results_are_tables(tmp_path):
    found = files_of(tmp_path, ["tex"])
    columns = {"Ratios-b-a.tex": 8, "Means-over-layouts.tex": 12, "fib-Binaries.tex": 4, "fib-What-varies.tex": 4}
    for name, count in columns.items():
        assert len(checked(found[name].decode(), count)) >= 2


def test_what_is_written_into_the_source_is_no_part_of_it(tmp_path, monkeypatch, capsys):
    """Else it would be another source, captured anew, of which the results so far are not."""
    text = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n'
    text += 'exclude = ["docs"]\n[systems.a]\n[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
    (tmp_path / "layoutrand.toml").write_text(text)
    config = parse(text, path="layoutrand.toml")
    write(config, tmp_path, measured(config, tmp_path, "a", "b", {k: [[1 + k / 9]] for k in range(1, 6)}))
    monkeypatch.chdir(tmp_path)

    for inside, arguments in [
        (False, ["figures"]),
        (False, ["report"]),
        (False, ["figures", "-o", "docs/paper"]),
        (False, ["export", "--format", "csv", "-o", str(tmp_path.parent / "out.csv")]),
        (True, ["figures", "-o", "paper"]),
        (True, ["report", "-o", "report.html"]),
        (True, ["export", "--format", "csv", "-o", "out.csv"]),
    ]:
        remembered = own_files(tmp_path, tmp_path)
        assert layoutrand(arguments) == 0
        assert "build.source" not in capsys.readouterr().err
        assert (own_files(tmp_path, tmp_path) != remembered) is inside
    assert set(listing(tmp_path, [*config.build.exclude, *own_files(tmp_path, tmp_path)])) == set()
    assert (tmp_path / ".layoutrand/figures/b-Binaries.svg").is_file()
    assert not (tmp_path / "figures").exists()


def test_the_means_of_a_table_have_equally_many_digits(tmp_path):
    files = files_of(tmp_path, ("tex",), n=30)
    for name in ("fib-Binaries.tex", "fib-Order-of-execution.tex", "Ratios-b-a.tex"):
        rows = re.findall(r"^  (.*) \\\\$", files[name].decode(), re.MULTILINE)[1:]
        numbers = [cell for row in rows for cell in row.split(" & ")[1:] if re.fullmatch(r"[0-9]+(\.[0-9]+)?", cell)]
        assert len(numbers) >= 2
        assert len({len(number.partition(".")[2]) for number in numbers}) == 1, name
