"""What every format says of nodes: terminal, JSON, CSV, Markdown, the HTML report and LaTeX."""

from __future__ import annotations

import csv
import io
import json

import pytest

from experiments import Node, rounds, write
from layoutrand.cli import run as layoutrand
from layoutrand.config.config import parse
from nodekit import FACTS, SLOW, one_system
from nodekit import NODES as NODE_OF_ROUND
from warningkit import unwrapped

TOML = """\
[project]
name = "fake"
[build]
commands = ["make"]
artefacts = ["prog"]
[systems.a]
[systems.b]
[[benchmarks]]
name = "b"
command = ["{artefact}"]
[cluster]
kind = "dask"
scheduler = "tcp://127.0.0.1:1"
shared = "/tmp/shared"
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Both systems on four nodes of one kind, the last 10 % slower and with another governor."""
    (tmp_path / "layoutrand.toml").write_text(TOML)
    config = parse(TOML, path="layoutrand.toml")
    facts = [
        Node(name, {**FACTS, "governor": "powersave" if name == "n3" else "performance", "hostname": name})
        for name in SLOW
    ]
    rows = [
        row
        for number, system in enumerate(("a", "b"))
        for row in rounds(config, tmp_path, system, "b", NODE_OF_ROUND, one_system(30 + number, ratio=1 + number / 50))
    ]
    write(config, tmp_path, rows, nodes=facts, host="pool-0123", hostname="nodes with CPU (8 CPUs)")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capfd, *arguments):
    assert layoutrand(list(arguments)) == 0
    return capfd.readouterr()


def test_the_terminal(project, capfd):
    out = unwrapped(printed(capfd, "analyse", "--full").out)

    assert "4 nodes that differ (p < 0.0001)" in out
    assert "node n3 is 1" in out
    assert "it executed 6 of 24 seeds; taken out of the layout variance" in out
    assert "nodes n0, n1, n2, n3 (nodes with CPU (8 CPUs))" in out


def test_a_comparison_on_the_terminal(project, capfd):
    found = printed(capfd, "compare", "a", "b", "--full")
    assert "slower than the others" in unwrapped(found.out)
    assert "nodes differ in CPU governor" in found.err


def test_json_has_nodes_beside_what_it_had(project, capfd):
    document = json.loads(printed(capfd, "analyse", "--json").out)
    row = document["benchmarks"][0]

    assert document["evidence"]["nodes"] == ["n0", "n1", "n2", "n3"]
    assert [each["node"] for each in document["nodes"]["nodes"]] == ["n0", "n1", "n2", "n3"]
    assert document["nodes"]["nodes"][3]["facts"] == {"governor": "powersave"}
    assert document["nodes"]["counted"] == "rounds"
    assert [level["level"] for level in row["levels"]] == ["node", "binary"]
    assert (row["nodes"]["adjustment"], row["nodes"]["degrees_lost"], row["nodes"]["method"]) == ("within", 3, "within")
    assert {each["node"]: each["n_executions"] for each in row["nodes"]["effects"]} == dict.fromkeys(SLOW, 12)
    assert json.loads(printed(capfd, "compare", "a", "b", "--json").out)["nodes"]["nodes"][3]["stands_out"]


def test_csv_has_nodes_as_a_level(project, capfd):
    (row, _) = csv.DictReader(io.StringIO(printed(capfd, "analyse", "--csv").out))

    assert 0.04 < float(row["node_relative_sd"]) < 0.06
    assert float(row["nodes_between_sd"]) == pytest.approx(float(row["node_relative_sd"]))
    assert sorted(row["nodes_effects"].split("; ")) == sorted(SLOW)


def test_markdown_has_the_table(project, capfd):
    out = printed(capfd, "analyse", "--markdown").out
    assert "### Nodes: how much slower than their geometric mean, over all benchmarks, 95 % interval from rounds" in out
    assert "| n3 | 6 | 24 | +" in out
    assert "| yes | powersave |" in out


def test_the_report_shows_the_nodes_instead_of_the_home_machine(project, capfd):
    printed(capfd, "report", "-o", "out.html", "--baseline", "a")
    text = (project / "out.html").read_text()

    assert "Nodes n0, n1, n2, n3, as recorded when they executed" in text
    assert "performance (n0, n1, n2); powersave (n3)" in text
    assert "Host, as recorded with the executions" not in text
    assert "Node is a blocking factor" in text
    assert "slower than the others" in text


def test_latex_has_the_table(project, capfd):
    printed(capfd, "figures", "-o", "figures", "--format", "tex", "--baseline", "a")
    (table,) = (project / "figures").glob("Nodes*.tex")
    assert "n3" in table.read_text()


def test_results_come_back_from_an_export(project, capfd):
    printed(capfd, "export", "--format", "csv", "-o", "all.csv")
    document = json.loads(printed(capfd, "analyse", "--import", "all.csv", "--json").out)
    own = json.loads(printed(capfd, "analyse", "--json").out)

    for one, other in zip(document["benchmarks"], own["benchmarks"], strict=True):
        assert (one["mean"], one["interval"], one["nodes"]) == (other["mean"], other["interval"], other["nodes"])
