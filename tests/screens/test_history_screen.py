"""The screen of `history`: transcripts, and what holds of pages, documents and exports of the same results.

``LAYOUTRAND_ANSWERS=write`` writes the transcripts anew.
"""

import csv
import io
import json
import os
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

import gitkit
from experiments import execution, write
from fakes import make_config
from layoutrand.cli import history_command, run
from layoutrand.execute.cases import ABSENT
from layoutrand.harnesses.case_names import metric_of
from layoutrand.harnesses.command_words import with_harness_words
from layoutrand.history.history_warnings import UnbuiltCommits, without_numbers
from layoutrand.model import BuiltFrom, Measurement
from layoutrand.screens import history_screen
from layoutrand.screens.charts import SCREEN_LINES

KEPT = Path(__file__).parent / "answers"
NAMES = ("work", "startup")
HEAD = '[project]\nname = "fake"\n[build]\ncommands = ["x"]\nartefacts = ["prog"]\n[systems.O2]\n'
TABLES = "".join(f'[[benchmarks]]\nname = "{name}"\ncommand = ["{{artefact}}"]\n' for name in NAMES)
N_COMMITS, N_SEEDS = 12, 10
CONTROLS = ("stock", "identity")
SLOWER_FROM, LAYOUT_FROM = 7, 4
DISTURBED = {"disturbances": ("busy",), "host_state": {"other_cpu_s": 1.0, "other_cpu": []}}


def value(chance, name, number, layout, round_effect):
    """Commit 7 makes `work` slower; at commit 4 the user's own build of `startup` is moved, and nothing else."""
    mean = 0.05 * round_effect
    if name == "work" and number >= SLOWER_FROM:
        mean *= 1.037
    if name == "startup" and number >= LAYOUT_FROM and layout == "stock":
        mean *= 1.042
    return mean * chance.gauss(1, 0.002 if layout == "stock" else 0.006)


def measured_commits(
    root,
    *,
    apart=False,
    dirty=(),
    unbuilt=(),
    n_commits=N_COMMITS,
    n_seeds=N_SEEDS,
    unit="s",
    disturbed=0.0,
    also=None,
    also_slower=(),
    without=lambda name, number: False,
    subject="Change number",
    make_commits=None,
    node=lambda seed: ("", 1.0),
):
    """A repository whose commits were all measured: side by side, or (in ``apart`` seeds) one after the other."""
    chance = random.Random(8)
    config = make_config(TABLES, systems=("O2",))
    gitkit.make(root)
    (root / "layoutrand.toml").write_text(HEAD + TABLES)
    commits = (
        make_commits(root)
        if make_commits
        else [gitkit.commit(root, {"a.c": f"// {k}"}, f"{subject} {k}") for k in range(n_commits)]
    )
    # The third commit is the program of the second.
    captures = {k: f"capture-{k - (k == 2)}" for k in range(n_commits)}
    rows, order = [], 0
    slots = [(seed, k) for seed in range(1, n_seeds + 1) for k in captures if k != 2]
    n_apart = n_seeds if apart is True else apart
    slots.sort(key=lambda slot: (0, slot[1]) if slot[0] <= n_apart else (1,))
    effects = {seed: chance.gauss(1, 0.05) for seed in range(1, n_seeds + 1)}
    for seed, k in slots:
        for name in [name for name in NAMES if not without(name, k)]:
            for layout in (seed,) if k in unbuilt else (seed, "stock"):
                order += 1
                on, slower = node(seed)
                time = slower * value(chance, name, k, layout, effects[seed])
                rows.append(
                    execution(
                        config,
                        root,
                        f"O2 @{captures[k]}",
                        name,
                        layout,
                        round=seed,
                        capture=captures[k],
                        started_at=1e9 + order,
                        node=on,
                        measurements=(
                            Measurement("wall_s", unit, 0, time, warmup=False),
                            *(
                                Measurement(each, "s", 0, mean * grown * (1 + 1e-4 * chance.random()), warmup=False)
                                for each, mean in (also or {}).items()
                                for grown in [1.05 if each in also_slower and k >= SLOWER_FROM else 1.0]
                            ),
                        ),
                        **(DISTURBED if name == "work" and order % 100 < 100 * disturbed else {}),
                    )
                )
    built = [
        BuiltFrom(
            f"O2 @{captures[k]}", captures[k], commit, "tree", 1_700_000_000.0, f"{subject} {k}", dirty=k in dirty
        )
        for k, commit in enumerate(commits)
    ]
    write(config, root, rows, built=built, hostname="vm")
    return commits


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("history") / "p"
    return root, measured_commits(root)


