"""What DaCapo harnesses and the JVM under them say when something is wrong, and what to do about it."""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 300

_UNPACK: Final = (
    "DaCapo 23.11 needs its data: unpack the whole release, so that the directory of the jar's name stands beside the "
    "jar (or correct ~/.dacapo-config.properties, where it looks first)"
)
_JVM_OPTION: Final = "java refused an option: correct systems.*.args or suite.java_options"

# The first pattern that is found in the output explains it, so what is more precise stands further up.
_KNOWN: Final[tuple[tuple[str, str], ...]] = (
    (
        r"^Digest validation failed for stderr\.log, .*",
        "what is written to standard error is validated, so a warning of the JVM or of an agent fails it, too",
    ),
    (
        r"^(?:Digest|Line count|Byte count) validation failed for .*",
        "the benchmark did not compute what it should (in some versions also where the number of threads differs)",
    ),
    (r"^(?:File not found, .*|Expected file .* does not exist)", "the benchmark did not write what it should"),
    (r"^Unknown benchmark: .*", "`java -jar JAR -l` lists those of the jar (2006: without -l)"),
    (
        r'^(?:No such size: ".*" for benchmark .*|No configuration size, .*, for benchmark .*)',
        "choose another suite.size; every benchmark has small and default",
    ),
    (r"^The specified number of threads \(.*\) is outside the range .*", "choose suite.threads within that range"),
    (
        r"^Can only set the thread factor for per_cpu configurable benchmarks.*",
        "leave -k out of suite.options for this benchmark",
    ),
    (
        r"^(?:Could not find callback class .*|\S+ is not an instance of Callback.*)",
        'tell where the class is by suite.java_options = ["-Ddacapo.callback.classpath=DIR"]',
    ),
    (r"^ERROR: The following file used by size .*", _UNPACK),
    (r"^ERROR: failed to find (?:external )?(?:data|jar).*", _UNPACK),
    (
        r"^(?:Command line exception|Exception processing command line values): .*",
        "correct suite.options or suite.version",
    ),
    (
        r"^.*(?:Unrecognized VM option|Unrecognized option:|Invalid maximum heap size|Invalid initial heap size).*",
        _JVM_OPTION,
    ),
    (r"^.*\bConflicting collector combinations in option list.*", _JVM_OPTION),
    (
        r"^.*VM option '.*' is (?:experimental|diagnostic) and must be enabled.*",
        f"{_JVM_OPTION}, with -XX:+UnlockExperimentalVMOptions or -XX:+UnlockDiagnosticVMOptions before it",
    ),
    (r"^Error: Unable to access jarfile .*|^Error: Invalid or corrupt jarfile .*", "check suite.jar"),
    (
        r"^.*java\.lang\.UnsupportedClassVersionError.*",
        "the jar is made for a newer Java than this JDK; choose another systems.*.prebuilt",
    ),
    (
        r"^.*java\.lang\.UnsupportedOperationException: The Security Manager is deprecated.*",
        'JDK 18 to 23 need suite.java_options = ["-Djava.security.manager=allow"]; later ones cannot execute it',
    ),
    (
        r"^.*(?:NoClassDefFoundError|ClassNotFoundException): "
        r"(?:javax[./](?:xml[./]bind|activation|annotation|transaction)|org[./]omg)\b.*",
        "this JDK no longer has that class; the benchmark needs JDK 8",
    ),
    (r"^.*java\.lang\.OutOfMemoryError.*", "give it more memory, by -Xmx in systems.*.args for instance"),
    (
        r"^.*java\.io\.FileNotFoundException: \S*scratch\S*.*",
        "a file in the scratch directory is gone; every execution has its own, so did another program remove it?",
    ),
)
_CLOSED: Final = re.compile(r"^.*InaccessibleObjectException.*$", re.MULTILINE)
_PACKAGE: Final = re.compile(r'module (\S+) does not "(?:opens|exports) ([\w.]+)" to')
_THROWN: Final = re.compile(
    r"^(?:Exception in thread \"[^\"]*\" |Caused by: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error)\b(?:: .*)?$", re.MULTILINE
)
_CAUSE: Final = re.compile(r"^Caused by: (?:[\w$]+\.)+[\w$]+(?:: .*)?$", re.MULTILINE)
_COMPILED: Final = tuple((re.compile(pattern, re.MULTILINE), advice) for pattern, advice in _KNOWN)


def explanation(text: str) -> str | None:
    """The line of the output that says what went wrong, with what to do; None where there is no such line."""
    if (closed := _CLOSED.search(text)) is not None:
        package = _PACKAGE.search(text)
        opened = "/".join(package.groups()) if package else "java.base/java.lang"
        return f'{_shown(closed.group(0))}; suite.java_options = ["--add-opens={opened}=ALL-UNNAMED"] lets it in'
    for pattern, advice in _COMPILED:
        if (match := pattern.search(text)) is not None:
            return f"{_shown(match.group(0))}; {advice}"
    # An exception of the harness or of reflection wraps the one that matters, which the last cause names.
    causes = _CAUSE.findall(text)
    thrown = causes[-1:] or [match.group(0) for match in [_THROWN.search(text)] if match is not None]
    return _shown(thrown[0]) if thrown else None


def _shown(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
