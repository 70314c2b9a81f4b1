"""Read a linker's command line: which words are inputs, which are options with a value, what the output is.

Only knowledge about the command line lives here; nothing is looked up on disk.  GNU ld's and lld's options are close
enough for one table.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["input", "file", "directory", "library", "output", "option", "value"]

_FILE_OPTIONS: Final = frozenset({
    "T", "script", "default-script", "dT", "version-script", "dynamic-list", "retain-symbols-file", "just-symbols",
    "R", "export-dynamic-symbol-list", "symbol-ordering-file", "call-graph-ordering-file", "section-ordering-file",
    "mri-script", "c",
})  # fmt: skip
_DIRECTORY_OPTIONS: Final = frozenset({"L", "library-path", "rpath-link"})
_VALUE_OPTIONS: Final = frozenset({
    "e", "entry", "h", "soname", "m", "u", "undefined", "y", "trace-symbol", "z", "rpath", "dynamic-linker", "I",
    "plugin", "plugin-opt", "Map", "defsym", "b", "format", "oformat", "wrap", "sysroot", "f", "F", "filter",
    "auxiliary", "init", "fini", "A", "architecture", "a", "assert", "section-start", "Ttext", "Tdata", "Tbss",
    "require-defined", "exclude-libs", "hash-style", "image-base", "dependency-file", "sort-section",
    "unresolved-symbols", "compress-debug-sections", "mllvm", "G", "P", "Y", "export-dynamic-symbol",
})  # fmt: skip
_NO_EFFECT_ON_CODE: Final = frozenset({"plugin", "plugin-opt", "Map", "dependency-file"})
_REPORTS: Final = frozenset({"-M", "--print-map", "--cref", "-t", "--trace", "--verbose", "--stats", "-v"})
_STRIPS: Final = frozenset({"-s", "--strip-all", "-x", "--discard-all"})
_PARTIAL: Final = frozenset({"-r", "-i", "-Ur", "--relocatable", "-relocatable"})


@dataclass(frozen=True)
class Word:
    """One logical word of a link line: ``before`` + ``text`` is what is written (``before`` may be a word itself).

    For ``-L dir`` ``before`` is ``-L`` and ``text`` is ``dir``; ``--script=f`` is ``--script=`` joined to ``f``.
    """

    kind: Kind
    option: str
    before: str
    joined: bool
    text: str

    def argv(self, text: str | None = None) -> list[str]:
        """The words to put on a command line, with ``text`` instead of this word's own if given."""
        value = self.text if text is None else text
        if self.joined:
            return [self.before + value]
        return [self.before, value] if self.before else [value]


def words(argv: Sequence[str]) -> list[Word]:
    """Split a linker's arguments (without the program) into logical words. Response files must be expanded before."""
    result: list[Word] = []
    rest = iter(argv)
    for arg in rest:
        word = _single(arg)
        if word is None:
            name = arg.lstrip("-")
            value = next(rest, "")
            kind = _kind(name)
            result.append(Word(kind, name, arg, False, value))
        else:
            result.append(word)
    return result


def _kind(name: str) -> Kind:
    if name in _FILE_OPTIONS:
        return "file"
    if name in _DIRECTORY_OPTIONS:
        return "directory"
    if name in ("o", "output"):
        return "output"
    return "library" if name in ("l", "library") else "value"


def _single(arg: str) -> Word | None:
    """The word if ``arg`` is complete by itself, None if its value is the next argument."""
    if not arg.startswith("-") or arg == "-":
        return Word("input", "", "", False, arg)
    name = arg.lstrip("-")
    single_dash = not arg.startswith("--")
    joined_library = single_dash and name[:1] in ("L", "l") and not name.startswith(("library", "lto"))
    if "=" in name and not joined_library:
        option, value = name.split("=", 1)
        return Word(_kind(option), option, arg[: len(arg) - len(value)], True, value)
    if name in ("o", "output", "l", "library") or name in _FILE_OPTIONS | _DIRECTORY_OPTIONS | _VALUE_OPTIONS:
        return None
    if joined_library:
        return Word("directory" if name[0] == "L" else "library", name[0], "-" + name[0], True, name[1:])
    if single_dash and name[0] == "T" and len(name) > 1:
        return Word("file", "T", "-T", True, name[1:])
    if single_dash and name[0] == "o" and not name.startswith("omagic"):
        return Word("output", "o", "-o", True, name[1:])
    return Word("option", name, "", False, arg)


def output(argv: Sequence[str]) -> str:
    """The file that a link writes, as the command line names it."""
    named = [word.text for word in words(argv) if word.kind == "output"]
    return named[-1] if named else "a.out"


def is_partial(argv: Sequence[str]) -> bool:
    """Whether the link only joins objects (``-r``)."""
    return any(arg in _PARTIAL for arg in argv)


def replayable(line: Sequence[Word], *, keep_symbols: bool) -> list[Word]:
    """The words that decide what the output contains: without the LTO plugin, maps and reports.

    With ``keep_symbols`` also without the options that would strip the symbols by which a layout is verified; what
    is loaded stays the same.
    """
    return [
        word
        for word in line
        if word.option not in _NO_EFFECT_ON_CODE
        and word.kind != "output"
        and not (word.kind == "option" and (word.text in _REPORTS or (keep_symbols and word.text in _STRIPS)))
    ]


def user_scripts(line: Sequence[Word]) -> list[str]:
    """Linker scripts that replace the linker's own (``-T``)."""
    return [word.text for word in line if word.option in ("T", "script", "default-script", "dT")]


def inside(path: str, directory: str) -> str | None:
    """``path`` relative to ``directory`` if it lies in it (lexically, both absolute), else None."""
    if path == directory:
        return "."
    prefix = directory.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def absolute(path: str, cwd: str) -> str:
    """``path`` as an absolute, lexically normal path."""
    joined = posixpath.normpath(posixpath.join(cwd, path))
    return "/" + joined.lstrip("/")
