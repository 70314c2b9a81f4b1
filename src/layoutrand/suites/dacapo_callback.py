"""A callback for DaCapo's harness that takes the time of each iteration in nanoseconds.

The harness takes whole milliseconds, by a clock that is set from outside (``System.currentTimeMillis``), and calls what
``-c`` names just before and just after it.  Ours takes ``System.nanoTime`` there and prints the difference behind the
harness's own line.  It is compiled by a JDK of the user's, against two classes that only declare what it calls, for
Java 8, so that every JDK from 8 on can load it.  One class serves 9.12-bach, which calls ``stop()``, and all that came
after, which call ``stop(long)``; DaCapo 2006 has other callbacks.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from layoutrand.errors import ConfigError, ToolNotFound
from layoutrand.platform.disk import write_atomically, write_files
from layoutrand.platform.process import ask

NANOSECONDS_WORDS: Final = "===== layoutrand: iteration took "
"""How the line begins that the callback prints."""

CALLBACK_CLASS: Final = "LayoutrandNanoseconds"
_COMPILING_S: Final = 120.0
_SOURCE: Final = f"""\
import org.dacapo.harness.Callback;
import org.dacapo.harness.CommandLineArgs;

public class {CALLBACK_CLASS} extends Callback {{

    private long started;
    private long took;

    public {CALLBACK_CLASS}(CommandLineArgs args) {{
        super(args);
    }}

    public void start(String benchmark) {{
        super.start(benchmark);
        started = System.nanoTime();
    }}

    public void stop() {{
        took = System.nanoTime() - started;
        super.stop();
    }}

    public void stop(long milliseconds) {{
        took = System.nanoTime() - started;
        super.stop(milliseconds);
    }}

    public void complete(String benchmark, boolean valid) {{
        super.complete(benchmark, valid);
        if (valid) {{
            System.err.println("{NANOSECONDS_WORDS}" + took + " nsec =====");
            System.err.flush();
        }}
    }}
}}
"""
_PACKAGE: Final = "org/dacapo/harness"
_DECLARED: Final = {
    "CommandLineArgs.java": "package org.dacapo.harness;\n\npublic class CommandLineArgs {\n}\n",
    "Callback.java": """\
package org.dacapo.harness;

public class Callback {
    public Callback(CommandLineArgs args) {
    }

    public void start(String benchmark) {
    }

    public void stop() {
    }

    public void stop(long milliseconds) {
    }

    public void complete(String benchmark, boolean valid) {
    }
}
""",
}


def compiled_callback(project: Path, homes: Sequence[Path]) -> str:
    """Path of the compiled callback, relative to the project; it is made where it is not there yet.

    The first of ``homes`` that has a compiler compiles it, else the ``javac`` in PATH.  Raises `ConfigError` where
    there is none, or it fails.
    """
    digest = hashlib.sha256("\0".join([_SOURCE, *_DECLARED.values()]).encode()).hexdigest()[:12]
    name = f".layoutrand/dacapo/{digest}/{CALLBACK_CLASS}.class"
    target = project / name
    if not target.is_file():
        compiler = _compiler(homes)
        if compiler is None:
            raise _refused(
                project,
                "none of the JDKs has a compiler (bin/javac), and there is no javac in PATH; install a whole JDK "
                "(Debian: openjdk-17-jdk-headless), or leave nanoseconds out",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, _compile(project, compiler))
    return name


def _compiler(homes: Sequence[Path]) -> str | None:
    inside = [str(home / "bin/javac") for home in homes if os.access(home / "bin/javac", os.X_OK)]
    return inside[0] if inside else shutil.which("javac")


def _compile(project: Path, compiler: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="layoutrand-") as name:
        folder = Path(name)
        source = folder / f"{CALLBACK_CLASS}.java"
        write_files(folder, {source.name: _SOURCE})
        write_files(folder / _PACKAGE, _DECLARED)
        words = ["-source", "8", "-target", "8", "-Xlint:-options", "-g:none", "-proc:none", "-implicit:none"]
        try:
            completed = ask(
                [compiler, *words, "-sourcepath", name, "-cp", name, "-d", name, str(source)], timeout_s=_COMPILING_S
            )
        except ToolNotFound as error:
            raise _refused(project, f"{compiler} cannot be started: {error}") from error
        if completed.returncode != 0:
            raise _refused(
                project,
                f"{compiler} cannot compile the callback (exit status {completed.returncode}): "
                f"{completed.text().strip()}",
            )
        return (folder / f"{CALLBACK_CLASS}.class").read_bytes()


def _refused(project: Path, problem: str) -> ConfigError:
    return ConfigError(str(project / "layoutrand.toml"), [f"suite.nanoseconds: {problem}"])
