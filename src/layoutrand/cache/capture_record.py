"""The record of one instrumented build, as values and as JSON, and what it was made with.

In link lines ``ROOT`` (a NUL, which no argument can contain) stands for the directory that holds the captured files,
so that a capture can be moved to another directory or machine and still be linked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from layoutrand.errors import CacheError
from layoutrand.model import Section

if TYPE_CHECKING:  # commands that look at no binary need not wait for it
    import numpy as np
    from numpy.typing import NDArray

SCHEMA: Final = "layoutrand/capture/1"
ROOT: Final = "\0"


@dataclass(frozen=True)
class CapturedLink:
    """One artefact's link: what to execute, in which directory, on which files, and the sections it places.

    ``output`` is the path under which the build linked it; ``argv`` is the linker's arguments without output and
    program, ``replay_argv`` the same with the options that strip symbols; ``cwd`` is relative to the root, or "" where
    no argument is relative to it; ``files`` maps each captured file (relative to the root) to its SHA-256, ``edited``
    the same for those that differ in the edited tree; ``members`` lists the archive members
    that were really pulled in, as ``archive(member)``.  ``identity`` is the identity order, slot by slot;
    ``other_sizes`` the size of every loaded output section besides those that hold placed ones; ``script`` GNU ld's
    default script, or with ``users_script`` the build's own.  ``moves`` maps objects to their words on the line where
    ``link-order`` may move them, and is empty otherwise; ``sections`` then lists those of discarded copies too.
    ``lto`` says how link-time optimisation divided the program (gcc's -flto-partition, or clang's "full" or "thin"), ""
    for a link without it.  ``archives`` is that of the layout policy, which says whether members of
    archives that the build did not make are pinned; ``ordered`` is "keep" where functions
    that its own ordering file names are.  ``machine`` and ``machine_flags`` are those of the objects.
    """

    artefact: str
    linker: str
    output: str
    argv: tuple[str, ...]
    replay_argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    files: Mapping[str, str]
    edited: Mapping[str, str]
    members: tuple[str, ...]
    sections: tuple[Section, ...]
    identity: tuple[int, ...]
    other_sizes: Mapping[str, int]
    script: str
    users_script: bool
    moves: Mapping[str, str]
    code_sha256: str
    original_sha256: str
    warnings: tuple[str, ...]
    lto: str = ""
    archives: str = "built"
    ordered: str = "move"
    machine: str = "EM_X86_64"
    machine_flags: int = 0

    @cached_property
    def identity_numbers(self) -> NDArray[np.int64]:
        """Identity order, shape (n,)."""
        import numpy as np

        return np.array(self.identity, np.int64)

    def movable(self) -> int:
        """How many sections a seed may move."""
        return sum(not section.pinned for section in self.sections)


@dataclass(frozen=True)
class Capture:
    """A whole instrumented build: its links, and the facts that a reader needs to repeat or doubt it."""

    id: str
    system: str
    toolchain: str
    separates_classes: bool
    tools: Mapping[str, Mapping[str, str]]
    source: Mapping[str, Any]
    build_s: float
    n_links: int
    links: tuple[CapturedLink, ...]

    @property
    def is_rebuilt(self) -> bool:
        """Whether it stands for a build that every layout repeats; then its id is of the key of that build."""
        return self.source.get("mode") == "rebuild"

    def link(self, artefact: str) -> CapturedLink:
        """The link of the artefact."""
        return next(link for link in self.links if link.artefact == artefact)

    def contents(self) -> dict[str, str]:
        """SHA-256 of each captured file, by its path relative to the capture's directory."""
        wanted: dict[str, str] = {}
        for number, link in enumerate(self.links):
            wanted |= {f"{number}/root/{name}": digest for name, digest in link.files.items()}
            wanted |= {f"{number}/edited/{name}": digest for name, digest in {**link.files, **link.edited}.items()}
            wanted[f"{number}/code.npz"] = link.code_sha256
        return wanted


