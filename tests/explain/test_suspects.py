"""Suspects and their confirmation without a single process: layouts as addresses, measurements as numbers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import execution, measured, selected, write
from explainkit import EXPERIMENT, HOTNESS, explanation, interval, sample, suspect
from fakes import make_binary, make_config
from layoutrand.analysis.analyse import choose_metrics
from layoutrand.build.build import SystemBuild
from layoutrand.config.config import parse
from layoutrand.errors import AnalysisError, UsageError
from layoutrand.execute.run_plan import RunChoices, make_plan
from layoutrand.explain import predicted_layouts
from layoutrand.explain.confirming import (
    Confirmation,
    Groups,
    choose_groups,
    first_seed,
    in_random_order,
    verdict,
)
from layoutrand.explain.explain import (
    Confirmed,
    ExplainSetup,
    Unexplained,
    confirm,
    explain_selection,
    explained_before,
)
from layoutrand.explain.explain_warnings import (
    CostOutside,
    FewLayouts,
    MeasuredWhileChanging,
    NothingDiffers,
    NothingHot,
)
from layoutrand.explain.features import Feature, design
from layoutrand.explain.hot_functions import ProfilingSetup, _profile
from layoutrand.explain.hotness import Hotness
from layoutrand.explain.next_sweep import with_sweeps
from layoutrand.explain.other_artefacts import others_of
from layoutrand.explain.suspect_cause import SuspectCause, SuspectedMechanism
from layoutrand.explain.suspects import Subject, enough_means, means_of, suspects_of
from layoutrand.explain.suspects_document import explain_document
from layoutrand.explain.words import (
    answer,
    cause_of,
    could_be_found,
    looked_at,
    next_step,
    not_seen,
    nothing_found,
    of_confirmation,
    predicted,
    title,
    worse_where,
)
from layoutrand.instruments.profile import Profile
from layoutrand.screens.explain_tables import show_explanation
from layoutrand.stats import screen_features, split_factor


class Told:
    """A page that keeps the titles of its tables, and the warnings."""

    def __init__(self):
        self.titles, self.warnings = [], []

    def table(self, title, columns, rows):
        self.titles.append(title)

    def warn(self, line):
        self.warnings.append(line)

    def line(self, *_):
        pass

    sentence = line


@pytest.fixture
def planted():
    """Sixty layouts in which starting at 32 is worse."""
    starts = np.stack([16 * (np.arange(60) % 4), 4096 + 16 * np.arange(60)], axis=1)
    return suspect(starts, 1.0 + (starts[:, 0] % 64 == 32))


class Layouts:
    """A builder whose layouts put f at 16 times the seed."""

    def __init__(self, folder, fails=()):
        self.folder, self.fails, self.asked = folder, fails, []

    def build(self, seeds):
        self.asked += seeds
        made = tuple(make_binary(self.folder, "O2", seed, str(seed)) for seed in seeds if seed not in self.fails)
        return SystemBuild("O2", None, cached=False, binaries=made, failures=(), notes=())

    def locate(self, binaries):
        return np.array([[16 * binary.layout, 1 << 20] for binary in binaries])


def test_new_layouts_are_chosen_by_the_suspects_placement_alone(planted, tmp_path):
    layouts = Layouts(tmp_path)
    (groups,), _ = choose_groups(explanation(tmp_path), [planted], 4, 31, layouts.build, layouts.locate)

    assert groups.worse == (34, 38, 42, 46)  # those that start at 32, the first ones from seed 31 on
    assert groups.better == (31, 32, 33, 35)
    assert groups.tried == len(layouts.asked) == 16
    assert min(layouts.asked) == 31


def test_a_layout_that_cannot_be_built_is_no_candidate(planted, tmp_path):
    layouts = Layouts(tmp_path, fails=(31, 34))
    (groups,), _ = choose_groups(explanation(tmp_path), [planted], 4, 31, layouts.build, layouts.locate)

    assert groups.worse == (38, 42, 46, 50)
    assert groups.better == (32, 33, 35, 36)


def test_a_placement_that_is_too_rare_keeps_no_other_from_being_tried(planted, tmp_path):
    layouts = Layouts(tmp_path)
    starts = np.stack([4096 + 64 * np.arange(60), 64 * (np.arange(60) % 4)], axis=1)
    rare = suspect(starts, 1.0 + (np.arange(60) % 4 == 3), "page:g")  # g stays where it is in all candidates

    groups, problems = choose_groups(explanation(tmp_path), [rare, planted], 4, 31, layouts.build, layouts.locate)
    assert [group.suspect for group in groups] == [planted]
    (problem,) = problems
    assert problem.startswith("start of g within its 4 KiB page: among 160 candidates are")
    assert "4 of each were to be found" in problem
    assert len(layouts.asked) == 160  # forty for each


def test_a_place_that_was_never_seen_is_on_neither_side(planted, tmp_path):
    layouts = Layouts(tmp_path)

    def odd(binaries):
        return np.array([[16 * b.layout + (8 if b.layout < 40 else 0), 1 << 20] for b in binaries])

    (groups,), _ = choose_groups(explanation(tmp_path), [planted], 4, 31, layouts.build, odd)
    assert min((*groups.worse, *groups.better)) == 40


def test_seeds_that_found_a_suspect_never_confirm_it():
    assert first_seed([1, 2, 30], None) == 31
    assert first_seed([1, 2, 30], 1000) == 1000
    with pytest.raises(UsageError, match="found with seeds up to 30"):
        first_seed([1, 2, 30], 30)


def test_executions_of_chosen_layouts_know_no_groups():
    config = in_random_order(make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'))

    assert config.run.order == "random"
    assert config.run.controls == []


@pytest.mark.parametrize(
    ("low", "centre", "high", "better", "expected"),
    [
        (1.1, 1.2, 1.3, "less", "confirmed"),
        (0.9, 1.1, 1.3, "less", "undecided"),
        (0.95, 1.0, 1.09, "less", "not confirmed"),  # half of what was found would be 1.1
        (0.95, 1.0, 1.11, "less", "undecided"),
        (0.7, 0.8, 0.9, "more", "confirmed"),
        (0.97, 1.0, 1.05, "more", "not confirmed"),
        (0.85, 0.95, 1.05, "more", "undecided"),
        (0.7, 0.8, 0.9, "less", "not confirmed"),
    ],
)
def test_verdicts(low, centre, high, better, expected):
    found = interval(1.1, 1.2, 1.3) if better == "less" else interval(0.7, 0.8, 0.9)

    assert verdict(interval(low, centre, high), found, better) == expected


def test_means_must_be_above_zero():
    assert means_of(sample({1: 2.0, 2: 4.0, 3: 8.0}), {1: None, 3: None})[0] == (1, 3)
    with pytest.raises(AnalysisError, match=r"means of wall_s are not above 0.*--metric"):
        means_of(sample({1: 0.0}), {1: None})


def planted_features():
    """Two causes of which the weaker one lies, by chance, where the stronger is not; and 30 that are none."""
    rng = np.random.default_rng(5)
    strong = np.array([0.0, 1.0] * 30)
    weak = np.where(rng.uniform(size=60) < 0.25, strong, 1 - strong)
    noise = [rng.integers(0, 3, 60).astype(float) for _ in range(30)]
    made = [Feature("near", (f"f{k}", "g"), "number", 0, v) for k, v in enumerate([strong, weak, *noise])]
    return made, np.log(1.3) * strong + np.log(1.1) * weak + 0.01 * rng.normal(size=60)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_effect_of_a_second_suspect_is_not_hidden_by_the_first(sign):
    made, response = planted_features()
    result = screen_features([design(f) for f in made], response)
    first, second = suspects_of(made, result, response, sign, 0.05)
    weak = made[1].values == 1

    assert [first.feature.functions[0], second.feature.functions[0]] == ["f0", "f1"]
    assert response[weak].mean() < response[~weak].mean()  # looked at by itself it would seem to do good
    assert second.effect.centre == pytest.approx(1.1**sign, rel=0.05)
    assert (second.effect.low > 1) == (sign == 1)
    assert second.n_worse == int(weak.sum())
    assert second.split.above


def feature(kind, scale, period=0):
    return Feature(kind, ("f", "g"), scale, period, np.zeros(1))


def test_where_it_is_worse_in_words(planted):
    numbers = np.arange(20.0)
    above = split_factor(numbers, numbers, scale="number")
    below = split_factor(numbers, -numbers, scale="number")
    circle = split_factor(numbers * 200, np.cos(numbers * 200 / 4096 * 2 * np.pi), scale="circle", period=4096)

    assert worse_where(planted.feature, planted.split) == "at byte 32"
    assert worse_where(feature("sets", "number"), above) == "10 or more"
    assert worse_where(feature("sets", "number"), below) == "9 or less"
    assert worse_where(feature("distance", "number"), above) == "above 724 bytes"
    assert worse_where(feature("distance", "number"), split_factor(numbers + 10, -numbers, scale="number")) == (
        "below 724 KiB"
    )
    assert worse_where(feature("page", "circle", 4096), circle).endswith("± 1024 bytes")
    shared = np.array([0.0, 1.0] * 10)
    never = split_factor(shared, -shared, scale="number")
    assert worse_where(feature("near", "number"), never) == "0"
    assert worse_where(planted.feature, None) == "-"


@pytest.mark.parametrize(("ratio", "words"), [(1.026, "2.6 %"), (1.0004, "0.04 %"), (2.234, "123 %")])
def test_how_strong_an_effect_can_be_found_is_told_in_plain_numbers(tmp_path, ratio, words):
    said = could_be_found(explanation(tmp_path, detectable_ratio=ratio))
    assert f"(a difference of {words} between its worse half and its better half)" in said


def test_sentences(planted, tmp_path):
    groups = Groups(planted, (31,), (32,), 9)
    found = explanation(tmp_path, [planted])

    def said(low, centre, high, verdict, missing=0):
        return of_confirmation(found, Confirmation(groups, interval(low, centre, high), verdict, 15, 14, missing))

    assert said(1.1, 1.2, 1.3, "confirmed") == (
        "start of f within its 64-byte line: confirmed: with the worse placement wall_s is 20.00 % more (95 % interval "
        "10.00 % to 30.00 %); 15 + 14 new layouts, chosen among 9 by this placement alone"
    )
    assert "is 3 times as much (95 % interval 2 to 4)" in said(2, 3, 4, "confirmed")
    assert "20.00 % less (95 % interval 10.00 % to 30.00 %)" in said(0.7, 0.8, 0.9, "confirmed")
    assert "leaves no room for half of what was found" in said(0.9, 1, 1.05, "not confirmed")
    assert said(0.9, 1, 1.2, "undecided", missing=1).endswith("; 1 more have no measurement")
    assert predicted(found).startswith("cross-validated: 50 % of the variance")
    assert "predict nothing" in predicted(explanation(tmp_path, predicted=-0.1))
    told = answer(replace(found, suspects=(replace(planted, effect=interval(1.1, 1.2, 1.3)), planted)))
    assert told.startswith(
        f"{title(found)}: suspected, not proved: start of f within its 64-byte line: where it is at byte "
    )
    assert "wall_s is 20.00 % more (95 % interval 10.00 % to 30.00 %); it explains " in told
    assert told.endswith("; 1 more below")
    assert answer(explanation(tmp_path, [replace(planted, effect=None)])).endswith(" of what layouts do")
    doubtful = replace(found, predicted=0.0, warnings=(MeasuredWhileChanging(),))
    assert answer(doubtful).endswith(
        "; the machine changed its speed meanwhile; of layouts that took no part in finding it, it predicts nothing"
    )
    nothing = nothing_found(explanation(tmp_path, closest=("start of g", 0.4)))
    assert answer(explanation(tmp_path, closest=("start of g", 0.4))) == f"{title(found)}: {nothing}"
    assert "none of the 12 features" in nothing
    assert "Closest: start of g (adjusted p = 0.4)" in nothing
    assert "explains 40 % of the variance between binaries (a difference of 20 % between" in nothing


def test_the_document(planted, tmp_path):
    confirmation = Confirmation(Groups(planted, (31,), (32,), 9), interval(1.1, 1.2, 1.3), "confirmed", 1, 1, 0)
    found = [explanation(tmp_path, [planted]), Unexplained("O3", "b", "wall_s", "too few"), explanation(tmp_path)]
    document = explain_document(found, {0: Confirmed((confirmation,), ("g: rare",), None)}, {}, 0.95, EXPERIMENT)
    json.dumps(document, allow_nan=False)

    assert document["schema"] == "layoutrand/explain/1"
    assert (document["policy"], document["host"]) == ({"factors": ["function-order"]}, "box")
    first, second = document["benchmarks"]
    assert first["suspects"][0]["worse"] == {"scale": "classes", "values": [32.0]}
    assert first["suspects"][0]["confirmation"]["verdict"] == "confirmed"
    assert first["calls"] == [{"caller": "f", "callee": "g", "count": 9}]
    assert first["binaries"] == [{"seed": 1, "mean": 1.0, "starts": [0, 64]}]
    assert first["not_tried"] == ["g: rare"]
    assert second["suspects"] == []
    assert document["failures"] == [{"system": "O3", "benchmark": "b", "metric": "wall_s", "error": "too few"}]


@pytest.mark.parametrize("factors", ['"cds-order", "heap-base"', '"function-order"'])
def test_a_prebuilt_system_has_no_placement_to_look_at_whether_it_has_layouts_or_not(tmp_path, factors):
    text = (
        f'[project]\nname = "p"\n[build]\nartefacts = ["bin/java"]\n[layout]\nfactors = [{factors}]\n[systems.jdk]\nprebuilt = "/jdk"\n'
        '[[benchmarks]]\nname = "b"\ncommand = ["{home}/bin/java", "{args}"]\nmetric = { wall = true }\n'
    )
    config = parse(text, path="layoutrand.toml")
    write(config, tmp_path, measured(config, tmp_path, "jdk", "b", {"stock": [[1.0], [2.0]]}))
    setup = ExplainSetup(config, tmp_path, None, None, None, RunChoices(wait_s=0))
    (said,) = explain_selection(selected(config, tmp_path), None, setup, most_functions=9, level=0.05)

    assert isinstance(said, Unexplained)
    assert said.reason == (
        "prebuilt: nothing was linked, so there is no placement of code to look at; "
        "only systems that layoutrand builds can be explained"
    )


def test_of_a_prebuilt_system_nothing_is_predicted_on_a_quieter_machine_either(tmp_path, monkeypatch):
    text = (
        '[project]\nname = "p"\n[build]\nartefacts = ["bin/java"]\n[systems.jdk]\nprebuilt = "/jdk"\n'
        '[[benchmarks]]\nname = "b"\ncommand = ["{home}/bin/java"]\nmetric = { wall = true }\n'
    )
    config = parse(text, path="layoutrand.toml")
    write(config, tmp_path, measured(config, tmp_path, "jdk", "b", {"stock": [[1.0], [2.0]]}))
    monkeypatch.setattr(predicted_layouts, "as_analysed", lambda *_: SimpleNamespace(is_machine=True))
    setup = ExplainSetup(config, tmp_path, None, None, None, RunChoices(wait_s=0))
    order = predicted_layouts.PredictOrder(drawn=10, first=1, most_functions=9, confidence=0.95)
    (said,) = predicted_layouts.predict_selection(selected(config, tmp_path), None, setup, order)

    assert said.reason.startswith("prebuilt: nothing was linked, so")


@pytest.mark.parametrize(("count", "words"), [(1, "1 measured binary; "), (7, "7 measured binaries; ")])
def test_too_few_binaries_are_said_to_be(tmp_path, count, words):
    seeds = range(1, count + 1)
    binaries = {seed: make_binary(tmp_path, "O2", seed, str(seed)) for seed in seeds}
    subject = Subject(sample(dict.fromkeys(seeds, 1.0)), "prog", None, binaries[1], binaries)
    with pytest.raises(AnalysisError, match=words + "to look for suspects takes at least 8"):
        enough_means(subject)


def test_where_nothing_was_measured_there_is_nothing_to_explain(tmp_path):
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("O2",))
    write(config, tmp_path, [execution(config, tmp_path, "O2", "b", 1, status="exit", reason="status 1")])
    setup = ExplainSetup(config, tmp_path, None, None, None, RunChoices(wait_s=0))
    with pytest.raises(AnalysisError, match=r"nothing to explain \(1 execution failed\)"):
        list(explain_selection(selected(config, tmp_path), None, setup, most_functions=9, level=0.05))


@pytest.mark.parametrize(
    ("systems", "said"), [(("O2",), ["it profiles"]), (("O2", "O3"), ["1 of 2: it profiles", "2 of 2: it profiles"])]
)
def test_each_step_says_how_many_come_before_and_behind(tmp_path, monkeypatch, systems, said):
    """A profile takes many times as long as the benchmark, and a harness has a hundred cases."""
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=systems)
    values = {seed: [[1.0 + seed]] for seed in (1, 2, 3)}
    write(config, tmp_path, [row for system in systems for row in measured(config, tmp_path, system, "b", values)])
    heard = []
    setup = ExplainSetup(
        config, tmp_path, None, None, ProfilingSetup(None, None, None, heard.append), RunChoices(wait_s=0)
    )

    def refuse(sample, selection, setup, most, level):
        setup.profiling.say("it profiles")
        raise AnalysisError("enough")

    monkeypatch.setattr("layoutrand.explain.explain._explain", refuse)
    assert len(list(explain_selection(selected(config, tmp_path), None, setup, most_functions=9, level=0.05))) == len(
        systems
    )
    assert heard == said


@pytest.mark.parametrize(("hashes", "is_one"), [(("x", "x"), True), (("x", "y"), False)])
def test_two_systems_that_are_one_program_are_said_to_be(tmp_path, hashes, is_one):
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("O2", "O3"))
    made = []
    for system, digest in zip(("O2", "O3"), hashes, strict=True):
        for each in measured(config, tmp_path, system, "b", {seed: [[1.0 + seed]] for seed in (1, 2, 3)}):
            made.append(replace(each, binary_sha256=f"{digest}{each.layout}", capture=f"c{digest}"))
    write(config, tmp_path, made)
    selection = selected(config, tmp_path)
    first, second = (each for each in choose_metrics(selection, []) if each.is_primary)
    assert explained_before(first, [], selection) == ()
    said = [str(each) for each in explained_before(second, [first], selection)]
    assert len(said) == is_one
    assert all(
        each.startswith("it is one program with O2, explained above (the binaries are the same") for each in said
    )


def judged(*rows, mechanism=None, whole=0.8, unseen=(), beside=False):
    return SuspectCause(mechanism, tuple(SuspectedMechanism(*row) for row in rows), whole, unseen, beside)


LINE_LEFT = ("line", 0.76, 0.4, "")
WINDOW_OUT = ("window", 0.3, 0.001, "layouts that meet as much of it differ by something else")
SAME = ("fetch", 0.0, None, "it is the same in all layouts")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            judged(LINE_LEFT, WINDOW_OUT, mechanism="line"),
            "f: instruction line straddle (64-byte lines under its hottest instructions), which explains 76 % of what "
            "layouts do; no other mechanism that was looked at is left",
        ),
        (
            judged(LINE_LEFT, mechanism="line", beside=True),
            r"which explains 76 % of what layouts do beside suspects of other functions; no other",
        ),
        (
            judged(LINE_LEFT, WINDOW_OUT, whole=0.99),
            r"only instruction line straddle .* explains 76 % .* the suspect explains 99 %",
        ),
        (
            judged(("window", 0.5, 0.2, ""), LINE_LEFT),
            r"instruction line straddle \(.*\) \(76 %\) or 32-byte window \(.*\) \(50 %\); these layouts do not tell",
        ),
        (
            judged(WINDOW_OUT, SAME),
            r"closest is 32-byte window .* with 30 % of what layouts do, but layouts that meet as much",
        ),
        (judged(SAME), "f: cannot tell which mechanism: layouts go by none of those that were looked at"),
    ],
)
def test_a_mechanism_in_words(planted, tmp_path, cause, words):
    said = cause_of(explanation(tmp_path), replace(planted, cause=cause))
    assert said == words or re.search(words, said)
    assert said.startswith("f: ")


def test_what_a_simulated_metric_does_not_show_is_said_once(planted, tmp_path):
    found = explanation(tmp_path)
    assert not_seen(found, replace(planted, cause=judged(unseen=("line", "fetch")))) == (
        "wall_s is simulated, and has nothing of instruction line straddle, loop alignment: only times can show these"
    )
    assert not_seen(found, planted) == not_seen(found, replace(planted, cause=judged())) == ""


def test_the_command_that_says_more(planted, tmp_path):
    """Within a line, or as far as what is left repeats; no finer than the function's alignment."""

    def offered(cause, align=16, kind="gnu", project="", **of_sample):
        link = SimpleNamespace(linker=kind, sections=[SimpleNamespace(align=align)])
        found = explanation(tmp_path, [replace(planted, cause=cause)])
        measured = replace(found.subject.sample, **of_sample)
        found = replace(found, subject=replace(found.subject, link=link, sample=measured))
        return next_step(with_sweeps(found, "b 1", Path(project)).suspects[0])

    plain = "Next: layoutrand sweep f --system O2 --benchmark 'b 1' "
    assert offered(judged(LINE_LEFT)) == plain + "--cause"
    assert offered(judged(LINE_LEFT), align=64) == plain + "--offset 0..127 --step 64 --cause"
    assert offered(judged(LINE_LEFT, ("sets", 0.1, 0.9, ""))) == plain + "--offset 0..4095 --step 256 --cause"
    assert offered(judged(("aliasing", 0.1, 0.9, ""))) == plain + "--switch aliasing"
    assert offered(judged(LINE_LEFT, ("aliasing", 0.1, 0.9, ""))) == plain + "--offset 0..16383 --step 256 --cause"
    assert offered(judged(WINDOW_OUT)) == plain + "--cause"  # within a line, as the suspect is
    assert offered(judged(LINE_LEFT), kind="go") == ""
    assert offered(judged(LINE_LEFT), is_primary=False) == plain + "--metric wall_s --cause"
    assert offered(judged(("aliasing", 0.1, 0.9, "")), project="l q") == plain + "-C 'l q' --switch aliasing"
    assert next_step(planted) == ""
    document = explain_document(
        [explanation(tmp_path, [replace(planted, cause=judged(LINE_LEFT, mechanism="line"))])], {}, {}, 0.95, EXPERIMENT
    )
    (told,) = [each["cause"] for each in document["benchmarks"][0]["suspects"]]
    assert (told["mechanism"], told["next"], told["candidates"][0]["out"]) == ("line", None, None)


