from __future__ import annotations

import json

import psutil

from fakehost import FakeHost
from layoutrand.host import facts as host


def test_facts_are_json_and_name_the_machine():
    facts = host.host_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["hostname"]
    assert facts["cpus"] >= facts["cpus_allowed"] >= 1
    assert facts["memory_bytes"] > 1 << 20


def test_key_is_of_the_machine_not_of_its_settings():
    facts = host.host_facts()
    assert host.host_key(facts) == host.host_key(facts | {"governor": "x", "kernel": "y", "aslr": 0})
    assert host.host_key(facts) != host.host_key(facts | {"cpu_model": "another"})
    assert host.host_key(facts) != host.host_key(facts | {"hostname": "another"})


def test_state_is_small_and_json():
    state = host.host_state()
    assert state["load1"] >= 0
    assert len(json.dumps(state)) < 200


def test_a_node_is_called_by_the_variable_or_by_slurm_or_by_itself(monkeypatch):
    monkeypatch.setenv("LAYOUTRAND_NODE", "rack3-n7")
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    assert host.node_name() == "rack3-n7"
    monkeypatch.setenv("LAYOUTRAND_NODE", "")
    assert host.node_name() == "n7"
    monkeypatch.delenv("SLURMD_NODENAME")
    assert host.node_name() == host.host_facts()["hostname"]


def test_psutil_is_asked_of_another_machine_for_that_moment_alone(tmp_path):
    FakeHost(tmp_path).write("proc/meminfo", "SwapTotal: 9000 kB\nSwapFree: 904 kB")
    assert host.host_settings(tmp_path)["swap_used_bytes"] == 8096 * 1024
    assert host.host_settings(tmp_path / "absent")["swap_used_bytes"] == 0
    assert psutil.PROCFS_PATH == "/proc"
