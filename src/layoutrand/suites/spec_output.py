"""The terminal output, logs and raw results of SPEC CPU: what became of one execution, and why a build failed.

Neither exit status nor terminal says whether a benchmark succeeded: the documentation promises nothing of the former,
and a failed run reports a time like any other.  So the raw results (RSF) decide, and the log explains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from layoutrand.config.readings import SpecReading
from layoutrand.errors import UnreadableResults
from layoutrand.suites.spec_config import HASHES
from layoutrand.suites.suite import HarnessOutput, Verdict
from layoutrand.text.spec_rsf import failure_of, rsf_results

_FINISHED: Final = re.compile(r"^run(?:spec|cpu) finished at .+; \d+ total seconds elapsed", re.MULTILINE)
_RETURN_CODE: Final = re.compile(r"non-zero return code \(exit code=(\d+), signal=(\d+)\)")
_MISCOMPARE: Final = re.compile(r"^\*\*\* Miscompare of (\S+?)[;,]", re.MULTILINE)
_BUILD_ERROR: Final = re.compile(r"^\*\*\* Error building (\S+)", re.MULTILINE)
_SETUP_ERROR: Final = re.compile(r"^\*\*\* Error during benchmark setup for (\S+)", re.MULTILINE)
_BUILDING: Final = re.compile(r"^\s+Building (\d{3}\.\S+) ", re.MULTILINE)
_COMPILER_ERROR: Final = re.compile(r"^.*(?:\berror: |: undefined reference to |: Error: |\*\*\* \[).*$", re.MULTILINE)
_NOTHING: Final = "NOTICE: Nothing to run!"
_STOPS: Final = (
    re.compile(r"^ERROR: .+$", re.MULTILINE),
    re.compile(r"^Can't find benchmark '.+'$", re.MULTILINE),
    re.compile(r"^No benchmark suite selected!.*$", re.MULTILINE),
    re.compile(r"^Invalid run; unable to continue\..*$", re.MULTILINE),
    re.compile(r"^.*SPEC environment variable is not set.*$", re.MULTILINE),
    re.compile(r"^Unknown option: .+$", re.MULTILINE),
    re.compile(r"^layoutrand: spec-cpu: .+$", re.MULTILINE),
)
"""What stops runcpu before it builds or runs anything; the last is of the script that starts it."""


def judge(reading: SpecReading, ended: HarnessOutput) -> Verdict:
    """What became of the one iteration of the benchmark: its time, or why there is none."""
    log = _text_of(ended.files, ".log")
    told = f"{ended.output}\n{ended.messages}\n{log}"
    if rebuilt := _BUILDING.search(told):
        return _failed("start", f"{rebuilt[1]} was built anew instead of executing the binary of this layout", ended)
    raw = {name: text for name, text in ended.files.items() if name.endswith(".rsf")}
    if not raw:
        return _without_results(ended, log, told)
    times: list[float] = []
    prints: list[str] = []
    for name, text in raw.items():
        try:
            results = rsf_results(text, name)
        except UnreadableResults as error:
            return _failed("no-measurement", f"raw results that cannot be read: {error}", ended)
        for result in results:
            if result.benchmark != reading.benchmark or result.is_copy:
                continue
            if result.reported_s is None:
                return _of_failure(*failure_of(result.valid, result.errors), ended, log)
            times.append(result.reported_s)
            prints.append(result.exehash)
    if len(times) != 1:
        what = f"{len(times)} results of {reading.benchmark} in {', '.join(raw)}, where one iteration was asked for"
        return _failed("no-measurement", what, ended)
    if ended.status != "ok":
        return _failed(ended.status, f"{ended.reason}, though its raw results report success", ended)
    if stranger := _other_binary(ended, prints):
        return _failed("no-measurement", stranger, ended)
    return Verdict("ok", "", (times[0],))


def _other_binary(ended: HarnessOutput, fingerprints: list[str]) -> str:
    """What shows that another binary was executed than the one of this layout, or "".

    The file that is executed is a copy in the run directory.  Where that is gone, the hash in the raw results must be
    the SHA-256 of the installed file (which CPU2006 does not record).
    """
    for artefact, digest in ended.expected.items():
        name = artefact.rsplit("/", 1)[-1]
        copies = [path for path in ended.digests if path.rsplit("/", 1)[-1] == name]
        for path in copies:
            if ended.digests[path] != digest:
                return (
                    f"{path} is not the binary of this layout: sha256 {ended.digests[path][:12]}..., "
                    f"expected {digest[:12]}..."
                )
        if artefact not in copies:
            return f"{artefact}, the binary of this layout, is gone after the execution"
        if len(copies) == 1 and digest not in fingerprints:
            return f"no proof of which binary was executed: the run directory has no {name}, the results no hash of it"
    wanted = set(ended.expected.values())
    if ended.hash_is_sha256 and len(wanted) == 1 and wanted.isdisjoint(fingerprints):
        return f"exehash {', '.join(fingerprints)[:12]}... in the raw results is of another binary than this layout's"
    return ""


def _of_failure(status: str, reason: str, ended: HarnessOutput, log: str) -> Verdict:
    """A failure that the raw results report, with what the log knows of it."""
    if code := _RETURN_CODE.search(reason):
        if code[2] != "0":
            return _failed("signal", f"killed by signal {code[2]}: {reason}", ended)
        return _failed("exit", f"exited with status {code[1]}: {reason}", ended)
    files = list(dict.fromkeys(_MISCOMPARE.findall(log)))
    if status == "wrong-output" and files:
        differences = [text.strip() for name, text in sorted(ended.files.items()) if name.endswith(".mis")]
        first = f"; first: {' | '.join(differences[0].split(chr(10))[:2])}" if differences else ""
        reason = f"{reason}; miscompare of {', '.join(files)}{first}"
    return _failed(status, reason, ended)


def _without_results(ended: HarnessOutput, log: str, told: str) -> Verdict:
    """Why there are no raw results."""
    if ended.status in {"timeout", "signal", "output-limit", "memory-limit"}:
        where = _last_step(log or ended.output)
        return _failed(ended.status, f"{ended.reason}{f', {where}' if where else ''}; no raw results", ended)
    if problem := _SETUP_ERROR.search(told):
        nothing = ", so there was nothing to run" if _NOTHING in told else ""
        return _failed("start", f"the set-up of {problem[1]} failed{nothing}", ended)
    if problem := _BUILD_ERROR.search(told):
        return _failed("start", f"{problem[1]} has no usable binary: {problem[0]}", ended)
    if stops := list(_stops(told)):
        return _failed("start", "; ".join(stops), ended)
    if _NOTHING in told:
        return _failed("start", f"{_NOTHING}  No results will be generated.", ended)
    if not _FINISHED.search(told):
        where = _last_step(log or ended.output)
        status = "no-measurement" if ended.status == "ok" else ended.status
        how = f"{ended.reason}: " if ended.reason else ""
        return _failed(status, f"{how}the output ends in the middle{f', {where}' if where else ''}", ended)
    if ended.status != "ok":
        return _failed(ended.status, f"{ended.reason}; no raw results", ended)
    return _failed("no-measurement", "it finished without raw results (result/*.rsf)", ended)


def _stops(told: str) -> Iterator[str]:
    seen = set()
    for pattern in _STOPS:
        for match in pattern.finditer(told):
            line = match[0].strip()
            if line not in seen:
                seen.add(line)
                yield line


def _last_step(text: str) -> str:
    """Where a log that was cut off ends."""
    steps = re.findall(r"^\s+((?:Building|Setting up|Running) .+)$", text, re.MULTILINE)
    return f"the last step was {steps[-1].strip()!r}" if steps else ""


def _failed(status: str, reason: str, ended: HarnessOutput) -> Verdict:
    logs = [name.rsplit("/", 1)[-1] for name in ended.files if name.endswith(".log")]
    return Verdict(status, f"{reason} (log: {', '.join(logs)})" if logs else reason, ())


def _text_of(files: Mapping[str, str], suffix: str) -> str:
    return "\n".join(text for name, text in sorted(files.items()) if name.endswith(suffix))


def build_problems(output: str, log: str) -> list[str]:
    """Why a build failed, one line for each benchmark or error; empty where nothing is said of a failure.

    ``output`` is what the terminal showed, ``log`` the text of SPEC's own log (it holds the output of make).
    """
    told = f"{output}\n{log}"
    problems = []
    for name in dict.fromkeys(_BUILD_ERROR.findall(told)):
        begin = max(log.find(f"Building {name} "), 0)
        end = log.find(f"*** Error building {name}")
        errors = _COMPILER_ERROR.findall(log[begin:end] if end > begin else "")
        problems.append(f"{name} cannot be built" + (f": {errors[0].strip()}" if errors else ""))
    problems += [line for line in _stops(told) if line not in problems]
    if not problems and not _FINISHED.search(told):
        where = _last_step(told)
        problems.append(f"the output ends in the middle{f', {where}' if where else ''}")
    return problems


_STORED: Final = re.compile(r"^(\d{3}\.\w+)=(\w+)=[^\n]*:\n(?:(?!\d{3}\.\w+=).*\n)*?exehash=([0-9a-f]+)", re.MULTILINE)


def stored_exehashes(config: str) -> dict[tuple[str, str], str]:
    """(Benchmark, tune) -> ``exehash`` in the hash section that SPEC wrote into a config file; CPU2006 has none."""
    stored = "\n".join(HASHES.split(config)[1:])
    return {(name, tune): value for name, tune, value in _STORED.findall(stored)}
