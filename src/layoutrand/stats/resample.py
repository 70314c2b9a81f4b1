"""Hierarchical resampling with replacement.

A pattern says what happens at each level, highest first: R draws the units of a level with replacement, N keeps
them as they are.  RRR draws binaries, then for each drawn binary its executions, then for each drawn execution
its measurements (TR 4-12, figure 1); RNN only draws binaries; FLAT forgets the hierarchy and draws measurements.

The work is done a chunk of replicates at a time, so that memory stays bounded and the indices stay in cache.
Each level has its own random stream, and every replicate uses up the same number of its words: the chunk size
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.levels import FloatArray, IntArray, Nested
from layoutrand.stats.streams import IndexSampler, RaggedSampler, Stream

CHUNK = 1 << 17
"""Measurements drawn at a time: 1 MiB of indices, which stays in the second-level cache."""


@dataclass(frozen=True, kw_only=True)
class ResamplingPlan:
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


def resampling_plan(resampling: str, n_resamples: int, *, seed: int, label: str) -> ResamplingPlan:
    """A plan in which the system draws its own binaries, with the usual chunk size."""
    return ResamplingPlan(
        resampling=resampling, n_resamples=n_resamples, seed=seed, label=label, top_label=label, chunk=CHUNK
    )


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


def replicate_means(sample: Nested, plan: ResamplingPlan) -> FloatArray:
    """Grand mean of each replicate, shape ``(n_resamples,)``, within the measurements' range despite rounding."""
    means: FloatArray = np.concatenate([slots.mean(axis=1) for slots in slot_means(sample, plan)])
    return means.clip(sample.values.min(), sample.values.max())


def slot_means(sample: Nested, plan: ResamplingPlan) -> Iterator[FloatArray]:
    """Means of the drawn binaries of each replicate, in chunks of shape ``(rows, n_binaries)``.

    With FLAT the slots are single measurements.
    """
    pattern = level_pattern(plan.resampling, sample.n_levels)
    if pattern != "FLAT":  # keeping a level of means as it is equals averaging it beforehand
        kept = min(len(pattern) - len(pattern.rstrip("N")), sample.n_levels - 1)
        pattern = pattern[: sample.n_levels - kept]
        sample = Nested(values=sample.unit_means(kept + 1), counts=sample.counts[kept:])
    for drawn, sizes in _draws(sample, pattern, plan):
        yield _averaged(drawn, sizes) if sample.n_levels > 1 and pattern != "FLAT" else drawn.copy()


def sorted_draws(sample: Nested, plan: ResamplingPlan) -> Iterator[tuple[FloatArray, IntArray]]:
    """All measurements of each replicate in rising order, and how many they are; padding sorts last."""
    for drawn, sizes in _draws(sample, level_pattern(plan.resampling, sample.n_levels), plan):
        rows = drawn.shape[0]
        real = np.ones((rows, 1), dtype=np.bool_)
        for size, width in zip(sizes, reversed(drawn.shape[1:]), strict=True):
            bound = size if isinstance(size, int) else size[:, None, :]
            real = (real[:, None, :] & (np.arange(width)[:, None] < bound)).reshape(rows, -1)
        yield np.sort(np.where(real, drawn.reshape(rows, -1), np.inf), axis=1), real.sum(axis=1)


Sizes: TypeAlias = Sequence[int | IntArray]
"""Children of each drawn unit, highest level first: a number per level, or in unbalanced data one per unit."""


def _averaged(drawn: FloatArray, sizes: Sizes) -> FloatArray:
    """Average all levels of drawn measurements but the top one."""
    rows = drawn.shape[0]
    for size, width in zip(reversed(sizes[1:]), drawn.shape[1:-1], strict=True):
        children = drawn.reshape(rows, width, -1)
        if not isinstance(size, int):
            children = np.where(np.arange(width)[:, None] < size[:, None, :], children, 0.0)
        drawn = np.einsum("ijk->ik", children) / size  # adds in the same order whatever the number of rows
    return drawn.reshape(rows, -1)


