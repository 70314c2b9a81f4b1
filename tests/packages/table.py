"""The table of packages that were built with and without layoutrand, made of the results that `drive.py` keeps."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from packages import evidence

Result = Mapping[str, Any]
"""What `drive.py` wrote about one package: "plain" and "wrapped", each the facts of one build."""

NOT_THERE = "does not build as it is"


class Listed(Protocol):
    """A line of the list."""

    name: str
    kind: str
    options: tuple[str, ...]


def read(base: Path, release: str) -> dict[str, Result]:
    """The results of one release by package."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((base / release / "results").glob("*.json"))}


def comparable(result: Result) -> bool:
    """Whether the package was tried with layoutrand, and does not fail without it as well."""
    return "wrapped" in result and bool(result.get("plain", result["wrapped"])["built"])


def tests_of(result: Result) -> str:
    """What became of the package's tests."""
    wrapped = result["wrapped"]
    plain = result.get("plain", wrapped)
    if not wrapped["built"]:
        return "?"
    if not wrapped["has_tests"]:
        return "none seen" if not plain["has_tests"] else "**not executed**"
    if plain["counts"] != wrapped["counts"]:
        return f"**{evidence.passed(wrapped['counts'])} instead of {evidence.passed(plain['counts'])}**"
    count = evidence.passed(wrapped["counts"])
    return f"pass ({count})" if count else "pass"


def counts(result: Result) -> Counter[str]:
    """Links by what became of them."""
    return Counter(link["what"] for link in result["wrapped"]["links"])


def not_told(result: Result) -> list[str]:
    """Files of which no message speaks, those in the packages and those in the directory that was built in."""
    wrapped = result["wrapped"]
    return [*wrapped["not_told"], *(path for path in wrapped["built_not_told"] if not evidence.is_trial(path))]


def row(package: Listed, result: Result) -> list[str]:
    """One line of the table."""
    wrapped, number = result["wrapped"], counts(result)
    untold = len(not_told(result))
    failed = number[evidence.FAILED]
    plain = result["plain"]["cpu_s"] if "plain" in result else None
    return [
        package.name,
        wrapped["version"],
        package.kind + "".join(f", {option.upper()}" for option in package.options),
        "yes" if wrapped["built"] else f"**no** ({wrapped['status']})",
        tests_of(result),
        str(number.total()),
        str(number[evidence.LAID_OUT]),
        str(number[evidence.LEFT]),
        f"**{failed}**" if failed else "0",
        f"{len(wrapped['shipped']) - len(wrapped['shipped_not_laid_out'])} of {len(wrapped['shipped'])}",
        f"**{untold}**" if untold else "0",
        "" if plain is None else f"{plain:.0f}",
        f"{wrapped['cpu_s']:.0f}",
        "" if plain is None else f"{wrapped['cpu_s'] / max(plain, 0.01):.2f}",
        wrapped["commit"],
    ]


HEAD = (
    "package",
    "version",
    "what it is",
    "builds",
    "its tests",
    "links",
    "laid out",
    "left alone",
    "failed",
    "shipped files laid out",
    "not told",
    "CPU s as it is",
    "CPU s",
    "ratio",
    "made at",
)


