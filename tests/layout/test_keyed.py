"""Keyed hashes: pinned bytes, and independence of seeds and streams."""

import hashlib
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.errors import UsageError
from layoutrand.layout.distance import kendall_tau
from layoutrand.layout.keyed import keyed_hash, keyed_order, keyed_uniform
from layoutrand.model import MAX_SEED

SEEDS = st.integers(0, MAX_SEED)


@pytest.mark.parametrize(
    ("seed", "stream", "identity", "expected"),
    [
        (0, "function-order", b"", "f2b4d343cce60068bd3223e5f1bf68f7"),
        (1, "function-order", b"main", "c6a25bf538814d0820d69b0dd5904421"),
        (2**64 - 1, "function-order", b"main", "401183bf6721ef56e80bf4b5abae3539"),
        (1, "module-order", b"main", "e6ab9040475a48956f664b8d8cbbdf48"),
    ],
)
def test_hashes_are_pinned_for_ever(seed, stream, identity, expected):
    """The hash of a seed, stream and identity is these bytes in every version of layoutrand."""
    assert keyed_hash(seed, stream, identity).hex() == expected


@given(SEEDS, st.text(max_size=20), st.binary(max_size=300))
def test_the_construction_is_keyed_blake2b(seed, stream, identity):
    """The hash is BLAKE2b with seed and hashed stream as key, so that anyone can compute it without layoutrand."""
    key = seed.to_bytes(8, "big") + hashlib.blake2b(stream.encode(), digest_size=16).digest()
    expected = hashlib.blake2b(identity, digest_size=16, key=key, person=b"layoutrand/1").digest()

    assert keyed_hash(seed, stream, identity) == expected


def test_orders_are_pinned_for_ever():
    """The order of twelve names under one seed never changes."""
    names = [b"%d" % number for number in range(12)]

    assert keyed_order(7, "function-order", names) == [0, 4, 3, 1, 7, 9, 10, 5, 11, 6, 8, 2]


def test_uniform_numbers_are_pinned_for_ever():
    """A number drawn for the first and the last seed never changes."""
    assert (keyed_uniform(1, "env-size", b"x", 4096), keyed_uniform(MAX_SEED, "env-size", b"x", 4096)) == (581, 332)


@pytest.mark.parametrize("seed", [-1, 2**64, 10**30])
def test_seeds_outside_64_bits_are_refused(seed):
    """A seed that does not fit into 64 bits is a usage error that names the range."""
    with pytest.raises(UsageError, match=r"outside 0 \.\.\. 2\^64-1"):
        keyed_hash(seed, "function-order", b"x")


@given(SEEDS, st.lists(st.binary(max_size=8), max_size=50))
def test_an_order_is_a_permutation(seed, identities):
    """Every index appears once, also where identities repeat."""
    assert sorted(keyed_order(seed, "s", identities)) == list(range(len(identities)))


@given(SEEDS, st.lists(st.binary(max_size=2), max_size=50))
def test_equal_identities_keep_their_relative_order(seed, identities):
    """Items that cannot be told apart stay as they were."""
    order = keyed_order(seed, "s", identities)

    for a, b in pairwise(order):
        assert identities[a] != identities[b] or a < b


@given(SEEDS, st.lists(st.binary(min_size=1, max_size=6), unique=True, min_size=1, max_size=40), st.data())
def test_an_insertion_leaves_the_others_in_their_relative_order(seed, identities, data):
    """One more item, put anywhere, moves none of the others past each other."""
    added = data.draw(st.binary(min_size=7, max_size=9))
    at = data.draw(st.integers(0, len(identities)))
    grown = [*identities[:at], added, *identities[at:]]

    before = [identities[index] for index in keyed_order(seed, "s", identities)]
    after = [grown[index] for index in keyed_order(seed, "s", grown)]

    assert [identity for identity in after if identity != added] == before


def test_adjacent_seeds_give_unrelated_orders():
    """Kendall's tau of the orders of 400 neighbouring seeds scatters around 0 as that of random permutations does."""
    names = [b"function %d" % number for number in range(60)]
    orders = [keyed_order(seed, "function-order", names) for seed in range(401)]
    taus = [kendall_tau(a, b) for a, b in pairwise(orders)]
    n = len(names)
    deviation = math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))  # of tau under independence

    mean = sum(taus) / len(taus)
    spread = math.sqrt(sum(tau**2 for tau in taus) / len(taus))

    assert abs(mean) < 4 * deviation / math.sqrt(len(taus))
    assert 0.9 < spread / deviation < 1.1


def test_streams_of_one_seed_are_unrelated():
    """Two factors with one seed do not follow each other."""
    names = [b"function %d" % number for number in range(60)]
    taus = [
        kendall_tau(keyed_order(seed, "function-order", names), keyed_order(seed, "module-order", names))
        for seed in range(300)
    ]

    assert abs(sum(taus) / len(taus)) < 0.022  # 4 standard errors


def test_every_item_is_first_equally_often():
    """Over 6,000 consecutive seeds each of 10 items comes first about 600 times (chi-square, 9 degrees of freedom)."""
    names = [b"%d" % number for number in range(10)]
    counts = [0] * len(names)
    for seed in range(6000):
        counts[keyed_order(seed, "function-order", names)[0]] += 1

    assert sum((count - 600) ** 2 / 600 for count in counts) < 27.9  # the 0.1 % point


@given(SEEDS, st.binary(max_size=10), st.integers(1, 2**64 - 1))
def test_uniform_numbers_lie_below_their_bound(seed, identity, below):
    """A number drawn below a bound lies in 0 ... bound-1."""
    assert 0 <= keyed_uniform(seed, "env-size", identity, below) < below


def test_uniform_numbers_are_spread_evenly():
    """4,000 numbers below 8 fall into the eight bins evenly (chi-square, 7 degrees of freedom)."""
    counts = [0] * 8
    for number in range(4000):
        counts[keyed_uniform(3, "env-size", b"%d" % number, 8)] += 1

    assert sum((count - 500) ** 2 / 500 for count in counts) < 24.3  # the 0.1 % point
