"""What input sections are aligned to, read from the files that a linker's map names."""

from __future__ import annotations

from pathlib import Path

from layoutrand.errors import LayoutrandError
from layoutrand.objects import archive, elf
from layoutrand.platform.regular_file import PROGRAM, content_of_regular


class SectionAlignments:
    """The alignments of sections by file and name; each file is read once."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._known: dict[str, dict[str, dict[str, set[int]]]] = {}

    def __call__(self, owner: str, name: str) -> int:
        """That of the section of this name in ``owner``, a file or "archive(member)"; 0 where there is not just one."""
        path, _, member = owner.removesuffix(")").rpartition("(") if owner.endswith(")") else (owner, "", "")
        if path not in self._known:
            self._known[path] = _of_file(path)
        found = self._known[path].get(member, {}).get(name, set())
        return next(iter(found)) if len(found) == 1 else 0


def _of_file(path: str) -> dict[str, dict[str, set[int]]]:
    """The alignments of all sections, by member and name; {} of what is no object, such as what the linker makes."""
    found: dict[str, dict[str, set[int]]] = {}
    try:
        data = content_of_regular(Path(path), largest=PROGRAM)
        members = [("", data)]
        if archive.is_archive(data):
            members = [(member.name, member.content) for member in archive.read(data, name=path).members]
        for member, content in members:
            source = elf.read(content, name=path)
            names = found.setdefault(member, {})
            for name, align in zip(source.section_names, source.sections["align"].tolist(), strict=True):
                names.setdefault(name, set()).add(max(int(align), 1))
    except (OSError, LayoutrandError, ValueError, IndexError):  # it is learned from how the parts move, then
        return {}
    return found
