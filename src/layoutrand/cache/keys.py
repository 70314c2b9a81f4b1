"""Keys: what decides that something in the cache, or recorded, is what is asked for now.

Each is a SHA-256, as 64 hexadecimal digits, of all that makes a difference.  Two things that may differ have different
keys, so nothing stale is found; what a key leaves out must not make a difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from layoutrand.model import LayoutName
from layoutrand.platform.disk import canonical_json, sha256_bytes


def build_key(facts: Mapping[str, Any]) -> str:
    """Of one build of a system: commands, source, tools, flags and environment, as `Recipe.key_facts` has them."""
    return _digest(facts)


def captured_id(facts: Mapping[str, Any]) -> str:
    """Of a capture: its links, as `identity_facts` has them; two builds that link the same are one capture."""
    return _digest(facts)


def kept_build_key(facts: Mapping[str, Any]) -> str:
    """Of a build that is kept: `build_key` without what decides only what is captured of it (`built_facts`)."""
    return _digest({"kept": facts})


def reference_key(build: str) -> str:
    """Of identity's build in rebuild mode, which all others of that build are compared with."""
    return _digest({"mode": "rebuild", "build": build})


def rebuilt_id(build: str, programs: Sequence[str]) -> str:
    """Of what stands for a capture in rebuild mode: the build, and the programs that it made."""
    return _digest({"mode": "rebuild", "build": build, "programs": programs})


def binary_key(facts: Mapping[str, Any]) -> str:
    """Of one linked binary: capture, artefact, layout and what else decides its order, as `binary_facts` has them."""
    return _digest(facts)


def coupled_key(captures: Sequence[str], artefact: str, policy: Mapping[str, Any]) -> str:
    """Of what systems with these captures agree on, so that an artefact's parts have the same addresses in all."""
    return _digest({"captures": captures, "artefact": artefact, "policy": policy})


def coupled_with(origin: str, others: Sequence[str]) -> str:
    """Of files of that origin whose layouts are reconciled with those of the ``others``, all systems in order."""
    return _digest([origin, "coupled", others])


def swept_key(origin: str, swept: Mapping[str, Any]) -> str:
    """Of the executions of binaries of that origin in which one function alone is moved, to all of its offsets."""
    return _digest({"origin": origin, "swept": swept})


def permute_key(capture: str, artefact: str, number: int) -> str:
    """Of what was learned of an artefact of that capture, in the format of that number, to write its layouts."""
    return f"permute-{_digest([capture, artefact, number])[:40]}"


def stock_key(build: str, artefact: str) -> str:
    """Of one artefact of the user's own build."""
    return _digest({"stock": build, "artefact": artefact})


def jdk_layout_key(home: Sequence[Any], factors: Sequence[str], form: Sequence[str], layout: LayoutName) -> str:
    """Of the file that is one layout of a JDK, which ``home`` tells from others.

    ``form`` tells its archives apart; () stands for what they have by themselves.
    """
    return _digest(["jdk", *home, factors, *([form] if form else []), layout])


def jvm_key(home: Sequence[Any], factors: Sequence[str], file: str, arguments: Sequence[str]) -> str:
    """Of what a JVM says of itself with a layout's ``file`` (its SHA-256) and the system's own arguments."""
    return _digest(["jvm", *home, factors, file, arguments])


def prebuilt_id(folder: str, artefacts: Collection[tuple[str, str]]) -> str:
    """Of a prebuilt system: where it is, and each artefact with its SHA-256."""
    return _digest([folder, sorted(artefacts)])


def image_key(template: str, path: str, setup: Sequence[str] | None) -> str:
    """Of an image but for the artefact in it: the template's digest, the artefact's path, the command of its set-up."""
    return _digest([template, path, setup])


def in_image(origin: str, image: str) -> str:
    """Of files of that origin in an image of that key."""
    return _digest([origin, "image", image])


def with_arguments(origin: str, arguments: Any) -> str:
    """Of files of that origin, executed with a system's own words in their commands."""
    return _digest([origin, arguments])


def latest_build_name(project: str, system: str, variant: str, mode: str) -> str:
    """Under which the latest build of a system is remembered, for people."""
    return f"latest-{_digest([project, system, variant, mode])[:40]}"


def kept_name(key: str) -> str:
    """Under which it is remembered whether the build of that `kept_build_key` was kept."""
    return f"kept-{key[:40]}"


def failed_name(build: str) -> str:
    """Under which it is remembered that the build of that `build_key` failed."""
    return f"failed-{build[:40]}"


def learned_name(build: str, wish: Any) -> str:
    """Under which what a first build taught is remembered: of that key, for somebody who asked for ``wish``."""
    return f"learned-{_digest([build, wish])[:40]}"


def exec_key(tree: str, system: str, layout: LayoutName) -> str:
    """Of the workspace of `layoutrand exec`: one for each tree, system and layout."""
    return _digest([tree, system, layout])


def _digest(value: Any) -> str:
    return sha256_bytes(canonical_json(value))
