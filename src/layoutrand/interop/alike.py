"""Whether files of one benchmark may be put beside each other: one input, one number of copies, one tuning."""

from __future__ import annotations

from collections.abc import Iterable

from layoutrand.errors import UsageError
from layoutrand.interop.imported import ImportedNumber


def check_alike(rows: Iterable[tuple[str, ImportedNumber]]) -> None:
    """Raise `UsageError`, which names the files, for numbers that cannot be compared; ``rows`` are with their files.

    Base and peak of one file may run other numbers of copies, as SPEC has it: their throughput is what is compared.
    """
    sizes: dict[tuple[str, str], tuple[str, str]] = {}
    copies: dict[tuple[str, str, str], tuple[str, int | None]] = {}
    tunes: dict[tuple[str, str], dict[str, set[str]]] = {}
    told: set[tuple[object, ...]] = set()
    for file, row in rows:
        kind = (file, row.benchmark, row.instrument, row.variant, row.workload, row.copies)
        if kind in told:
            continue
        told.add(kind)
        first, size = sizes.setdefault((row.benchmark, row.instrument), (file, row.workload))
        if row.workload != size and row.workload and size:
            raise UsageError(
                f"{row.benchmark}: its input is {size} in {first}, and {row.workload} in {file}; times of different "
                "inputs cannot be compared, so import files of one size"
            )
        first, number = copies.setdefault((row.benchmark, row.instrument, row.variant), (file, row.copies))
        if row.copies != number:
            raise UsageError(
                f"{row.benchmark}{f' ({row.variant})' if row.variant else ''}: {_copies(number)} in {first}, and "
                f"{_copies(row.copies)} in {file}; copies share caches and memory, so import files with the same number"
            )
        tunes.setdefault((row.benchmark, row.instrument), {}).setdefault(file, set()).add(row.variant)
    for (benchmark, _), of_files in tunes.items():
        (first, one), *others = of_files.items()
        for file, other in others:
            if not one & other:
                raise UsageError(
                    f"{benchmark}: {_tunes(one)} in {first} against {_tunes(other)} in {file}; these are different "
                    "tunings, so choose systems that are both base or both peak"
                )


def _copies(number: int | None) -> str:
    return "a speed metric, one copy," if number is None else f"{number} {'copy' if number == 1 else 'copies'}"


def _tunes(variants: set[str]) -> str:
    return " and ".join(sorted(variant or "base" for variant in variants))
