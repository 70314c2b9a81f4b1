"""Results of other harnesses as a `Selection`, so that `analyse` and `compare` treat them like layoutrand's own.

Which executions are of one binary is never guessed: a file that does not say is of one binary, and several such files
of a system need to be told apart by the user.
"""

from __future__ import annotations

import hashlib
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from layoutrand.analysis.beside_files import Digests, Programs
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.analysis.selection import Selection, Source
from layoutrand.config.config import choose
from layoutrand.config.matrix import matching as match_names
from layoutrand.errors import UsageError
from layoutrand.interop.alike import check_alike
from layoutrand.interop.formats import IN_DIRECTORY, WITH_NODES, parse, parse_directory
from layoutrand.interop.import_spec import EVERY, ONE_SEED, Spellings, Wanted, layout_of, parse_import
from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber
from layoutrand.interop.imported_disturbances import felt_executions
from layoutrand.interop.imported_numbers import Numbers, numbers_of
from layoutrand.interop.imported_samples import UNNAMED, samples
from layoutrand.interop.interop_warnings import FileRemark, OtherThreads, SameNumbers, UnknownMachines, UnmarkedWarmup
from layoutrand.model import BinaryName, Execution, Experiment
from layoutrand.platform import foreign
from layoutrand.platform.disk import readable
from layoutrand.text.foreign_fields import MadeOnce, plain
from layoutrand.warning import AnyWarning

NamesAre = Literal["benchmarks", "systems"]
_Item = TypeVar("_Item", ImportedNumber, FailedRun)
_NOWHERE: Final = Experiment(project="", protocol=0, policy="", randomise="", host="", hostname="")


@dataclass(frozen=True)
class ImportQuestion:
    """What to import and what of it to analyse.

    ``files`` are as on the command line (`layoutrand.interop.import_spec`); ``format_name`` None goes by the content.
    ``names_are`` says what the names within files of one kind of result stand for; ``warmup`` is how many iterations
    of each execution to leave out.  ``systems`` (names or patterns) and ``benchmarks`` are empty for all.
    """

    files: Sequence[str]
    format_name: str | None
    names_are: NamesAre
    warmup: int
    systems: Sequence[str]
    benchmarks: Sequence[str]


@dataclass(frozen=True)
class _File:
    """One file as read: what was wanted of it, its name for people, and what is in it under final names."""

    wanted: Wanted
    shown: str
    format: str
    numbers: Numbers
    failures: tuple[FailedRun, ...]
    remarks: tuple[AnyWarning, ...]
    labels: DisplayNames

    @property
    def kinds(self) -> list[ImportedNumber | FailedRun]:
        """One of each kind of what it holds."""
        return [*self.numbers.kinds, *self.failures]


def import_selection(question: ImportQuestion) -> Selection:
    """Read all files; raises `UsageError` where one cannot be read, or where it is not clear what is of what."""
    files = [_read(wanted, question) for wanted in wanted_files(question.files)]
    machines = _machines(files)
    if len({kind.node for file in files for kind in file.kinds}) == 1:
        files = [_of_one_machine(file) for file in files]
    _check_binaries(files)
    failures = [(file, failure) for file in files for failure in file.failures]
    kinds = [kind for file in files for kind in file.numbers.kinds]
    everything: list[ImportedNumber | FailedRun] = [*kinds, *(failure for _, failure in failures)]
    known = list(dict.fromkeys(item.system for item in everything))
    systems = choose("system", match_names("system", list(question.systems), known), known)
    benchmarks = choose(
        "benchmark", list(question.benchmarks), list(dict.fromkeys(item.benchmark for item in everything))
    )
    kept = [_of_these(file.numbers, systems, benchmarks) for file in files]
    check_alike((file.shown, kind) for file, own in zip(files, kept, strict=True) for kind in own.kinds)
    lost = [each for _, each in failures if each.system in systems and each.benchmark in benchmarks]
    felt, disturbed = felt_executions(kept, lost)
    found, warnings = samples(kept, systems, benchmarks, question.warmup)
    return Selection(
        experiment=_NOWHERE,
        samples=found,
        executions=(),
        failures=tuple(
            _execution(failure, file)
            for file, failure in failures
            if failure.system in systems and failure.benchmark in benchmarks
        ),
        build_failures=(),
        warnings=(
            *_remarks(files, question.warmup),
            *_copies(files),
            *machines,
            *_threads(kind for own in kept for kind in own.kinds),
            *warnings,
            *disturbed,
        ),
        felt=felt,
        programs=Programs(digests=_programs(kept, lost)),
        sources=tuple(_source(file) for file in files),
        names=DisplayNames(
            _labels((each.system, file.labels.system(each.system)) for file in files for each in file.kinds),
            _labels((each.benchmark, file.labels.benchmark(each.benchmark)) for file in files for each in file.kinds),
        ),
    )