@pytest.fixture
def said(monkeypatch, capsys):
    def of(root, *arguments, width=80):
        monkeypatch.chdir(root)
        monkeypatch.setattr("layoutrand.cli.terminal.terminal_width", lambda: width)
        assert run(["history", *arguments]) == 0
        return capsys.readouterr().out

    return of


def kept_or_written(name, text):
    path = KEPT / f"{name}.txt"
    if os.environ.get("LAYOUTRAND_ANSWERS") == "write":
        path.write_text(text)
    return path.read_text()


def test_what_nodes_add_is_in_no_mean(tmp_path, said):
    """One node takes twice as long: with that in it an interval would be as wide as the mean."""
    of_nodes = {"p": lambda seed: ("", 1.0), "q": lambda seed: ("slow", 2.0) if seed % 2 else ("fast", 1.0)}
    widths = {}
    for name, node in of_nodes.items():
        measured_commits(tmp_path / name, node=node, n_commits=4)
        series = json.loads(said(tmp_path / name, "--json"))["series"]
        points = [point for each in series for point in each["points"]]
        widths[name] = max(each["relative_half_width"] for each in points)
    assert widths["p"] < 0.1
    assert widths["q"] < 0.1


def test_of_counts_it_is_more_or_less_on_the_screen_in_sentences_and_on_the_page(tmp_path, said):
    measured_commits(tmp_path / "p", unit="1")
    screen, full = said(tmp_path / "p"), said(tmp_path / "p", "--full", "--html", "page.html")
    page = (tmp_path / "p" / "page.html").read_text()
    assert "✗ more  +3.7" in screen and ": more: +3.7" in full and ">more: 1<" in page and "✗ more +3.7" in page
    assert not any("slower" in each for each in (screen, full))
    assert "ⓘ work, startup: judged by wall_s, which is no time" in screen


@pytest.mark.parametrize("width", [80, 120])
def test_transcripts(project, said, width):
    text = said(project[0], width=width)
    lines = text.splitlines()
    assert text == kept_or_written(f"history-{width}", text)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= 20
    assert "slower" in text
    assert "layout only" in text


def test_the_document_has_both_steps_each_at_its_commit(project, said):
    root, commits = project
    document = json.loads(said(root, "--json"))
    steps = {series["benchmark"]: series["steps"] for series in document["series"]}
    (slower,), (layout,) = steps["work"], steps["startup"]
    assert (slower["verdict"], slower["commit"]) == ("slower", commits[SLOWER_FROM])
    assert slower["interval"][0] < 1.037 < slower["interval"][1]
    assert (layout["verdict"], layout["commit"]) == ("layout only", commits[LAYOUT_FROM])
    assert layout["stock"]["ratio"] == pytest.approx(1.042, abs=0.005)
    points = document["series"][0]["points"]
    assert points[1]["commits"] == commits[1:3]
    assert [row["commit"] for row in document["commits"]] == commits
    assert document["series"][0]["compared"] == "by round"
    since = json.loads(said(root, "--json", "--since", commits[5], "--benchmark", "startup"))
    assert [row["commit"] for row in since["commits"]] == commits[5:]
    assert [series["steps"] for series in since["series"]] == [[]]
    assert any("left out 4 measured commits" in each or "left out 5 measured" in each for each in since["warnings"])


def test_sentences_of_a_series_are_of_its_metric_alone(tmp_path, said):
    """Those of another metric of the same benchmark were among them, so a step of one stood beside "no step" of it."""
    root = tmp_path / "p"
    measured_commits(root, also={"user_s": 1.0})
    (of_wall, of_user) = json.loads(
        said(root, "--json", "--benchmark", "work", "--metric", "wall_s", "--metric", "user_s", "--html", "h.html")
    )["series"]
    assert [len(series["sentences"]) for series in (of_wall, of_user)] == [1, 1]
    assert of_wall["sentences"][0].startswith("work, O2, wall_s: slower")
    assert of_user["sentences"][0].startswith("work, O2, user_s: no step")
    first, second = (root / "h.html").read_text().split('id="series-0"')[1].split('id="series-1"')
    found = [("wall_s: slower" in card, "user_s: no step" in card) for card in (first, second)]
    assert found == [(True, False), (False, True)]


def test_the_ends_are_the_first_and_the_last_commit_of_all_benchmarks(tmp_path, said):
    """Those of the first benchmark's first and the last one's last were told, also where these were added or dropped."""
    commits = measured_commits(tmp_path / "p", without=lambda name, k: name == "startup" and k >= 8)
    assert f"{commits[0][:9]} … {commits[-1][:9]}" in said(tmp_path / "p")