def test_cost_in_a_library_that_is_laid_out_too_is_not_said_to_stay_in_place():
    alone = str(CostOutside(1.0, "bin/x"))
    assert alone == "100 % of the cost lies outside bin/x, in code that no layout moves"

    said = str(CostOutside(1.0, "bin/x", ("lib/liby.so.0",), "bin/x"))
    assert "100 % of the cost lies outside bin/x, where `explain` does not look" in said
    assert "lib/liby.so.0, whose layout changes too, or in code that no layout moves" in said
    assert said.endswith(
        'for a benchmark with artefact = "lib/liby.so.0", whose command finds the program at ../bin/x from its artefact_dir'
    )
    assert str(CostOutside(1.0, "x", ("liby.so.0",), "x")).endswith("finds the program at x from its artefact_dir")
    assert str(CostOutside(1.0, "x", ("liby.so.0",))).endswith('for a benchmark with artefact = "liby.so.0"')


def test_cost_in_the_program_is_not_said_to_be_found_by_calling_the_library():
    said = str(CostOutside(0.99, "lib/liby.so.0", ("bin/x", "bin/other"), "bin/x"))
    assert "in bin/x or bin/other, whose layout changes too" in said
    assert said.endswith('a benchmark with artefact = "bin/x", whose command starts its artefact')
    of_another = str(CostOutside(0.99, "lib/liby.so.0", ("lib/libz.so", "bin/x"), "bin/x"))
    assert of_another.endswith(
        'artefact = "lib/libz.so", whose command finds the program at ../bin/x from its artefact_dir'
    )


