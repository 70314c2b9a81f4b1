"""Tables are read by column and told about by row: what comes out is what reading them row by row gives."""

from __future__ import annotations

import csv
import io
import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.errors import UnreadableResults
from layoutrand.interop import csv_chunks, table
from layoutrand.interop.column_cells import cells_of_rows, cells_of_text
from layoutrand.interop.import_spec import ONE_SEED
from layoutrand.interop.imported import in_base_unit, refuse_impossible
from layoutrand.text.csv_cells import text_of_cell
from layoutrand.text.foreign_fields import parse_number, plain, unreadable

NUMBERS = st.one_of(
    st.floats(1e-9, 1e9).map(repr),
    st.decimals(0, 10**6, places=6).map(str),
    st.integers(0, 10**19).map(str),
    st.sampled_from(["1.", "+2.5", ".5", "1e-3", "2E+5", "007", " 1.5", "'-1", "0", "-0", "-2", "123456789012345.6"]),
    st.sampled_from(
        ["x", "", ".", "+", "1_000", "nan", "1-2", "1.2.3", "١", "1e70", "1e-70", "9" * 400, "1\0", "1e58"]
    ),
)
CELLS = {
    "system": st.sampled_from(["A", "B", "a system of more than eight bytes", " A", "é", "x,y", "'=1", 'q"q']),
    "seed": st.sampled_from(["1", "2", "1.0", "1.5", "01", "stock"]),
    "execution": st.one_of(
        st.sampled_from(["0", "1", "2", "007", " 1", "10000000000", "-1", "1.0", "9" * 19, ""]),
        st.sampled_from(
            ["0.0", "20.0", "1.5", "1.", ".0", "-1.0", "1.0.0", "9007199254740991.0", "9007199254740992.0"]
        ),
    ),
    "iteration": st.one_of(st.integers(0, 1000).map(str), st.integers(0, 9).map("{}.0".format), st.just("x")),
    "round": st.sampled_from(["", "3", "3.0", "10.00", "3", "", "3.5", "-3"]),
    "unit": st.sampled_from(["s", "ms", "", "J", "GB"]),
    "warmup": st.sampled_from(["", "0", "0.0", "yes", "maybe"]),
    "status": st.sampled_from(["", "ok", "ok", "exit"]),
}


@st.composite
def tables(draw):
    columns = draw(st.permutations(["value", *draw(st.sets(st.sampled_from(sorted(CELLS))))]))
    rows = draw(
        st.lists(st.tuples(*[NUMBERS if name == "value" else CELLS[name] for name in columns]), min_size=1, max_size=8)
    )
    out = io.StringIO(newline="")
    end = draw(st.sampled_from(["\n", "\n", "\n", "\r\n"]))
    writer = csv.writer(
        out, lineterminator=end, quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL] * 3 + [csv.QUOTE_ALL]))
    )
    writer.writerows([columns, *rows])
    text = out.getvalue()
    for place in draw(st.lists(st.integers(0, len(text)), max_size=1)):
        text = text[:place] + draw(st.sampled_from([",", "\n", '"', "\r"])) + text[place:]
    return text


def whole(cell, longest=18):
    """A whole number as a cell has it; floating-point ones, which are exact below 2**53, where there are gaps."""
    found = re.fullmatch(r"([0-9]+)(\.0+)?", cell) if len(cell) <= longest else None
    return None if found is None or (found[2] and int(found[1]) >= 2**53) else int(found[1])


