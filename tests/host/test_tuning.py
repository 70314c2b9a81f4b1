"""Settings of the machine are changed only when asked for, and restored whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from functools import partial

import pytest

from fakehost import BOOT, CPUS, FakeHost
from layoutrand.errors import HostError
from layoutrand.host import undo_record
from layoutrand.host.tune import settle, standing, tune, tuned, undo
from layoutrand.host.tuning import Tuning, _set

GOVERNORS = [f"{CPUS}/cpufreq/policy{n}/scaling_governor" for n in (0, 1)]
NO_TURBO = f"{CPUS}/intel_pstate/no_turbo"
PARANOID, WATCHDOG = "proc/sys/kernel/perf_event_paranoid", "proc/sys/kernel/nmi_watchdog"
BEFORE = {GOVERNORS[0]: "powersave", GOVERNORS[1]: "powersave", NO_TURBO: "0", PARANOID: "4", WATCHDOG: "1"}
TUNED = {GOVERNORS[0]: "performance", GOVERNORS[1]: "performance", NO_TURBO: "1", PARANOID: "2", WATCHDOG: "0"}


class Machine(FakeHost):
    """A machine with everything that can be tuned, and a place for the record."""

    def __init__(self, directory):
        super().__init__(directory / "root")
        self.place = directory / "state/undo.json"

    def set_up(self):
        self.cpufreq()
        self.write(BOOT, "boot-1")
        for path, value in BEFORE.items():
            self.write(path, value)
        return self

    def tuning(self, **options):
        return Tuning(self.root, [self.place], **options)

    def settings(self):
        return {path: self.read(path) for path in BEFORE}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path).set_up()


@pytest.fixture
def said():
    return []


def test_what_is_offered_is_what_differs(machine):
    offer = machine.tuning().offer()
    assert {change.path: (change.before, change.after) for change in offer.changes} == {
        path: (BEFORE[path], TUNED[path]) for path in BEFORE
    }
    assert offer.refused == ()
    machine.write(PARANOID, 1)
    machine.write(GOVERNORS[0], "performance")
    assert {change.path for change in machine.tuning().offer().changes} == {GOVERNORS[1], NO_TURBO, WATCHDOG}


def test_boost_of_amd_and_governors_that_there_are_not(tmp_path):
    machine = Machine(tmp_path)
    machine.write(f"{CPUS}/cpufreq/boost", 1)
    machine.write(f"{CPUS}/cpufreq/policy0/scaling_governor", "schedutil")
    machine.write(f"{CPUS}/cpufreq/policy0/scaling_available_governors", "schedutil userspace")
    (change,) = machine.tuning().offer().changes
    assert (change.path, change.before, change.after) == (f"{CPUS}/cpufreq/boost", "1", "0")


def test_tuned_for_as_long_as_it_is_open(machine, said):
    with tuned(machine.tuning(), said.append, said.append):
        assert machine.settings() == TUNED
        record = json.loads(machine.place.read_text())
        assert record["boot_id"] == "boot-1"
        assert (record["pid"], record["keep"]) == (os.getpid(), False)
    assert machine.settings() == BEFORE
    assert not machine.place.exists()
    assert len(said) == 2
    assert "from powersave to performance" in said[0]
    assert "restored" in said[1]


@pytest.mark.parametrize("error", [KeyboardInterrupt, HostError, ZeroDivisionError, SystemExit])
def test_restored_when_it_ends_badly(machine, said, error):
    with pytest.raises(error), tuned(machine.tuning(), said.append, said.append):
        raise error
    assert machine.settings() == BEFORE
    assert not machine.place.exists()


def test_ctrl_c_while_settings_are_changed_or_restored_comes_when_all_is_done(machine, said):
    """The signal arrives at each write in turn: what follows is never a half-tuned machine."""
    for at in range(2 * len(BEFORE)):
        writes = iter(range(100))

        def interrupted(path, value):
            if next(writes) == at:  # noqa: B023
                signal.raise_signal(signal.SIGINT)
            _set(path, value)

        with pytest.raises(KeyboardInterrupt), tuned(machine.tuning(set_value=interrupted), said.append, said.append):
            assert machine.settings() == TUNED
        assert machine.settings() == BEFORE
        assert not machine.place.exists()


def test_the_record_is_there_before_the_first_change(machine, said):
    def set_value(path, value):
        assert len(json.loads(machine.place.read_text())["changes"]) == len(BEFORE)
        _set(path, value)

    tune(machine.tuning(set_value=set_value), said.append)
    assert machine.settings() == TUNED


def test_tuned_until_undone(machine, said):
    tune(machine.tuning(), said.append)
    assert machine.settings() == TUNED
    with pytest.raises(HostError, match="doctor --undo"):
        tune(machine.tuning(), said.append)
    with pytest.raises(HostError, match="doctor --undo"), tuned(machine.tuning(), said.append, said.append):
        pytest.fail("the settings belong to doctor --tune")
    settle(machine.tuning(), said.append)
    assert machine.settings() == TUNED, "a run leaves them as the user asked"
    undo(machine.tuning(), said.append, said.append)
    assert machine.settings() == BEFORE
    undo(machine.tuning(), said.append, said.append)
    assert "nothing to restore" in said[-1]


def test_a_machine_with_nothing_to_tune_is_left_alone(tmp_path, said):
    machine = Machine(tmp_path)
    with tuned(machine.tuning(), said.append, said.append):
        assert not machine.place.exists()
    assert said == ["nothing is to be changed: every setting that this machine has is as it should be"]


def test_what_may_not_be_changed_is_an_error_that_says_so(machine, said, monkeypatch):
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(HostError, match="takes root"), tuned(machine.tuning(), said.append, said.append):
        pytest.fail("not reached")
    assert not machine.place.exists()
    monkeypatch.setattr(os, "access", lambda path, _mode: str(path).endswith("no_turbo"))
    with tuned(machine.tuning(), said.append, said.append):
        assert machine.settings() == BEFORE | {NO_TURBO: "1"}
    assert machine.settings() == BEFORE
    assert "scaling_governor (is powersave, should be performance)" in said[0]


@pytest.mark.parametrize("fails", range(len(BEFORE)))
def test_a_change_that_fails_undoes_those_before_it(machine, said, fails):
    writes = iter(range(100))

    def set_value(path, value):
        if next(writes) == fails:
            raise PermissionError(13, "Permission denied")
        _set(path, value)

    with pytest.raises(HostError, match="Permission denied"):
        tune(machine.tuning(set_value=set_value), said.append)
    assert machine.settings() == BEFORE
    assert not machine.place.exists()


def test_a_setting_that_does_not_take_its_value_is_found(machine, said):
    def stubborn(path, value):
        _set(path, "0" if path.name == "no_turbo" else value)

    with pytest.raises(HostError, match=r"no_turbo does not take the value 1: it is 0"):
        tune(machine.tuning(set_value=stubborn), said.append)
    assert machine.settings() == BEFORE


@pytest.mark.parametrize("takes_its_former_value", [True, False])
def test_a_setting_that_takes_a_third_value_is_given_its_former_one_again(machine, said, takes_its_former_value):
    """As a driver that clamps what is written; whoever restores must not take it for someone else's change."""

    def clamped(path, value):
        clamp = path.name == "perf_event_paranoid" and (value == "2" or not takes_its_former_value)
        _set(path, "3" if clamp else value)

    with pytest.raises(HostError, match="perf_event_paranoid does not take the value 2: it is 3") as caught:
        tune(machine.tuning(set_value=clamped), said.append)
    assert machine.settings() == BEFORE | ({} if takes_its_former_value else {PARANOID: "3"})
    assert ("this one cannot be restored: " in str(caught.value)) is not takes_its_former_value
    assert not machine.place.exists()


