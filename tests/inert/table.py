"""The page of `make inert`, made of the files that `drive.py` keeps and of nothing else."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inert.changes import INERT, MEANINGS
from inert.judges import FIXED_ROUNDS
from inert.study import TARGETS, Slot

Cell = Mapping[str, Any]
METRICS = ("cycles", "time")
JUDGES: Mapping[str, str] = {
    "gate": "one build of each, 2 %",
    "ttest": "ten executions of one build of each, t test",
    "check": "`layoutrand check`",
}
FIXED = 2 * FIXED_ROUNDS
"""Executions of a fixed number of rounds, of both commits together."""

WANTED_INERT, WANTED_PLANTED, WANTED_TIMED = 200, 100, 40
MOST_ALARMS, LEAST_POWER, MOST_EXECUTIONS = 0.05, 0.9, 0.6


@dataclass(frozen=True)
class Collected:
    """What there is: slot's name -> file, for each step, and which slots there could be."""

    every: Sequence[Slot]
    timed: Sequence[Slot]
    cells: Mapping[str, Mapping[str, Cell]]

    def of(self, metric: str, *, planted: bool) -> list[Cell]:
        """The judged changes, those that are planted or those that are inert."""
        return [cell for cell in self.cells[metric].values() if bool(cell["target"]) == planted]

    def asked(self, metric: str) -> Sequence[Slot]:
        """Which slots are to be judged."""
        return self.every if metric == "cycles" else self.timed

    def missing(self, metric: str) -> list[str]:
        """Changes that are to be judged and are not; those that have no place are not among them."""
        none = {name for name, cell in self.cells["changes"].items() if not cell["commit"]}
        return [
            slot.name for slot in self.asked(metric) if slot.name not in self.cells[metric] and slot.name not in none
        ]


def collected(
    read: Callable[[str, str], dict[str, Any] | None], every: Sequence[Slot], timed: Sequence[Slot]
) -> Collected:
    """All files that hold for the code as it is."""
    cells: dict[str, dict[str, Cell]] = {}
    for step in ("changes", *METRICS):
        found = {slot.name: read(step, slot.name) for slot in every}
        cells[step] = {name: cell for name, cell in found.items() if cell is not None}
    return Collected(every, timed, cells)


def is_complete(found: Collected, wanted: Collection[Slot], steps: Collection[str]) -> bool:
    """Whether nothing is missing of the slots and steps that were asked for."""
    names = {slot.name for slot in wanted}
    changes = "changes" not in steps or names <= found.cells["changes"].keys()
    return changes and not any(names & set(found.missing(metric)) for metric in METRICS if metric in steps)


def is_alarm(cell: Cell, judge: str) -> bool:
    """Whether a judge calls the change a difference."""
    return cell[judge]["verdict"] in ("slower", "faster", "more", "less")


def is_found(cell: Cell, judge: str) -> bool:
    """Whether a judge calls a planted slowdown one."""
    return cell[judge]["verdict"] in ("slower", "more")


def share(count: int, total: int) -> str:
    """``3 % (7 of 225; 1 … 6)``: with the 95 % interval (Clopper and Pearson) in per cent; a dash for none."""
    if not total:
        return "–"
    from scipy import stats

    low, high = stats.binomtest(count, total).proportion_ci(0.95)
    return f"{100 * count / total:.0f} % ({count} of {total}; {100 * low:.0f} … {100 * high:.0f})"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(cells: Sequence[str]) -> list[str]:
    return [_row(cells), _row(["---"] * len(cells))]


def alarms(found: Collected, metric: str) -> list[str]:
    """The share of inert changes that each judge flags, by kind."""
    cells = found.of(metric, planted=False)
    lines = _head(["inert change", *JUDGES.values()])
    for kind in INERT:
        own = [cell for cell in cells if cell["kind"] == kind]
        lines.append(_row([MEANINGS[kind], *(share(sum(is_alarm(c, j) for c in own), len(own)) for j in JUDGES)]))
    lines.append(_row(["**all**", *(share(sum(is_alarm(c, j) for c in cells), len(cells)) for j in JUDGES)]))
    return lines


def by_program(found: Collected, metric: str) -> list[str]:
    """The same by program, with the largest ratio that one build of each shows."""
    cells = found.of(metric, planted=False)
    lines = _head(["program", "changes", *JUDGES.values(), "furthest ratio of one build each"])
    for program in dict.fromkeys(slot.program for slot in found.every):
        own = [cell for cell in cells if cell["program"] == program]
        if own:
            furthest = max((cell["gate"]["ratio"] for cell in own), key=lambda ratio: abs(ratio - 1))
            counts = [str(sum(is_alarm(cell, judge) for cell in own)) for judge in JUDGES]
            lines.append(_row([program, str(len(own)), *counts, f"{100 * (furthest - 1):+.1f} %"]))
    return lines


