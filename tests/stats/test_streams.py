"""Random streams: pinned for ever, uniform, and independent of chunk sizes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand.stats.streams import IndexSampler, RaggedSampler, Stream, splitmix64


def test_words_are_pinned():
    assert [hex(int(word)) for word in Stream(1, "label").words(3)] == [
        "0x5a44ce0117db5ea9",
        "0xcd5327705d7fba9c",
        "0xa05b11c69893f963",
    ]


def test_words_are_those_of_pcg64_computed_here():
    """The published generator (O'Neill 2014, XSL-RR 128/64) in Python integers, so that no numpy can change it."""
    digest = hashlib.blake2b(b"layoutrand.stats\x1f1\x1flabel", digest_size=40).digest()
    state = int.from_bytes(digest[:16], "little")
    increment = int.from_bytes(digest[16:32], "little") | 1
    found = []
    for _ in range(5):
        state = (state * 0x2360ED051FC65DA44385DF649FCCF645 + increment) % 2**128
        mixed, turn = (state >> 64) ^ (state % 2**64), state >> 122
        found.append((mixed >> turn | mixed << (64 - turn)) % 2**64)

    assert Stream(1, "label").words(5).tolist() == found


def test_indices_are_pinned_in_short_and_long_lanes():
    short = IndexSampler(Stream(1, "a"), 40, row_length=7).rows(2).tolist()
    long = IndexSampler(Stream(1, "a"), 5000, row_length=3).rows(2).tolist()
    ragged = RaggedSampler(Stream(1, "a"), row_length=3).rows(np.array([[2, 30, 7]])).tolist()

    assert short == [[30, 8, 21, 22, 29, 12, 31], [17, 28, 2, 11, 2, 36, 20]]
    assert long == [[1036, 2763, 1610], [3568, 1408, 4562]]
    assert ragged == [[0, 16, 2]]


def test_redraws_are_pinned():
    """1023 items leave 65 of 65536 lanes over: rows long enough to meet some."""
    rows = IndexSampler(Stream(3, "redraw"), 1023, row_length=5000).rows(2)

    assert int(rows.max()) < 1023
    assert int((Stream(3, "redraw").words(2500).view("<u2") // 64 == 1023).sum()) == 6
    assert int(rows.astype(np.int64).sum()) == 5058271


def test_splitmix_is_the_published_generator():
    """First outputs of splitmix64 seeded with 0, as used to seed xoshiro generators."""
    assert [hex(int(x)) for x in splitmix64(np.arange(3, dtype=np.uint64), 0)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


@pytest.mark.parametrize("n_items", [1, 2, 3, 40, 777, 1024, 1025, 24000])
def test_indices_are_uniform(n_items):
    rows = IndexSampler(Stream(7, "uniform", n_items), n_items, row_length=13).rows(20000).ravel()

    counts = np.bincount(rows, minlength=n_items)

    assert counts.size == n_items
    assert n_items == 1 or scipy_stats.chisquare(counts).pvalue > 1e-4


def test_redrawn_indices_are_uniform_too():
    """Only the lanes that were redrawn: 1000 items of 65536 leave 536 lanes, 0.8 %, over."""
    words = Stream(2, "x").words(500_000).view("<u2")
    rows = IndexSampler(Stream(2, "x"), 1000, row_length=2_000_000).rows(1)[0]
    redrawn = rows[words >= 65 * 1000]

    assert redrawn.size == pytest.approx(2_000_000 * 536 / 65536, rel=0.05)
    assert scipy_stats.kstest((redrawn + 0.5) / 1000, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("n_items", [3, 1000, 5000])
def test_chunks_change_nothing(n_items):
    whole = IndexSampler(Stream(5, "c"), n_items, row_length=11).rows(100)
    sampler = IndexSampler(Stream(5, "c"), n_items, row_length=11)
    parts = np.concatenate([sampler.rows(count) for count in (1, 2, 40, 57)])

    assert (whole == parts).all()


def test_ragged_indices_are_uniform_within_each_bound():
    bounds = np.tile(np.array([[1, 2, 5, 13]]), (20000, 1))

    rows = RaggedSampler(Stream(1, "r"), row_length=4).rows(bounds)

    for column, bound in zip(rows.T, (1, 2, 5, 13), strict=False):
        counts = np.bincount(column, minlength=bound)
        assert counts.size == bound
        assert bound == 1 or scipy_stats.chisquare(counts).pvalue > 1e-4


def test_seeds_and_labels_name_unrelated_streams():
    streams = [Stream(seed, *labels).uniforms(2000) for seed in (0, 1, 2) for labels in ((), ("a",), ("b",), ("a", 1))]
    correlations = np.corrcoef(streams)[np.triu_indices(len(streams), 1)]

    assert np.abs(correlations).max() < 0.1
    assert Stream(1, "a", "b").words(1)[0] != Stream(1, "ab").words(1)[0]


def test_uniforms_and_normals_have_their_distributions():
    stream = Stream(9, "n")
    uniforms, normals = stream.uniforms(50_000), stream.normals(50_000)

    assert 0 < uniforms.min() < uniforms.max() < 1
    assert scipy_stats.kstest(uniforms, "uniform").pvalue > 1e-4
    assert scipy_stats.kstest(normals, "norm").pvalue > 1e-4


def test_orders_are_permutations_and_every_order_is_as_likely():
    stream = Stream(4, "o")
    orders = [tuple(stream.order(4).tolist()) for _ in range(4800)]
    _, counts = np.unique(orders, axis=0, return_counts=True)

    assert counts.size == 24
    assert scipy_stats.chisquare(counts).pvalue > 1e-4
