"""`doctor --tune`, `--undo` and what `run` does about settings, as a user meets it; no setting of this machine changes."""

import json
import os

import pytest

from startkit import layoutrand


@pytest.fixture
def env(tmp_path):
    """A place of its own for the undo record."""
    return {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache"), "LAYOUTRAND_STATE": str(tmp_path / "state")}


@pytest.fixture
def old_record(tmp_path):
    """A record from before the machine was restarted."""
    path = tmp_path / "state/undo.json"
    path.parent.mkdir()
    change = {"path": "proc/sys/kernel/nmi_watchdog", "before": "1", "after": "0"}
    record = {
        "schema": "layoutrand/undo/1",
        "boot_id": "another",
        "pid": 1,
        "started": 1,
        "keep": True,
        "changes": [change],
    }
    path.write_text(json.dumps(record))
    return path


@pytest.mark.slow
def test_undo_without_anything_to_undo(tmp_path, env):
    """It says so, shows the diagnosis and succeeds."""
    done = layoutrand("doctor", "--undo", "--json", cwd=tmp_path, env=env)

    assert "nothing to restore" in done.stderr
    assert json.loads(done.stdout)["changed"] is None


def test_tune_and_undo_at_once_is_refused(tmp_path, env):
    """Wrong usage."""
    assert layoutrand("doctor", "--tune", "--undo", cwd=tmp_path, env=env).returncode == 2


@pytest.mark.slow
def test_a_record_from_before_a_restart_is_told_and_dropped(tmp_path, env, old_record):
    """doctor tells, --undo drops it."""
    told = json.loads(layoutrand("doctor", "--json", cwd=tmp_path, env=env).stdout)
    kept = old_record.exists()
    dropped = layoutrand("doctor", "--undo", cwd=tmp_path, env=env)

    assert told["changed"]["keep"] is True
    assert any("before the machine was restarted" in problem["what"] for problem in told["problems"])
    assert kept
    assert "restarted" in dropped.stderr
    assert not old_record.exists()


def test_run_drops_it_too_and_flags_are_in_its_document(tmp_path, env, old_record):
    """A run on a program of one line."""
    (tmp_path / "main.c").write_text("int one(int x) { return x; } int main(void) { return one(0); }\n")
    (tmp_path / "layoutrand.toml").write_text(
        '[project]\nname = "p"\n[build]\ncommands = ["$CC -o p main.c"]\nartefacts = ["p"]\nexclude = ["cache", "state"]\n'
        '[systems.a]\n[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n[run.disturbance]\nrepeat = 1\n'
    )

    done = layoutrand("run", "--seeds", "2", "--json", cwd=tmp_path, env=env)

    assert done.returncode == 0, done.stderr
    assert "restarted" in done.stderr
    assert not old_record.exists()
    document = json.loads(done.stdout)
    assert document["executed"] == document["executions"]
    assert {"disturbed", "repeated"} <= set(document)