def power(found: Collected, metric: str) -> list[str]:
    """What each judge says of planted slowdowns, by size."""
    cells = found.of(metric, planted=True)
    lines = _head(["planted", "judge", "slower", "faster", "same", "cannot tell"])
    for target in TARGETS:
        own = [cell for cell in cells if cell["target"] == target]
        for judge, words in JUDGES.items():
            wrong = sum(is_alarm(cell, judge) and not is_found(cell, judge) for cell in own)
            said = Counter(cell[judge]["verdict"] for cell in own)
            same = sum(count for verdict, count in said.items() if verdict.startswith("same"))
            counts = [str(wrong), str(same), str(said["cannot tell"])]
            lines.append(
                _row([f"{100 * target:.0f} %", words, share(sum(is_found(c, judge) for c in own), len(own)), *counts])
            )
    return lines


def executions(found: Collected, metric: str) -> list[str]:
    """Executions that `check` used, beside those of a fixed number of rounds."""
    lines = _head(
        ["changes", "median", "a tenth uses more than", "most", f"median of the {FIXED} of {FIXED_ROUNDS} rounds"]
    )
    groups: list[tuple[str, list[Cell]]] = [("inert", found.of(metric, planted=False))]
    planted = found.of(metric, planted=True)
    groups += [(f"planted {100 * target:.0f} %", [c for c in planted if c["target"] == target]) for target in TARGETS]
    groups.append(("**all**", [*groups[0][1], *planted]))
    executed = [cell for cell in groups[-1][1] if cell["check"]["executions"]]
    groups.append(("those with any execution", executed))
    for words, cells in groups:
        if cells:
            used = sorted(cell["check"]["executions"] for cell in cells)
            middle = statistics.median(used)
            row = [
                words,
                f"{middle:g}",
                str(used[int(0.9 * (len(used) - 1))]),
                str(used[-1]),
                f"{100 * middle / FIXED:.0f} %",
            ]
            lines.append(_row(row))
    return lines


def decided(found: Collected, metric: str) -> str:
    """How many changes `check` decided, and how many of these in no more rounds than the fixed number."""
    cells = list(found.cells[metric].values())
    told = [cell["check"] for cell in cells if cell["check"]["verdict"] != "cannot tell"]
    soon = sum(each["rounds"] <= FIXED_ROUNDS for each in told)
    return (
        f"`check` decided {len(told)} of {len(cells)} changes, {soon} of them within {FIXED_ROUNDS} rounds. What takes it more "
        f"rounds than that, a fixed {FIXED_ROUNDS} leave undecided: their interval would be wider than the threshold."
    )


def discards(found: Collected) -> list[str]:
    """What was drawn and thrown away, by kind and reason."""
    counts: Counter[str] = Counter()
    for cell in found.cells["changes"].values():
        counts.update(cell["discarded"])
    lines = _head(["drawn", "thrown away since", "how often"])
    for text, count in sorted(counts.items()):
        kind, _, why = text.partition(": ")
        lines.append(_row([MEANINGS[kind], why, str(count)]))
    return lines if counts else []


def promises(found: Collected) -> Iterator[str]:
    """What was wanted, and what came of it, in sentences; only what there are changes for."""
    for metric in METRICS:
        inert, planted = found.of(metric, planted=False), found.of(metric, planted=True)
        alarms_of_check = sum(is_alarm(cell, "check") for cell in inert)
        if inert:
            met = alarms_of_check <= MOST_ALARMS * len(inert)
            yield _promise(
                found, metric, "false alarms of `check` at most 5 %", share(alarms_of_check, len(inert)), is_met=met
            )
        own = [cell for cell in planted if cell["target"] == 0.02]
        if own:
            count = sum(is_found(cell, "check") for cell in own)
            met = count >= LEAST_POWER * len(own)
            yield _promise(
                found, metric, "at least 90 % of planted 2 % found by `check`", share(count, len(own)), is_met=met
            )
        used = [cell["check"]["executions"] for cell in (*inert, *planted)]
        if used:
            middle = statistics.median(used)
            words = f"a median of at most 60 % of the executions of {FIXED_ROUNDS} rounds"
            yield _promise(
                found, metric, words, f"{100 * middle / FIXED:.0f} %", is_met=middle <= MOST_EXECUTIONS * FIXED
            )


def _promise(found_all: Collected, metric: str, wanted: str, found: str, *, is_met: bool) -> str:
    word = "too early to say" if found_all.missing(metric) else "met" if is_met else "**missed**"
    return f"- by {_by(metric)}: {wanted}: {found}, {word}"


def _by(metric: str) -> str:
    return "simulated cycles" if metric == "cycles" else "time"


