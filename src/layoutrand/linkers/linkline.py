"""Read a linker's command line: which words are inputs, which are options with a value, what the output is.

Only knowledge about the command line lives here; nothing is looked up on disk.  GNU ld's and lld's options are close
enough for one table.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

Kind = Literal["input", "file", "directory", "library", "output", "option", "value"]

_FILE_OPTIONS: Final = frozenset({
    "T", "script", "default-script", "dT", "version-script", "dynamic-list", "retain-symbols-file", "just-symbols",
    "export-dynamic-symbol-list", "symbol-ordering-file", "call-graph-ordering-file", "section-ordering-file",
    "mri-script", "c", "remap-inputs-file", "in-implib",
})  # a table: a row for what belongs together  # fmt: skip
_DIRECTORY_OPTIONS: Final = frozenset({"L", "library-path", "rpath-link"})
_OUTPUT_OPTIONS: Final = frozenset({"o", "output"})
_LIBRARY_OPTIONS: Final = frozenset({"l", "library"})
_ADDRESS_OPTIONS: Final = frozenset(
    {
        "Ttext",
        "Tdata",
        "Tbss",
        "Ttext-segment",
        "Trodata-segment",
        "Tldata-segment",
    }
)
_VALUE_OPTIONS: Final = _ADDRESS_OPTIONS | frozenset({
    # GNU ld's and lld's
    "e", "entry", "h", "soname", "m", "u", "undefined", "y", "trace-symbol", "z", "rpath", "dynamic-linker", "I",
    "plugin", "plugin-opt", "Map", "defsym", "b", "format", "oformat", "wrap", "sysroot", "f", "F", "filter",
    "auxiliary", "init", "fini", "A", "architecture", "a", "assert", "section-start", "O", "hash-style", "exclude-libs",
    "require-defined", "dependency-file", "sort-section", "unresolved-symbols", "error-handling-script", "P", "Y",
    "orphan-handling", "out-implib", "audit", "depaudit", "compress-debug-sections", "export-dynamic-symbol",
    "R",  # -rpath to lld always, to GNU ld before a directory; before a file (-just-symbols) it is all but extinct
    # GNU ld's alone
    "gpsize", "ignore-unresolved-symbol", "spare-dynamic-tags", "task-link", "version-exports-section",
    # lld's alone
    "image-base", "mllvm", "android-memtag-mode", "compress-sections", "error-limit", "keep-unique",
    "load-pass-plugin", "lto-known-safe-vtables", "opt-remarks-filename", "opt-remarks-format",
    "opt-remarks-hotness-threshold", "opt-remarks-passes", "pack-dyn-relocs", "print-archive-stats",
    "print-symbol-order", "remap-inputs", "reproduce", "rsp-quoting", "shuffle-sections", "split-stack-adjust-size",
    "target2", "thinlto-cache-policy", "threads", "time-trace-granularity", "undefined-glob", "why-extract",
    "warn-backrefs-exclude",
})  # a table: a row for what belongs together  # fmt: skip
_SEPARATE: Final = _FILE_OPTIONS | _DIRECTORY_OPTIONS | _OUTPUT_OPTIONS | _LIBRARY_OPTIONS | _VALUE_OPTIONS
_NO_EFFECT_ON_CODE: Final = frozenset({
    # the LTO plugin, and files written besides the output
    "plugin", "plugin-opt", "Map", "dependency-file", "reproduce", "why-extract", "print-symbol-order",
    "print-archive-stats", "time-trace", "out-implib", "error-handling-script", "lto-obj-path", "thinlto-cache-dir",
    "thinlto-cache-policy",
    # reports
    "M", "print-map", "cref", "t", "trace", "verbose", "stats", "v", "V",
})  # a table: a row for what belongs together  # fmt: skip
_PLUGIN: Final = frozenset({"plugin", "plugin-opt"})
_STRIPS: Final = frozenset({"s", "strip-all", "x", "discard-all", "retain-symbols-file"})
_SCRIPTS: Final = frozenset({"T", "script", "default-script", "dT"})


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
    return list(_words(tuple(argv)))


@lru_cache(maxsize=16)  # one link is asked about many times
def _words(argv: tuple[str, ...]) -> tuple[Word, ...]:
    result: list[Word] = []
    rest = iter(argv)
    for arg in rest:
        word = _single(arg)
        if word is None:
            name = _name(arg)
            word = Word(_kind(name), name, arg, False, next(rest, ""))
        result.append(word)
    root = sysroot(result)
    return tuple(each for word in result for each in (_directories(word, root) if word.kind == "directory" else [word]))


def sysroot(line: Sequence[Word]) -> str:
    """The directory that stands for /, by the last ``--sysroot``; "" where that is / itself."""
    found = [word.text for word in line if word.option == "sysroot"]
    return found[-1].rstrip("/") if found else ""


def without_sysroot(line: Sequence[Word]) -> list[Word]:
    """The words but ``--sysroot``."""
    return [word for word in line if word.option != "sysroot"]


def _directories(word: Word, root: str) -> list[Word]:
    """One word for each directory: ``-rpath-link`` takes a list of them, and may as well be repeated."""
    listed = word.text.split(":") if word.option == "rpath-link" else [word.text]
    return [replace(word, text=_below(root, directory)) for directory in listed]


def _below(root: str, directory: str) -> str:
    """``=/usr/lib`` and ``$SYSROOT/usr/lib`` as the path they stand for, ``root`` being the sysroot."""
    for marker in ("=", "$SYSROOT"):
        if directory.startswith(marker + "/"):
            return root + directory.removeprefix(marker)
    return directory


def _name(arg: str) -> str:
    return arg.removeprefix("-").removeprefix("-")


def _kind(name: str) -> Kind:
    if name in _FILE_OPTIONS:
        return "file"
    if name in _DIRECTORY_OPTIONS:
        return "directory"
    if name in _OUTPUT_OPTIONS:
        return "output"
    return "library" if name in _LIBRARY_OPTIONS else "value"


def _single(arg: str) -> Word | None:
    """The word if ``arg`` is complete by itself, None if its value is the next argument."""
    if not arg.startswith("-") or arg == "-":
        return Word("input", "", "", False, arg)
    name = _name(arg)
    option, equals, value = name.partition("=")
    short = _joined_letter(name, option) if not arg.startswith("--") else ""
    if short:
        return Word(_kind(short), short, "-" + short, True, name[1:])
    if equals:
        return Word(_kind(option), option, arg[: len(arg) - len(value)], True, value)
    if name in _SEPARATE:
        return None
    return Word("option", name, "", False, arg)


def _joined_letter(name: str, option: str) -> str:
    """The letter of ``-lfoo``, ``-Ldir``, ``-Tfile`` or ``-ofile`` (both linkers read ``-omagic`` so), else ""."""
    letter = name[:1]
    if len(name) == 1 or letter not in ("o", "l", "L", "T"):
        return ""
    named = (letter == "l" and option in ("library", "library-path")) or (letter == "T" and option in _ADDRESS_OPTIONS)
    return "" if named else letter


def output(argv: Sequence[str]) -> str:
    """The file that a link writes, as the command line names it."""
    named = [word.text for word in words(argv) if word.kind == "output"]
    return named[-1] if named else "a.out"


def replayable(
    line: Sequence[Word], *, keep_symbols: bool, plugin: bool = False, strips: Collection[str] = ()
) -> list[Word]:
    """The words that decide what the output contains: without maps, reports and, unless asked for, the LTO ``plugin``.

    With ``keep_symbols`` also without the options that would strip the symbols by which a layout is verified; what
    is loaded stays the same. ``strips`` are options with which this linker strips them, too, and others do not.
    """
    dropped = _NO_EFFECT_ON_CODE | _STRIPS | set(strips) if keep_symbols else _NO_EFFECT_ON_CODE
    dropped -= _PLUGIN if plugin else set()
    return [word for word in line if word.kind != "output" and word.option not in dropped]


def user_scripts(line: Sequence[Word]) -> list[str]:
    """Linker scripts given on the command line (``-T``)."""
    return [word.text for word in line if word.option in _SCRIPTS]


def ordering_files(line: Sequence[Word]) -> list[str]:
    """Files by which the build itself orders symbols (lld); the last one counts."""
    return [word.text for word in line if word.option == "symbol-ordering-file"]


def without_scripts(argv: Sequence[str]) -> list[str]:
    """The arguments without linker scripts."""
    return [text for word in words(argv) if word.option not in _SCRIPTS for text in word.argv()]


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
