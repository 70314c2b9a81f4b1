"""Executions that were started with another loader, C library or loader's cache than the rest.

`layoutrand.host.start_files` says what is recorded.  What a careful user expects of an upgrade of libc in the middle of
an experiment is that numbers of two machines, which is what they are, are not taken for one.  So:

- Where at most `FEW` of each system's executions are of another state than most, they are left out, and told: the rest
  is an experiment by itself, of executions chosen by when they were made and never by what they measured.
- Where more are, which of the two machines is meant is not for layoutrand to choose.  All stay, and it is an error of
  design: of the code that programs run in, no verdict; of the cache, a doubt, since what it changes is too small for a
  verdict on anything larger.  So it is for two systems of which each has a state of its own, though neither is mixed.
- The cache is nothing to a clock: it is looked at for counts alone.
- On several nodes each is looked at by itself.  That they differ is told; what a node adds is taken out anyway.

A file is compared with itself alone: two programs with loaders of different names are different by intent.  Where it is
not known what was there, as of imported or older results, nothing is concluded from it, and nothing left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

from layoutrand.analysis.start_warnings import OtherStartFiles, StartFilesByNode, UnlikeCache, UnlikeCode
from layoutrand.host.start_files import CACHE
from layoutrand.instruments.known import counts
from layoutrand.model import Execution
from layoutrand.warning import AnyWarning

FEW: Final = 1 / 3
"""The greatest share of a system's executions that is left out: adding as many again brings what was half below it."""

_State = Mapping[str, str]


def without_other_starts(executions: Sequence[Execution], warnings: list[AnyWarning]) -> list[Execution]:
    """The executions that were started alike, in their order; ``warnings`` gets what is to be told."""
    cells: dict[tuple[str, str], dict[str, list[Execution]]] = {}
    for execution in executions:
        nodes = cells.setdefault((execution.benchmark, execution.instrument), {})
        nodes.setdefault(execution.node, []).append(execution)
    counted: dict[tuple[str, tuple[str, ...]], int] = {}
    dropped: set[int] = set()
    found: list[AnyWarning] = []
    for (benchmark, _), nodes in cells.items():
        for members in nodes.values():
            if _all_alike(members):  # as a rule
                continue
            for group in _comparable(members, found):
                files = _changed(group)
                most = _most(group)
                others = [each for each in group if _differs(_state(each), most)]
                dropped |= {id(each) for each in others}
                if others:
                    counted[benchmark, files] = counted.get((benchmark, files), 0) + len(others)
        if by_node := _unlike_nodes(nodes.values(), dropped):
            found.append(StartFilesByNode(benchmark, by_node))
    warnings += [OtherStartFiles(count, benchmark, files) for (benchmark, files), count in counted.items()]
    warnings += dict.fromkeys(found)
    return [execution for execution in executions if id(execution) not in dropped]


def most_started_with(executions: Sequence[Execution]) -> dict[str, str]:
    """The content (digest) that each file had that is read at a start, in most of these executions."""
    return _most(executions)


def _all_alike(members: Sequence[Execution]) -> bool:
    """Whether all executions were started in one state, or none has one that is known."""
    first = _state(members[0])
    return all(_state(each) == first for each in members)


def _comparable(members: Sequence[Execution], found: list[AnyWarning]) -> list[list[Execution]]:
    """Groups of executions of one node in each of which few differ from most: all of them, or system by system."""
    if _few(members):
        return [list(members)]
    by_system: dict[str, list[Execution]] = {}
    for each in members:
        by_system.setdefault(each.system, []).append(each)
    alike = {}
    for system, own in by_system.items():
        if _few(own):
            alike[system] = own
        else:
            found.append(_unlike(own, (system,), _changed(own)))
    for one, other in combinations(alike, 2):
        first, second = _most(alike[one]), _most(alike[other])
        if files := tuple(sorted(path for path in first.keys() & second.keys() if first[path] != second[path])):
            found.append(_unlike(alike[one], (one, other), files))
    return list(alike.values())


def _few(members: Sequence[Execution]) -> bool:
    """Whether at most `FEW` of what is known of each system is of another state than most of all is."""
    most = _most(members)
    known, other = Counter[str](), Counter[str]()
    for each in members:
        state = _state(each)
        known[each.system] += bool(state)
        other[each.system] += _differs(state, most)
    return all(other[system] <= FEW * known[system] for system in known)


def _unlike(members: Sequence[Execution], systems: tuple[str, ...], files: tuple[str, ...]) -> AnyWarning:
    kind = UnlikeCache if files == (CACHE,) else UnlikeCode
    return kind(members[0].benchmark, members[0].instrument, systems, files)


def _state(execution: Execution) -> _State:
    """What of the recorded files matters to what was measured; nothing where none are known or read."""
    files = execution.host_state.get("start_files")
    if not files:
        return {}
    return files if counts(execution.instrument) else {path: files[path] for path in files if path != CACHE}


def _most(members: Iterable[Execution]) -> dict[str, str]:
    """The content that each file had in most executions; of equally many that of the later ones."""
    seen: dict[str, Counter[str]] = {}
    last: dict[tuple[str, str], float] = {}
    for each in members:
        for path, digest in _state(each).items():
            seen.setdefault(path, Counter())[digest] += 1
            last[path, digest] = max(last.get((path, digest), each.started_at), each.started_at)
    most = {}
    for path, digests in seen.items():
        most[path] = max((number, last[path, digest], digest) for digest, number in digests.items())[2]
    return most


def _differs(state: _State, most: _State) -> bool:
    return any(digest != most[path] for path, digest in state.items())


def _changed(members: Iterable[Execution]) -> tuple[str, ...]:
    """The paths of which there are several contents."""
    seen: dict[str, set[str]] = {}
    for each in members:
        for path, digest in _state(each).items():
            seen.setdefault(path, set()).add(digest)
    return tuple(sorted(path for path, digests in seen.items() if len(digests) > 1))


def _unlike_nodes(nodes: Collection[Sequence[Execution]], dropped: set[int]) -> tuple[str, ...]:
    """The paths of which nodes have different contents in most of their executions."""
    if len(nodes) < 2:
        return ()
    seen: dict[str, set[str]] = {}
    for members in nodes:
        for path, digest in _most(each for each in members if id(each) not in dropped).items():
            seen.setdefault(path, set()).add(digest)
    return tuple(sorted(path for path, digests in seen.items() if len(digests) > 1))
