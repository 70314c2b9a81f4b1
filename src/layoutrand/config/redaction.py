"""``run.redact``: values that are used, and of which nothing is recorded, logged or told but the name.

Masked is the value as it is, wherever it stands in a text; not what a program makes of it (a part of it, base64).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from layoutrand.config.config import Config, as_dict

SHORTEST: Final = 4
"""Characters of the shortest value that is looked for within words: ``1`` is in too many of them."""

_DIGITS: Final = 16
_Label = Callable[[str, str], str]
_WITH_DIGEST: Final = re.compile(rf"<redacted ([^<>,]+), SHA-256 [0-9a-f]{{{_DIGITS}}}>")


@dataclass(frozen=True)
class Redaction:
    """The ``names`` whose values are masked, and the ``values`` that are known: (value, name), the longest first."""

    names: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names)

    def __repr__(self) -> str:
        """Without the values, which are not for tracebacks."""
        return f"Redaction({', '.join(self.names)})"

    def and_of(self, environment: Mapping[str, str]) -> Redaction:
        """With the values that its names have in this environment, too."""
        more = {(environment[name], name) for name in self.names if environment.get(name)}
        return replace(self, values=tuple(sorted({*self.values, *more}, key=lambda pair: (-len(pair[0]), pair))))

    def text(self, text: str) -> str:
        """The text with ``<redacted NAME>`` for each value."""
        return self._masked(text, _label) if self.values else text

    def patterns(self) -> list[tuple[bytes, bytes]]:
        """What is to be masked in files, and by what: the bytes that values are, the longest first."""
        return [(os.fsencode(value), _label(name, value).encode()) for value, name in self.values if _is_long(value)]

    def of_json(self, value: Any) -> Any:
        """JSON values with masked texts; in a mapping the value of each of the names, however short it is."""
        return self._of_json(value, _label)

    def of_facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Facts of a key: masks tell values apart by the beginning of their SHA-256, so that another is another key."""
        masked: dict[str, Any] = self._of_json(dict(facts), _label_with_digest)
        return masked

    def _of_json(self, value: Any, label: _Label) -> Any:
        if not self.names:
            return value
        if isinstance(value, str):
            return self._masked(value, label)
        if isinstance(value, Mapping):
            return {
                self._masked(key, label) if isinstance(key, str) else key: label(key, inner)
                if key in self.names and isinstance(inner, str) and inner
                else self._of_json(inner, label)
                for key, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._of_json(inner, label) for inner in value]
        return value

    def _masked(self, text: str, label: _Label) -> str:
        for value, name in self.values:
            if _is_long(value):
                text = text.replace(value, label(name, value))
            elif text == value:
                return label(name, value)
        return text


NOTHING_REDACTED: Final = Redaction()


def redaction_of(config: Config, environment: Mapping[str, str]) -> Redaction:
    """What ``run.redact`` asks for: values from this environment and from every ``env`` of the configuration."""
    redaction = Redaction(tuple(dict.fromkeys(config.run.redact)))
    if not redaction:
        return redaction
    suite = as_dict(config).get("suite") or {}
    tables = [config.build.env, *(system.env for system in config.systems.values()), suite.get("env", {})]
    for table in (environment, *tables, *(benchmark.env for benchmark in config.benchmarks)):
        redaction = redaction.and_of(table)
    return redaction


def not_masked(redaction: Redaction) -> list[str]:
    """What the user should know of names that have no effect, or less than thought."""
    known = {name: value for value, name in reversed(redaction.values)}
    lines = [
        f"run.redact names {name}, which is set neither in the environment nor in an env table: nothing of it is masked"
        for name in redaction.names
        if name not in known
    ]
    return lines + [
        f"the value of {name} (run.redact) has fewer than {SHORTEST} characters: it is masked where it stands alone"
        for name in redaction.names
        if name in known and not _is_long(known[name])
    ]


def without_digests(value: Any) -> Any:
    """Facts of a key as they are shown to others: what tells masked values apart is left out."""
    if isinstance(value, str):
        return _WITH_DIGEST.sub(r"<redacted \1>", value)
    if isinstance(value, Mapping):
        return {key: without_digests(inner) for key, inner in value.items()}
    return [without_digests(inner) for inner in value] if isinstance(value, list | tuple) else value


def _is_long(value: str) -> bool:
    return len(value) >= SHORTEST


def _label(name: str, _value: str) -> str:
    return f"<redacted {name}>"


def _label_with_digest(name: str, value: str) -> str:
    return f"<redacted {name}, SHA-256 {hashlib.sha256(os.fsencode(value)).hexdigest()[:_DIGITS]}>"
