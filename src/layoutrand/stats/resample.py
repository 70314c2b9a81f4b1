"""Hierarchical resampling with replacement.

A pattern says what happens at each level, highest first: R draws the units of a level with replacement, N keeps
them as they are.  RRR draws binaries, then for each drawn binary its executions, then for each drawn execution
its measurements (TR 4-12, figure 1); RNN only draws binaries; FLAT forgets the hierarchy and draws measurements.

The work is done a chunk of replicates at a time, so that memory stays bounded and the indices stay in cache.
Each level has its own random stream, and every replicate uses up the same number of its words: the chunk size
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.levels import FloatArray, IntArray, Nested
from layoutrand.stats.streams import IndexSampler, RaggedSampler, Stream

CHUNK = 1 << 17
"""Measurements drawn at a time: 1 MiB of indices, which stays in the second-level cache."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to resample, how often, and from which random streams.

    Attributes
    ----------
    resampling
        Pattern such as ``"RRR"``, highest level first, or ``"FLAT"``.
    n_resamples
        Number of replicates.
    seed, label
        Name the random streams.
    top_label
        Label of the stream that draws the binaries; two systems with the same one draw the same binaries.
    chunk
        Measurements per chunk.
    """

    resampling: str
    n_resamples: int
    seed: int
    label: str
    top_label: str
    chunk: int


def resampling_plan(resampling: str, n_resamples: int, *, seed: int, label: str) -> Plan:
    """A plan in which the system draws its own binaries, with the usual chunk size."""
    return Plan(resampling=resampling, n_resamples=n_resamples, seed=seed, label=label, top_label=label, chunk=CHUNK)


def level_pattern(resampling: str, n_levels: int) -> str:
    """One letter per level, highest first; the last letter of `resampling` stands for all further levels."""
    if resampling == "FLAT":
        return resampling
    if not isinstance(resampling, str) or not resampling or set(resampling) - {"R", "N"}:
        raise AnalysisError(
            "resampling must be FLAT, or a word of R (resample) and N (keep) with the highest level first, "
            f"such as RRR or RNN; got {resampling!r}"
        )
    return resampling[:n_levels].ljust(n_levels, resampling[-1])


def replicate_means(sample: Nested, plan: Plan) -> FloatArray:
    """Grand mean of each replicate, shape ``(n_resamples,)``, within the measurements' range despite rounding."""
    means: FloatArray = np.concatenate([slots.mean(axis=1) for slots in slot_means(sample, plan)])
    return means.clip(sample.values.min(), sample.values.max())


def slot_means(sample: Nested, plan: Plan) -> Iterator[FloatArray]:
    """Means of the drawn binaries of each replicate, in chunks of shape ``(rows, n_binaries)``.

    With FLAT the slots are single measurements.
    """
    pattern = level_pattern(plan.resampling, sample.n_levels)
    if pattern != "FLAT":  # keeping a level of means as it is equals averaging it beforehand
        kept = min(len(pattern) - len(pattern.rstrip("N")), sample.n_levels - 1)
        pattern = pattern[: sample.n_levels - kept]
        sample = Nested(values=sample.unit_means(kept + 1), counts=sample.counts[kept:])
    for drawn, sizes in _draws(sample, pattern, plan):
        yield _averaged(drawn, sizes)


def sorted_draws(sample: Nested, plan: Plan) -> Iterator[tuple[FloatArray, IntArray]]:
    """All measurements of each replicate in rising order, and how many they are; padding sorts last."""
    for drawn, sizes in _draws(sample, level_pattern(plan.resampling, sample.n_levels), plan):
        rows = drawn.shape[0]
        if isinstance(sizes[-1], int):
            total = np.full(rows, drawn[0].size, dtype=np.int64)
            yield np.sort(drawn.reshape(rows, -1), axis=1), total
            continue
        real = np.ones((rows, 1), dtype=np.bool_)
        for size, width in zip(sizes, drawn.shape[1:], strict=True):
            real = (real[..., None] & (np.arange(width) < np.reshape(size, (rows, -1, 1)))).reshape(rows, -1)
        yield np.sort(np.where(real, drawn.reshape(rows, -1), np.inf), axis=1), real.sum(axis=1)