def test_what_someone_else_changed_meanwhile_is_left_alone_and_told(machine, said):
    machine.write(f"{CPUS}/cpufreq/policy1/scaling_available_governors", "performance powersave schedutil")
    warned = []
    with tuned(machine.tuning(), said.append, warned.append):
        machine.write(GOVERNORS[1], "schedutil")
        machine.write(PARANOID, 4)  # someone else has restored it: nothing to say
    assert machine.settings() == BEFORE | {GOVERNORS[1]: "schedutil"}
    (line,) = warned
    assert f"/{GOVERNORS[1]} is schedutil now, neither performance" in line


def test_a_restart_of_the_machine_restores_everything(machine, said):
    tune(machine.tuning(), said.append)
    for path, value in BEFORE.items():
        machine.write(path, value)
    machine.write(GOVERNORS[0], "performance")  # set at the start of the machine, by its owner
    machine.write(BOOT, "boot-2")
    assert "before the machine was restarted" in standing(machine.tuning())[1]
    settle(machine.tuning(), said.append)
    assert "restarted" in said[-1]
    assert not machine.place.exists()
    assert machine.settings() == BEFORE | {GOVERNORS[0]: "performance"}


def killed(directory, after, action):
    """What a child does: the process is killed before the write number ``after``; the record itself is number -1."""
    machine = Machine(directory)
    writes = iter(range(100))

    def set_value(path, value):
        if next(writes) == after:
            signal.raise_signal(signal.SIGKILL)
        _set(path, value)

    tuning = machine.tuning(set_value=set_value)
    ignore = [].append
    if action == "undo":
        undo(tuning, ignore, ignore)
    elif action == "tune":
        tune(tuning, ignore)
    else:
        with tuned(tuning, ignore, ignore):
            if after == len(BEFORE) * 2:
                signal.raise_signal(signal.SIGKILL)