@pytest.mark.parametrize(
    ("artefact", "command", "program", "others"),
    [
        ("bin/x", ["{artefact}", "1"], "bin/x", ("lib/liby.so.0", "bin/z")),
        ("lib/liby.so.0", ["{artefact_dir}/../bin/z", "1"], "bin/z", ("bin/z", "bin/x")),
        ("bin/z", ["nice", "{artefact_dir}/x", "{artefact}"], "bin/x", ("bin/x", "lib/liby.so.0")),
        ("lib/liby.so.0", ["sh", "-c", "{artefact_dir}/../bin/x | cat"], "", ("bin/x", "bin/z")),
        ("lib/liby.so.0", ["{project}/bin/x", "bin/x", "{{artefact}}"], "", ("bin/x", "bin/z")),
    ],
)
def test_the_program_that_a_command_starts_is_the_first_to_look_at(artefact, command, program, others):
    text = (
        '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["bin/x", "bin/z", "lib/liby.so.0"]\n'
        f'[systems.a]\n[[benchmarks]]\nname = "b"\nartefact = "{artefact}"\ncommand = {json.dumps(command)}\n'
    )
    config = parse(text, path="layoutrand.toml")
    assert others_of(config.benchmarks[0], artefact, config) == (others, program)


def test_where_no_function_has_a_share_of_the_cost_the_answer_says_so_and_where_the_cost_is(tmp_path):
    """On fribidi, whose own code has none, it was a function with 0.0 % of the cost that explained 30 %."""
    outside = CostOutside(0.9998, "bin/x", ("lib/liby.so.0",))
    found = explanation(
        tmp_path,
        hotness=Hotness((), {}, 0.0002, 0.0),
        warnings=(FewLayouts(9, 20), NothingHot("bin/x", 0.001), outside),
        detectable=1.0,
        n_features=0,
    )
    assert answer(found) == (
        f"{title(found)}: nothing found: no function of bin/x has as much as 0.1 % of the cost, so none is looked at; "
        f"{outside}"
    )
    assert looked_at(found).endswith("; no hot functions of prog (instructions); 0 features of where they lie")
    told = Told()
    show_explanation(found, told, hint=True)
    assert told.titles == []  # no table of suspects, nor of functions
    assert [line for line in told.warnings if "cost" in line] == []  # said once
    assert len(told.warnings) == 1
    (document,) = explain_document([found], {}, {}, 0.95, EXPERIMENT)["benchmarks"]
    assert (document["functions"], document["suspects"], document["closest"]) == ([], [], None)
    assert document["warnings"][1:] == [str(each) for each in found.warnings[1:]]

    same = replace(found, warnings=(NothingDiffers("wall_s"), *found.warnings))
    assert answer(same) == f"{title(found)}: nothing found: wall_s is the same in all layouts"
    of_variables = replace(found, closest=("percent of loads", 0.4), detectable=0.4, n_features=1)
    assert "; where variables lie explains nothing, either. With 1 layouts" in answer(of_variables)


