"""What `layoutrand explain --remedy` found, in words."""

from __future__ import annotations

import math
import posixpath
import re
from typing import Final

from layoutrand.analysis.analyse import Analysis
from layoutrand.analysis.layout_words import size_of
from layoutrand.config.seeds import format_seeds
from layoutrand.explain.remedies import ALIGNMENT, SECTIONS, LinkerOrder, Remedy
from layoutrand.explain.source_files import CMAKE, MESON
from layoutrand.explain.treated import Treatment, Tried, cures
from layoutrand.stats import Interval
from layoutrand.text.quantities import MINUS, change, digits_of, p_words, signed
from layoutrand.text.toml_words import toml_string

COLUMNS: Final = ("remedy", "layout adds", "mean", "code", "")

_AS_IT_IS: Final = "as it is"
_PLAIN: Final = re.compile(r"[\w./+-]+")
"""What needs no quoting in CMake's language, and no escapes in a makefile's."""


def title(found: Treatment) -> str:
    """What the table is of."""
    return f"Each in {len(found.seeds)} new layouts (seeds {format_seeds(found.seeds)})"


def rows(found: Treatment) -> list[tuple[str, ...]]:
    """The system as it is, then each remedy: what layout adds, what the mean and the size of the code change by."""
    return [(_AS_IT_IS, layout_adds(found.before), "", "", ""), *(_row(each) for each in found.tried)]


def _row(tried: Tried) -> tuple[str, ...]:
    return (
        tried.candidate.remedy.name,
        "" if tried.after is None else layout_adds(tried.after),
        "" if tried.mean is None else mean_change(tried.mean),
        "" if tried.text_size is None else change(tried.text_size[1] / tried.text_size[0]).replace("-", MINUS),
        tried.verdict,
    )


def layout_adds(analysis: Analysis) -> str:
    """The standard deviation that layout adds, over the mean, with its interval."""
    return "-" if analysis.findings is None else size_of(analysis.findings.layout)


def mean_change(ratio: Interval) -> str:
    """How much the mean changes: ``+3.1 % [1.1, 5.1]``, no finer than the interval."""
    centre, low, high = (100 * (value - 1) for value in (ratio.centre, ratio.low, ratio.high))
    if not math.isfinite(low) or not math.isfinite(high):
        return f"{signed(centre, 0)} % (without bound)"
    digits = digits_of((high - low) / 2) if low < high else 1
    return f"{signed(centre, digits)} % [{signed(low, digits)}, {signed(high, digits)}]"


def conclusion(found: Treatment) -> str:
    """The first sentence: what to add to the build, or that nothing is recommended."""
    cure = found.recommended
    of = f"{found.before.benchmark}, {found.before.system}, {found.before.metric}"
    if cure is None:
        return f"{of}: nothing is recommended: {_why_nothing(found)}"
    assert cure.after is not None
    assert cure.spread_p is not None
    remedy = cure.candidate.remedy
    before, after = layout_adds(found.before), layout_adds(cure.after)
    is_less = cure.spread_p <= 1 - found.confidence
    verb = "cured by" if is_less and cures(found.before, cure.after) else "helped by"
    if cure.spread_p <= 1 - found.confidence:
        layout = f"layout adds {after} instead of {before} ({p_words(cure.spread_p)})"
    else:
        layout = f"layout adds {after}, as it is {before}, which may be chance ({p_words(cure.spread_p)})"
    mean = "" if cure.mean is None else f", the mean changes by {mean_change(cure.mean)}"
    mean += "" if cure.mean_p is None or cure.mean_p > 1 - found.confidence else f" ({p_words(cure.mean_p)})"
    size = "" if cure.text_size is None else f", {_code(*cure.text_size)}"
    return f"{of}: {verb} {remedy.words}: {layout}{mean}{size}"


def _code(before: int, after: int) -> str:
    more = f"{abs(after / before - 1) * 100:.1f} % {'larger' if after > before else 'smaller'}"
    return f"the code is {more}" if after != before else "the code is no larger"


def _why_nothing(found: Treatment) -> str:
    judged = [each for each in found.tried if each.verdict in {"is slower", "spreads more", "no help shown"}]
    if not judged:
        return "none of what was tried could be judged"
    if all(each.verdict != "no help shown" for each in judged):
        return "all that could be judged makes the mean or what layout adds worse"
    more = "; more layouts (--remedy-layouts) would show a smaller difference"
    untold = sum(each.verdict == "cannot tell" for each in found.tried)
    others = f"; {untold} more could not be judged" if untold else ""
    none = f"with none of {_counted(found)} do layouts differ by less, or is the mean better, beyond chance"
    return f"{none}{others}{more}"


def _counted(found: Treatment) -> str:
    n = sum(each.spread_p is not None for each in found.tried)
    return "1 remedy" if n == 1 else f"{n} remedies"


def of_the_machine(found: Treatment) -> str:
    """That the machine changed meanwhile, and what that leaves; "" where it did not."""
    measured = [found.before, *(each.after for each in found.tried if each.after is not None)]
    if not any(each.is_machine for each in measured):
        return ""
    return (
        "the machine changed its speed meanwhile: remedies are judged within rounds, in which it makes no difference "
        "but noise, and what layout adds is less certain than its interval says"
    )