@pytest.mark.parametrize("width", [60, 80])
def test_nothing_is_wider_than_the_screen(tmp_path, said, width):
    measured_commits(tmp_path / "p", unbuilt=(0, 3, 9), subject="漢字" * 40)
    measured_commits(tmp_path / "q", n_commits=2, n_seeds=7, apart=True)
    for root in ("p", "q"):
        lines = said(tmp_path / root, width=width).splitlines()
        assert max(map(cell_len, lines)) <= width
    assert "too few commits for what was measured at different times" in " ".join(" ".join(lines).split())


def test_steps_that_there_is_no_room_for_are_counted(project, said, monkeypatch):
    """More of one benchmark than are shown were left out without a word."""

    def several(history):
        first, second = history.series
        steps = tuple(replace(first.steps[0], place=place, first=place, last=place) for place in range(1, 9))
        return replace(history, series=(replace(first, steps=steps), second))

    changed_screen(monkeypatch, several)
    lines = said(project[0]).splitlines()
    shown = sum(line.startswith("    ✗ slower") for line in lines)
    assert shown < 8
    assert f"    and {8 - shown} more: --full" in lines


def test_what_is_the_same_of_several_benchmarks_is_told_once(tmp_path, said):
    measured_commits(tmp_path / "p", n_commits=4, n_seeds=2)
    told = "work, startup, O2: 3 programs with 2 layouts in common cannot show a step"
    for given in ((), ("--full",), ("--json",)):
        text = " ".join(said(tmp_path / "p", *given).split())
        assert text.count("cannot show a step, whatever its size") <= 1
    assert told in " ".join(said(tmp_path / "p").split())
    (whole,) = [each for each in json.loads(said(tmp_path / "p", "--json"))["warnings"] if "cannot show" in each]
    assert whole.startswith(told)


def test_the_page_names_what_so_few_commits_cannot_show_a_step_of(tmp_path, said):
    """It stood unnamed beside the steps of others."""
    measured_commits(tmp_path / "p", without=lambda name, k: name == "startup" and k > 0)
    said(tmp_path / "p", "--html", "h.html")
    page = (tmp_path / "p" / "h.html").read_text()
    assert ">slower: 1<" in page and "startup: so few commits cannot show a step" in page


def test_commits_with_few_layouts_in_common_are_told_that_these_are_missing(tmp_path, said):
    """Two rounds of four commits, side by side: nothing was measured at another time, and no commit is missing."""
    commits = measured_commits(tmp_path / "p", n_commits=4, n_seeds=2)
    text = said(tmp_path / "p", "--html", str(tmp_path / "h.html"))
    assert "cannot tell: too few layouts" in text
    assert "3 programs with 2 layouts in common cannot show a step" in text
    range_of_all = f"{commits[0][:9]}..{commits[-1][:9]}"
    assert f"`layoutrand history --run {range_of_all} --seeds 10`" in " ".join(text.split())
    full = " ".join(said(tmp_path / "p", "--full").split())
    assert "commits have 2 layouts in common and it takes 6 to compare them round by round" in full
    page = (tmp_path / "h.html").read_text()
    assert "so few layouts cannot show a step" in page
    assert not any("different times" in each or "too few commits" in each for each in (text, full, page))

    measured_commits(tmp_path / "q", n_commits=4, n_seeds=6)  # what was said to do does it
    assert "cannot tell: too few" not in said(tmp_path / "q")


def test_two_commits_of_different_times_are_told_which_layouts_would_do(tmp_path, said):
    """Those that were executed would not: what is recorded of a commit is not executed again beside the other."""
    commits = measured_commits(tmp_path / "p", n_commits=2, n_seeds=7, apart=True)
    text = said(tmp_path / "p")
    assert "cannot tell: too few commits for what was measured at different times" in text
    command = f"layoutrand history --run {commits[0][:9]}..{commits[1][:9]} --seeds 8..17"
    assert f"with new seeds they may: `{command}`" in " ".join(text.split())

    measured_commits(tmp_path / "q", n_commits=2, n_seeds=14, apart=7)  # what was said to do does it
    assert "cannot tell: too few" not in said(tmp_path / "q")
    enough = said(tmp_path / "q", "--threshold", "0.01%", "--html", str(tmp_path / "h.html"))
    (size,) = set(re.findall(r"a step below about (\S+ %) would not show", enough))
    assert f"a step of more than about {size} can be told" in (tmp_path / "h.html").read_text().replace("\u00a0", " ")
    measured_commits(tmp_path / "r", n_commits=2, n_seeds=13, apart=7)  # and less does not
    assert "cannot tell: too few" in said(tmp_path / "r")