def test_a_suspect_of_a_part_of_the_cost_is_said_to_be_one(planted, tmp_path):
    few = replace(HOTNESS, in_artefact=0.03, covered=0.027)
    found = explanation(tmp_path, [planted], hotness=few, warnings=(CostOutside(0.97, "prog"),))
    assert answer(found).endswith(" of what layouts do; but 97 % of the cost lies outside prog")
    assert "of prog with 2.7 % of the cost, 97 % outside it (instructions)" in looked_at(found)
    halves = replace(found, hotness=replace(found.hotness, covered=0.49, in_artefact=0.8))
    assert "with 49 % of the cost, 31 % in its other functions and 20 % outside it (" in looked_at(halves)
    most = replace(found, hotness=replace(found.hotness, covered=0.93, in_artefact=0.97))
    assert "of prog with 93 % of the cost (instructions)" in looked_at(most)
    told = Told()
    show_explanation(found, told, hint=True)
    assert len(told.titles) == 2
    assert told.warnings == [f"{title(found)}: {CostOutside(0.97, 'prog')}"]
    assert "outside" not in answer(explanation(tmp_path, [planted]))


@pytest.mark.parametrize("instrument", ["native", "cachegrind"])
def test_to_confirm_only_what_measures_the_metric_is_executed(planted, tmp_path, monkeypatch, instrument):
    text = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nmetric = { wall = true, cachegrind = true }\n'
    config = make_config(text, systems=("O2",))
    found = explanation(tmp_path, [planted])
    measured_by = replace(found.subject.sample, instrument=instrument)
    found = replace(found, subject=replace(found.subject, sample=measured_by))
    layouts, asked = Layouts(tmp_path), []
    build = SystemBuild("O2", None, cached=False, binaries=(), failures=(), notes=())
    profiling = SimpleNamespace(executor=None, say=print)
    setup = ExplainSetup(config, tmp_path, None, lambda _, seeds: build, profiling, RunChoices(wait_s=0))
    groups = Groups(planted, (34, 38, 42), (31, 32, 33), 9)
    monkeypatch.setattr("layoutrand.explain.explain.choose_groups", lambda *_: ([groups], []))
    monkeypatch.setattr("layoutrand.explain.explain.conclude", lambda *_, **__: ([], []))
    monkeypatch.setattr("layoutrand.explain.explain.execute_apart", lambda request, *_, **__: asked.append(request))
    build = layouts.build([31, 32, 33, 34, 38, 42])
    confirm(found, setup, count=3, first=31, confidence=0.95, progress=print)

    slots = make_plan(asked[0], here=False).slots
    assert {each.instrument for each in slots} == {instrument}
    assert sorted(each.layout for each in slots) == [31, 32, 33, 34, 38, 42]


