"""What each command is for, in a sentence: the first of what it says of itself, so that a list imports no command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SUMMARIES: Final[Mapping[str, str]] = {
    "try": "How much does code layout matter for this program? An answer without any file",
    "init": "Make the build found here once, and write a commented layoutrand.toml that repeats it",
    "doctor": "What this machine can do; each problem with the command that mends it",
    "build": "Capture each system once, then link and verify a binary for every seed (or build each, in rebuild mode)",
    "exec": "Execute a command; every program and shared library it links comes out in the layout of the seed",
    "run": "Execute every binary once per benchmark in seeded, complete rounds; resumes by itself",
    "analyse": "Variance at each level, layout against execution noise, and where stock lies among the layouts",
    "check": "Is this change slower, faster or the same? Two commits in the same layouts, until that is decided",
    "compare": "The ratio of each candidate to the baseline with its interval, for each benchmark and for the suite",
    "history": (
        "How results went over commits: means over layouts, steps in them, and what is only where a build landed"
    ),
    "bisect": (
        "Find the commit of a step with few executions: halves the commits between, by means over layouts; resumes"
    ),
    "report": "One HTML file with all results: figures, findings, failures, how it was measured",
    "figures": "The figures of the report as SVG, PDF or PNG, and its tables as LaTeX: one file each, for papers",
    "export": (
        "Recorded results as CSV, JSON, Go benchmark lines (benchstat), pyperf's JSON, or for Bencher, Otava, CodSpeed"
    ),
    "explain": "Which functions' placement goes with the slow layouts, and whether that stands in new layouts",
    "sweep": "What a function's or variable's place does: binaries in which it alone lies elsewhere, compared",
    "predict": "What layouts that nobody has built would measure, by where their hot code lies; and the best of them",
    "plan": (
        "How many layouts decide between two systems or give a mean, from those that are there, and how long they take"
    ),
    "warmup": "Plots of recorded iterations, and how many to drop as warm-up; the suggestion is yours to judge",
    "inspect": "The order asked for, the order achieved, and how far two layouts are apart",
    "simulate": "How often intervals hold the truth, and tests raise false alarms, on simulated data",
    "results": "The file of results",
    "cache": "The cache of captures, binaries and kept builds",
    "staging": "The directory that the nodes of a cluster share",
    "bundle": "Captures to and from machines that share no directory",
    "demo": "All of it on the built-in example, in about a minute: build, run, analyse, compare",
    "help": "Explain a command, or list them all",
}
