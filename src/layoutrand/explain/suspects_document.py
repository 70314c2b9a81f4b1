"""The JSON document of `layoutrand explain`: ``layoutrand/explain/1``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from layoutrand.analysis.analyse import Analysis
from layoutrand.explain.confirming import Confirmation
from layoutrand.explain.explain import Confirmed, Unexplained
from layoutrand.explain.remedies import LinkerOrder
from layoutrand.explain.remedy_words import conclusion
from layoutrand.explain.suspects import Explanation, Suspect
from layoutrand.explain.treated import Treatment, Tried
from layoutrand.explain.words import cause_of, not_looked_at
from layoutrand.model import Experiment
from layoutrand.stats import FactorSplit, Interval
from layoutrand.text.quantities import finite
from layoutrand.warning import sentences_of


def explain_document(
    found: Sequence[Explanation | Unexplained],
    confirmed: Mapping[int, Confirmed],
    treated: Mapping[int, Treatment],
    confidence: float,
    experiment: Experiment,
) -> dict[str, Any]:
    """What is ``confirmed`` and ``treated`` belongs to the explanations at these positions."""
    return {
        "schema": "layoutrand/explain/1",
        "confidence": confidence,
        "policy": json.loads(experiment.policy),
        "randomise": json.loads(experiment.randomise),
        "host": experiment.hostname,
        "benchmarks": [
            {
                **_explanation(each, confirmed.get(number, Confirmed((), (), None))),
                "remedies": _treatment(treated.get(number)),
            }
            for number, each in enumerate(found)
            if isinstance(each, Explanation)
        ],
        "failures": [
            {"system": each.system, "benchmark": each.benchmark, "metric": each.metric, "error": each.reason}
            for each in found
            if isinstance(each, Unexplained)
        ],
    }


def _explanation(explanation: Explanation, confirmed: Confirmed) -> dict[str, Any]:
    sample, hotness = explanation.subject.sample, explanation.hotness
    by_name = {each.groups.suspect.feature.name: each for each in confirmed.confirmations}
    names = [function.name for function in hotness.functions]
    return {
        "system": sample.system,
        "benchmark": sample.benchmark,
        "metric": sample.metric,
        "unit": sample.unit,
        "better": sample.better,
        "artefact": explanation.subject.artefact,
        "profiled": explanation.profiled,
        "in_artefact": hotness.in_artefact,
        "covered": hotness.covered,
        "functions": [
            {"name": f.name, "share": f.share, "size": f.size, "section": f.section} for f in hotness.functions
        ],
        "variables": [
            {"stored": pair.stored, "loaded": pair.loaded, "sections": list(pair.sections)} for pair in hotness.pairs
        ],
        "calls": [
            {"caller": names[pair[0]], "callee": names[pair[1]], "count": count}
            for pair, count in sorted(hotness.calls.items())
        ],
        "n_binaries": len(explanation.seeds),
        "binaries": [
            {"seed": seed, "mean": mean, "starts": list(starts)}
            for seed, mean, starts in zip(explanation.seeds, explanation.means, explanation.starts, strict=True)
        ],
        "relative_sd": explanation.relative_sd,
        "n_features": explanation.n_features,
        "level": explanation.level,
        "suspects": [
            {**_suspect(suspect, by_name.get(suspect.feature.name)), "cause": _cause(explanation, suspect)}
            for suspect in explanation.suspects
        ],
        "not_tried": list(confirmed.problems),
        "cross_validated_share": explanation.predicted,
        "detectable": {"share": explanation.detectable, "ratio": finite(explanation.detectable_ratio)},
        "closest": None
        if explanation.closest is None
        else {
            "feature": explanation.closest[0],
            "p_value": explanation.closest[1],
        },
        "warnings": sentences_of(explanation.warnings),
    }


def _treatment(found: Treatment | None) -> dict[str, Any] | None:
    if found is None:
        return None
    cure = found.recommended
    return {
        "sentence": conclusion(found),
        "recommended": None if cure is None else cure.candidate.name,
        "confidence": found.confidence,
        "seeds": list(found.seeds),
        "layout_sd": _layout_sd(found.before),
        "mean": found.before.mean.centre,
        "tried": [_tried(each) for each in found.tried],
    }


def _tried(tried: Tried) -> dict[str, Any]:
    sizes = tried.text_size
    return {
        "system": tried.candidate.name,
        "key": tried.candidate.remedy.key,
        "flags": tried.candidate.remedy.flags,
        "files": [each.path for each in tried.candidate.remedy.files],
        "order": _order(tried.candidate.remedy.order),
        "verdict": tried.verdict,
        "reason": tried.reason,
        "layout_sd": None if tried.after is None else _layout_sd(tried.after),
        "layout_p_value": tried.spread_p,
        "mean_p_value": tried.mean_p,
        "ratio": None if tried.mean is None else tried.mean.centre,
        "interval": _interval(tried.mean),
        "text_size": None if sizes is None else {"before": sizes[0], "after": sizes[1]},
    }


def _order(order: LinkerOrder | None) -> dict[str, Any] | None:
    return None if order is None else {"file": order.file, "functions": list(order.names)}


def _layout_sd(analysis: Analysis) -> dict[str, Any]:
    """What layout adds, over the mean, with its interval; and the answer that `layoutrand analyse` gives."""
    part = None if analysis.findings is None else analysis.findings.layout
    sd = None if part is None else part.sd
    return {
        "answer": None if part is None else part.answer,
        "relative_sd": None if sd is None else sd.centre,
        "interval": _interval(sd),
        "upper": None if part is None else part.upper,
    }


def _suspect(suspect: Suspect, confirmation: Confirmation | None) -> dict[str, Any]:
    return {
        "feature": suspect.feature.words,
        "kind": suspect.feature.kind,
        "functions": list(suspect.feature.functions),
        "p_value": suspect.p_value,
        "share": suspect.share,
        "worse": _split(suspect.split),
        "ratio": None if suspect.effect is None else suspect.effect.centre,
        "interval": _interval(suspect.effect),
        "n_worse": suspect.n_worse,
        "n_better": suspect.n_better,
        "alike": list(suspect.alike),
        "next": list(suspect.sweep) or None,
        "confirmation": None if confirmation is None else _confirmation(confirmation),
    }


def _cause(explanation: Explanation, suspect: Suspect) -> dict[str, Any] | None:
    cause = suspect.cause
    if cause is None:
        return None
    return {
        "mechanism": cause.mechanism,
        "sentence": cause_of(explanation, suspect),
        "not_seen": list(cause.unseen),
        "not_known": ["itlb"] if not_looked_at(explanation) else [],
        "candidates": [
            {"mechanism": each.mechanism, "share": each.share, "p_value": each.p_value, "out": each.out or None}
            for each in cause.candidates
        ],
        "next": list(suspect.sweep) or None,
    }


def _confirmation(confirmation: Confirmation) -> dict[str, Any]:
    groups = confirmation.groups
    return {
        "verdict": confirmation.verdict,
        "ratio": confirmation.effect.centre,
        "interval": _interval(confirmation.effect),
        "confidence": confirmation.effect.confidence,
        "n_worse": confirmation.n_worse,
        "n_better": confirmation.n_better,
        "missing": confirmation.missing,
        "seeds_worse": list(groups.worse),
        "seeds_better": list(groups.better),
        "candidates": groups.tried,
    }


def _split(split: FactorSplit | None) -> dict[str, Any] | None:
    if split is None:
        return None
    if split.scale == "classes":
        return {"scale": "classes", "values": list(split.large)}
    if split.scale == "circle":
        return {"scale": "circle", "centre": split.centre, "within": split.period / 4, "period": split.period}
    return {"scale": "number", "limit": split.limit, "above": split.above}


def _interval(interval: Interval | None) -> list[float | None] | None:
    return None if interval is None else [finite(interval.low), finite(interval.high)]
