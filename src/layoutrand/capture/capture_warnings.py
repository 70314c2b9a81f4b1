"""Warnings about what was captured: the kinds, and the words of each.

A record of a capture keeps those about its links as sentences, since it may be read years later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from layoutrand.text.name_lists import first_names
from layoutrand.warning import AnyWarning

_FEW: Final = 5  # names of files in one warning


@dataclass(frozen=True)
class NotCommitted(AnyWarning):
    """Changes in a repository of which a commit is built."""

    commit: str
    url: str
    n_changed: int

    def __str__(self) -> str:
        return (
            f"source: what is built is commit {self.commit[:12]} of {self.url}; the {_files(self.n_changed)} not "
            "committed there are no part of it (build.source builds a tree as it is)"
        )


@dataclass(frozen=True)
class UnknownState(AnyWarning):
    """A source whose state git does not tell, and what it says instead."""

    folder: str
    error: str

    def __str__(self) -> str:
        return f"source: git does not tell the state of {self.folder}: {self.error}"


@dataclass(frozen=True)
class ChangedSource(AnyWarning):
    """A source that is not what was committed; ``changed`` are names of ``n_changed`` files, perhaps not of all."""

    folder: str
    commit: str
    n_changed: int
    changed: tuple[str, ...]

    def __str__(self) -> str:
        more = self.n_changed - _FEW
        named = ", ".join(self.changed[:_FEW]) + (f" and {more} more" if more > 0 else "")
        return (
            f"source: {self.folder} differs from commit {self.commit[:12]}: {_files(self.n_changed)} changed "
            f"({named}); that is recorded with the capture"
        )


@dataclass(frozen=True)
class LfsPointers(AnyWarning):
    """Files of a source that are pointers of git LFS, by name, where the build expects what they stand for."""

    folder: str
    pointers: tuple[str, ...]

    def __str__(self) -> str:
        named = first_names(self.pointers, _FEW)
        return (
            f"source: {_files(len(self.pointers))} in {self.folder} ({named}) kept in git LFS, of which only the "
            "pointer is there, and that is what the build reads; `git lfs pull` gets the contents"
        )


@dataclass(frozen=True)
class WholeObjects(AnyWarning):
    """Objects without sections of their own for functions."""

    objects: tuple[str, ...]

    def __str__(self) -> str:
        named = first_names(self.objects, _FEW)
        if len(self.objects) == 1:
            return f"1 object was not compiled through the wrappers (or is assembler) and moves as one piece: {named}"
        return (
            f"{len(self.objects)} objects were not compiled through the wrappers (or are assembler) and move as one "
            f"piece each: {named}"
        )


@dataclass(frozen=True)
class EarlierObjects(AnyWarning):
    """Objects of a build where the source is (``build.in_place``) that were there before it."""

    objects: tuple[str, ...]

    def __str__(self) -> str:
        count = len(self.objects)
        named = first_names(self.objects, _FEW)
        were = "1 object that was" if count == 1 else f"{count} objects that were"
        return (
            f"it is linked from {were} there before this build began ({named}), perhaps compiled with the flags of "
            "another system: with build.in_place let build.commands begin with what removes them (make clean)"
        )


@dataclass(frozen=True)
class CodeThatStays(AnyWarning):
    """Code of archives that keeps its place in every layout: ``stays`` of ``total`` bytes, most of it in ``files``."""

    stays: int
    total: int
    files: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{100 * self.stays // self.total} % of the code ({self.stays:,} of {self.total:,} bytes) was compiled "
            f"before this build ({', '.join(self.files)}) and keeps its place in every layout; "
            'layout.archives = "all" moves it, too'
        )


@dataclass(frozen=True)
class UnlistedLibrary(AnyWarning):
    """A library of the build that an artefact needs by a name that no artefact has.

    ``path`` is where the build has it by that name, or would have it: ``there`` says whether it does.  ``made`` is the
    path that the library was linked with, and ``listed`` whether that is an artefact.
    """

    name: str
    path: str
    made: str
    there: bool
    listed: bool

    def __str__(self) -> str:
        place = f" in place of {self.made!r}" if self.listed else ""
        text = (
            f"it needs {self.name}, which its build made: without {self.path!r}{place} in build.artefacts, executions "
            "find no such library, or a strange one"
        )
        if self.there:
            return text
        return f"{text}. The build has it as {self.made!r} alone: let build.commands link that name to it"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


@dataclass(frozen=True)
class Unoptimised(AnyWarning):
    """A build in which no compilation was to optimise."""

    def __str__(self) -> str:
        return (
            "none of the compilations that layoutrand saw was given -O1 or more: what is measured is code that is not "
            "optimised; have the build optimise (cmake -DCMAKE_BUILD_TYPE=Release, make CFLAGS=-O2, cargo build "
            '--release), or give the system cflags = "-O2" (of Fortran, fflags)'
        )


@dataclass(frozen=True)
class FlagsUnused(AnyWarning):
    """Flags of a system for the compiler of a language that compiled nothing; others of its flags were used."""

    given: str
    language: str

    def __str__(self) -> str:
        return f"{self.given} reached no compilation: nothing was compiled by the {self.language} compiler"


@dataclass(frozen=True)
class FortranWithout(AnyWarning):
    """Fortran that was compiled without flags of the system, which are ``given`` to other languages."""

    given: str

    def __str__(self) -> str:
        return f"Fortran was compiled without {self.given}: its flags are fflags"


@dataclass(frozen=True)
class LanguageWithout(AnyWarning):
    """Functions of a ``language`` whose compiler has no wrapper, beside C that flags were ``given`` to."""

    language: str
    n_functions: int
    given: str

    def __str__(self) -> str:
        what, were = ("1 function", "was") if self.n_functions == 1 else (f"{self.n_functions:,} functions", "were")
        return (
            f"{what} of {self.language} {were} compiled without {self.given}, which C and C++ alone are given: flags "
            f"of {self.language} go into build.commands, or into a variable of env that the build reads"
        )


Others = Literal["none", "of this path", "of another path"]
"""Profiles of other objects than those that have none, by the path of the build that their names have."""


@dataclass(frozen=True)
class MissingProfiles(AnyWarning):
    """Profiles that gcc was to use and did not find, by what they are of.

    ``folder`` is where it looks for one (``-fprofile-use=DIR``), "" beside the object; ``is_copy`` says whether what is
    built is a copy of the source, and ``others`` which profiles of other objects are there.
    """

    profiles: tuple[str, ...]
    folder: str
    is_copy: bool
    others: Others

    def __str__(self) -> str:
        count = len(self.profiles)
        what, them = ("1 profile", "it") if count == 1 else (f"{count} profiles", "them")
        return (
            f"gcc did not find {what} that -fprofile-use asks for ({first_names(self.profiles, _FEW)}), and compiled "
            f"without {them}{self._why()}"
        )

    def _why(self) -> str:
        if self.others == "of this path":
            return "; there are profiles of others: perhaps what was trained did not have these"
        if self.others == "none" or not self.folder:
            where = f"in {self.folder}" if self.folder else "where gcc looks"
            return f": none is {where}" + (
                ", in the copy of the source that is built: there is none in the source, or build.exclude or git leave "
                "it out"
                if self.is_copy and not self.folder.startswith("/")
                else ""
            )
        if not self.is_copy:
            return f": in {self.folder} no name has the path of this build"
        return (
            f": in {self.folder} names have the path of the directory that was built, and this is a copy. Train in the "
            "directory build.source and keep them there, or let build.commands train, or train and use with "
            "-fprofile-prefix-path=DIR, where DIR is the top of what is built (gcc 12 or later)"
        )


@dataclass(frozen=True)
class ProfileOfOtherPaths(AnyWarning):
    """A profile that clang was to use, with static functions of ``files`` by another path than that of the tree."""

    profile: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.profile} names static functions of {_files(len(self.files))} ({first_names(self.files, _FEW)}) by "
            "another path than that of the copy that is built, where clang's -fprofile-use finds no profile of them "
            "and does not say so: let build.commands train, or train and use with -mllvm "
            "-static-func-full-module-prefix=false, or with -fprofile-instr-generate and -fprofile-instr-use"
        )
