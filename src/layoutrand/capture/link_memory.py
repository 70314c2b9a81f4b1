"""What the links of one build teach each other: most of them read the same files of the system."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from layoutrand.capture.known_files import KnownFiles
from layoutrand.linkers import linkline


class LinkMemory:
    """What earlier links read and opened; with a directory for copies (``copies``) system files are kept, too.

    Nothing in it is relied upon: files are known by their times, and a forecast is proved by the link it is for.
    """

    def __init__(self, copies: Path | None = None) -> None:
        """Remember nothing yet."""
        self._known = KnownFiles(copies)
        self._opened: dict[str, tuple[str, ...]] = {}
        self._read: dict[str, None] = {}
        self._learnt: dict[str, tuple[str, ...]] = {}
        self._scripts: dict[str, str] = {}
        self._new_scripts: dict[str, str] = {}

    def read(self, path: str) -> bytes | None:
        """Content of a file that no link of the build makes; None if it cannot be read."""
        self._read[path] = None
        return self._known.read(path)

    def sha256(self, content: bytes) -> str:
        """Hexadecimal SHA-256, without hashing what is known."""
        return self._known.sha256(content)

    def write(self, content: bytes, target: Path) -> None:
        """Make the file, which must not be written to."""
        self._known.write(content, target)

    def foresee(self, line: Sequence[linkline.Word]) -> tuple[str, ...] | None:
        """Files that the linker opened, though the line did not name them, when it last met such libraries."""
        return self._opened.get(_libraries(line))

    def learn_opened(self, line: Sequence[linkline.Word], paths: Iterable[str]) -> None:
        """Note the files, absolute paths outside the build."""
        self._learnt[_libraries(line)] = tuple(paths)

    def script(self, line: Sequence[linkline.Word]) -> str | None:
        """The linker's default script where it was given such options; None if that was not seen yet."""
        return self._scripts.get(_options(line))

    def learn_script(self, line: Sequence[linkline.Word], script: str) -> None:
        """Note the script that the linker chose by itself."""
        self._new_scripts[_options(line)] = script

    def news(self) -> bytes:
        """What was read and opened, and which scripts were chosen, for `learn`."""
        return json.dumps([list(self._read), self._learnt, self._new_scripts]).encode()

    def learn(self, news: bytes) -> None:
        """Take in the `news` of another process."""
        read, opened, scripts = json.loads(news)
        self._known.remember(read)
        self._scripts.update(scripts)
        self._opened.update((libraries, tuple(paths)) for libraries, paths in opened.items())


def _options(line: Sequence[linkline.Word]) -> str:
    """What may decide which script the linker chooses: every option but those that are of one program alone."""
    own = ("soname", "h", "rpath", "build-id")
    return json.dumps([w.argv() for w in line if w.kind in ("option", "value") and w.option not in own])


def _libraries(line: Sequence[linkline.Word]) -> str:
    """What decides which libraries a link looks for, in which order."""
    deciding = ("static", "Bstatic", "shared", "m")
    return json.dumps([word.text for word in line if word.kind == "library" or word.option in deciding])