def what_was_tried(found: Treatment) -> list[str]:
    """Each remedy's flags, what they do, and how often chance alone does what the table says of it."""
    said = []
    for each in found.tried:
        remedy = each.candidate.remedy
        sure = ""
        if each.spread_p is not None and each.mean_p is not None:
            sure = f"; by chance alone: spread {p_words(each.spread_p)}, mean {p_words(each.mean_p)}"
        said.append(f"{remedy.name}: {remedy.words}, {remedy.does}{sure}")
    return said


def how_judged(found: Treatment) -> str:
    """When a remedy is said to help."""
    return (
        f"it helps where layouts differ by less or the mean is better, beyond chance (p at most "
        f"{1 - found.confidence:.2g}, adjusted for {_counted(found)}), and neither is worse; intervals are of "
        f"{100 * found.confidence:g} %; means are over layouts, of which your own build is one"
    )


def problems(found: Treatment) -> list[str]:
    """What could not be tried or judged, and why: one cause once."""
    flags: dict[str, list[str]] = {}
    for each in found.tried:
        if each.reason:
            flags.setdefault(each.reason, []).append(each.candidate.remedy.words)
    return [f"{', '.join(several)}: {reason}" for reason, several in flags.items()]


def how_to_use(found: Treatment) -> list[tuple[str, str]]:
    """Where it goes: into the user's own build, and into layoutrand.toml to go on measuring it; and what is added."""
    cure = found.recommended
    assert cure is not None
    remedy = cure.candidate.remedy
    keep = f"to keep measuring both, add to layoutrand.toml, beside all else that {found.system} has:"
    settings = "\n".join(f"{key} = {_toml(value)}" for key, value in remedy.settings(cure.candidate.system).items())
    added = f'[systems."{cure.candidate.name}"]\n{settings}'
    if remedy.order is not None:
        return [(f"{_in_the_link(remedy.order)}; {keep}", added)]
    if not remedy.files:
        return [(f"add it to the flags of your build; {keep}", added)]
    return [_in_the_build(remedy), (f"{_as_attribute(remedy)}{keep}", added)]


def _in_the_link(order: LinkerOrder) -> str:
    """How a build is given an order, and how long that holds."""
    return (
        f"compile with {SECTIONS}, and link with {order.flags(posixpath.basename(order.file))}, for which copy "
        f"{order.shown} to your build; it holds as long as the code of these functions stays as it is, since a change "
        "of one moves those behind it"
    )


def _in_the_build(remedy: Remedy) -> tuple[str, str]:
    """How flags are given to single files, by what describes their compilation."""
    told = f"give it to the compilation of {remedy.for_files} alone"
    described = dict.fromkeys(each.described for each in remedy.files)
    kinds = {posixpath.basename(file) for file in described}
    if kinds == {CMAKE}:
        options = remedy.flags.replace(" ", ";")
        lines = [
            f'set_source_files_properties({_cmake(each.called_there)} PROPERTIES COMPILE_OPTIONS "{options}")'
            for each in remedy.files
        ]
        return f"{told}, in {' and '.join(described)} if its target is made there:", "\n".join(lines)
    if kinds == {MESON}:
        return f"{told}: Meson gives flags to targets, so make it a static_library of its own with them in c_args", ""
    if kinds != {""} or not all(_PLAIN.fullmatch(each.object) for each in remedy.files):
        return told, ""
    lines = [f"{_target(each.object)}: override {_variable(each.path)} += {remedy.flags}" for each in remedy.files]
    return f"{told}, as in a makefile (the object as it is called there):", "\n".join(lines)


def _cmake(word: str) -> str:
    """A word of CMake's language."""
    return word if _PLAIN.fullmatch(word) else '"' + re.sub(r'([\\"$])', r"\\\1", word) + '"'


def _as_attribute(remedy: Remedy) -> str:
    """What does the same for a function alone; nothing does for its loops."""
    if " " in remedy.flags:
        return ""
    attribute, functions = f"__attribute__((aligned({ALIGNMENT})))", " and ".join(remedy.aligned)
    return f"{attribute} before its definition aligns {functions} alone, which was not measured; "


def _target(name: str) -> str:
    """What a makefile calls the object: libtool puts the one that is linked into a directory of its own."""
    folder, own = posixpath.split(name)
    if posixpath.basename(folder) != ".libs":
        return name
    return posixpath.join(posixpath.dirname(folder), f"{posixpath.splitext(own)[0]}.lo")


def _variable(path: str) -> str:
    """Which variable of a makefile has the flags of a file's language."""
    suffix = posixpath.splitext(path)[1]
    if suffix.lower() in {".f", ".for", ".ftn", ".fpp", ".f90", ".f95", ".f03", ".f08"}:
        return "FFLAGS"
    return "CFLAGS" if suffix in {".c", ".i", ".m"} else "CXXFLAGS"


def _toml(value: object) -> str:
    """A string, or a table on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_string(key)} = {toml_string(each)}" for key, each in value.items()) + " }"
    return toml_string(value)
