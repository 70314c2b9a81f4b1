"""Changes of a program's source: five kinds that change nothing but where things lie, and planted slowdowns.

Whatever is drawn comes from the keyed hash that layouts are drawn from, so that the same seed makes the same change of
the same source, everywhere.  A change that is drawn here is a proposal: whether it is what it should be is found out by
`proof.py`, on what the compiler makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeVar

from inert.c_text import Function, can_exchange, exchanged, functions, strings
from inert.unused import unused_function
from layoutrand.layout.keyed import keyed_uniform

EXCHANGED, INSERTED, RENAMED, LENGTHENED, REORDERED = "exchanged", "inserted", "renamed", "lengthened", "reordered"
PLANTED = "planted"
MEANINGS: Mapping[str, str] = {
    EXCHANGED: "two functions of a file exchanged",
    INSERTED: "an unused exported function inserted",
    RENAMED: "a file renamed",
    LENGTHENED: "a string lengthened in code that is not executed",
    REORDERED: "two objects exchanged in the order of the link",
    PLANTED: "a counted loop in a hot function",
}
INERT = (EXCHANGED, INSERTED, RENAMED, LENGTHENED, REORDERED)

_ENCODING = "latin-1"
"""Every file can be read with it and comes out as it was."""

_SOURCES = (".c", ".cc", ".cpp")
_BUILD_FILES = re.compile(r"^(?:[Mm]akefile(?:\.in)?|GNUmakefile|build\.sh|configure|.*\.(?:mk|mak))$")
_OBJECT = r"[\w./-]+\.(?:o|lo|c|cc|cpp|\$\(OBJEXT\))"
_LISTED = re.compile(rf"(?<![\w./$()-]){_OBJECT}(?:(?:[ \t]|\\\n)+{_OBJECT})+(?![\w./-])")
_PUT_TOGETHER = {"sqlite": "sqlite/src/"}
"""Directories of sources that the build puts together into one file before it is compiled."""

_TRIES = 200

_Item = TypeVar("_Item")


class Draws:
    """Numbers drawn one after another, all given by the seed and the names."""

    def __init__(self, seed: int, *names: object) -> None:
        self._seed = seed
        self._stream = "inert/" + "/".join(map(str, names))
        self._count = 0

    def below(self, limit: int) -> int:
        """An integer in 0 ... limit-1."""
        self._count += 1
        return keyed_uniform(self._seed, self._stream, str(self._count).encode(), limit)

    def one(self, items: Sequence[_Item]) -> _Item:
        """One of the items."""
        return items[self.below(len(items))]

    def two(self, count: int) -> tuple[int, int]:
        """Two places among ``count``, the smaller first."""
        first, second = self.below(count), self.below(count - 1)
        second += second >= first
        return min(first, second), max(first, second)


@dataclass(frozen=True)
class Executed:
    """What the workload executes of the program: function as callgrind names it -> (calls, own instructions)."""

    functions: Mapping[str, tuple[int, int]]

    def of(self, name: str) -> tuple[int, int]:
        """Calls and instructions of a function by its name in the source, its clones and overloads taken together."""
        mangled = f"{len(name)}{name}"
        calls = instructions = 0
        for symbol, (called, own) in self.functions.items():
            plain = re.split(r"[.'@]", symbol)[0]
            if plain == name or (plain.startswith("_Z") and mangled in plain):
                calls += called
                instructions += own
        return calls, instructions


@dataclass
class SourceTree:
    """The source of one program, and what is known of its build: the stems of the objects that it makes."""

    root: Path
    stems: frozenset[str]
    program: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    _functions: dict[str, list[Function]] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Path, stems: Iterable[str], program: str = "") -> SourceTree:
        """Read the sources and the build files below a directory."""
        tree = cls(root, frozenset(stems), program)
        for path in sorted(root.rglob("*")):
            if path.is_file() and not path.is_symlink() and (path.suffix in _SOURCES or _BUILD_FILES.match(path.name)):
                tree.texts[path.relative_to(root).as_posix()] = path.read_bytes().decode(_ENCODING)
        return tree

    @property
    def sources(self) -> list[str]:
        """The files that are compiled."""
        return [
            name
            for name in self.texts
            if PurePosixPath(name).suffix in _SOURCES
            and (PurePosixPath(name).stem in self.stems or name.startswith(_PUT_TOGETHER.get(self.program, "?")))
        ]

    @property
    def build_files(self) -> list[str]:
        """The files that say what is compiled and linked."""
        return [name for name in self.texts if _BUILD_FILES.match(PurePosixPath(name).name)]

    def functions(self, name: str) -> list[Function]:
        """The functions of a file."""
        if name not in self._functions:
            self._functions[name] = functions(self.texts[name])
        return self._functions[name]


@dataclass(frozen=True)
class Change:
    """A change: files with their new text, and a file's new name; ``what`` says it in words, ``function`` is planted in."""

    kind: str
    what: str
    texts: Mapping[str, str]
    renamed: tuple[str, str] | None = None
    function: str = ""

    def apply(self, root: Path) -> None:
        """Make the change in a tree of the same source."""
        for name, text in self.texts.items():
            (root / name).write_bytes(text.encode(_ENCODING))
        if self.renamed is not None:
            (root / self.renamed[0]).rename(root / self.renamed[1])


