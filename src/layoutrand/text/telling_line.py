"""The line of a program's or a build's output that says what went wrong, which often is not the last one."""

from __future__ import annotations

import re
from typing import Final

_CONTEXT: Final = 6
"""Lines below an error of a build that show where it is."""

_NUMBERED: Final = re.compile(r"\d+ +\|")
"""How rustc shows a line of the source."""

_CAUSE: Final = "Caused by:"
_CAUSED: Final = re.compile(r"^\s*Caused by: ")
_FRAME: Final = re.compile(r"^\s+at \S.*\)$|^\s*\.\.\. \d+ (?:more|common frames omitted)$")
_SOUGHT: Final = re.compile(
    r"^(?:searched package name|perhaps you meant|candidate versions found which didn't match|location searched"
    r"|required by package|versions that meet the requirements .*):|^required by package "
)
"""How cargo goes on about a package that it does not find, with nothing in front."""
_SANITIZER: Final = re.compile(r"^SUMMARY: \w*Sanitizer: ")
_PANIC: Final = re.compile(r"^(?:thread .* panicked at |panic: |fatal error: )")
_REMARK: Final = re.compile(r"^note: |^\s*$")

_ERROR: Final = re.compile(
    r"\b(?:fatal )?error(?:\[\w+\])?: |^CMake Error\b|\bERROR: "
    r"|\bundefined reference to |\bundefined symbol: |\bmultiple definition of |\bduplicate symbol: |\bcannot find -l"
)
_MISSING: Final = re.compile(
    r": command not found$|: not found$|: directory not found$|: No such file or directory\b|: Permission denied$"
    r"|\bNo rule to make target\b|^\w*(?:Error|Exception)\b(?:: |$)|^\s*Caused by: "
)
"""What is the cause if a build ends with it, and may mean nothing before."""

_LINKER: Final = re.compile(
    r"^(?:\S*/)?ld(?:[.-]\w+)*: (?!warning: |note: |NOTE: |mode |total time |.*: in function [`'])\S"
)
"""How GNU ld says what it ends for, without the word error: *cannot open output file*, *final link failed*.

Beside warnings and notes ``--verbose`` and ``--stats`` have it say what is none."""

_GO: Final = re.compile(r"^(?:vet: )?\S+\.go:\d+:\d+: (?!warning: |note: )\S")
"""How Go says what is wrong, without the word error; gcc warns so of what is C in files of Go."""

_PROBE: Final = re.compile(r"^<stdin>:\d+")
"""Makefiles pipe what a compiler may not know into it, and go on without it."""

_LEFT_OUT: Final = re.compile(
    r"\b(?:missing|not found|could not find|cannot find|not be found|no such|submodules?"
    r"|(?:not|n't) (?:be )?(?:built|build|available|enabled|exist)|disabl\w+|skip\w*)\b",
    re.IGNORECASE,
)
_WARNING: Final = re.compile(r"^CMake Warning(?! \(dev\))\b|^(?:configure: )?WARNING: ")
"""How CMake, configure and Meson warn; what CMake tells developers alone is about how its files are written."""

_OUTER: Final = re.compile(
    r"^\S*make(?:\[\d+\])?: \*\*\* (?:\[|Waiting)|^ninja: |^collect2: |\blinker command failed\b"
    r"|^cc1\w*: all warnings being "
)
"""What stands around errors and names none."""


def of_program(output: str) -> str:
    """The line in which a program says why it ended; "" where it said nothing.

    The last ``Caused by:`` of a Java stack trace, or else what stands above its frames; the message of a panic of Rust
    or Go; the summary of a sanitizer; of all others the last line that is not empty.
    """
    lines = [line.rstrip() for line in output.split("\n") if line.strip()]
    for pattern in (_SANITIZER, _CAUSED):
        if found := [line for line in lines if pattern.search(line)]:
            return found[-1].strip()
    for place, line in enumerate(lines):
        if _PANIC.search(line):
            below = lines[place + 1 : place + 2]
            return f"{line} {below[0].strip()}" if line.endswith(":") and below else line
    while lines and (_FRAME.search(lines[-1]) or _REMARK.search(lines[-1])):
        lines.pop()
    return lines[-1].strip() if lines else ""


def of_build(output: str) -> str:
    """The first error of a build's output, with the lines that belong to it; "" where none is recognised.

    What programs of a parallel build print afterwards is about other files, or says only that something failed.  Errors
    in what is piped into a compiler are of a build's own questions, and told where there is nothing else.  Of an
    error of cargo, which tells from the outside in, it is the last ``Caused by:``.
    """
    lines = [line.rstrip() for line in output.split("\n")]
    numbered = [(place, line) for place, line in enumerate(lines) if not _OUTER.search(line)]
    of_files = [(place, line) for place, line in numbered if not _PROBE.search(line)]
    sought = (
        (_ERROR, 0, of_files),
        (_LINKER, 0, of_files),
        (_GO, 0, of_files),
        (_MISSING, -1, of_files),
        (_ERROR, 0, numbered),
    )
    for pattern, which, among in sought:
        if found := [place for place, line in among if pattern.search(line)]:
            place = found[which]
            return "\n".join([lines[place], *(_caused(lines[place + 1 :]) or _belonging(lines[place + 1 :]))])
    return ""


def of_left_out(output: str) -> str:
    """The first warning of a build that succeeded which says that it goes without something; "" where none does."""
    lines = [line.rstrip() for line in output.split("\n")]
    for place, line in enumerate(lines):
        told = [line, *_belonging(lines[place + 1 :])] if _WARNING.search(line) else []
        if _LEFT_OUT.search(" ".join(part.strip() for part in told)):
            return "\n".join(told)
    return ""


def _caused(below: list[str]) -> list[str]:
    """The innermost cause below an error of cargo, a paragraph under a line of its own; none where there is none."""
    places = []
    for place, line in enumerate(below):
        if line == _CAUSE:
            places.append(place)
        elif line and not line.startswith((" ", "\t")):
            break
    return [_CAUSE, *_belonging(below[places[-1] + 1 :])] if places else []


def _belonging(below: list[str]) -> list[str]:
    """The lines right below an error that are part of it: source and caret, what CMake says, what cargo looked for."""
    kept: list[str] = []
    for line in below[:_CONTEXT]:
        if line and not line.startswith((" ", "\t")) and not (_NUMBERED.match(line) or _SOUGHT.match(line)):
            break
        kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    return kept