@pytest.mark.parametrize(("few", "seeds"), [(2, None), (5, None), (6, 30), (5040, 10)])
def test_no_layouts_are_asked_for_that_a_program_has_not(tmp_path, said, monkeypatch, few, seeds):
    """Of few layouts two seeds often have the same one, so it takes more seeds than layouts."""
    asked = []
    monkeypatch.setattr(
        history_command, "layouts_of_captures", lambda _, captures: asked.append(captures) or {min(captures): few}
    )
    measured_commits(tmp_path / "p", n_commits=4, n_seeds=2)
    text = " ".join(said(tmp_path / "p").split()).replace("text- offset", "text-offset")
    assert {frozenset(each) for each in asked} == {frozenset(f"capture-{k}" for k in (0, 1, 3))}
    if seeds is None:
        assert f"there are only {few} distinct layouts: factors such as text-offset and padding in" in text
        assert "--seeds" not in text
    else:
        assert f"--seeds {seeds}`" in text and "distinct layouts" not in text


def test_commits_that_are_one_program_are_said_to_be_and_not_to_be_too_few(tmp_path, said):
    """Nothing that is executed could tell more: they are the same."""
    commits = measured_commits(tmp_path / "p", n_commits=3)
    text = said(
        tmp_path / "p", "--since", commits[1], "--html", str(tmp_path / "h.html")
    )  # the third is that of the second
    assert f"{commits[1][:9]} … {commits[2][:9]}" in text
    assert text.count("= same program at all commits") == 2
    for each in (text, said(tmp_path / "p", "--since", commits[1], "--full"), (tmp_path / "h.html").read_text()):
        assert "same program at all commits" in each
        assert "cannot tell" not in each
        assert "cannot show" not in each


def test_commits_that_are_one_program_need_no_machine_without_disturbances(tmp_path, said):
    commits = measured_commits(tmp_path / "p", n_commits=3, disturbed=0.3)
    assert "work: " in said(tmp_path / "p") and "were disturbed" in said(tmp_path / "p")
    one = said(tmp_path / "p", "--since", commits[1])
    assert "= same program at all commits" in one and "disturb" not in one and "Next" not in one
    assert "were disturbed" in said(tmp_path / "p", "--since", commits[1], "--json")


def test_that_flags_of_the_system_may_hide_what_a_commit_changes_is_told(tmp_path, said):
    """A makefile that went from -O2 to -O1 is one program where layoutrand.toml has cflags."""
    commits = measured_commits(tmp_path / "p", n_commits=3)
    assert "win over" not in said(tmp_path / "p", "--since", commits[1])
    configured = tmp_path / "p" / "layoutrand.toml"
    configured.write_text(configured.read_text().replace("[systems.O2]", '[systems.O2]\ncflags = "-O2"'))
    one = " ".join(said(tmp_path / "p", "--since", commits[1]).split())
    assert one.count("system O2 has flags (cflags), which win over the build's own") == 1
    assert "win over" not in said(tmp_path / "p")  # of steps that are there


def test_of_one_commit_it_is_said_how_to_measure_more(tmp_path, said):
    (commit,) = measured_commits(tmp_path / "p", n_commits=1)
    text = " ".join(said(tmp_path / "p").split())
    assert text.count("cannot tell") == text.count("cannot show") == 1  # and not of each series
    assert "`layoutrand history --run OLD..NEW` measures commits from OLD to NEW" in text
    assert "startup" not in text and "as built" not in text  # whose bars would have nothing beside them
    assert f"· vm · {commit[:9]} ?" in text  # not as a range from itself to itself


def test_tables_and_page_name_every_commit(project, said, tmp_path):
    root, commits = project
    text = said(root, "--full", "--html", str(tmp_path / "h.html"))
    page = (tmp_path / "h.html").read_text()
    for number, commit in enumerate(commits):
        assert commit[:9] in text
        assert f"Change number {number}" in page
    assert "same program" in text
    assert "layout only" in page
    assert page.count("<svg") >= 2


def test_commits_measured_one_after_the_other_are_compared_by_their_means(tmp_path, said):
    commits = measured_commits(tmp_path / "p", apart=True, dirty=(0,))
    document = json.loads(said(tmp_path / "p", "--json", "--benchmark", "work"))
    (series,) = document["series"]
    assert series["compared"] == "by mean"
    assert [step["commit"] for step in series["steps"]] == [commits[SLOWER_FROM]]
    assert any("work trees with changes" in each for each in document["warnings"])


