"""Three programs beside those of examples/cint: from Debian 12's source packages, small, quick to build."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

CINT = Path(__file__).resolve().parents[2] / "examples" / "cint"
if str(CINT) not in sys.path:
    sys.path.append(str(CINT))

from preparation import inputs, sources  # type: ignore[import-not-found]  # noqa: E402


@dataclass(frozen=True)
class OneMore:
    """A program: its source package, how build.sh builds it, its artefact, and its workload at each size."""

    source: Mapping[str, str]
    build: str
    artefact: str
    arguments: tuple[str, ...]
    stdin: bool
    text: Callable[[str], bytes]


def _text(name: str, tiny: int, test: int) -> Callable[[str], bytes]:
    return lambda size: bytes(inputs.text(name, {"tiny": tiny, "test": test}[size]))


def _markdown(size: str) -> bytes:
    """Headings, lists, emphasis, code, links and quotes around generated text."""
    words = inputs.text("md4c", {"tiny": 200_000, "test": 6_000_000}[size]).decode("ascii", "replace").split()
    parts = []
    for place in range(0, len(words) - 40, 40):
        row = words[place : place + 40]
        parts += [
            f"## {' '.join(row[:4])}",
            f"{' '.join(row[4:12])} *{row[12]}* **{row[13]} {row[14]}** `{row[15]}` [{row[16]}](http://{row[17]}.org)",
            "\n".join(f"- {word}" for word in row[18:22]),
            f"> {' '.join(row[22:30])}\n> {' '.join(row[30:34])}",
            f"| {row[34]} | {row[35]} |\n|---|---|\n| {row[36]} | {row[37]} |",
        ]
    return "\n\n".join(parts).encode("ascii", "replace")


MORE: Mapping[str, OneMore] = {
    "zopfli": OneMore(
        {
            "package": "zopfli",
            "archive": "zopfli_1.0.3.orig.tar.gz",
            "sha256": "e955a7739f71af37ef3349c4fa141c648e8775bceb2195be07e86f8e638814bd",
        },
        "    compile -Isrc/zopfli src/zopfli/*.c\n    $CC $CFLAGS $LDFLAGS ./*.o -lm -o zopfli\n",
        "zopfli",
        ("-c", "--i3", "text"),
        False,
        _text("zopfli", 1_000, 60_000),
    ),
    "lzip": OneMore(
        {
            "package": "lzip",
            "archive": "lzip_1.23.orig.tar.xz",
            "sha256": "d269d8e204579cb7047d6187bce741acb484a27e24cf24f20cf017c48574147c",
        },
        '    ./configure CXX="$CXX" CXXFLAGS="$CXXFLAGS" LDFLAGS="$LDFLAGS"\n    make\n',
        "lzip",
        ("-6", "-c"),
        True,
        _text("lzip", 20_000, 1_200_000),
    ),
    "md4c": OneMore(
        {
            "package": "md4c",
            "archive": "md4c_0.4.8.orig.tar.gz",
            "sha256": "4a457df853425b6bb6e3457aa1d1a13bccec587a04c38c622b1013a0da41439f",
        },
        '    compile "-Isrc -DMD_VERSION_MAJOR=0 -DMD_VERSION_MINOR=4 -DMD_VERSION_RELEASE=8" src/md4c.c src/md4c-html.c \\\n'
        "        src/entity.c md2html/md2html.c md2html/cmdline.c\n    $CC $CFLAGS $LDFLAGS ./*.o -o markdown\n",
        "markdown",
        ("--github", "text"),
        False,
        _markdown,
    ),
}


def prepare(name: str, target: Path, size: str, archives: Path, *, private_lists: bool) -> None:
    """Write a project directory as examples/cint/prepare does: source, inputs, layoutrand.toml; no reference output yet."""
    one = MORE[name]
    archive = sources.archive(dict(one.source), archives, private_lists=private_lists)
    (target / "src").mkdir(parents=True)
    sources.unpack(archive, target / "src" / name)
    script = (CINT / "build.sh").read_text()
    script = script.replace('ORDER="', f'ORDER="{name} ', 1)
    script = script.replace(
        'if [ "${1:-}" = --one ]', f'build_{name}() {{\n{one.build}}}\n\nif [ "${{1:-}}" = --one ]', 1
    )
    (target / "src" / "build.sh").write_text(script)
    (target / "src" / "build.sh").chmod(0o755)
    inputs.write(target / "inputs" / name / "text", one.text(size))
    words = ", ".join(f'"{word}"' for word in ("{artefact}", *one.arguments))
    given = f'stdin = "inputs/{name}/text"' if one.stdin else f'files = ["inputs/{name}/text"]'
    limit = 3600 if size == "tiny" else 60
    metric = "{ wall = false, cachegrind = true }" if size == "tiny" else "{ wall = true }"
    (target / "layoutrand.toml").write_text(
        f"""# Made by tests/inert.

[project]
name = "{name}-{size}"

[build]
source = "src"
commands = ["./build.sh {{jobs}}"]
artefacts = [
    "{name}/{one.artefact}",
]

[layout]
factors = ["function-order"]

[systems.O2]
toolchain = "gcc"
cflags = "-O2"

[[benchmarks]]
name = "{name}"
artefact = "{name}/{one.artefact}"
command = [{words}]
{given}
expect_stdout = "reference/{name}.out"
timeout_s = {limit}
metric = {metric}

[run]
executions = 1
controls = ["stock"]
"""
    )