def kill(tmp_path, after, action):
    script = f"import sys; sys.path[:0] = {[os.path.dirname(__file__), *sys.path]!r}\nfrom pathlib import Path\nimport test_tuning\n"
    call = f"test_tuning.killed(Path({str(tmp_path)!r}), {after}, {action!r})"
    assert subprocess.run([sys.executable, "-c", script + call]).returncode == -signal.SIGKILL


@pytest.mark.parametrize("after", range(2 * len(BEFORE) + 1))
def test_what_a_killed_run_has_left_is_restored_by_the_next(machine, tmp_path, said, after):
    """Killed before the first change, after any, while measuring, and after any that was restored."""
    kill(tmp_path, after, "run")
    assert "killed `run --tune`" in standing(machine.tuning())[1]
    settle(machine.tuning(), said.append)
    assert machine.settings() == BEFORE
    assert not machine.place.exists()
    assert "killed before it could restore" in said[0]


def test_killed_when_all_was_restored_and_only_the_record_was_left(machine, said):
    changes = machine.tuning().offer().changes
    undo_record.write_record(
        machine.place, undo_record.UndoRecord("boot-1", os.getpid(), -1, keep=False, changes=changes)
    )
    settle(machine.tuning(), said.append)
    assert machine.settings() == BEFORE
    assert not machine.place.exists()
    assert said[-1] == "all settings were as they had been"


@pytest.mark.parametrize("after", [0, 2])
def test_a_killed_doctor_is_undone_by_hand(machine, tmp_path, said, after):
    kill(tmp_path, after, "tune")
    settle(machine.tuning(), said.append)
    assert said == []
    kill(tmp_path, 1, "undo") if after else None
    undo(machine.tuning(), said.append, said.append)
    assert machine.settings() == BEFORE


def test_the_next_tuned_run_restores_first_so_that_it_knows_what_was_before(machine, tmp_path, said):
    kill(tmp_path, 3, "run")
    with tuned(machine.tuning(), said.append, said.append):
        assert machine.settings() == TUNED
    assert machine.settings() == BEFORE


def test_settings_of_a_run_that_goes_on_are_its_own(machine, said):
    with tuned(machine.tuning(), said.append, said.append):
        settle(machine.tuning(), said.append)
        assert machine.settings() == TUNED
        with pytest.raises(HostError, match=f"process {os.getpid()}"):
            undo(machine.tuning(), said.append, said.append)
        with pytest.raises(HostError), tuned(machine.tuning(), said.append, said.append):
            pytest.fail("not reached")