def test_of_steps_between_different_times_it_is_said_that_the_machine_may_have_made_them(tmp_path, project, said):
    """What a slow spell of the machine would look like, and what tells it from the program."""
    commits = measured_commits(tmp_path / "p", apart=True)
    screen = said(tmp_path / "p", width=120)
    told = " ".join(screen.split())
    assert "work, O2: commits were measured at different times, so a machine that was slow for some of them on" in told
    assert "`layoutrand bisect` executes both sides in the same rounds" in told
    pair = f"{commits[SLOWER_FROM - 1][:9]} {commits[SLOWER_FROM][:9]}"
    assert f"layoutrand bisect {pair} --benchmark work --system O2" in told  # of several systems bisect takes the first
    assert "startup, O2: commits" not in told  # of which the layouts have no step
    full = " ".join(said(tmp_path / "p", "--full", "--html", "page.html").split())
    beyond = "of commits measured at different times more do where the machine is slow for some of them on end"
    assert "of histories without a step at most 5 % show one" in full.replace("Of", "of")
    assert beyond in full and beyond in (tmp_path / "p" / "page.html").read_text()
    (series,) = json.loads(said(tmp_path / "p", "--json", "--benchmark", "work"))["series"]
    assert [step["verdict"] for step in series["steps"]] == ["slower"]

    beside = [said(project[0]), said(project[0], "--full")]
    assert not any("different times" in each or "bisect" in each for each in beside)


def merged_branches(root):
    """Twelve commits: five, two beside two others, a merge of these, and two more."""
    for k in range(5):
        base = gitkit.commit(root, {"a.c": f"// {k}"})
    gitkit.git("checkout", "-q", "-b", "side", cwd=root)
    for k in range(2):
        gitkit.commit(root, {"side.c": f"// {k}"})
    gitkit.git("checkout", "-q", "-b", "main-line", base, cwd=root)
    for k in range(2):
        gitkit.commit(root, {"main.c": f"// {k}"})
    gitkit.git("merge", "-q", "--no-ff", "-m", "Merge side", "side", cwd=root)
    for k in range(2):
        gitkit.commit(root, {"a.c": f"// {k + 10}"})
    return gitkit.git("rev-list", "--topo-order", "--reverse", "HEAD", cwd=root).split()


def test_bisect_is_advised_of_the_metric_that_has_the_step(tmp_path, said):
    """It is judged by the main one where none is named, which may have no step: it found none."""
    commits = measured_commits(tmp_path / "p", apart=True, also={"user_s": 0.04}, also_slower=("user_s",))
    screen = said(tmp_path / "p", "--benchmark", "work", "--metric", "user_s", width=120)
    pair = f"{commits[SLOWER_FROM - 1][:9]} {commits[SLOWER_FROM][:9]}"
    assert f"Next: layoutrand bisect {pair} --benchmark work --system O2 --metric user_s" in screen
    assert "--metric" not in said(tmp_path / "p", "--benchmark", "work", "--metric", "wall_s", width=120)


def test_bisect_is_advised_between_commits_of_which_one_descends_from_the_other(tmp_path, said):
    """The commit before the step in the order of the screen may be of a branch beside it: `bisect` refused the two."""
    commits = measured_commits(tmp_path / "p", apart=True, make_commits=merged_branches)
    told = " ".join(said(tmp_path / "p", "--benchmark", "work").split())
    good, bad = (commits[k][:9] for k in (4, SLOWER_FROM))
    assert f"Next: layoutrand bisect {good} {bad} --benchmark work" in told
    gitkit.git("merge-base", "--is-ancestor", good, bad, cwd=tmp_path / "p")


def test_commits_without_stock_leave_that_of_the_others(tmp_path, said):
    commits = measured_commits(tmp_path / "p", unbuilt=(0, 3, 9))
    document = json.loads(said(tmp_path / "p", "--json"))
    (layout,) = document["series"][1]["steps"]
    assert (layout["verdict"], layout["commit"], layout["after"]) == ("layout only", commits[LAYOUT_FROM], commits[2])
    assert layout["n_other_commits"] == 1
    (slower,) = document["series"][0]["steps"]
    assert slower["stock"]["ratio"] == pytest.approx(1.037, abs=0.01)
    rows = [line for line in said(tmp_path / "p").splitlines() if line.startswith("  as built")]
    assert [row[12:].rstrip().count(" ") for row in rows] == [3, 3]