Sizes = list[int] | list[IntArray]
"""Children of each drawn unit, highest level first: a number per level, or in unbalanced data one per unit."""


def _averaged(drawn: FloatArray, sizes: Sizes) -> FloatArray:
    """Average all levels of drawn measurements but the top one."""
    rows = drawn.shape[0]
    for size, width in reversed(list(zip(sizes[1:], drawn.shape[2:], strict=True))):
        if isinstance(size, int):
            drawn = np.einsum("ij->i", drawn.reshape(-1, width)) / width
        else:
            masked = np.where(np.arange(width) < size[:, :, None], drawn.reshape(rows, -1, width), 0.0)
            drawn = masked.sum(axis=2) / size
    return drawn.reshape(rows, -1)


def _draws(sample: Nested, pattern: str, plan: Plan) -> Iterator[tuple[FloatArray, Sizes]]:
    """Drawn measurements in chunks of shape ``(rows, r_n, ..., r_1)``, padded when unbalanced, and their sizes."""
    if pattern == "FLAT":
        sample = Nested(values=sample.values, counts=(np.array([sample.values.size], dtype=np.int64),))
        pattern = "R"
    streams = [Stream(plan.seed, plan.label, axis) for axis in range(sample.n_levels)]
    streams[0] = Stream(plan.seed, plan.top_label, 0)
    rows_at_once = max(1, plan.chunk // int(np.prod(sample.shape)))
    draw = _balanced_draws if sample.is_balanced else _ragged_draws
    chunks = (min(rows_at_once, plan.n_resamples - done) for done in range(0, plan.n_resamples, rows_at_once))
    return draw(sample, pattern, streams, chunks)


def _balanced_draws(
    sample: Nested, pattern: str, streams: list[Stream], chunks: Iterator[int]
) -> Iterator[tuple[FloatArray, Sizes]]:
    shape = sample.shape
    samplers = [
        IndexSampler(stream, count, row_length=count * int(np.prod(shape[:axis], dtype=np.int64)))
        for axis, (stream, count) in enumerate(zip(streams, shape, strict=True))
    ]
    for rows in chunks:
        cells: IntArray = np.zeros(rows, dtype=np.int64)
        for letter, count, sampler in zip(pattern, shape, samplers, strict=True):
            within = sampler.rows(rows).reshape(-1, count) if letter == "R" else np.arange(count, dtype=np.int64)
            base = cells.reshape(-1, 1) * count
            cells = np.empty((base.size, count), dtype=np.int64)
            np.add(base, within, out=cells, casting="unsafe")
        yield sample.values.take(cells.reshape(rows, *shape), mode="clip"), list(shape)


def _ragged_draws(
    sample: Nested, pattern: str, streams: list[Stream], chunks: Iterator[int]
) -> Iterator[tuple[FloatArray, Sizes]]:
    shape = sample.shape
    counts = tuple(reversed(sample.counts))
    starts = [np.concatenate(([0], np.cumsum(level)[:-1])) for level in counts]
    samplers = [
        RaggedSampler(stream, row_length=int(np.prod(shape[: axis + 1], dtype=np.int64)))
        for axis, stream in enumerate(streams)
    ]
    for rows in chunks:
        cells: IntArray = np.zeros((rows, 1), dtype=np.int64)
        sizes: list[IntArray] = []
        for axis, (letter, width) in enumerate(zip(pattern, shape, strict=True)):
            sizes.append(counts[axis][cells])
            available = np.repeat(sizes[-1], width, axis=1)
            place = np.tile(np.arange(width, dtype=np.int64), cells.shape[1])
            within = samplers[axis].rows(available) if letter == "R" else np.minimum(place, available - 1)
            cells = np.repeat(starts[axis][cells], width, axis=1) + within
        yield sample.values[cells].reshape(rows, *shape), sizes
