"""Cells of a table by column: what is alike in many rows is looked at once, numbers are read all at a time.

Cells lie one after the other in a run of bytes.  Eight of these are loaded at once and compared as one number, so that
of a million rows no cell becomes a string but those that differ from all others, and numbers that are not written as
plain decimal ones.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from layoutrand.text.digits import EXACT_FLOAT

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
_Words = npt.NDArray[np.uint64]

_ENCODING: Final = "utf-8"
_ERRORS: Final = "surrogatepass"
_COMMA, _NEW_LINE, _DOT, _PLUS, _MINUS, _ZERO = b",\n.+-0"
_WORD: Final = 8
_PADDING: Final = b"\n" * _WORD
_EXACT_DIGITS: Final = 15
"""A whole number of so many digits is a floating-point number, and so is ten to the power of them: one rounding."""

_MOST_DIGITS: Final = 18
"""A whole number of so many digits fits into 64 bits."""

_POWERS: Final = 10.0 ** np.arange(_EXACT_DIGITS + 1)
_MASKS: Final = np.array([2 ** (8 * count) - 1 for count in range(_WORD + 1)], dtype=np.uint64)
_IN_NUMBERS: Final = b"0123456789+-.eE"


class Cells:
    """Rows of as many cells each."""

    def __init__(self, content: bytes, starts: IntArray, widths: IntArray) -> None:
        """Of cells that begin in the content at ``starts``, both arrays of shape ``(columns, rows)``."""
        self._content = content
        self._starts, self._widths = starts, widths
        padded = content + _PADDING
        self._bytes = np.frombuffer(padded, np.uint8)
        # Eight bytes from anywhere on: no copy, and the last begins where the padding does.
        self._words: _Words = np.ndarray((len(content) + 1,), "<u8", padded, strides=(1,))

    def __len__(self) -> int:
        """How many rows there are."""
        return int(self._starts.shape[1])

    @cached_property
    def widest(self) -> int:
        """Bytes of the longest cell."""
        return int(self._widths.max(initial=0))

    def cell(self, place: int, row: int) -> str:
        """The cell of that column and row, as it stands there."""
        start = int(self._starts[place, row])
        return self._content[start : start + int(self._widths[place, row])].decode(_ENCODING, _ERRORS)

    def is_empty(self, place: int) -> BoolArray:
        """In which rows there is nothing in that column."""
        empty: BoolArray = self._widths[place] == 0
        return empty

    def alike(self, places: Sequence[int]) -> tuple[IntArray, list[tuple[str, ...]]]:
        """For each row which it is of those that differ in these columns, and their cells, in the order of the rows."""
        if not len(self):
            return np.zeros(0, np.int64), []
        heads = self._where_other(places)
        codes = np.zeros(heads.size, np.int64)
        for place in places:
            for words in self._in_words(place, heads):
                # Pairs are numbered again after each step, so that their product stays below 2**64.
                own = _numbered(words)
                codes = _numbered(codes * (int(own.max()) + 1) + own)
        _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        rows = heads[first[order]]
        lengths = np.diff(heads, append=len(self))
        columns = [self._cells(place, rows) for place in places]
        different: list[tuple[str, ...]] = list(zip(*columns, strict=True)) if columns else [()]
        return np.repeat(number[codes], lengths), different

    def _cells(self, place: int, rows: IntArray) -> list[str]:
        """The cells of that column in these rows, as they stand there."""
        return [each.decode(_ENCODING, _ERRORS) for each in self._contents(place, rows)]

    def _contents(self, place: int, rows: IntArray) -> list[bytes]:
        starts = self._starts[place, rows]
        ends = starts + self._widths[place, rows]
        return [self._content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def whole_numbers(self, place: int) -> tuple[IntArray, BoolArray]:
        """The whole numbers of a column, and which of its cells are such, with few enough digits.

        They are digits alone, or of a number up to `EXACT_FLOAT` with a fraction of nothing, such as 7.0.
        """
        starts, widths = self._starts[place], self._widths[place]
        numbers, fits = self._digits(starts, widths)
        if fits.all():
            return numbers, fits
        left = np.flatnonzero(~fits & (widths <= _MOST_DIGITS))
        before = self._before_nothing(starts[left], widths[left])
        whole, are_whole = self._digits(starts[left], before)
        numbers[left], fits[left] = whole, are_whole & (whole <= EXACT_FLOAT)
        return numbers, fits

    def _before_nothing(self, starts: IntArray, widths: IntArray) -> IntArray:
        """How many bytes of each cell stand before a dot that zeros alone follow; 0 where there is no such dot."""
        before = widths.copy()
        is_zero = np.ones(widths.size, np.bool_)
        while is_zero.any():
            is_zero = (before > 0) & (self._bytes[starts + before - 1] == _ZERO)
            before -= is_zero
        is_dot = (before > 0) & (before < widths) & (self._bytes[starts + before - 1] == _DOT)
        return np.where(is_dot, before - 1, 0)

    def _digits(self, starts: IntArray, widths: IntArray) -> tuple[IntArray, BoolArray]:
        """The numbers that these bytes are, and which of them are digits alone, of which there are few enough."""
        fits = (widths > 0) & (widths <= _MOST_DIGITS)
        numbers = np.zeros(widths.size, np.int64)
        for step in range(int(widths[fits].max(initial=0))):
            inside = step < widths
            digits = self._bytes[np.where(inside, starts + step, 0)] - np.uint8(_ZERO)
            fits &= ~inside | (digits <= 9)
            numbers = np.where(inside & fits, numbers * 10 + digits, numbers)
        return numbers, fits

    def decimals(self, place: int, rows: IntArray) -> FloatArray:
        """The numbers in these rows of a column; NaN for a cell that is none as it stands there.

        Few digits are read here, and dividing by a power of ten rounds as `float` does; many are given to that.
        """
        starts, widths = self._starts[place, rows], self._widths[place, rows]
        first = self._bytes[starts]
        negative = (first == _MINUS) & (widths > 0)
        signed = negative | ((first == _PLUS) & (widths > 0))
        starts, widths = starts + signed, widths - signed
        short = widths <= _EXACT_DIGITS + 1
        numbers = np.zeros(rows.size, np.int64)
        digits_seen, behind = np.zeros(rows.size, np.int8), np.zeros(rows.size, np.int8)
        dotted, fits = np.zeros(rows.size, np.bool_), short.copy()
        for step in range(int(widths[short].max(initial=0))):
            inside = short & (step < widths)
            each = self._bytes[np.where(inside, starts + step, 0)]
            digits = each - np.uint8(_ZERO)
            is_digit = inside & (digits <= 9)
            is_dot = inside & (each == _DOT)
            fits &= ~inside | is_digit | (is_dot & ~dotted)
            dotted |= is_dot
            numbers = np.where(is_digit, numbers * 10 + digits, numbers)
            digits_seen += is_digit
            behind += is_digit & dotted
        fits &= (digits_seen > 0) & (digits_seen <= _EXACT_DIGITS)
        values = numbers / _POWERS[np.where(fits, behind, 0)]
        values = np.where(negative, -values, values)
        left = np.flatnonzero(~fits)
        values[left] = self._floats(place, rows[left])
        return values

    def _floats(self, place: int, rows: IntArray) -> FloatArray:
        """What `float` makes of these cells; NaN where it takes what is no number to us, such as "1_000" or "inf"."""
        cells = self._contents(place, rows)
        if not b"".join(cells).translate(None, _IN_NUMBERS):
            with contextlib.suppress(ValueError):  # as of "1-2"; then one by one
                return np.array([float(cell) for cell in cells])
        return np.array([_float(cell) for cell in cells])

    def _where_other(self, places: Sequence[int]) -> IntArray:
        """The first row, and those that are not like the one before."""
        other = np.zeros(len(self), np.bool_)
        other[0] = True
        everything = np.arange(len(self))
        for place in places:
            for words in self._in_words(place, everything):
                other[1:] |= words[1:] != words[:-1]
        return np.flatnonzero(other)

    def _in_words(self, place: int, rows: IntArray) -> list[_Words]:
        """The widths of these cells of a column, and their bytes in words, as many as the widest needs."""
        starts, widths = self._starts[place, rows], self._widths[place, rows]
        found = [widths.astype(np.uint64)]
        for done in range(0, int(widths.max()), _WORD):
            left = np.flatnonzero(widths > done)
            words = np.zeros(rows.size, np.uint64)
            words[left] = self._words[starts[left] + done] & _MASKS[np.minimum(widths[left] - done, _WORD)]
            found.append(words)
        return found


def _float(cell: bytes) -> float:
    try:
        return math.nan if cell.translate(None, _IN_NUMBERS) else float(cell)
    except ValueError:
        return math.nan


def _numbered(values: IntArray | _Words) -> IntArray:
    """Equal values get equal numbers, from 0 on."""
    first = values[0]
    if bool((values == first).all()):
        return np.zeros(values.size, np.int64)
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)


def cells_of_text(text: str, columns: int) -> Cells | None:
    """The cells of lines without quotes; None where a line has more or fewer of them."""
    content = text.encode(_ENCODING, _ERRORS)
    if not content.endswith(b"\n"):
        content += b"\n"
    each = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero((each == _COMMA) | (each == _NEW_LINE))
    if ends.size % columns:
        return None
    ends = np.ascontiguousarray(ends.reshape(-1, columns).T)
    lines = each[ends] == _NEW_LINE
    if not lines[-1].all() or lines[:-1].any():
        return None
    starts = np.empty_like(ends)
    starts[1:] = ends[:-1] + 1
    starts[0, 0], starts[0, 1:] = 0, ends[-1, :-1] + 1
    return Cells(content, starts, ends - starts)


def cells_of_rows(rows: Sequence[Sequence[str]], columns: int) -> Cells:
    """The same of cells that somebody else has told apart."""
    cells = [cell.encode(_ENCODING, _ERRORS) for cell in chain.from_iterable(rows)]
    widths = np.fromiter(map(len, cells), np.int64, len(cells))
    ends = np.cumsum(widths)
    shape = (len(rows), columns)
    starts = np.ascontiguousarray((ends - widths).reshape(shape).T)
    return Cells(b"".join(cells), starts, np.ascontiguousarray(widths.reshape(shape).T))
