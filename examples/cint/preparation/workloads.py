"""What each program does in each size: its inputs, its command line, and what is known of its answer beforehand."""

import bz2
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from preparation import inputs

INPUTS = Path(__file__).resolve().parents[1] / "inputs"


@dataclass(frozen=True)
class Workload:
    """A benchmark of a project; paths are relative to the project, ``written`` are the files to put there."""

    arguments: tuple[str, ...]
    written: dict[str, bytes]
    stdin: str | None = None
    files: tuple[str, ...] = ()
    answer: bytes | None = None
    """The answer where it is known by other means; else it is in reference/."""


def _bzip2(size: str) -> Workload:
    text = inputs.text("bzip2", {"tiny": 100_000, "small": 500_000, "test": 4_000_000, "train": 14_000_000, "ref": 60_000_000}[size])
    return Workload(("-9", "-c"), {"inputs/text": text}, stdin="inputs/text", answer=bz2.compress(text, 9))


OPENINGS = (
    "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7", "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c1g5 f8e7 e2e3 e8g8",
    "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6", "d2d4 g8f6 c2c4 g7g6 b1c3 f8g7 e2e4 d7d6 f2f3 e8g8",
    "e2e4 e7e6 d2d4 d7d5 b1c3 f8b4 e4e5 c7c5 a2a3 b4c3", "c2c4 e7e5 b1c3 g8f6 g2g3 d7d5 c4d5 f6d5 f1g2 d5b6",
    "e2e4 c7c6 d2d4 d7d5 b1c3 d5e4 c3e4 c8f5 e4g3 f5g6", "e2e4 e7e5 f2f4 e5f4 g1f3 g7g5 h2h4 g5g4 f3e5 g8f6",
)  # fmt: skip


def _chess(size: str) -> Workload:
    games, depth = {"tiny": (1, 4), "small": (3, 5), "test": (3, 7), "train": (8, 9), "ref": (8, 10)}[size]
    lines = ["uci", "setoption name OwnBook value false"]
    for moves in OPENINGS[:games]:
        lines += ["ucinewgame", f"position startpos moves {moves}", f"go depth {depth}"]
    return Workload((), {"inputs/games.uci": "\n".join([*lines, "quit", ""]).encode()}, stdin="inputs/games.uci")


GAMES = ("arion", "atari_atari03", "blunder12", "strategy10", "blunder20", "strategy13")


def _gnugo(size: str) -> Workload:
    games, moves, level = {
        "tiny": (1, 0, 1),
        "small": (1, 0, 1),
        "test": (1, 2, 1),
        "train": (3, 4, 8),
        "ref": (6, 4, 8),
    }[size]
    lines = []
    for game in GAMES[:games]:
        lines.append(f"loadsgf {game}.sgf {6 if size == 'tiny' else 40}")
        lines += ["genmove black", "genmove white"] * (moves // 2) + ["estimate_score", "showboard"]
    return Workload(
        ("--mode", "gtp", "--seed", "1", "--level", str(level)),
        {"inputs/games.gtp": "\n".join([*lines, "quit", ""]).encode()},
        stdin="inputs/games.gtp",
        files=tuple(f"src/gnugo/regression/games/{game}.sgf" for game in GAMES[:games]),
    )


def _hmmer(size: str) -> Workload:
    sequences = inputs.proteins({"tiny": 20, "small": 200, "test": 2000, "train": 12_000, "ref": 40_000}[size])
    files = ("src/hmmer/hmmer2/tutorial/rrm.hmm", "inputs/proteins.fa")
    return Workload(("--cpu", "0", "rrm.hmm", "proteins.fa"), {"inputs/proteins.fa": sequences}, files=files)


def _libquantum(size: str) -> Workload:
    return Workload({"tiny": ("21", "2"), "small": ("77", "3"), "test": ("143", "7"), "train": ("323", "5"), "ref": ("589", "3")}[size], {})


def _lua(size: str) -> Workload:
    scale = {"tiny": 0.05, "small": 1, "test": 4, "train": 25, "ref": 100}[size]
    return Workload(
        ("work.lua", str(scale)), {"inputs/work.lua": (INPUTS / "work.lua").read_bytes()}, files=("inputs/work.lua",)
    )


def _mawk(size: str) -> Workload:
    log = inputs.web_log({"tiny": 600, "small": 3_000, "test": 30_000, "train": 200_000, "ref": 600_000}[size])
    return Workload(
        ("-f", "report.awk"),
        {"inputs/report.awk": (INPUTS / "report.awk").read_bytes(), "inputs/web.log": log},
        stdin="inputs/web.log",
        files=("inputs/report.awk",),
    )


def _minisat(size: str) -> Workload:
    variables = {"tiny": 150, "small": 180, "test": 230, "train": 260, "ref": 270}[size]
    problem = inputs.clauses(variables, variables * 426 // 100, size)
    return Workload(("-verb=0", "problem.cnf"), {"inputs/problem.cnf": problem}, files=("inputs/problem.cnf",))


def _sqlite(size: str) -> Workload:
    statements = inputs.sql({"tiny": 1_000, "small": 10_000, "test": 100_000, "train": 500_000, "ref": 2_000_000}[size])
    return Workload(("-batch", ":memory:"), {"inputs/statements.sql": statements}, stdin="inputs/statements.sql")


def _tcc(size: str) -> Workload:
    written = {
        "inputs/functions.h": inputs.c_functions({"tiny": 200, "small": 1_600}.get(size, 8_000)),
        "inputs/program.c": inputs.c_program({"tiny": 1, "small": 1, "test": 2, "train": 12, "ref": 40}[size]),
        "inputs/libtcc1.a": b"!<arch>\n",  # tcc looks for its run-time library; the program needs nothing of it
    }
    return Workload(("-B.", "-I.", "-run", "program.c"), written, files=tuple(written))


def _x264(size: str) -> Workload:
    width, height, frames = {
        "tiny": (96, 80, 2),
        "small": (176, 144, 4),
        "test": (176, 144, 40),
        "train": (352, 288, 60),
        "ref": (352, 288, 240),
    }[size]
    arguments = ("--quiet", "--preset", "slow", "--qp", "28", "--threads", "1", "--demuxer", "raw", "--muxer", "raw",
                 "--input-res", f"{width}x{height}", "--fps", "25", "-o", "-", "video.yuv")  # fmt: skip
    return Workload(arguments, {"inputs/video.yuv": inputs.video(width, height, frames)}, files=("inputs/video.yuv",))


def _xslt(size: str) -> Workload:
    books = inputs.catalogue({"tiny": 100, "small": 1_000, "test": 10_000, "train": 30_000, "ref": 90_000}[size])
    style = (INPUTS / "catalogue.xsl").read_bytes()
    return Workload(
        ("catalogue.xsl", "catalogue.xml"),
        {"inputs/catalogue.xml": books, "inputs/catalogue.xsl": style},
        files=("inputs/catalogue.xsl", "inputs/catalogue.xml"),
    )


WORKLOADS: dict[str, Callable[[str], Workload]] = {
    "bzip2": _bzip2, "chess": _chess, "gnugo": _gnugo, "hmmer": _hmmer, "libquantum": _libquantum, "lua": _lua,
    "mawk": _mawk, "minisat": _minisat, "sqlite": _sqlite, "tcc": _tcc, "x264": _x264, "xslt": _xslt,
}  # fmt: skip