def summary(release: str, packages: Sequence[Listed], results: Mapping[str, Result]) -> list[str]:
    """What the rows of a release come to, in sentences."""
    tried = [results[one.name] for one in packages if comparable(results.get(one.name, {}))]
    built = sum(result["wrapped"]["built"] for result in tried)
    tested = [result for result in tried if result["wrapped"]["built"] and result["wrapped"]["has_tests"]]
    both = [result for result in tried if "plain" in result]
    same = sum(tests_of(result) in ("none seen", "pass") or tests_of(result).startswith("pass (") for result in both)
    number = sum((counts(result) for result in tried), Counter())
    shipped = sum(len(result["wrapped"]["shipped"]) for result in tried)
    untold = sum(len(not_told(result)) for result in tried)
    laid_out = shipped - sum(len(result["wrapped"]["shipped_not_laid_out"]) for result in tried)
    plain, wrapped = (sum(result[variant]["cpu_s"] for result in both) for variant in ("plain", "wrapped"))
    lines = [
        f"**{release}: {built} of {len(tried)} packages build under `layoutrand exec`.** {len(tested)} of them executed tests of "
        f"their own, which passed: one that fails would have ended the build. Of {number.total()} links "
        f"{number[evidence.LAID_OUT]} were laid out, {number[evidence.LEFT]} left alone and {number[evidence.FAILED]} failed to "
        f"be laid out, each with a message; of {shipped} executables and libraries in the packages {laid_out} are laid out. Of "
        f"{untold} files that these builds linked no message speaks. {len(both)} of the packages were built without layoutrand "
        f"as well: tests came out the same in {same}; they took {wrapped / 60:.1f} minutes of processor time with it and "
        f"{plain / 60:.1f} without, {wrapped / max(plain, 0.01):.2f} times as much.",
    ]
    missing = [one.name for one in packages if not comparable(results.get(one.name, {}))]
    if missing:
        lines.append(
            "Without a result: " + ", ".join(name + _why_missing(results.get(name, {})) for name in missing) + "."
        )
    return lines


def _why_missing(result: Result) -> str:
    if result.get("plain", {}).get("built") is False:
        return f" ({NOT_THERE})"
    return f" ({result['ended']})" if "ended" in result else ""  # by hand, where no build has a result


def reasons(results: Iterable[Result], what: str) -> list[str]:
    """Why links were not laid out, most frequent first."""
    found: Counter[str] = Counter()
    for result in results:
        for link in result.get("wrapped", {}).get("links", []):
            one = evidence.Told(**link)
            if one.what == what:
                found[evidence.kind_of_reason(one)] += 1
    return [f"- {number} × {reason}" for reason, number in found.most_common()]


def document(packages: Sequence[Listed], results: Mapping[str, Mapping[str, Result]], notes: str) -> str:
    """The page, from results by release and package."""
    parts = [
        "# Packages of Debian under `layoutrand exec`",
        "",
        "A wrapped link must not fail where the plain one succeeds, and must not be left as it is in silence. To see whether",
        "that is so, `make packages` builds source packages of Debian with `dpkg-buildpackage`, their own tests on, as an",
        "ordinary user in a bare system of each release: under `layoutrand exec --seed 7`, and as they are. This page is made by",
        "it. " + notes,
        "",
        "*Links* are those of programs and libraries that messages speak of, trials of configure scripts left out. *Not",
        "told* are executables and libraries, in the packages or in the directory that was built in, of which no message",
        "speaks; they are found with readelf, by their build ids. Counts of tests are what automake, CTest, Meson, DejaGnu,",
        "googletest and prove print; *none seen* means that no step of the build looks like tests. The *ratio* is processor",
        "time of the build under layoutrand by that of the build as it is, both measured once; where there is none, only the",
        "build under layoutrand was made. *Made at* is the commit of layoutrand.",
        "",
    ]
    for release, found in results.items():
        parts += ["## " + release, "", *[line for text in summary(release, packages, found) for line in (text, "")]]
        parts += [_line(HEAD), _line(["---"] * 3 + [":-:"] * 2 + ["--:"] * (len(HEAD) - 5))]
        parts += [_line(row(one, found[one.name])) for one in packages if comparable(found.get(one.name, {}))]
        for what, title in (
            (evidence.LEFT, "Left alone, because"),
            (evidence.FAILED, "Failed to be laid out, because"),
        ):
            listed = reasons(found.values(), what)
            if listed:
                parts += ["", title, "", *listed]
        parts.append("")
    return "\n".join(parts).rstrip("\n") + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write(base: Path, packages: Sequence[Listed], path: Path, releases: Sequence[str] = ("bookworm", "trixie")) -> None:
    """Make the page of all results that there are."""
    results = {release: found for release in releases if (found := read(base, release))}
    hours = (
        sum(
            one[name]["wall_s"]
            for found in results.values()
            for one in found.values()
            for name in ("plain", "wrapped")
            if name in one
        )
        / 3600
    )
    notes = f"Its builds took {hours:.1f} hours of wall-clock time in all."
    path.parent.mkdir(exist_ok=True)
    path.write_text(document(packages, results, notes))
