"""The page of rates, made of the cells that `drive.py` keeps."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rates.figures import BOUNDS, FIGURES, Count, Figure
from rates.studies import CHECKED, COUNTS, FIRST_SEEDS, MOST_FOLLOWED, Cell, cells
from rates.worlds import WORLDS, Size

Cells = Mapping[str, Mapping[str, Any]]
ENOUGH_TOLD = 0.9
SURE = 2.6
"""Standard errors beyond a bound that chance explains in less than 1 % of cells."""

PER_SET = {"plan binaries", "forecast binaries", "until binaries"}
"""Figures that are numbers of layouts, not shares."""

Column = tuple[str, Size]
STUDIES: Mapping[str, tuple[str, Sequence[Column]]] = {
    "one": (
        "One benchmark",
        [(f"{n} x {e}" if e > 1 else str(n), Size(n, e)) for e in (1, 3) for n in COUNTS],
    ),
    "suite": (
        "Suites",
        [(f"{b} benchmarks, {n}", Size(n, 1, b)) for b in (2, 8, 20) for n in COUNTS],
    ),
    "itself": ("A system against itself", [(str(n), Size(n)) for n in (10, 30)]),
    "plans": ("Forecasts that are followed", [(f"pilot of {n}", Size(n)) for n in COUNTS]),
    "until": ("Until a half-width is reached", [("start", Size(FIRST_SEEDS))]),
    "uncontrolled": ("Without stock and identity", [(f"{n} x 3", Size(n, 3)) for n in COUNTS[1:]]),
}


def is_out(figure: Figure, count: Count, *, surely: bool = False) -> bool:
    """Whether a rate is out of its bounds; ``surely`` if the number of sets does not explain it."""
    rate = count.rate
    if rate is None or figure.kind == "share":
        return False
    low, high = BOUNDS[figure.kind]
    if surely:
        low -= SURE * math.sqrt(low * (1 - low) / count.gave)
        high += SURE * math.sqrt(high * (1 - high) / count.gave)
    return not low <= rate <= high


def is_silent(figure: Figure, count: Count, *, surely: bool = False) -> bool:
    """Whether it is out of its bounds, and the output says so in too few sets."""
    return is_out(figure, count, surely=surely) and count.told_share < ENOUGH_TOLD


def is_cautious(figure: Figure, count: Count) -> bool:
    """Whether it errs on the side of "cannot tell": an interval that is wider than promised, a test that finds less."""
    if count.rate is None or not is_out(figure, count, surely=True):
        return False
    low, high = BOUNDS[figure.kind]
    return count.rate > high if figure.kind == "interval" else figure.kind == "test" and count.rate < low


def counts_of(cell: Mapping[str, Any]) -> dict[str, Count]:
    """The counts of a kept cell."""
    return {name: Count(**fields) for name, fields in cell["counts"].items()}


def silent_in(found: Cells, *, surely: bool) -> Iterator[tuple[Figure, str, Count]]:
    """What is out of its bounds without a warning: the figure, the cell and the count."""
    for name, cell in found.items():
        for figure_name, count in counts_of(cell).items():
            figure = FIGURES[figure_name]
            if is_silent(figure, count, surely=surely) and not is_cautious(figure, count):
                yield FIGURES[figure_name], name, count


def summary(found: Cells) -> str:
    """The cells that are out of range without a warning, for those who work on them."""
    silent = list(silent_in(found, surely=True))
    lines = [
        f"{figure.name:22} {name:28} {count.rate:.3f} (told {count.told_share:.0%}, {count.gave} sets)"
        for figure, name, count in silent
    ]
    lines += [
        f"errors in {name}: {cell['n_errors']}, first {cell['errors'][0]}"
        for name, cell in found.items()
        if cell["n_errors"]
    ]
    return "\n".join([*sorted(lines), f"{len(silent)} cells out of range without a warning, beyond chance"])


def cell_text(figure: Figure, count: Count | None) -> str:
    """``.951``; out of range ``.612 (told .98)``, bold where it is told in too few sets."""
    if count is None:
        return ""
    if count.rate is None:
        return "none"
    if figure.name in PER_SET:
        return f"{count.rate:.0f}"
    text = _share(count.rate)
    if is_cautious(figure, count):
        text = f"_{text}_"
    elif is_out(figure, count, surely=True):
        mark = "**" if is_silent(figure, count, surely=True) else ""
        text = f"{mark}{text}{mark} (told {_share(count.told_share)})"
    if count.gave < 0.9 * count.sets:
        text += f", of {_share(count.gave / count.sets)}"
    return text


def _share(value: float) -> str:
    """Three digits are more than most cells deserve, and two hide the bounds."""
    return f"{value:.3f}".removeprefix("0") if value < 1 else "1"


def page(found: Cells, opening: str) -> str:
    """The whole page; ``opening`` is the text before the tables, with {NAMES} to be filled in."""
    commits = Counter(cell["commit"] for cell in found.values())
    sets = Counter(max((count["sets"] for count in cell["counts"].values()), default=0) for cell in found.values())
    parts = [
        opening.format(
            commits=" and ".join(f"`{name[:12]}` ({number} cells)" for name, number in commits.most_common()),
            there=len(found),
            all=len(cells()),
            sets=" or ".join(map(str, sorted(sets, reverse=True))),
            error_interval=" or ".join(
                f"{_share(math.sqrt(0.95 * 0.05 / count))} ({count} experiments, {number} cells)"
                for count, number in sorted(sets.items(), reverse=True)
            ),
            minutes=f"{sum(cell['seconds'] for cell in found.values()) / 60:.1f}",
            followed=MOST_FOLLOWED,
        ).rstrip(),
        *(_section(found, study) for study in STUDIES),
        _silent(found),
        _told(found),
        _said(found),
        _repeated(found),
    ]
    return "\n\n".join(parts) + "\n"


def _section(found: Cells, study: str) -> str:
    """All tables of a study, one for each figure."""
    title, columns = STUDIES[study]
    named = {
        (cell["world"], Size(**cell["size"])): counts_of(cell) for cell in found.values() if cell["study"] == study
    }
    worlds = [world for world in WORLDS if any(place[0] == world for place in named)]
    lines = [f"## {title}"]
    for figure in FIGURES.values():
        if not any(counts[figure.name].gave for counts in named.values() if figure.name in counts):
            continue
        shown = [column for column in columns if any((world, column[1]) in named for world in worlds)]
        lines += ["", f"**{figure.title}**" + _wanted(figure), ""]
        lines += [_row(["", *(name for name, _ in shown)]), _row(["---"] * (len(shown) + 1))]
        lines += [
            _row(
                [
                    WORLDS[world].title,
                    *(cell_text(figure, named.get((world, size), {}).get(figure.name)) for _, size in shown),
                ]
            )
            for world in worlds
        ]
    return "\n".join(lines)


def _wanted(figure: Figure) -> str:
    low, high = BOUNDS[figure.kind]
    return {
        "interval": f" (wanted: {_share(low)} to {_share(high)})",
        "test": f" (wanted: {_share(low)} to {_share(high)})",
        "at most": f" (wanted: {_share(high)} at most)",
        "promise": f" (wanted: {_share(low)} at least)",
        "share": "",
    }[figure.kind]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _silent(found: Cells) -> str:
    """What is out of range without a warning, by figure."""
    lines = ["## Out of range without a warning", ""]
    for name, cell in found.items():
        if cell["n_errors"]:
            lines += [f"**{name}: {cell['n_errors']} sets ended in an error**, the first: {cell['errors'][0]}", ""]
    rows: dict[str, list[str]] = {}
    for figure, name, count in silent_in(found, surely=True):
        rows.setdefault(figure.title, []).append(f"{_place(found[name])}: {_share(count.rate or 0.0)}")
    if not rows:
        return "\n".join([*lines, "No cell is, by more than the number of sets explains."])
    lines += ["These are, by more than the number of sets explains:", ""]
    lines += [f"- {title}: {'; '.join(places)}" for title, places in rows.items()]
    return "\n".join(lines)


def _place(cell: Mapping[str, Any]) -> str:
    """A cell in words."""
    size = cell["size"]
    place = f"{WORLDS[cell['world']].title}, {size['layouts']}"
    place += f" x {size['executions']}" if size["executions"] > 1 else ""
    return place + (f" ({size['benchmarks']} benchmarks)" if size["benchmarks"] > 1 else "")


_LONG = 70
"""Characters of a warning that tell which it is."""

_NAMED = 3
"""Warnings that are named of a cell, the most frequent first."""


def _told(found: Cells) -> str:
    """What is out of range with a warning, by figure: which warning, and in how many sets it stands."""
    lines = ["## Out of range with a warning", ""]
    rows: dict[str, list[str]] = {}
    for cell in found.values():
        for figure_name, count in counts_of(cell).items():
            figure = FIGURES[figure_name]
            is_told = count.told_share >= ENOUGH_TOLD
            if is_out(figure, count, surely=True) and is_told and not is_cautious(figure, count):
                most = sorted(count.by.items(), key=lambda item: (-item[1], item[0]))[:_NAMED]
                named = [f"{_share(number / count.sets)} {_shortened(kind)}" for kind, number in most]
                rows.setdefault(figure.title, []).append(
                    f"  - {_place(cell)}: {_share(count.rate or 0.0)}; told in {'; '.join(named)}"
                )
    if not rows:
        return "\n".join([*lines, "No cell is, by more than the number of sets explains."])
    lines += [
        f"The share of experiments with each warning, the {_NAMED} most frequent of a cell, N for their numbers:",
        "",
    ]
    for title, places in rows.items():
        lines += [f"- {title}", *places]
    return "\n".join(lines)


def _shortened(kind: str) -> str:
    return kind if len(kind) <= _LONG else kind[:_LONG].rsplit(" ", 1)[0] + " ..."


def _said(found: Cells) -> str:
    """Which warnings the worlds bring about."""
    lines = [
        "## What is told",
        "",
        "The share of documents with each warning, half of them of `analyse` and half of `compare --threshold 0`, of one "
        "benchmark and 30 layouts, N for its numbers; findings and doubts are keys of the documents that the terminal "
        "has sentences on.",
        "",
        _row(["world", "warnings"]),
        _row(["---", "---"]),
    ]
    for world in WORLDS:
        cell = found.get(Cell("one", world, Size(30)).name)
        if cell is None:
            continue
        sets = max(count["sets"] for count in cell["counts"].values())
        told = [f"{_share(number / (2 * sets))} {text}" for text, number in cell["sentences"].items()]
        lines.append(_row([WORLDS[world].title, "<br>".join(told[:4]).replace("|", "\\|") or "none"]))
    return "\n".join(lines)


REPEATED = "## What a test repeats"
_LINE = re.compile(
    r"\| (?P<cell>[\w-]+) \| (?P<figure>[^|]+) \| (?P<sets>\d+) \| (?P<gave>\d+) \| (?P<total>[\d.]+) \| (?P<told>\d+) \|"
)


def _repeated(found: Cells) -> str:
    """The first sets of some cells, exactly."""
    lines = [
        REPEATED,
        "",
        "The first sets of some cells, counted: `make merge` simulates them again and compares, so that a change of "
        "the statistics does not leave this page behind.",
        "",
        _row(["cell", "figure", "sets", "gave a number", "sum", "told"]),
        _row(["---"] * 6),
    ]
    for cell in CHECKED:
        for name, count in found.get(cell.name, {}).get("first", {}).items():
            lines.append(_row([cell.name, name, *(_number(count[key]) for key in ("sets", "gave", "total", "told"))]))
    return "\n".join(lines)


def _number(value: float) -> str:
    """Six digits: more would be those of the machine's arithmetic."""
    return f"{value:.6g}"


def repeated(text: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Of a page: cell -> figure -> the counts of its first sets, as they are written."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in text[text.index(REPEATED) :].splitlines():
        if match := _LINE.fullmatch(line):
            counts = tuple(match[key] for key in ("sets", "gave", "total", "told"))
            found.setdefault(match["cell"], {})[match["figure"]] = counts
    return found


def written(counts: Mapping[str, Count]) -> dict[str, tuple[str, ...]]:
    """Counts as a page has them."""
    return {
        name: tuple(_number(value) for value in (count.sets, count.gave, count.total, count.told))
        for name, count in counts.items()
    }


def read(directory: Path, wanted: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """The cells that the directory has, in their order."""
    paths = {cell.name: directory / f"{cell.name}.json" for cell in wanted}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
