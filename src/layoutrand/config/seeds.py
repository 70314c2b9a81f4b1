"""Seeds as people write them: ``30`` (1 to 30), ``5..12``, ``1,7,9``, or a mixture of the last two."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from layoutrand.errors import UsageError
from layoutrand.model import IDENTITY, MAX_SEED, STOCK, BinaryName, LayoutName
from layoutrand.text.digits import whole_number
from layoutrand.text.foreign_fields import excerpt

_MOST = 1_000_000


def parse_seeds(text: str) -> list[int]:
    """The seeds in ascending order, each once; raises `UsageError` for anything else."""
    given = f"--seeds {excerpt(text, quoted=False)}"
    words = [word.strip() for word in text.split(",")]
    if len(words) == 1 and words[0].isascii() and words[0].isdigit():
        _refuse_padded(words[0], given)
        count = _seed(words[0])
        if count < 1:
            raise UsageError(f"{given}: a count of at least 1 is needed (a single seed is written 7..7)")
        return _checked(range(1, count + 1), given)
    seeds: set[int] = set()
    for word in words:
        match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", word, re.ASCII)
        if match is None:
            raise UsageError(f"{given}: {excerpt(word)} is not a seed; write 30 (= 1..30), 5..12 or 1,7,9")
        for digits in match.groups(default="0"):
            _refuse_padded(digits, given)
        first = _seed(match[1])
        last = _seed(match[2]) if match[2] else first
        if last < first:
            raise UsageError(f"{given}: {excerpt(word, quoted=False)} counts downwards")
        seeds.update(_checked(range(first, last + 1), given))
        if len(seeds) > _MOST:
            raise _too_many(given)
    return sorted(seeds)


def _refuse_padded(digits: str, given: str) -> None:
    """Raise `UsageError` for one that begins with zeros: whoever writes 01 beside 1 may take them for two seeds."""
    if digits.startswith("0") and digits != "0":
        plain = digits.lstrip("0") or "0"
        raise UsageError(
            f"{given}: {excerpt(digits)} begins with a zero; seeds are numbers, so write {excerpt(plain, quoted=False)}"
        )


def _seed(digits: str) -> int:
    """The number, or the smallest that is too large for a seed where it is larger than that."""
    seed = whole_number(digits, MAX_SEED)
    return MAX_SEED + 1 if seed is None else seed


def _checked(seeds: range, given: str) -> list[int]:
    if seeds[-1] - seeds[0] >= _MOST:  # a range this long may have no len() in Python
        raise _too_many(given)
    if seeds[-1] > MAX_SEED:
        raise UsageError(f"{given}: seeds are 0 to 2^64-1")
    return list(seeds)


def _too_many(given: str) -> UsageError:
    return UsageError(f"{given}: more than {_MOST:,} seeds at once")


def format_seeds(seeds: Iterable[int]) -> str:
    """Seeds as `parse_seeds` takes them, such as ``1..30,35``; a single one as ``7..7``, since ``7`` is a count."""
    parts: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if parts and seed == parts[-1][1] + 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    if len(parts) == 1:
        return f"{parts[0][0]}..{parts[0][1]}"
    return ",".join(str(first) if first == last else f"{first}..{last}" for first, last in parts)


def seeds_in_words(seeds: Collection[int]) -> str:
    """``seed 4`` or ``seeds 4..30``; there is one at least."""
    different = set(seeds)
    return f"seed {min(different)}" if len(different) == 1 else f"seeds {format_seeds(different)}"


def layout_in_words(name: BinaryName) -> str:
    """``seed 4``, ``stock``, or what an imported binary is called."""
    return seeds_in_words([name]) if isinstance(name, int) else name


def parse_layout(text: str) -> LayoutName:
    """One seed, or "stock" or "identity"; raises `UsageError`."""
    if text == STOCK:
        return STOCK
    if text == IDENTITY:
        return IDENTITY
    seed = whole_number(text, MAX_SEED)
    if seed is None:
        raise UsageError(f"{excerpt(text)} is not a layout: give a seed (0 to 2^64-1), stock or identity")
    return seed