def test_a_process_number_that_is_given_again_does_not_hide_a_killed_run(machine, said):
    tuning = machine.tuning()
    tuning.apply(tuning.offer().changes, keep=False)
    record = json.loads(machine.place.read_text())
    machine.place.write_text(json.dumps(record | {"started": record["started"] - 1}))
    settle(tuning, said.append)
    assert machine.settings() == BEFORE


def test_who_may_not_restore_is_told_who_can(machine, tmp_path, said):
    kill(tmp_path, 2, "run")

    def forbidden(path, value):
        raise PermissionError(13, "Permission denied")

    settle(machine.tuning(set_value=forbidden), said.append)
    assert "sudo layoutrand doctor --undo" in said[-1]
    assert machine.place.exists(), "the record stays until everything is restored"
    settle(machine.tuning(), said.append)
    assert machine.settings() == BEFORE


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"schema": "layoutrand/undo/9"}', '{"schema": "layoutrand/undo/1"}']
)
def test_a_damaged_record_is_an_error_and_not_deleted(machine, said, content):
    machine.place.parent.mkdir()
    machine.place.write_text(content)
    for action in (
        lambda: settle(machine.tuning(), said.append),
        lambda: undo(machine.tuning(), said.append, said.append),
        lambda: tune(machine.tuning(), said.append),
    ):
        with pytest.raises(HostError, match="by hand"):
            action()
    assert machine.place.read_text() == content
    assert machine.settings() == BEFORE


def written(machine, **changes):
    """A record as `doctor --tune` writes it, with other changes."""
    machine.place.parent.mkdir(exist_ok=True)
    machine.place.parent.chmod(0o755)
    change = {"path": NO_TURBO, "before": "0", "after": "1"} | changes
    record = {"schema": "layoutrand/undo/1", "boot_id": "boot-1", "pid": 1, "started": 1, "keep": True}
    machine.place.write_text(json.dumps(record | {"changes": [change]}))
    machine.place.chmod(0o644)


@pytest.mark.parametrize(
    "change",
    [
        {"path": "etc/shadow", "before": "root::1:0:::::", "after": "x"},
        {"path": f"{CPUS}/../../../../etc/shadow"},
        {"path": f"{CPUS}/cpufreq/policy0/../../../../../../etc/scaling_governor", "after": "performance"},
        {"path": f"/{NO_TURBO}"},
        {"path": f"{NO_TURBO}\n"},
        {"path": "proc/sys/kernel/core_pattern", "before": "|/tmp/x"},
        {"before": "0\n1"},
        {"before": "root::1:0:::::"},
        {"after": "0"},
        {"path": GOVERNORS[0], "before": "power save", "after": "performance"},
        {"path": GOVERNORS[0], "before": 1, "after": "performance"},
    ],
)
def test_a_record_that_names_anything_but_our_settings_is_not_followed(machine, said, change):
    """Whoever undoes is often root, and what is recorded would be written as root."""
    machine.write("etc/shadow", "x")
    machine.write(NO_TURBO, "1")
    before = {path: path.read_bytes() for path in machine.root.rglob("*") if path.is_file()}
    written(machine, **change)
    with pytest.raises(HostError, match="is not one that this layoutrand wrote"):
        undo(machine.tuning(), said.append, said.append)
    assert {path: path.read_bytes() for path in machine.root.rglob("*") if path.is_file()} == before
    assert machine.place.exists()


@pytest.mark.parametrize("field", [{"pid": "1"}, {"started": True}, {"boot_id": None}, {"keep": 1}])
def test_a_record_with_other_types_is_not_followed(machine, said, field):
    written(machine)
    machine.place.write_text(json.dumps(json.loads(machine.place.read_text()) | field))
    with pytest.raises(HostError, match="is not one that this layoutrand wrote"):
        undo(machine.tuning(), said.append, said.append)


def linked(machine):
    machine.place.rename(machine.place.with_name("other"))
    machine.place.symlink_to("other")


