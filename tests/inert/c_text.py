"""C and C++ source as text: where functions are defined at the top of a file, and which strings they have.

No compiler is asked and none is imitated: what is found here is a proposal.  A change that is made of it has to compile,
and is proved on the objects that the compiler makes (`proof.py`), so that a wrong guess costs a build and nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SKIPPED = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|(?m:^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)",
    re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_HEAD = re.compile(r"(?P<name>[A-Za-z_][\w:]*)\s*\(")
_NO_FUNCTIONS = frozenset(
    "if while for switch return sizeof do else struct union enum class namespace typedef extern".split()
)


@dataclass(frozen=True)
class Function:
    """The definition of a function: its name, and where in the text it begins, its body opens, and it ends.

    ``context`` are the places of the preprocessor's conditions that it stands in: two functions that have the same are
    compiled or left out together.
    """

    name: str
    begin: int
    body: int
    end: int
    context: tuple[int, ...]


def masked(text: str) -> str:
    """The text with blanks for comments, strings, characters and lines of the preprocessor; every place is kept."""
    return _SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def functions(text: str) -> list[Function]:
    """The functions that are defined outside all braces, or in braces of ``extern "C"`` and namespaces alone."""
    plain = masked(text)
    conditions = _conditions(text)
    found: list[Function] = []
    begin, place = 0, 0
    while (match := re.compile(r"[;{}]").search(plain, place)) is not None:
        place = match.end()
        if match[0] == "{":
            head = plain[begin : match.start()]
            if re.search(r"\b(?:namespace\b[\w\s:]*|extern\s*)$", head):
                begin = place
                continue
            end = _closing(plain, match.start())
            if end is None:
                break
            name = _defined(head)
            start = begin + len(head) - len(head.lstrip())
            if name and conditions.at(start) == conditions.at(end) and not _directives(text, start, match.start()):
                found.append(Function(name, start, match.start(), end, conditions.at(start)))
            place = end
            # an initialiser or a type goes on to its semicolon; a function is over
            if name is None and (rest := re.compile(r"[^;{}]*;").match(plain, place)):
                place = rest.end()
        begin = place
    return found


def strings(text: str, function: Function) -> list[tuple[int, int]]:
    """Where in the text the function's string literals of at least four characters are, from quote to quote."""
    found = []
    for match in _SKIPPED.finditer(text, function.body, function.end):
        if match[0][0] == '"' and len(match[0]) >= 6:
            before, after = text[: match.start()].rstrip(), text[match.end() : function.end].lstrip()
            # the parts of a literal that is put together belong to one another, and a prefix belongs to the literal
            if not before.endswith(('"', "R", "L", "u", "U", "#")) and after[:1] in (",", ")", ";", ":"):
                found.append((match.start(), match.end()))
    return found


def names(text: str) -> set[str]:
    """The identifiers in a text, those of macros' definitions among them, without what only stands in comments."""
    code = _SKIPPED.sub(lambda match: match[0] if match[0].lstrip().startswith("#") else " ", text)
    return set(_NAME.findall(code))


def can_exchange(text: str, first: Function, second: Function) -> bool:
    """Whether each of the two may stand where the other does, as far as the order of declarations tells."""
    if first.context != second.context or first.end > second.begin:
        return False
    before = names(text[: first.begin])
    between = text[first.end : second.begin]
    if re.search(r"(?m)^[ \t]*#[ \t]*(?:undef|line|pragma)\b", between):
        return False
    own = names(text[second.begin : second.end]) - before
    if own & (names(between) | {first.name}):
        return False
    return first.name in before or first.name not in names(between)


def exchanged(text: str, first: Function, second: Function) -> str:
    """The text with the two definitions exchanged."""
    return (
        text[: first.begin]
        + text[second.begin : second.end]
        + text[first.end : second.begin]
        + text[first.begin : first.end]
        + text[second.end :]
    )


def _defined(head: str) -> str | None:
    """The name of the function whose definition begins with this, None for types, initialisers and what else has braces."""
    flat = head.strip()
    if not flat or "=" in re.sub(r"operator\s*\S+|\([^()]*\)", "", flat):
        return None
    match = _HEAD.search(flat)
    if match is None or match["name"] in _NO_FUNCTIONS or flat.startswith(("typedef", "template", "struct {", "enum")):
        return None
    # `name(` alone on the line may be a macro that makes a declaration: a definition has a type before its name, or
    # is a constructor
    if match.start() == 0 and "::" not in match["name"]:
        return None
    return match["name"].rpartition("::")[2]


def _closing(plain: str, opening: int) -> int | None:
    depth = 0
    for match in re.compile(r"[{}]").finditer(plain, opening):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return None


def _directives(text: str, begin: int, end: int) -> bool:
    """Whether a line of the preprocessor stands between: such a head is not one text."""
    return re.search(r"(?m)^[ \t]*#", text[begin:end]) is not None


@dataclass(frozen=True)
class _Conditions:
    """Which conditions hold from which place on."""

    places: list[int]
    stacks: list[tuple[int, ...]]

    def at(self, place: int) -> tuple[int, ...]:
        """The conditions that a place stands in, each by where its branch begins."""
        last: tuple[int, ...] = ()
        for begin, stack in zip(self.places, self.stacks, strict=True):
            if begin > place:
                break
            last = stack
        return last


def _conditions(text: str) -> _Conditions:
    found = _Conditions([], [])
    stack: list[int] = []
    for match in re.finditer(r"(?m)^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b", text):
        if match[1] in ("elif", "else", "endif") and stack:
            stack.pop()
        if match[1] != "endif":
            stack.append(match.start())
        found.places.append(match.start())
        found.stacks.append(tuple(stack))
    return found