def shortfall(found: Collected) -> list[str]:
    """What is not there, said so that nobody takes a part for the whole."""
    lines = []
    for metric in METRICS:
        missing = found.missing(metric)
        if missing:
            lines.append(
                f"- By {_by(metric)} **{len(missing)} of {len(found.asked(metric))} changes are not judged yet**: "
                f"{', '.join(missing[:8])}{' and more' if len(missing) > 8 else ''}."
            )
    none = [name for name, cell in found.cells["changes"].items() if not cell["commit"]]
    if none:
        lines.append(f"- No change was found for {len(none)} places: {', '.join(none)}.")
    counts = (
        ("inert changes", len(found.of("cycles", planted=False)), WANTED_INERT),
        ("planted slowdowns", len(found.of("cycles", planted=True)), WANTED_PLANTED),
        ("changes by time", len(found.cells["time"]), WANTED_TIMED),
    )
    lines += [
        f"- {count} {words} are judged, {wanted} are wanted." for words, count, wanted in counts if count < wanted
    ]
    return lines


def truths(found: Collected) -> list[str]:
    """How near planted effects are to what they are called, over layouts, by cycles and by time."""
    lines = _head(["planted", "by", "changes", "smallest true effect", "largest", "median half-width of its interval"])
    rows = 0
    for target in TARGETS:
        for metric, step in (("cycles", "changes"), ("time", "time")):
            own = [c["truth"] for c in found.cells[step].values() if c.get("truth") and c["target"] == target]
            if own:
                rows += 1
                effects = sorted(each["effect"] for each in own)
                width = statistics.median((each["interval"][1] - each["interval"][0]) / 2 for each in own)
                figures = [f"{100 * value:.2f} %" for value in (effects[0], effects[-1], width)]
                lines.append(_row([f"{100 * target:.0f} %", _by(metric), str(len(own)), *figures]))
    return lines if rows else []


def one_by_one(found: Collected) -> list[str]:
    """Each planted slowdown that was judged by time: what it costs by time, which is not what it costs by cycles."""
    titles = ["change", "planted", "true effect by time", "`layoutrand check`", "its interval", "executions"]
    lines = _head(titles)
    cells = [(name, cell) for name, cell in found.cells["time"].items() if cell.get("truth")]
    for name, cell in sorted(cells, key=lambda pair: (pair[1]["target"], pair[0])):
        truth, check = cell["truth"], cell["check"]
        low, high = check.get("interval") or (None, None)
        lines.append(
            _row(
                [
                    name,
                    f"{100 * cell['target']:.0f} %",
                    f"{_percent(truth['effect'])} ({_percent(truth['interval'][0])} … {_percent(truth['interval'][1])})",
                    check["verdict"],
                    "–" if low is None or high is None else f"{_percent(low - 1)} … {_percent(high - 1)}",
                    str(check["executions"]),
                ]
            )
        )
    return lines if cells else []


def _percent(change: float) -> str:
    return f"{100 * change:+.1f} %"


def page(found: Collected, opening: str) -> str:
    """The whole page; raises `ValueError` where there is nothing to make it of."""
    if not any(found.cells[metric] for metric in METRICS):
        raise ValueError("no change is judged yet, so there is no table to write")
    cells = [cell for metric in METRICS for cell in found.cells[metric].values()]
    made_at = sorted({cell["made_at"][:12] + "+" * cell["made_at"].endswith("+") for cell in cells})
    hours = sum(cell["seconds"] for cells in found.cells.values() for cell in cells.values()) / 3600
    parts = [opening.rstrip().format(commits=", ".join(made_at), hours=f"{hours:.1f}"), ""]
    missing = shortfall(found)
    if missing:
        parts += ["## What is missing", "", *missing, ""]
    parts += ["## What was wanted", "", *promises(found), ""]
    for metric in METRICS:
        if found.cells[metric]:
            parts += [f"## By {_by(metric)}", "", "Share of inert changes that are called a difference:", ""]
            parts += [*alarms(found, metric), "", *by_program(found, metric), ""]
            parts += ["Planted slowdowns:", "", *power(found, metric), ""]
            parts += ["Executions that `check` used:", "", *executions(found, metric), "", decided(found, metric), ""]
    rest = truths(found)
    if rest:
        parts += ["## True effects of planted loops", "", *rest, ""]
    rest = one_by_one(found)
    if rest:
        words = (
            "Loops are counted so that they cost 1, 2 or 5 % of simulated cycles. Of those judged by time, each by itself; where "
            "layouts and executions differ much, neither their true effect nor what `check` can say is narrow:"
        )
        parts += [words, "", *rest, ""]
    rest = discards(found)
    if rest:
        parts += ["## What was drawn and thrown away", "", *rest, ""]
    return "\n".join(parts).rstrip() + "\n"


def summary(found: Collected) -> str:
    """The same in short, for who waits for it."""
    lines = [f"{len(found.cells['changes'])} of {len(found.every)} changes made"]
    for metric in METRICS:
        lines.append(f"{len(found.cells[metric])} of {len(found.asked(metric))} judged by {_by(metric)}")
    return "\n".join([*lines, *promises(found), *shortfall(found)])