def _labels(told: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of (name, label) as the files have them, the label of each name.

    A name has none where files differ in it, where another name has the same, or where it is itself a name.
    """
    found: dict[str, set[str]] = {}
    for name, label in told:
        found.setdefault(name, set()).add(label)
    labels = {name: next(iter(own)) for name, own in found.items() if len(own) == 1}
    uses = Counter(labels.values())
    return {name: label for name, label in labels.items() if uses[label] == 1 and label not in found}


def _programs(files: Sequence[Numbers], failed: Sequence[FailedRun]) -> Digests:
    """What tells which program was executed in each layout; nothing where a file does not say, or says two things.

    A failure that names neither program nor binary, as of SPEC, has no say: it is none of the numbers.
    """
    found: dict[tuple[str, str], dict[BinaryName, set[str]]] = {}
    told = (each for each in failed if each.program_sha256 or each.binary)
    everything: list[ImportedNumber | FailedRun] = [*(kind for file in files for kind in file.kinds), *told]
    for each in everything:
        layout = layout_of(each.binary) if each.binary else UNNAMED
        found.setdefault((each.system, each.benchmark), {}).setdefault(layout, set()).add(each.program_sha256)
    return {
        of: {layout: next(iter(told)) if len(told) == 1 else "" for layout, told in layouts.items()}
        for of, layouts in found.items()
    }


def _of_these(numbers: Numbers, systems: Sequence[str], benchmarks: Sequence[str]) -> Numbers:
    asked = [kind.system in systems and kind.benchmark in benchmarks for kind in numbers.kinds]
    return numbers if all(asked) else numbers.chosen(numbers.of_each_kind(asked))


def wanted_files(texts: Sequence[str]) -> list[Wanted]:
    """Every file to read, patterns expanded; raises `UsageError` for one that is there twice, by whatever names."""
    wanted: list[Wanted] = []
    for text in texts:
        one = parse_import(text)
        if one.name is not None and "/" not in one.file and foreign.exists(text):
            raise UsageError(
                f"--import {readable(text)}: there is a file of that very name; write ./{readable(text)} "
                f"for it, or {readable(text.replace('=', '=./', 1))} for the other one"
            )
        if one.seed == EVERY:
            found = foreign.matching(one.file)
            wanted += [Wanted(one.name, readable(seed), file) for seed, file in found]
        else:
            wanted.append(one)
    seen: dict[object, str] = {}
    for one in wanted:
        identity = foreign.same_as(one.file)
        if identity in seen:
            other = "" if seen[identity] == one.file else f"{readable(seen[identity])} and "
            raise UsageError(f"{other}{readable(one.file)}{' are one file, which' if other else ''} is imported twice")
        seen[identity] = one.file
    return wanted


def _read(wanted: Wanted, question: ImportQuestion) -> _File:
    shown = plain(readable(wanted.file))
    if foreign.is_directory(wanted.file):
        name, content = parse_directory(foreign.texts_below(wanted.file, IN_DIRECTORY), shown, question.format_name)
    else:
        name, content = parse(foreign.read_text(wanted.file), shown, question.format_name)
    if not content.rows and not content.failures:
        raise UsageError(f"{shown} holds no measurement")
    numbers, failures = _named(content, wanted, shown, question.names_are)
    # A name that was given is what its giver wants to read.
    labels = content.labels if wanted.name is None else replace(content.labels, systems={})
    return _File(wanted, shown, name, numbers, failures, content.remarks, labels)


def _named(content: Imported, wanted: Wanted, shown: str, names_are: NamesAre) -> tuple[Numbers, tuple[FailedRun, ...]]:
    """Systems and binaries under their final names."""
    numbers = numbers_of(content.rows)
    everything: list[ImportedNumber | FailedRun] = [*numbers.kinds, *content.failures]
    own = sorted({item.system for item in everything if item.system})
    if names_are == "systems" and own:
        raise UsageError(f"{shown} names its systems itself ({', '.join(own)}); leave out --names-are")
    if wanted.name is not None and len(own) > 1:
        raise UsageError(f"{shown} holds the systems {', '.join(own)}; give it no name, they have their own")
    if wanted.seed is not None and any(item.binary for item in everything):
        raise UsageError(f"{shown} says itself which seed each number is of; give it none")
    given = wanted.name if wanted.name is not None else _stem(shown)
    shown_as = MadeOnce(plain)

    def named(item: _Item, fingerprint: str) -> _Item:
        system = given if wanted.name is not None else item.system or given
        benchmark = item.benchmark
        if names_are == "systems":
            system, benchmark = item.benchmark, given
        system = f"{system}-{item.variant}" if item.variant else system
        binary = wanted.seed if wanted.seed is not None else item.binary or fingerprint
        names = shown_as[system], shown_as[benchmark], shown_as[binary]
        if names == (item.system, item.benchmark, item.binary):  # of most tables, which have many kinds
            return item
        return replace(item, system=names[0], benchmark=names[1], binary=names[2])

    kinds = [named(kind, kind.fingerprint[:16]) for kind in numbers.kinds]
    failures = tuple(named(failure, "") for failure in content.failures)
    return numbers if all(map(operator.is_, kinds, numbers.kinds)) else numbers.under(kinds), failures


def _stem(shown: str) -> str:
    """The name of a file (or directory) without what it lies in and without its last suffix."""
    name = shown.rstrip("/").rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _check_binaries(files: Sequence[_File]) -> None:
    """Raise `UsageError` where files leave open which binary they are of, or where two binaries are one."""
    _check_spellings(files)
    found: dict[tuple[str, str], tuple[_File, str]] = {}
    for file in files:
        for system, benchmark, binary in dict.fromkeys((r.system, r.benchmark, r.binary) for r in file.numbers.kinds):
            first, other = found.setdefault((system, benchmark), (file, binary))
            if not (binary and other) and (first is not file or binary != other):
                where = first.shown if first is file else f"{first.shown} and {file.shown}"
                silent = "some of it says" if first is file else "say" if binary == other else "one of them says"
                raise UsageError(
                    f"{where}: of system {system}, and {silent} nothing of binaries. Write "
                    f"--import '{system}:SEED=FILE' with a seed or name for each binary (the same one for files of "
                    "one binary), or different names for different systems"
                )
    _check_fingerprints(kind for file in files for kind in file.numbers.kinds if kind.fingerprint)


def _check_spellings(files: Sequence[_File]) -> None:
    """Raise `UsageError` where one seed is written in two ways; a table tells the line itself."""
    spelt, whose = Spellings(), dict[tuple[str, str, str], str]()
    for file in files:
        for system, benchmark, binary in dict.fromkeys((k.system, k.benchmark, k.binary) for k in file.kinds):
            whose.setdefault((system, benchmark, binary), file.shown)
            if other := spelt.other(system, benchmark, binary):
                where = " and ".join(dict.fromkeys([whose[system, benchmark, other], file.shown]))
                raise UsageError(f"{where}: of system {system}, and the seeds {other} and {binary}; {ONE_SEED}")


def _remarks(files: Sequence[_File], warmup: int) -> list[FileRemark]:
    """What has to be known about files, of which so many iterations are left out: what many have is told once."""
    found: dict[AnyWarning, list[str]] = {}
    for file in files:
        for remark in file.remarks:
            if warmup and isinstance(remark, UnmarkedWarmup):
                continue
            found.setdefault(remark, []).append(file.shown)
    return [FileRemark(shown[0], remark, len(shown) - 1) for remark, shown in found.items()]


def _copies(files: Sequence[_File]) -> list[SameNumbers]:
    """A warning where files hold the same numbers: right for counts that never vary, wrong for times."""
    contents: dict[tuple[object, ...], _File] = {}
    for file in files if len(files) > 1 else ():
        nameless = file.numbers.under(
            [replace(kind, system="", binary="", program_sha256="") for kind in file.numbers.kinds]
        )
        columns = (nameless.kind, nameless.values + 0.0, nameless.executions, nameless.iterations)  # -0.0 is 0.0
        measured = (nameless.kinds, *(column.tobytes() for column in columns))
        if len(nameless) and (other := contents.setdefault(measured, file)) is not file:
            return [SameNumbers(other.shown, file.shown)]
    return []


def _machines(files: Sequence[_File]) -> list[UnknownMachines]:
    """A warning where tables have executions of the same binaries, and do not say of which machine."""
    seen: dict[tuple[str, str, str], _File] = {}
    for file in files:
        for kind in file.numbers.kinds if file.format in WITH_NODES else ():
            of = (kind.system, kind.benchmark, kind.binary)
            if not kind.node and (other := seen.setdefault(of, file)) is not file:
                return [UnknownMachines(other.shown, file.shown)]
    return []


def _of_one_machine(file: _File) -> _File:
    """Without its name: there is none to tell it from."""
    numbers = file.numbers.under([replace(kind, node="") for kind in file.numbers.kinds])
    return replace(file, numbers=numbers, failures=tuple(replace(failure, node="") for failure in file.failures))


def _threads(kinds: Iterable[ImportedNumber]) -> list[OtherThreads]:
    """A warning for each way in which numbers of threads differ; what the files do not say differs from nothing."""
    found: dict[str, dict[str, set[int]]] = {}
    for kind in kinds:
        if kind.threads is not None:
            found.setdefault(kind.benchmark, {}).setdefault(kind.system, set()).add(kind.threads)
    alike: dict[tuple[tuple[str, tuple[int, ...]], ...], list[str]] = {}
    for benchmark, systems in found.items():
        if len(set[int]().union(*systems.values())) > 1:
            told = tuple((system, tuple(sorted(numbers))) for system, numbers in systems.items())
            alike.setdefault(told, []).append(benchmark)
    return [OtherThreads(tuple(benchmarks), told) for told, benchmarks in alike.items()]


def _check_fingerprints(rows: Iterable[ImportedNumber]) -> None:
    """A harness that did not notice the seed executes the first binary again and again: its digest tells."""
    seen: dict[tuple[str, str, str], str] = {}
    for row in rows:
        key = (row.system, row.benchmark, row.fingerprint)
        if (binary := seen.setdefault(key, row.binary)) != row.binary:
            raise UsageError(
                f"{row.system}, {row.benchmark}: {binary} and {row.binary} are the same executable (exehash "
                f"{row.fingerprint[:16]}), so the harness did not build anew for each; import them as one binary"
            )


def _source(file: _File) -> Source:
    systems = dict.fromkeys(item.system for item in file.kinds)
    binary = None if file.wanted.seed is None else layout_of(file.wanted.seed)
    return Source(file.shown, file.format, tuple(systems), binary)


def _execution(failure: FailedRun, file: _File) -> Execution:
    """A failed execution of another harness, in the form of our own; only what is known of it is there."""
    binary = layout_of(failure.binary) if failure.binary else UNNAMED
    facts: Mapping[str, object] = {"imported": file.shown}
    seed = binary if isinstance(binary, int) else 0
    return Execution(
        system=failure.system,
        benchmark=failure.benchmark,
        definition="",
        layout=binary,  # type: ignore[arg-type]  # a name where the harness knows no seeds
        instrument=failure.instrument,
        repetition=failure.execution,
        round=seed if failure.round is None else failure.round,
        attempt=1,
        order=0,
        binary_sha256=hashlib.sha256(str(binary).encode()).hexdigest(),
        capture="",
        status=failure.status,
        reason=f"{failure.reason or failure.status} ({file.shown})",
        returncode=None,
        signal=None,
        started_at=0.0 if failure.started_at is None else failure.started_at,
        wall_s=0.0,
        rusage={},
        env_size=None,
        argv=(),
        log="",
        conditions=facts,
        host_state={},
        disturbances=(),
        measurements=(),
    )
