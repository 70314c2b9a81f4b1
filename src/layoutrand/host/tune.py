"""Settings of the machine: changed when asked for, restored whatever happens.

`layoutrand run --tune` changes them for as long as it executes, `doctor --tune` until `doctor --undo`.  Nothing else
changes a setting, but whoever comes first after a run that was killed restores what that one had changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from layoutrand.errors import HostError
from layoutrand.host.tuning import UNDO, Restored, Tuning
from layoutrand.host.undo_record import Change, UndoRecord
from layoutrand.platform.interrupts import noted_interrupts

Say = Callable[[str], None]


@contextlib.contextmanager
def tuned(tuning: Tuning, say: Say, warn: Say) -> Iterator[None]:
    """While open, the machine is set for measuring.

    Restored at the end, also on errors and Ctrl-C.  Raises `HostError` where nothing may be changed or what is changed
    already belongs to another process.
    """
    settle(tuning, warn)
    _refuse_changed(tuning)
    ours = False
    try:
        with noted_interrupts():  # so that Ctrl-C comes before all of it or after all of it
            ours = _apply(tuning, say, keep=False)
        yield
    finally:
        if ours:
            _restore(tuning, say, warn)


def tune(tuning: Tuning, say: Say) -> None:
    """`doctor --tune`: change what can be, until `undo`; raises `HostError` where settings are changed already."""
    _refuse_changed(tuning)
    with noted_interrupts():
        _apply(tuning, say, keep=True)


def undo(tuning: Tuning, say: Say, warn: Say) -> None:
    """`doctor --undo`: restore what is recorded; raises `HostError` where that fails or is not for us to do."""
    record = tuning.record()
    if record is None:
        say("no settings are changed, so there is nothing to restore")
    elif not tuning.is_of_this_boot(record):
        _forget(tuning, say)
    elif not record.keep and not record.is_orphaned():
        raise HostError(f"process {record.pid} measures with these settings, and restores them when it ends")
    else:
        _restore(tuning, say, warn)


def settle(tuning: Tuning, warn: Say) -> None:
    """Restore what a killed `run --tune` left behind; where that is not for us to do, say who has to."""
    record = tuning.record()
    if record is None:
        return
    try:
        if not tuning.is_of_this_boot(record):
            _forget(tuning, warn)
        elif record.is_orphaned():
            warn(f"a layoutrand (process {record.pid}) was killed before it could restore settings of the machine")
            _restore(tuning, warn, warn)
    except HostError as error:
        warn(f"{error}; settings are still changed, and `{UNDO}` restores them")


def standing(tuning: Tuning) -> tuple[UndoRecord, str] | None:
    """The record of what is changed now, and a sentence about it; None where nothing is."""
    record = tuning.record()
    if record is None:
        return None
    changed = ", ".join(change.path for change in record.changes)
    if not tuning.is_of_this_boot(record):
        return record, f"a record of changed settings is left over from before the machine was restarted ({changed})"
    if record.keep:
        return record, f"settings are changed by `doctor --tune` ({changed})"
    if record.is_orphaned():
        return record, f"a killed `run --tune` (process {record.pid}) has left settings changed ({changed})"
    return record, f"`run --tune` (process {record.pid}) has changed settings while it measures ({changed})"


def changes_document(record: UndoRecord, sentence: str) -> dict[str, Any]:
    """What is changed now, for `doctor --json`."""
    return {"pid": record.pid, "keep": record.keep, "what": sentence, "changes": [vars(c) for c in record.changes]}


def restored_lines(restored: Restored) -> list[str]:
    """What was restored."""
    if restored.changes:
        return ["restored " + _listed(restored.changes, "/{path} to {before}")]
    return [] if restored.foreign else ["all settings were as they had been"]


def foreign_lines(restored: Restored) -> list[str]:
    """What was not restored, and why."""
    return [
        f"/{change.path} is {value or 'gone'} now, neither {change.after}, which layoutrand had set, nor "
        f"{change.before}, as it was before: someone else changed it, so it was left alone"
        for change, value in restored.foreign
    ]


def _apply(tuning: Tuning, say: Say, *, keep: bool) -> bool:
    """Whether anything was changed."""
    offer = tuning.offer()
    if offer.refused:
        refused = _listed(offer.refused, "/{path} (is {before}, should be {after})")
        if not offer.changes:
            raise HostError(f"nothing may be changed here: {refused}; it takes root, and a container seldom allows it")
        say(f"cannot be changed by this user or in this container: {refused}")
    if not offer.changes:
        say("nothing is to be changed: every setting that this machine has is as it should be")
        return False
    tuning.apply(offer.changes, keep=keep)
    changed = _listed(offer.changes, "/{path} from {before} to {after}")
    until = f"; `{UNDO}` restores it" if keep else " until the end of this run"
    say(f"changed {changed}{until}")
    return True


def _listed(changes: tuple[Change, ...], pattern: str) -> str:
    return ", ".join(pattern.format(**vars(change)) for change in changes)


def _restore(tuning: Tuning, say: Say, warn: Say) -> None:
    with noted_interrupts():
        restored = tuning.restore()
    for line in restored_lines(restored):
        say(line)
    for line in foreign_lines(restored):
        warn(line)


def _refuse_changed(tuning: Tuning) -> None:
    found = standing(tuning)
    if found is not None:
        raise HostError(f"{found[1]}; `{UNDO}` restores them, then they can be changed again")


def _forget(tuning: Tuning, say: Say) -> None:
    tuning.forget()
    say("the machine was restarted since settings were changed, which restored them; their record is removed")
