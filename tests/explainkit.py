"""Explanations without a single process: layouts as addresses, measurements as numbers."""

from __future__ import annotations

from fakes import make_binary
from layoutrand.analysis.sample import Sample
from layoutrand.explain.features import all_features
from layoutrand.explain.hotness import HotFunction, Hotness
from layoutrand.explain.suspects import Explanation, Subject, Suspect
from layoutrand.model import Experiment
from layoutrand.stats import Interval, split_factor

EXPERIMENT = Experiment("p", 1, '{"factors":["function-order"]}', '["env-size"]', "key", "box")
HOTNESS = Hotness(
    (HotFunction(0, "f", 0.7, 64, (0,), (0,)), HotFunction(1, "g", 0.2, 64, (0,), (0,))), {(0, 1): 9}, 0.95, 0.9
)


def interval(low, centre, high):
    return Interval(centre=centre, low=low, high=high, confidence=0.95, method="log-t", warnings=())


def sample(values, better="less"):
    return Sample(
        system="O2",
        benchmark="b",
        instrument="native",
        metric="wall_s",
        unit="s",
        is_primary=True,
        binaries=tuple((seed, ((value,),)) for seed, value in values.items()),
        controls={},
        better=better,
    )


def suspect(starts, response, name="line:f"):
    feature = next(f for f in all_features(HOTNESS, starts) if f.name == name)
    division = split_factor(feature.values, response, scale=feature.scale, period=float(feature.period))
    return Suspect(feature, 0.001, 0.8, division, interval(1.2, 1.3, 1.4), 10, 20, ())


def explanation(tmp_path, suspects=(), **changes):
    identity = make_binary(tmp_path, "O2", "identity", "x")
    fields = {
        "subject": Subject(sample({1: 1.0}), "prog", None, identity, {}),
        "profiled": "instructions",
        "hotness": HOTNESS,
        "seeds": (1,),
        "means": (1.0,),
        "starts": ((0, 64),),
        "relative_sd": 0.1,
        "n_features": 12,
        "level": 0.05,
        "suspects": tuple(suspects),
        "predicted": 0.5,
        "detectable": 0.4,
        "detectable_ratio": 1.2,
        "closest": None,
        "warnings": (),
    }
    return Explanation(**{**fields, **changes})