@pytest.mark.parametrize(
    ("artefacts", "words"),
    [
        ('["bin/x"]', "be seen"),
        (
            '["bin/x", "lib/y.so"]',
            'artefact = "lib/y.so", whose command finds the program at ../bin/x from its artefact_dir',
        ),
    ],
)
def test_a_profile_without_anything_of_the_artefact_says_where_else_the_cost_may_be(artefacts, words):
    text = (
        f'[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = {artefacts}\n[systems.a]\n'
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
    )
    config = parse(text, path="layoutrand.toml")
    plan = SimpleNamespace(
        references={}, benchmarks={"b": config.benchmarks[0]}, request=SimpleNamespace(config=config)
    )
    run = SimpleNamespace(
        plan=plan, slot=SimpleNamespace(benchmark="b"), binary=SimpleNamespace(artefact="bin/x", stored=None)
    )
    place = SimpleNamespace(
        names=(),
        sandbox=SimpleNamespace(instrument=None),
        command=lambda *_: None,
        workplace=SimpleNamespace(all_written=None),
    )
    kind = SimpleNamespace(
        option="callgrind", prepare=lambda *_: None, prefix=lambda *_: (), profile=lambda *_: Profile(9.0, {}, {})
    )
    executor = lambda _: SimpleNamespace(status="ok", reason="", returncode=0)  # noqa: E731
    profiling = SimpleNamespace(
        profiler=SimpleNamespace(kind=kind, program="", event=""), executor=executor, runner=None, say=print
    )
    with pytest.raises(AnalysisError, match="the profile has nothing in bin/x: it was not executed") as caught:
        _profile(run, place, profiling, "")
    assert str(caught.value).endswith(words)