def by_row(text, header):
    """What a table holds, read in the simplest way."""
    found, seen, executions, iterations, spelt = [], {}, {}, {}, {}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        next(reader)
        for cells in reader:
            line = reader.line_num
            if not cells:
                continue
            if len(cells) != len(header):
                raise unreadable("f", f"{len(cells)} cells under {len(header)} columns", line=line)
            row = {name: text_of_cell(cell.strip()) for name, cell in zip(header, cells, strict=True)}
            status, warmup = row.get("status") or "ok", row.get("warmup", "")
            if status == "ok" and row.get("round") and whole(row["round"]) is None:
                raise unreadable("f", f"round is {row['round']!r}; expected the seed of a round", line=line)
            if status == "ok" and warmup not in {"", "0", "0.0", "yes"}:
                raise unreadable("f", f"warmup is {warmup!r}; expected 0 or 1", line=line)
            of = (plain(row.get("system", "")), row.get("seed", "").removesuffix(".0"))
            first = spelt.setdefault((of[0], of[1].lstrip("0")), of[1])
            if first != of[1]:
                message = f"seed is {of[1]!r} here, and {first!r} above; {ONE_SEED}"
                raise unreadable("f", message, line=line)
            for name in ("execution", "iteration"):
                if name in row and whole(row[name]) is None:
                    raise unreadable("f", f"{name} is {row[name]!r}; expected a whole number from 0", line=line)
            counter = (
                executions.setdefault(of, itertools.count()) if {"execution", "iteration"}.isdisjoint(row) else [0]
            )
            execution = whole(row["execution"]) if "execution" in row else next(iter(counter))
            counter = iterations.setdefault((of, execution), itertools.count()) if "execution" in row else [0]
            iteration = whole(row["iteration"]) if "iteration" in row else next(iter(counter))
            if (first := seen.setdefault((of, execution, iteration), line)) != line:
                message = f"the same system, benchmark, seed, metric, execution and iteration as line {first}"
                raise unreadable("f", message, line=line)
            if status != "ok":
                if row["value"]:
                    raise unreadable("f", f"status is {status!r}, so value must be empty", line=line)
                found.append((of, execution, status, whole(row.get("round", ""))))
                continue
            value, unit = in_base_unit(parse_number(row["value"], "f", "value", line=line), row.get("unit", ""))
            if value != 0 and not 1e-60 <= abs(value) <= 1e60:
                raise unreadable(
                    "f", "value is too large in its base unit: values lie between 1e-60 and 1e+60, or are 0", line=line
                )
            refuse_impossible(value, unit, "value", "f", "value", line=line)
            found.append((of, execution, iteration, value, unit, warmup == "yes", whole(row.get("round", ""))))
    except csv.Error as error:
        raise unreadable("f", f"no CSV ({error})", line=reader.line_num) from error
    if not found:
        raise unreadable("f", "holds no measurement below its header")
    return sorted(found, key=len), [each for each in found if len(each) > 4]


def said_by(read, *arguments):
    try:
        return read(*arguments)
    except UnreadableResults as error:
        return str(error)


def by_column(text):
    content = table.parse_csv(text, "f")
    rows = [((r.system, r.binary), r.execution, r.iteration, r.value, r.unit, r.warmup, r.round) for r in content.rows]
    return [*(((f.system, f.binary), f.execution, f.status, f.round) for f in content.failures), *rows], rows


@given(tables(), st.integers(1, 60))
def test_tables_and_their_errors_are_those_of_reading_row_by_row(text, size):
    header = table._header(text)
    refused = said_by(table._check_header, header, text, "f")
    if refused is not None:
        assert said_by(table.parse_csv, text, "f") == refused
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_chunks, "_CHARACTERS", size)
        patch.setattr(csv_chunks, "_ROWS", 1 + size // 20)
        assert said_by(by_column, text) == said_by(by_row, text, header)


@given(st.lists(st.tuples(NUMBERS, st.text(st.characters(exclude_categories=["Cs"]), max_size=20)), min_size=1))
def test_numbers_are_those_of_float(rows):
    cells = cells_of_rows(rows, 2)
    for cell, found in zip((row[0] for row in rows), cells.decimals(0, np.arange(len(rows))), strict=True):
        expected = said_by(parse_number, cell, "f", "value")
        if isinstance(expected, float):
            assert (float(found), np.signbit(found)) == (expected, np.signbit(expected))
        else:  # or it is told to be too large, by who knows the line
            assert np.isnan(found) or not 1e-60 <= abs(found) <= 1e60


@given(st.lists(st.tuples(*[st.text(st.sampled_from("ab\0é"), max_size=18)] * 2), min_size=1))
def test_rows_are_alike_that_have_the_same_cells(rows):
    codes, different = cells_of_rows(rows, 2).alike([0, 1])
    assert [different[code] for code in codes] == rows
    assert different == list(dict.fromkeys(rows))


def test_lines_with_other_numbers_of_cells_are_not_taken_apart():
    assert len(cells_of_text("a,b\nc,d", 2)) == 2
    assert [cells_of_text(text, 2) for text in ("a,b\nc\n", "a,b,c\nd\n", "a\nb,c,d\n", "a,b\nc,d,e,f\n")] == [None] * 4