def piped(machine):
    machine.place.unlink()
    os.mkfifo(machine.place)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (linked, "it is a symbolic link"),
        (piped, "it is no regular file"),
        (lambda machine: machine.place.chmod(0o664), "its group may write to it"),
        (lambda machine: machine.place.chmod(0o646), "everybody may write to it"),
        (lambda machine: machine.place.parent.chmod(0o777), "as to its directory, everybody may write to it"),
        (lambda machine: machine.place.write_text(" " * (1 << 23)), "it is longer than"),
    ],
)
def test_a_record_that_another_user_may_have_put_there_is_not_followed(machine, said, harm, words):
    """And nobody waits for a pipe."""
    written(machine)
    machine.write(NO_TURBO, "1")
    harm(machine)
    for action in (lambda: undo(machine.tuning(), said.append, said.append), lambda: tune(machine.tuning(), print)):
        with pytest.raises(HostError, match=f"is not followed: {words}"):
            action()
    assert machine.read(NO_TURBO) == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_follows_no_record_of_a_user(machine, said):
    written(machine)
    os.chown(machine.place, 54321, 54321)
    with pytest.raises(HostError, match="is not followed: it belongs to user 54321, .* as whoever wrote it"):
        undo(machine.tuning(), said.append, said.append)


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_a_setting_that_is_a_link_or_a_pipe_is_not_written(machine, said, what):
    written(machine)
    machine.write("etc/shadow", "1")
    file = machine.root / NO_TURBO
    file.unlink()
    file.symlink_to(machine.root / "etc/shadow") if what == "link" else os.mkfifo(file)
    with pytest.raises(OSError, match=r"symbolic link|no regular file|No such device"):
        _set(file, "0")
    assert machine.read("etc/shadow") == "1"


def test_a_record_that_cannot_be_written_changes_nothing(machine, said):
    machine.place.parent.parent.joinpath("state").write_text("a file where the directory should be")
    with pytest.raises(HostError, match="LAYOUTRAND_STATE"):
        tune(machine.tuning(), said.append)
    assert machine.settings() == BEFORE


def test_everybody_may_read_the_record(machine, said):
    before = os.umask(0o077)
    try:
        tune(machine.tuning(), said.append)
    finally:
        os.umask(before)
    assert machine.place.parent.stat().st_mode & 0o777 == 0o755
    assert machine.place.stat().st_mode & 0o777 == 0o644


def test_two_at_the_same_moment(machine):
    record = undo_record.UndoRecord("boot-1", 1, 1, keep=False, changes=())
    undo_record.write_record(machine.place, record)
    with pytest.raises(HostError, match="same moment"):
        undo_record.write_record(machine.place, record)
    assert [path.name for path in machine.place.parent.iterdir()] == ["undo.json"]


def test_where_the_record_is(monkeypatch, tmp_path):
    monkeypatch.setenv("LAYOUTRAND_STATE", str(tmp_path))
    assert undo_record.record_places() == [tmp_path / "undo.json"]
    monkeypatch.delenv("LAYOUTRAND_STATE")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert str(undo_record.record_places()[0]) == "/var/lib/layoutrand/undo.json"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    own, shared = undo_record.record_places()
    assert str(shared) == "/var/lib/layoutrand/undo.json", "a user is told what root has left changed"
    assert own != shared


def test_run_tunes_while_it_executes_and_only_then(machine, tmp_path, said):
    """`prepare` of `execute`: entered before the first execution, left after the last, not at all without any."""
    from repetitionkit import Project

    project = Project(tmp_path)
    seen = []

    class Looking(project.fake_executor):
        def __call__(self, command):
            seen.append(machine.settings())
            return super().__call__(command)

    prepare = partial(tuned, machine.tuning(), said.append, said.append)
    project.run(layouts=(1, 2), executor=Looking(), prepare=prepare)
    assert seen == [TUNED, TUNED]
    assert machine.settings() == BEFORE
    said.clear()
    project.run(layouts=(1, 2), prepare=prepare)
    assert said == []
    with pytest.raises(KeyboardInterrupt):
        project.run(layouts=(1, 2, 3), executor=project.fake_executor(interrupt_at=0), prepare=prepare)
    assert machine.settings() == BEFORE
    project.run(layouts=(1, 2, 3), prepare=nullcontext)
    assert machine.settings() == BEFORE
