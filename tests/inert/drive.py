"""Make changes that change nothing, and some that do, and count what three judges say of them: `make inert`.

Three steps, each with one JSON file for each change below the directory: `changes` (drawn, built, proved, calibrated),
`cycles` (judged by simulated cycles) and `time` (40 of them, judged by time, one after another, last).  A file that is
there is not made again, so a run that was stopped goes on; nor is what is published beside the page (docs/data), so that
anybody can go on.  A change made by other code of the study is drawn again by this one, and made again where that gives
another change, or one that another slot has; a place that was not found is looked for again, and a judgement by other
code, which says which commit it is of, is made again, with ``--anew``.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inert import judges, study, table
from inert.programs import NotBuilt, Program
from inert.study import Base, Slot

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "inert.md"
PUBLISHED = CHECKOUT / "docs" / "data"
OPENING = Path(__file__).with_name("opening.md")
ARCHIVES = Path.home() / ".cache" / "layoutrand-cint"
STEPS = ("changes", "cycles", "time")
_MAKERS = ("c_text", "unused", "changes", "work", "proof", "programs", "more_programs", "study")
_ON_THE_SIDE = {"cli", "report", "explain", "jvm", "suites", "cluster", "interop", "library", "engines"}
"""What the figures do not depend on, but for the words they are told in."""


def code(step: str) -> str:
    """A digest of what a step's files depend on: the sources of the study, and for judges those of the product."""
    digest = hashlib.sha256()
    files = [Path(__file__).with_name(f"{name}.py") for name in _MAKERS]
    if step != "changes":
        files.append(Path(__file__).with_name("judges.py"))
        source = CHECKOUT / "src" / "layoutrand"
        files += [
            path for path in sorted(source.rglob("*.py")) if path.relative_to(source).parts[0] not in _ON_THE_SIDE
        ]
    for path in files:
        digest.update(f"{path.relative_to(CHECKOUT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str:
    """The commit of this checkout, with a plus where files of the product are not as in it."""
    words = ["git", "-C", str(CHECKOUT)]
    name = subprocess.run([*words, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    changed = subprocess.run(
        [*words, "status", "--porcelain", "--untracked-files=no", "src"], capture_output=True, text=True, check=True
    )
    return name + ("+" if changed.stdout.strip() else "")


class Cells:
    """The files of a study, and what is published of it."""

    def __init__(self, directory: Path, *, anew: bool, published: Path = PUBLISHED) -> None:
        self.directory = directory
        self._published = {step: _lines(published / f"inert-{step}.jsonl") for step in STEPS}
        self._code = {step: code(step) for step in STEPS}
        self.is_anew = anew
        self._commit = commit()
        for step in STEPS:
            (directory / step).mkdir(parents=True, exist_ok=True)

    def read(self, step: str, name: str) -> dict[str, Any] | None:
        """A file as it is kept, or what is published; None where there is neither, or it does not hold any more."""
        path = self.directory / step / f"{name}.json"
        kept = json.loads(path.read_text()) if path.exists() else None
        for found in (kept, self._published[step].get(name)):
            if found is not None and self._holds(step, name, found):
                return found
        return None

    def _holds(self, step: str, name: str, found: dict[str, Any]) -> bool:
        """Whether it was made by this code, or may be by other code, and of the change as it is by now."""
        if step == "changes":
            return found["code"] == self._code[step] or (not found["commit"] and not self.is_anew)
        change = self.read("changes", name)
        return (found["code"] == self._code[step] or not self.is_anew) and (
            change is not None and change["commit"] == found["commit"]
        )

    def of_other_code(self, name: str) -> dict[str, Any] | None:
        """A change that other code made, None where there is none."""
        path = self.directory / "changes" / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else self._published["changes"].get(name)

    def take_over(self, name: str, made: dict[str, Any]) -> None:
        """A change by other code that this code draws as well; who made and proved it stays said."""
        self._write("changes", name, {**made, "code": self._code["changes"]})

    def publish(self, found: table.Collected, place: Path = PUBLISHED) -> None:
        """Write what holds beside the page, a line each."""
        place.mkdir(exist_ok=True)
        for step in STEPS:
            rows = [json.dumps({**cell, "name": name}, sort_keys=True) for name, cell in found.cells[step].items()]
            (place / f"inert-{step}.jsonl").write_text("".join(f"{row}\n" for row in rows))

    def write(self, step: str, name: str, document: dict[str, Any], seconds: float) -> None:
        """A step's result, with what it took and who made it."""
        own = {"seconds": round(seconds, 1), "code": self._code[step], "made_at": self._commit}
        self._write(step, name, {**document, **own})

    def _write(self, step: str, name: str, document: dict[str, Any]) -> None:
        """Whole or not at all."""
        path = self.directory / step / f"{name}.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(document, indent=1) + "\n")
        part.replace(path)

    def error(self, step: str, name: str, text: str) -> None:
        """What went wrong; the file of a later success says no more of it."""
        (self.directory / step / f"{name}.error").write_text(text)

    def no_error(self, step: str, name: str) -> None:
        """It went well."""
        (self.directory / step / f"{name}.error").unlink(missing_ok=True)


def _lines(path: Path) -> dict[str, dict[str, Any]]:
    """Name -> what is published."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["name"]: row for row in rows}


def make_changes(cells: Cells, program: Program, wanted: Sequence[Slot]) -> None:
    """The changes of one program."""
    todo = [slot for slot in wanted if cells.read("changes", slot.name) is None]
    if not todo:
        return
    base = Base.of(program)
    taken = {
        cell["commit"]
        for slot in study.slots()
        if slot.program == program.name and (cell := cells.read("changes", slot.name)) is not None
    }
    for slot in todo:
        begin = time.monotonic()
        if (other := _drawn_again(cells, slot, base, taken)) is not None:
            taken.add(other)
            continue
        try:
            made = study.make_planted(slot, base, taken) if slot.target else study.make_inert(slot, base, taken)
        except (NotBuilt, study.NoAnswer, study.work.Failed, OSError, subprocess.CalledProcessError) as error:
            cells.error("changes", slot.name, f"{error}\n\n{traceback.format_exc()}")
            _say(f"{slot.name}: no change: {str(error)[:200]}")
            continue
        taken.add(made.commit)
        cells.write("changes", slot.name, made.as_json(), time.monotonic() - begin)
        cells.no_error("changes", slot.name)
        _say(f"{slot.name}: {made.what or 'no place found'} ({time.monotonic() - begin:.0f} s)")


def _drawn_again(cells: Cells, slot: Slot, base: Base, taken: set[str]) -> str | None:
    """Take over a change that other code made, if this code draws it as well and no other slot has it; its commit."""
    made = cells.of_other_code(slot.name)
    if made is None or not made["commit"] or made["target"] != slot.target or made["commit"] in taken:
        return None
    try:
        commit = study.again(slot, base, made)
    except (LookupError, ValueError) as error:
        _say(f"{slot.name}: made anew: {error}")
        return None
    cells.take_over(slot.name, made)
    return commit


def judge(cells: Cells, program: Program, wanted: Sequence[Slot], metric: str, lock: Path | None = None) -> None:
    """What the judges say of the changes of one program; while a lock is held, if one is named."""
    base: Base | None = None
    for slot in wanted:
        made = cells.read("changes", slot.name)
        if made is None or not made["commit"] or cells.read(metric, slot.name) is not None:
            continue
        begin = time.monotonic()
        try:
            if not program.has(made["commit"]):
                base = base or Base.of(program)
                study.again(slot, base, made)
            if lock is not None:
                judges.build_first(program, made, metric)
            with _locked(lock):
                found = judges.judged(program, made, metric)
        except (NotBuilt, study.NoAnswer, study.work.Failed, OSError, LookupError) as error:
            cells.error(metric, slot.name, f"{error}\n\n{traceback.format_exc()}")
            _say(f"{slot.name}, {metric}: no answer: {str(error)[:300]}")
            continue
        same = {key: made[key] for key in ("name", "program", "kind", "target", "commit")}
        cells.write(metric, slot.name, {**same, **found}, time.monotonic() - begin)
        cells.no_error(metric, slot.name)
        verdicts = ", ".join(f"{judge} {found[judge]['verdict']}" for judge in ("gate", "ttest", "check"))
        _say(f"{slot.name}, {metric}: {verdicts} ({time.monotonic() - begin:.0f} s)")


@contextlib.contextmanager
def _alone(directory: Path, name: str) -> Iterator[bool]:
    """Whether no other process works on this program; none begins to while this one does."""
    (directory / "programs").mkdir(parents=True, exist_ok=True)
    with (directory / "programs" / f"{name}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextlib.contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """Hold an exclusive lock on a file, if there is one."""
    if path is None:
        yield
        return
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


_Task = tuple[Path, str, list[Slot], argparse.Namespace]


def _one_program(task: _Task) -> None:
    """All that is simulated of one program; in a worker."""
    directory, name, wanted, options = task
    with _alone(directory, name) as is_alone:
        if is_alone:
            _all_of_one(directory, name, wanted, options)
        else:
            _say(f"{name}: another process works on it; its workers may go on after a kill")


def _all_of_one(directory: Path, name: str, wanted: list[Slot], options: argparse.Namespace) -> None:
    cells = Cells(directory, anew=options.anew)
    program = Program(name, directory / "programs" / name)
    try:
        program.prepare(options.archives, private_lists=options.private_lists)
        if "changes" in options.steps:
            make_changes(cells, program, wanted)
        if "cycles" in options.steps:
            judge(cells, program, wanted, "cycles")
    except Exception as error:  # the other programs go on, and the table says what is missing
        cells.error("changes", name, traceback.format_exc())
        _say(f"{name}: {type(error).__name__}: {error}")


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, required=True, help="where everything is kept; some 20 GB")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs at once; time is taken alone")
    parser.add_argument("--only", default="", help="changes whose name this regular expression finds")
    parser.add_argument("--steps", type=lambda text: text.split(","), default=list(STEPS), help="default: all three")
    parser.add_argument("--anew", action="store_true", help="judge again what another version has judged")
    parser.add_argument("--archives", type=Path, default=ARCHIVES, help="where sources are kept")
    parser.add_argument("--private-lists", action="store_true", help="as examples/cint/prepare has it")
    parser.add_argument(
        "--time-lock", type=Path, help="a file that is locked while time is taken, for work that is to wait meanwhile"
    )
    parser.add_argument("--page", action="store_true", help="write docs/inert.md and its data")
    options = parser.parse_args()
    if unknown := set(options.steps) - set(STEPS):
        parser.error(f"--steps {','.join(sorted(unknown))}: there are {', '.join(STEPS)}")
    return options


def timed_slots(cells: Cells, every: Sequence[Slot]) -> list[Slot]:
    """Those to judge by time: which were chosen once stay, though more places turn out to have no change since."""
    none = {slot.name for slot in every if (made := cells.read("changes", slot.name)) and not made["commit"]}
    chosen = study.timed(every, none)
    kept = [slot for slot in every if cells.read("time", slot.name) is not None][: len(chosen)]
    added = [slot for slot in chosen if slot not in kept]
    wanted = {slot.name for slot in [*kept, *added][: len(chosen)]}
    return [slot for slot in every if slot.name in wanted]


def main() -> int:
    """Make, judge, then write the page; 1 where anything that was asked for is missing."""
    options = arguments()
    options.directory = options.directory.resolve()
    options.archives = options.archives.resolve()
    if set(options.steps) - {"changes"} and not judges.has_check():
        print("inert: this layoutrand has no command check, so there is nothing to judge by", file=sys.stderr)
        return 1
    every = study.slots()
    wanted = [slot for slot in every if re.search(options.only, slot.name)]
    cells = Cells(options.directory, anew=options.anew)
    by_program: dict[str, list[Slot]] = {}
    for slot in wanted:
        by_program.setdefault(slot.program, []).append(slot)
    tasks = [(options.directory, name, slots, options) for name, slots in by_program.items()]
    with multiprocessing.get_context("spawn").Pool(min(options.jobs, max(1, len(tasks))), maxtasksperchild=1) as pool:
        for _ in pool.imap_unordered(_one_program, tasks, chunksize=1):
            pass
    timed = timed_slots(cells, every)
    if "time" in options.steps:
        for slot in timed:
            if slot in wanted:
                program = Program(slot.program, options.directory / "programs" / slot.program)
                judge(cells, program, [slot], "time", options.time_lock)
    found = table.collected(cells.read, every, timed)
    if options.page:
        PAGE.write_text(table.page(found, OPENING.read_text()))
        cells.publish(found)
    print(table.summary(found))
    return 0 if table.is_complete(found, wanted, options.steps) else 1


if __name__ == "__main__":
    sys.exit(main())