def draw(tree: SourceTree, kind: str, executed: Executed, draws: Draws) -> Change | None:
    """A change of this kind; None where this source has no place for one, as far as a number of trials tells."""
    makers: dict[str, Callable[[SourceTree, Executed, Draws], Change | None]] = {
        EXCHANGED: _exchange,
        INSERTED: _insert,
        RENAMED: _rename,
        LENGTHENED: _lengthen,
        REORDERED: _reorder,
    }
    if not tree.sources:
        return None
    for _ in range(_TRIES):
        change = makers[kind](tree, executed, draws)
        if change is not None:
            return change
    return None


def _exchange(tree: SourceTree, executed: Executed, draws: Draws) -> Change | None:
    del executed
    name = draws.one(tree.sources)
    known = tree.functions(name)
    if len(known) < 2:
        return None
    one, other = (known[place] for place in draws.two(len(known)))
    text = tree.texts[name]
    if not can_exchange(text, one, other):
        return None
    return Change(EXCHANGED, f"{name}: {one.name} and {other.name} exchanged", {name: exchanged(text, one, other)})


def _insert(tree: SourceTree, executed: Executed, draws: Draws) -> Change | None:
    del executed
    name = draws.one(tree.sources)
    known = tree.functions(name)
    if not known:
        return None
    before = draws.one(known)
    text = tree.texts[name]
    unused, body = unused_function(draws)
    changed = text[: before.begin] + body + "\n" + text[before.begin :]
    return Change(INSERTED, f"{name}: {unused} inserted before {before.name}", {name: changed})


def _rename(tree: SourceTree, executed: Executed, draws: Draws) -> Change | None:
    """A letter before the name, so that it sorts elsewhere, in the file system and in the files of the build."""
    del executed
    name = draws.one(tree.sources)
    path = PurePosixPath(name)
    stem = f"{draws.one('abcdefghijklmnopqrstuvwxyz')}{draws.below(10)}_{path.stem}"
    new = path.with_name(stem + path.suffix).as_posix()
    texts = {}
    suffixed = re.compile(
        rf"(?<![\w-]){re.escape(path.stem)}(?=\.(?:c|cc|cpp|o|lo|\$[({{]OBJEXT[)}}]|Po|Plo|Tpo)\b|\.\$)"
    )
    bare = re.compile(rf"(?<![\w./@$-]){re.escape(path.stem)}(?![\w./=-])")
    for file in tree.build_files:
        text = tree.texts[file]
        if PurePosixPath(file).name == "configure" and f"{path.stem}.c" not in text:
            continue
        changed = suffixed.sub(stem, text)
        if PurePosixPath(file).name == "build.sh":
            changed = _in_lists(changed, tree.program, bare, stem)
        if changed != text:
            texts[file] = _LISTED.sub(lambda found: _sorted_in(found[0], stem), changed)
    included = re.compile(rf'(#[ \t]*include[ \t]*"(?:[\w./]*/)?){re.escape(path.name)}"')
    for file in tree.texts:
        if PurePosixPath(file).suffix in _SOURCES and included.search(tree.texts[file]):
            return None  # a file that is included as well is more than one file
    return Change(RENAMED, f"{name} renamed to {new}", texts, (name, new))


def _sorted_in(listed: str, stem: str) -> str:
    """A list of files in which the one of this stem stands before the first that sorts behind it."""
    spans = _word_spans(listed)
    words = [listed[begin:end] for begin, end in spans]
    stems = [PurePosixPath(word).name.partition(".")[0] for word in words]
    if stem not in stems:
        return listed
    moved = words.pop(stems.index(stem))
    stems.remove(stem)
    words.insert(next((place for place, other in enumerate(stems) if other > stem), len(words)), moved)
    parts, last = [], 0
    for (begin, end), word in zip(spans, words, strict=True):
        parts += [listed[last:begin], word]
        last = end
    return "".join([*parts, listed[last:]])


