"""What a DaCapo jar is and holds, read from its table of contents, its manifest and its benchmarks' descriptions."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from layoutrand.errors import ConfigError
from layoutrand.platform.jar import opened_jar
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular
from layoutrand.suites.dacapo_expansion import Generation, JarFacts, generation_of

_DESCRIPTION: Final = re.compile(r"(?:^|/)cnf/([^/]+)\.cnf$")
_SIZE: Final = re.compile(r"^\s*size\s+([A-Za-z]\w*)\s", re.MULTILINE)
_LOCATION: Final = re.compile(r"^\s*(?:Extern-)?Data-Location\s*[=:]\s*(.*?)\s*$", re.MULTILINE)
_HARNESS_2006: Final = "dacapo/TestHarness.class"
_HARNESS: Final = "org/dacapo/harness/TestHarness.class"
_LONGEST_TEXT: Final = 1 << 20
_OF_JAVA: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def jar_facts(jar: Path, *, config: Path, home: Path | None = None) -> JarFacts:
    """Look into ``jar``; ``config`` is the file whose ``suite.jar`` names it, ``home`` the user's home (None: from the
    password file, where a JVM looks too).

    Raises `ConfigError` where there is no jar.
    """
    with opened_jar(jar, partial(_refused, config)) as opened:
        entries = sorted(opened.infolist(), key=lambda entry: entry.filename)
        manifest = _manifest(opened)
        found = {match[1]: _sizes(opened, e) for e in entries if (match := _DESCRIPTION.search(e.filename))}
    version = manifest.get("Implementation-Version", "")
    generation = _generation({entry.filename for entry in entries}, version, manifest, jar)
    # Evaluation builds from before the release have their data in the jar.
    has_data = generation == "23.11" and not version.startswith("evaluation")
    data = _data(Path(os.path.abspath(jar)), home or _home()) if has_data else None
    content = [f"{e.filename} {e.file_size} {e.CRC:08x}" for e in entries]
    try:
        listing = [] if data is None else list(_listing(data))
        data_exists = data is None or data.is_dir()
    except OSError as error:
        raise _refused(config, f"cannot read its data in {error.filename}: {error.strerror}") from error
    except ValueError as error:  # a name with a NUL, which ~/.dacapo-config.properties may hold
        raise _refused(config, f"cannot look for its data in {str(data)!r}: {error}") from error
    return JarFacts(
        generation=generation,
        version=version,
        benchmarks=found,
        digest=hashlib.sha256("\n".join([*content, "data", *listing]).encode("utf-8", "surrogateescape")).hexdigest(),
        data=None if data is None else str(data),
        data_exists=data_exists,
    )


def _refused(config: Path, problem: str) -> ConfigError:
    return ConfigError(str(config), [f"suite.jar: {problem}"])


def _manifest(jar: zipfile.ZipFile) -> dict[str, str]:
    """The main attributes; a line that begins with a space goes on with the one before."""
    try:
        entry = jar.getinfo("META-INF/MANIFEST.MF")
    except KeyError:
        return {}
    text = _text(jar, entry)
    if text is None:
        raise zipfile.BadZipFile(f"its manifest has {entry.file_size:,} bytes")
    main = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
    lines = re.sub(r"\r?\n ", "", main).splitlines()
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def _sizes(jar: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_SIZE.findall(_text(jar, entry) or "")))


def _text(jar: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str | None:
    """What is packed there; None for what is too long for a text.

    No more than that is ever unpacked, whatever its size is said to be.
    """
    if entry.file_size > _LONGEST_TEXT:
        return None
    if entry.compress_type not in _OF_JAVA:
        raise zipfile.BadZipFile(f"{entry.filename!r} is packed in a way that Java does not know")
    with jar.open(entry) as packed:
        return packed.read(_LONGEST_TEXT).decode("utf-8", "replace")


def _generation(names: set[str], version: str, manifest: dict[str, str], jar: Path) -> Generation | None:
    """By where the harness's own class lies, which every jar has; by its version, which not every one tells."""
    if _HARNESS_2006 in names:
        return "2006"
    told = [version, manifest.get("Specification-Version", ""), jar.name.removeprefix("dacapo-")]
    known = next((generation for text in told if (generation := generation_of(text)) is not None), None)
    if known is None and any(name.endswith(_HARNESS) for name in names):
        return "9.12"
    return known


def _data(jar: Path, home: Path) -> Path:
    """Where the harness of 23.11 looks for its data: as it was told, else in the path of the jar without ".jar"."""
    try:
        told = _LOCATION.search(text_of_regular(home / ".dacapo-config.properties", largest=WRITTEN_BY_HAND))
    except (OSError, UnicodeDecodeError):
        told = None
    return Path(re.sub(r"\\(.)", r"\1", told[1])) if told and told[1] else Path(str(jar).replace(".jar", ""))


def _home() -> Path:
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("?")  # a user of a container who is in no password file; so a JVM calls it, too


def _listing(directory: Path) -> Iterator[str]:
    """Names and sizes of all files; the content of gigabytes is not read each time.

    Raises `OSError` for a directory that cannot be read: what it holds would otherwise be no part of the digest.  That
    there is none at all is for `JarFacts.data_exists`.
    """

    def failed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise error

    for folder, below, files in os.walk(directory, onerror=failed):
        below.sort()
        for name in sorted(files):
            path = Path(folder, name)
            yield f"{path.relative_to(directory)} {path.lstat().st_size}"