def _draws(sample: Nested, pattern: str, plan: ResamplingPlan) -> Iterator[tuple[FloatArray, Sizes]]:
    """Drawn measurements in chunks of shape ``(rows, r_1, ..., r_n)``, padded when unbalanced, and their sizes.

    The lowest level comes first, so that averaging it adds long contiguous vectors.  A chunk lasts until the next.
    """
    if pattern == "FLAT":
        sample = Nested(values=sample.values, counts=(np.array([sample.values.size], dtype=np.int64),))
        pattern = "R"
    streams = [Stream(plan.seed, plan.label, axis) for axis in range(sample.n_levels)]
    streams[0] = Stream(plan.seed, plan.top_label, 0)
    rows_at_once = max(1, plan.chunk // int(np.prod(sample.shape)))
    draw = _balanced_draws if sample.is_balanced else _ragged_draws
    chunks: Iterator[int] = (
        min(rows_at_once, plan.n_resamples - done) for done in range(0, plan.n_resamples, rows_at_once)
    )
    return draw(sample, pattern, streams, chunks)


def _balanced_draws(
    sample: Nested, pattern: str, streams: list[Stream], chunks: Iterator[int]
) -> Iterator[tuple[FloatArray, Sizes]]:
    shape = sample.shape
    samplers = [
        IndexSampler(stream, count, row_length=count * int(np.prod(shape[:axis], dtype=np.int64)))
        for axis, (stream, count) in enumerate(zip(streams, shape, strict=True))
    ]
    buffers: list[IntArray] = [np.empty(0, dtype=np.int64)] * len(shape)  # reused: fresh pages cost as much as drawing
    drawn: FloatArray = np.empty(0)
    for rows in chunks:
        cells: IntArray = np.zeros((rows, 1), dtype=np.int64)
        for axis, (letter, count, sampler) in enumerate(zip(pattern, shape, samplers, strict=True)):
            units = cells.shape[1]
            within = sampler.rows(rows).reshape(rows, count, units) if letter == "R" else np.arange(count)[:, None]
            if buffers[axis].size < rows * count * units:
                buffers[axis] = np.empty(rows * count * units, dtype=np.int64)
            below = buffers[axis][: rows * count * units].reshape(rows, count, units)
            np.add((cells * count)[:, None, :], within, out=below, casting="unsafe")
            cells = below.reshape(rows, -1)
        if drawn.size < cells.size:
            drawn = np.empty(cells.size)
        sample.values.take(cells.reshape(-1), out=drawn[: cells.size], mode="clip")
        yield drawn[: cells.size].reshape(rows, *reversed(shape)), list(shape)


def _ragged_draws(
    sample: Nested, pattern: str, streams: list[Stream], chunks: Iterator[int]
) -> Iterator[tuple[FloatArray, Sizes]]:
    shape = sample.shape
    counts = tuple(reversed(sample.counts))
    starts = [np.cumsum(level) - level for level in counts]
    top = IndexSampler(streams[0], shape[0], row_length=shape[0])  # as in balanced data, so that the two can be paired
    samplers = [
        RaggedSampler(stream, row_length=int(np.prod(shape[: axis + 1], dtype=np.int64)))
        for axis, stream in enumerate(streams)
    ]
    for rows in chunks:
        cells: IntArray = np.zeros((rows, 1), dtype=np.int64)
        sizes: list[int | IntArray] = []
        for axis, (letter, width) in enumerate(zip(pattern, shape, strict=True)):
            size = counts[axis][cells]
            sizes.append(size)
            available = np.repeat(size[:, None, :], width, axis=1)
            places = np.arange(width, dtype=np.int64)[:, None]
            if letter == "N":
                within = np.minimum(places, available - 1)
            elif axis == 0:
                within = top.rows(rows).astype(np.int64).reshape(available.shape)
            else:
                within = samplers[axis].rows(available.reshape(rows, -1)).reshape(available.shape)
            cells = (starts[axis][cells][:, None, :] + within).reshape(rows, -1)
        yield sample.values[cells].reshape(rows, *reversed(shape)), sizes