def _in_lists(text: str, program: str, bare: re.Pattern[str], stem: str) -> str:
    """The text of build.sh with a name replaced in the lists of names of one program."""
    match = re.search(rf"(?ms)^build_{re.escape(program)}\(\).*?^}}", text)
    if match is None:
        return text
    lists = re.compile(r"\$\(each_name(?:[^()])*\)", re.DOTALL)
    changed = lists.sub(lambda found: _each_sorted(bare.sub(stem, found[0]), stem), match[0])
    return text[: match.start()] + changed + text[match.end() :]


def _each_sorted(listed: str, stem: str) -> str:
    """The same of a list that build.sh gives to each_name: two words stand before it."""
    head, directory, rest = listed.rstrip(")").split(" ", 2)
    return f"{head} {directory} {_sorted_in(rest, stem)})"


def _lengthen(tree: SourceTree, executed: Executed, draws: Draws) -> Change | None:
    name = draws.one(tree.sources)
    known = tree.functions(name)
    if not known:
        return None
    function = draws.one(known)
    if executed.of(function.name) != (0, 0):
        return None
    text = tree.texts[name]
    found = strings(text, function)
    if not found:
        return None
    _, end = draws.one(found)
    more = "".join(f" {draws.one(_WORDS)}" for _ in range(1 + draws.below(12)))
    # what ends with a newline still does
    at = end - 3 if text[: end - 1].endswith("\\n") else end - 1
    what = f"{name}: a string in {function.name} is {len(more)} characters longer"
    return Change(LENGTHENED, what, {name: text[:at] + more + text[at:]})


_WORDS = (
    "see",
    "the",
    "manual",
    "value",
    "out",
    "of",
    "range",
    "please",
    "report",
    "this",
    "file",
    "line",
    "unexpected",
)


def _reorder(tree: SourceTree, executed: Executed, draws: Draws) -> Change | None:
    del executed
    places = []
    for file in tree.build_files:
        text = tree.texts[file]
        begin, end = _region(text, tree.program if PurePosixPath(file).name == "build.sh" else "")
        places += [(file, match.start(), match.end()) for match in _LISTED.finditer(text, begin, end)]
        places += [(file, match.start(), match.end()) for match in re.compile(r"\./\*\.o").finditer(text, begin, end)]
        places += [(file, match.start(), match.end()) for match in _EACH.finditer(text, begin, end)]
    if not places:
        return None
    file, begin, end = draws.one(places)
    text = tree.texts[file]
    listed = text[begin:end]
    if listed == "./*.o":
        words = [f"./{stem}.o" for stem in sorted(tree.stems)]
        if len(words) < 2:
            return None
        spans, listed = _word_spans(" ".join(words)), " ".join(words)
    else:
        spans = _word_spans(listed)
    one, other = (spans[place] for place in draws.two(len(spans)))
    first, second = listed[slice(*one)], listed[slice(*other)]
    if first == second:
        return None  # some makefiles name a file twice
    changed = listed[: one[0]] + second + listed[one[1] : other[0]] + first + listed[other[1] :]
    return Change(
        REORDERED,
        f"{file}: {first} and {second} exchanged",
        {file: text[:begin] + changed + text[end:]},
    )


_EACH = re.compile(r"(?<=\$\(each_name )(?:[^()])*(?=\))", re.DOTALL)


def _word_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"[^\s\\]+", text)]


def _region(text: str, program: str) -> tuple[int, int]:
    """Where in build.sh one program is built; all of another file."""
    match = re.search(rf"(?ms)^build_{re.escape(program)}\(\).*?^}}", text) if program else None
    return (0, len(text)) if match is None else match.span()


def hot_places(tree: SourceTree, executed: Executed, most_calls: float) -> list[tuple[str, Function, int]]:
    """(File, function, calls) of functions with at least 0.2 % of the instructions, and at most so many calls.

    Hottest first; what is called too often would make a loop of one turn dearer than what is to be planted.
    """
    total = sum(own for _, own in executed.functions.values())
    found = []
    for name in tree.sources:
        for function in tree.functions(name):
            calls, own = executed.of(function.name)
            if 0 < calls <= most_calls and own >= 0.002 * total:
                found.append((own, name, function, calls))
    found.sort(key=lambda each: (-each[0], each[1], each[2].begin))
    return [(name, function, calls) for _, name, function, calls in found]


def plant(tree: SourceTree, name: str, function: Function, turns: int) -> Change:
    """A loop of so many turns at the beginning of a function, of which the compiler may leave out none."""
    loop = (
        f' {{ unsigned long planted_turns = {turns}UL; do {{ __asm__ volatile ("" : "+r" (planted_turns)); }} '
        "while (--planted_turns); }"
    )
    text = tree.texts[name]
    at = function.body + 1
    what = f"{name}: a loop of {turns} turns in {function.name}"
    return Change(PLANTED, what, {name: text[:at] + loop + text[at:]}, function=function.name)