def test_noise_that_would_hide_a_step_is_no_sign_that_there_is_none(project, said, tmp_path):
    root, commits = project
    text = said(root, "--since", commits[LAYOUT_FROM + 1], "--benchmark", "startup")
    assert "≈ no step beyond 1 %" in text
    some = ("--since", commits[LAYOUT_FROM + 1], "--benchmark", "startup", "--html", str(tmp_path / "h.html"))
    strict = said(root, *some, "--threshold", "0.01%")
    assert "? cannot tell: a step below about 0." in strict
    assert ">no step<" not in (tmp_path / "h.html").read_text().replace("\u00a0", " ")
    said(root, *some)
    assert ">no step<" in (tmp_path / "h.html").read_text().replace("\u00a0", " ")


def test_exports_over_commits(project, monkeypatch, capsys):
    root, commits = project
    monkeypatch.chdir(root)
    assert run(["export", "--format", "otava-csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["commit"] for row in rows] == commits
    assert list(rows[0]) == ["time", "commit", "work", "work.as-built", "startup", "startup.as-built"]
    assert len({row["time"] for row in rows}) == N_COMMITS  # dates of commits may be equal, Otava's points may not
    assert float(rows[-1]["work"]) / float(rows[0]["work"]) == pytest.approx(1.037, abs=0.01)
    assert run(["export", "--format", "otava-json", "--benchmark", "work"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first["attributes"] == {"commit": commits[0]}
    assert [metric["name"] for metric in first["metrics"]] == ["work", "work.as-built"]
    assert isinstance(first["timestamp"], int)


def test_without_results_it_says_how_to_get_some(tmp_path, monkeypatch, capsys):
    root = tmp_path / "p"
    config = make_config(TABLES, systems=("O2",))
    gitkit.make(root, {"a.c": ""})
    (root / "layoutrand.toml").write_text(HEAD + TABLES)
    row = execution(config, root, "O2", "work", 1, measurements=(Measurement("wall_s", "s", 0, 1.0, warmup=False),))
    write(config, root, [row])
    monkeypatch.chdir(root)
    assert run(["history"]) == 1
    assert "history --run OLD..NEW" in capsys.readouterr().err
    assert run(["history", "--run", "HEAD"]) == 2
    assert "OLD..NEW" in capsys.readouterr().err
    assert history_command.__name__.endswith("history_command")


def said_of_nothing(tmp_path, monkeypatch, capsys, *executed):
    """What `history` says of one commit, of which these executions are recorded (layout, and what differs)."""
    recorded_of_one_commit(tmp_path, monkeypatch, executed)
    assert run(["history"]) == 1
    return " ".join(capsys.readouterr().err.split())


def recorded_of_one_commit(tmp_path, monkeypatch, executed):
    """A project with these executions, in whose directory commands are called."""
    root = tmp_path / "p"
    config = make_config(TABLES, systems=("O2",))
    gitkit.make(root)
    (root / "layoutrand.toml").write_text(HEAD + TABLES)
    commit = gitkit.commit(root, {"a.c": ""})
    rows = [
        execution(config, root, "O2 @c", what.pop("of", "work"), layout, capture="c", **what)
        for layout, what in executed
    ]
    write(config, root, rows, built=[BuiltFrom("O2 @c", "c", commit, "tree", 1e9, "first", dirty=False)])
    monkeypatch.chdir(root)


def test_where_all_executions_failed_it_says_so_and_not_how_to_get_results(tmp_path, monkeypatch, capsys):
    """That `history --run` builds and executes a range is no advice for somebody who has just done that."""
    failed = {"status": "exit", "reason": "no data", "log": "logs/1"}
    said = said_of_nothing(tmp_path, monkeypatch, capsys, (1, failed), (2, failed))
    assert (
        "no execution of 1 commit in a layout gave a number: 2 executions failed, such as one of work: no data; "
        "log logs/1" in said
    )
    assert "--retry-failed" in said and "no results of commits" not in said


def test_where_controls_succeeded_and_layouts_failed_it_says_what_failed(tmp_path, monkeypatch, capsys):
    """It said that no execution gave a number."""
    number = {"measurements": (Measurement("wall_s", "s", 0, 1.0, warmup=False),)}
    failed = {"status": "exit", "reason": "no data"}
    said = said_of_nothing(tmp_path, monkeypatch, capsys, *((each, dict(number)) for each in CONTROLS), (1, failed))
    assert (
        "no execution of 1 commit in a layout gave a number: 1 execution failed, such as one of work: no data" in said
    )


def test_a_benchmark_of_which_every_execution_failed_is_named_beside_those_with_a_history(tmp_path):
    """It had no row and no word, and the status was that of an answer."""
    config = make_config(TABLES, systems=("O2",))
    lost = [execution(config, tmp_path, "O2 @c", "work", seed, status="exit", reason="no\ndata") for seed in (1, 2)]
    once = replace(lost[0], benchmark="start")
    some = [replace(each, benchmark="both", status=status) for each, status in zip(lost, ("ok", "exit"), strict=True)]
    told = [str(each) for each in without_numbers("O2", [*lost, once, *some])]
    assert [each.partition("; ")[0] for each in told] == [
        "work, O2: all 2 executions in layouts failed, so there is no history of it: no data",
        "start, O2: its execution in a layout failed, so there is no history of it: no data",
    ]
    assert all("--retry-failed" in each for each in told)


def test_a_case_that_a_commit_does_not_have_has_not_failed_there(tmp_path, monkeypatch, capsys):
    """A case that a later commit adds: of a history up to the one before, all its executions were said to have failed."""
    root = tmp_path / "p"
    tables = '[[benchmarks]]\nname = "bench"\nharness = "google-benchmark"\ncommand = ["{artefact}"]\n'
    config = with_harness_words(make_config(tables, systems=("O2",)), "layoutrand.toml")
    gitkit.make(root)
    (root / "layoutrand.toml").write_text(HEAD + tables)
    commits = [gitkit.commit(root, {"a.c": f"// {k}"}) for k in range(2)]
    rows = [
        execution(
            config,
            root,
            f"O2 @{k}",
            "bench",
            seed,
            capture=f"c{k}",
            measurements=tuple(
                Measurement(metric_of(case, "time_s"), "s", 0, 1.0 + seed / 7, warmup=False) for case in ("B/1", "B/2")
            )[: 1 + k],
        )
        for k in range(2)
        for seed in (1, 2)
    ]
    built = [BuiltFrom(f"O2 @{k}", f"c{k}", commits[k], "tree", 1e9 + k, "one", dirty=False) for k in range(2)]
    write(config, root, rows, built=built)
    monkeypatch.chdir(root)
    assert run(["history", "--until", commits[0], "--full"]) == 0
    said = capsys.readouterr()
    assert "bench/B/1" in said.out
    assert "bench/B/2" not in said.out + said.err


def test_of_a_case_those_executions_are_counted_whose_program_has_it(tmp_path):
    config = make_config(TABLES, systems=("O2",))
    absent, *lost = (
        execution(config, tmp_path, "O2 @c", "work", 1, capture=capture, status="exit", reason=reason)
        for capture, reason in (("old", ABSENT), ("new", "no data"), ("new", "no data"))
    )
    gone = replace(lost[0], capture="old")  # a process that failed of a program without the case
    assert without_numbers("O2", [absent, gone]) == []
    assert [each.count for each in without_numbers("O2", [absent, gone, *lost])] == [2]


def test_a_benchmark_of_which_nothing_succeeded_is_named_on_the_screen_of_the_others(tmp_path, monkeypatch, capsys):
    number = {"measurements": (Measurement("wall_s", "s", 0, 1.0, warmup=False),)}
    failed = {"of": "startup", "status": "exit", "reason": "no data"}
    executed = [(seed, dict(what)) for seed in (1, 2) for what in (number, failed)]
    executed += [(control, number | {"of": "startup"}) for control in CONTROLS]  # which are no history of it
    recorded_of_one_commit(tmp_path, monkeypatch, executed)
    assert run(["history"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "startup, O2: all 2 executions in layouts failed, so there is no history of it: no data" in said
    assert "work, O2: all" not in said


def test_where_no_layout_was_executed_it_says_so(tmp_path, monkeypatch, capsys):
    """As of a program of one function, all of whose layouts fail: stock and identity were executed."""
    number = {"measurements": (Measurement("wall_s", "s", 0, 1.0, warmup=False),)}
    told = said_of_nothing(tmp_path, monkeypatch, capsys, *((each, number) for each in CONTROLS))
    assert "no layout of 1 commit was executed, only builds as they are" in told
    assert "`layoutrand build` says why" in told and "no results of commits" not in told


def test_executions_that_were_disturbed_are_told_as_compare_tells_them(project, tmp_path, said):
    commits = measured_commits(tmp_path / "p", disturbed=0.3)
    screen = said(tmp_path / "p")
    (line,) = [line for line in screen.splitlines() if "disturbed" in line and "Next" not in line]
    count = N_SEEDS * (N_COMMITS - 1) * 2
    found = re.fullmatch(rf"  ⚠ work: (\d+) of {count} executions were disturbed", line)
    assert found and 0.2 * count < int(found[1]) < 0.4 * count
    assert len(screen.splitlines()) <= history_screen.MOST_LINES
    (told,) = [each for each in json.loads(said(tmp_path / "p", "--json"))["warnings"] if "disturbed" in each]
    assert f"work: {found[1]} of {count} executions were disturbed (busy {found[1]}; O2 {found[1]})" in told
    one = said(tmp_path / "p", "--benchmark", "startup", "--since", commits[LAYOUT_FROM + 1])
    assert "disturbed" not in one
    alone = said(tmp_path / "p", "--benchmark", "work", "--since", commits[SLOWER_FROM])
    assert "  ⚠ " in alone and "Next: set run.disturbance.repeat = 3 in layoutrand.toml" in alone
    assert "disturbed" not in said(project[0])

    measured_commits(tmp_path / "few", disturbed=0.04)
    assert "disturbed" not in said(tmp_path / "few"), "so few cast no doubt, as with compare"
    assert "executions were disturbed" in said(tmp_path / "few", "--json")


@pytest.mark.parametrize(("benchmark", "told"), [("work", True), ("another", False)])
def test_of_other_settings_only_what_was_asked_for_is_said_to_be_left_out(tmp_path, said, benchmark, told):
    """As where `try` executed a program under a name of its own, in the same file of results."""
    root = tmp_path / "p"
    measured_commits(root)
    other = make_config(TABLES.replace('"work"', f'"{benchmark}"') + "[layout]\nclasses = 'mix'\n", systems=("O2",))
    row = execution(other, root, "O2", benchmark, 1, capture="x", started_at=1.0)
    write(other, root, [row], hostname="vm")
    words = " ".join(said(root, "--system", "O2").split())
    assert ("left out 1 execution under other settings of [layout] or [run]" in words) is told


def changed_screen(monkeypatch, change):
    """The screen of a history that was changed."""
    shown = history_screen.history_screen
    monkeypatch.setattr(history_screen, "history_screen", lambda history, columns: shown(change(history), columns))


def test_a_step_of_unknown_size_takes_more_layouts(project, said, monkeypatch):
    def unknown(history):
        series = [
            replace(each, steps=tuple(replace(step, verdict="size unknown") for step in each.steps))
            for each in history.series
        ]
        return replace(history, series=tuple(series))

    root, commits = project
    changed_screen(monkeypatch, unknown)
    screen = " ".join(said(root).split())
    assert f"Next: layoutrand history --run {commits[0][:9]}..{commits[-1][:9]} --seeds {2 * N_SEEDS}" in screen


def test_nor_where_the_size_of_a_step_is_unknown(project, said, monkeypatch):
    shown = {}
    for few in (None, 2 * N_SEEDS + 1, 2 * N_SEEDS):

        def unknown(history, few=few):
            series = [
                replace(each, n_distinct=few, steps=tuple(replace(step, verdict="size unknown") for step in each.steps))
                for each in history.series
            ]
            return replace(history, series=tuple(series))

        with monkeypatch.context() as changing:
            changed_screen(changing, unknown)
            shown[few] = "Next: " in said(project[0])
    assert shown == {None: True, 2 * N_SEEDS + 1: True, 2 * N_SEEDS: False}


def test_commits_that_were_not_built_do_not_hide_what_else_is_to_be_known(project, said, monkeypatch):
    more = [UnbuiltCommits((name,), 9, name) for name in ("one", "two", "three")]
    changed_screen(monkeypatch, lambda history: replace(history, warnings=(*more, *history.warnings)))
    screen = said(project[0])
    assert all(f"left out: {name}" in screen for name in ("one", "two", "three"))
    assert len(screen.splitlines()) <= history_screen.MOST_LINES


def test_many_series_with_remarks_leave_some_to_full(tmp_path, said):
    """First remarks give way, then the series with the smallest steps, and what is left out is counted."""
    also = {f"a_metric_with_a_rather_long_name_{k}": 0.1 * k for k in range(1, 6)}
    measured_commits(tmp_path / "p", n_commits=8, n_seeds=3, apart=True, disturbed=0.5, also=also, dirty={4})
    metrics = [word for name in ("wall_s", *also) for word in ("--metric", name)]
    text = said(tmp_path / "p", *metrics)
    assert len(text.rstrip("\n").splitlines()) <= SCREEN_LINES
    assert " more without larger steps: --full" in text
    assert "more: --full" in text
