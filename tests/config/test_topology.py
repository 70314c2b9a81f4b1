from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.config.topology import Placement, Topology, checked_wish, format_cpus, parse_cpus, place
from layoutrand.errors import UsageError


def machine(cpus, **changes):
    online = frozenset(range(cpus))
    return Topology(**{"online": online, "allowed": online} | changes)


def threads(*cores):
    """Siblings of cores given as tuples of CPUs."""
    return {cpu: frozenset(core) for core in cores for cpu in core}


@pytest.mark.parametrize(
    ("topology", "cpus", "siblings"),
    [
        pytest.param(machine(1), (0,), (), id="one CPU"),
        pytest.param(machine(2), (1,), (), id="not CPU 0"),
        pytest.param(
            machine(8, siblings=threads((0, 1), (2, 3), (4, 5), (6, 7))), (6,), (7,), id="neighbouring siblings"
        ),
        pytest.param(machine(8, siblings=threads((0, 4), (1, 5), (2, 6), (3, 7))), (3,), (7,), id="siblings far apart"),
        pytest.param(
            machine(4, siblings=threads((0, 2), (1, 3)), allowed=frozenset({2, 3})),
            (3,),
            (1,),
            id="the sibling of CPU 0 is avoided like CPU 0",
        ),
        pytest.param(
            machine(4, siblings=threads((0, 2), (1, 3)), allowed=frozenset({0, 2})),
            (0,),
            (2,),
            id="nothing but CPU 0's core",
        ),
        pytest.param(machine(8, isolated=frozenset({2, 3})), (3,), (), id="isolated first"),
        pytest.param(
            machine(
                8,
                siblings=threads((0, 1), (2, 3)),
                speed={0: 5200, 1: 5200, 2: 5200, 3: 5200, **dict.fromkeys(range(4, 8), 3900)},
            ),
            (2,),
            (3,),
            id="fastest type, the others have the higher numbers",
        ),
        pytest.param(
            machine(4, speed={0: 5800, 1: 5800, 2: 5700, 3: 5700}), (3,), (), id="favoured cores are of the same type"
        ),
        pytest.param(machine(4, speed={0: 1024, 1: 400, 2: 400, 3: 400}), (0,), (), id="CPU 0 where it alone is fast"),
        pytest.param(machine(4, allowed=frozenset({1, 2})), (2,), (), id="only allowed ones"),
    ],
)
def test_auto_chooses_by_topology(topology, cpus, siblings):
    assert place("auto", topology) == Placement(cpus, siblings)


def test_any_places_nothing():
    assert place("any", machine(4)) is None


def test_a_list_is_taken_as_it_is_with_the_siblings_that_are_left():
    topology = machine(8, siblings=threads((0, 4), (1, 5), (2, 6), (3, 7)))
    placement = place([1, 2, 6], topology)
    assert placement == Placement((1, 2, 6), (5,))
    assert placement.taken == {1, 2, 5, 6}


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ([4], r"this machine has no CPU 4 \(or it is offline\); there are 0-3\."),
        ([1, 8, 9], "no CPU 8 and 9"),
        ([3], "may not use CPU 3, only 0-2: taskset, a cpuset"),
    ],
)
def test_cpus_that_cannot_be_had(wish, message):
    with pytest.raises(UsageError, match=message):
        place(wish, machine(4, allowed=frozenset({0, 1, 2})))


@pytest.mark.parametrize(
    ("given_", "wish"), [("any", "any"), ("auto", "auto"), (3, [3]), (0, [0]), ([2, 1, 2], [1, 2])]
)
def test_wishes(given_, wish):
    assert checked_wish(given_) == wish


@pytest.mark.parametrize("value", ["all", "", -1, True, [], [True], [1, "2"], [-1], 1.0, {}, None])
def test_what_is_no_wish(value):
    with pytest.raises(ValueError, match='must be "any", "auto"'):
        checked_wish(value)


@given(st.frozensets(st.integers(0, 300)))
def test_lists_of_cpus_are_read_as_they_are_written(cpus):
    assert parse_cpus(format_cpus(cpus)) == cpus


def test_a_list_of_the_kernel():
    assert parse_cpus("0-3,8,10-11\n") == {0, 1, 2, 3, 8, 10, 11}
    assert format_cpus({11, 8, 0, 1, 2, 10}) == "0-2,8,10-11"
    assert parse_cpus("") == set()