def identity_facts(links: Sequence[CapturedLink], tools: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """What makes two captures the same: the link lines, the files' contents, and the linker."""
    return {
        "schema": SCHEMA,
        "ld": {key: tools["ld"][key] for key in ("version", "sha256")},
        "links": [
            {
                "artefact": link.artefact,
                "linker": link.linker,
                "output": link.output,
                "argv": link.argv,
                "replay_argv": link.replay_argv,
                "cwd": link.cwd,
                "environment": dict(link.environment),
                "files": dict(link.files),
                "moves": bool(link.moves),
                "kinds": sorted({section.kind for section in link.sections}),
                **({"archives": link.archives} if link.archives != "built" else {}),  # as before there was a choice
                **({"ordered": link.ordered} if link.ordered != "move" else {}),
            }
            for link in links
        ],
    }


def to_json(capture: Capture) -> dict[str, Any]:
    """The capture as JSON values; sections as rows, since there may be 45,000 of them."""
    links = [
        {
            **{each.name: getattr(link, each.name) for each in fields(link)},
            "sections": [list(vars(section).values()) for section in link.sections],
        }
        for link in capture.links
    ]
    return {"schema": SCHEMA, **vars(capture), "links": links}


def from_json(table: Mapping[str, Any], *, where: str) -> Capture:
    """The capture in a parsed capture.json; raises `CacheError` for another schema, or values of other types."""
    if not isinstance(table, dict) or table.get("schema") != SCHEMA:
        found = table.get("schema") if isinstance(table, dict) else None
        raise CacheError(f"{where}: schema {found!r}, this layoutrand reads {SCHEMA!r}")
    values = {key: value for key, value in table.items() if key != "schema"}
    try:
        values["links"] = tuple(_link(link) for link in table["links"])
        _require(_OF_CAPTURE, values)
        _require(dict.fromkeys(values["tools"], dict), values["tools"])
        for facts in values["tools"].values():
            _require_items("tools", facts, str)
        for told in (values["source"], values["source"].get("git") or {}):
            _require(_OF_SOURCE, {**dict.fromkeys(_OF_SOURCE), **told})
        return Capture(**values)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CacheError(f"{where} is no record of a capture: {error!r}") from error


def _link(table: Mapping[str, Any]) -> CapturedLink:
    values = dict(table)
    values["sections"] = tuple(Section(*row) for row in table["sections"] if tuple(map(type, row)) == _OF_SECTION)
    if len(values["sections"]) != len(table["sections"]):
        raise TypeError("sections")
    for key in ("argv", "replay_argv", "members", "identity", "warnings"):
        values[key] = tuple(table[key])
    _require(_OF_LINK, values)
    _require(_NOT_ALWAYS, {**{name: kind() for name, kind in _NOT_ALWAYS.items()}, **values})
    for key, kind in _ITEMS.items():
        _require_items(key, values[key], kind)
    if any("\0" in name for key in ("files", "edited") for name in values[key]):
        raise ValueError("a NUL in the name of a file")
    if len({*values["identity"]} & {*range(len(values["sections"]))}) != len(values["identity"]):
        raise ValueError("an identity order of other sections")
    return CapturedLink(**values)


def _require_items(name: str, values: Any, kind: type) -> None:
    """Raise `TypeError` with the name where what is in the list or table is of another type."""
    items = values.values() if isinstance(values, dict) else values
    if not all(type(item) is kind for item in items):
        raise TypeError(name)


def _require(kinds: Mapping[str, _Kinds], values: Mapping[str, Any]) -> None:
    """Raise `TypeError` with the first name whose value is of another type."""
    for name, kind in kinds.items():
        if not isinstance(values[name], kind):
            raise TypeError(name)


_Kinds = type | tuple[type, ...]

_OF_SECTION: Final = (int, str, str, int, str, str, int, int, bool)
_OF_CAPTURE: Final[dict[str, _Kinds]] = {
    **dict.fromkeys(("id", "system", "toolchain"), str),
    **dict.fromkeys(("tools", "source"), dict),
    "separates_classes": bool,
    "build_s": (int, float),
    "n_links": int,
}
_OF_SOURCE: Final[dict[str, _Kinds]] = {
    "commit": (str, type(None)),
    "digest": (str, type(None)),
    "git": (dict, type(None)),
}
_OF_LINK: Final[dict[str, _Kinds]] = {
    **dict.fromkeys(("artefact", "linker", "output", "cwd", "script", "code_sha256", "original_sha256"), str),
    **dict.fromkeys(("environment", "files", "edited", "other_sizes", "moves"), dict),
    "users_script": bool,
}
_NOT_ALWAYS: Final[dict[str, type]] = {
    **dict.fromkeys(("lto", "archives", "ordered", "machine"), str),
    "machine_flags": int,
}
"""What is not in all versions' records."""

_ITEMS: Final[dict[str, type]] = {
    **dict.fromkeys(("argv", "replay_argv", "members", "warnings", "environment", "files", "edited", "moves"), str),
    **dict.fromkeys(("identity", "other_sizes"), int),
}
"""What the values of lists and tables are."""


def tools_of(capture: Capture) -> dict[str, str]:
    """Its "compilers", "linker" and "source", in words."""
    versions = {role: facts.get("version", "") for role, facts in capture.tools.items()}
    compilers = dict.fromkeys(versions[role] for role in ("rustc", "cc", "cxx", "fc") if versions.get(role))
    return {
        "compilers": "; ".join(compilers),
        "linker": versions.get("ld", ""),
        "source": source_words(capture.source),
    }


def source_words(source: Mapping[str, Any]) -> str:
    """A commit, or the digest of the files and what git said of them."""
    if source.get("commit"):
        return f"commit {source['commit'][:12]} of {source.get('repo', 'a repository')}"
    files = f"files {source['digest'][:12]}" if source.get("digest") else "not recorded"
    git = source.get("git") or {}
    if not git.get("commit"):
        return files
    return f"{files}, commit {git['commit'][:12]}{' with changes' if git.get('dirty') else ''}"


def source_without_path(words: str) -> str:
    """`source_words` without the path of the repository on this machine, which tells readers elsewhere nothing."""
    return re.sub(r"^(commit [0-9a-f]{12}) of /.*$", r"\1", words)


def source_in_brief(words: str) -> str:
    """`source_words` with a commit, or the digest of files, as short as git has it."""
    commit = re.search(r"\bcommit ([0-9a-f]{7})[0-9a-f]*( with changes)?", words)
    if commit:
        return f"commit {commit[1]}{commit[2] or ''}"
    files = re.match(r"files ([0-9a-f]{7})[0-9a-f]*$", words)
    return f"files {files[1]}" if files else words
