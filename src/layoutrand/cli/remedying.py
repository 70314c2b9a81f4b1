"""`layoutrand explain --remedy`: what is tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layoutrand.cli.measuring_apart import measuring_apart, tell_executed
from layoutrand.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.config.config import Config
    from layoutrand.explain.explain import Confirmed, ExplainSetup
    from layoutrand.explain.remedies import Remedy
    from layoutrand.explain.suspects import Explanation
    from layoutrand.explain.treated import RemedyOrder, Treatment


@dataclass(frozen=True)
class Remedying:
    """How remedies are tried: ``setup`` makes what is needed of a configuration."""

    config: Config
    project: Path
    order: RemedyOrder
    names: DisplayNames
    setup: Callable[[Config], ExplainSetup]


def remedy(explanation: Explanation, confirmed: Confirmed | None, how: Remedying, terminal: Terminal) -> Treatment:
    """Try the remedies that there are for the system, and say what was executed for it.

    Raises `LayoutrandError` where none can be tried.
    """
    from layoutrand.errors import FeatureUnsupported
    from layoutrand.explain.linker_orders import order_remedy
    from layoutrand.explain.remedies import remedies_of
    from layoutrand.explain.remedy import treat, with_remedies
    from layoutrand.explain.suspected import file_remedies
    from layoutrand.linkers.toolbox import declared

    system = explanation.subject.sample.system
    toolchain = declared(how.config.systems[system].toolchain, how.project)
    setup = how.setup(how.config)
    known: tuple[Remedy, ...] = remedies_of(toolchain, explanation.subject.link.machine)
    try:
        known = (*file_remedies(explanation, confirmed, toolchain, setup), *known)
    except FeatureUnsupported as error:
        terminal.say(f"flags for single files are not tried: {error}")
    try:
        known = (*known, order_remedy(explanation, toolchain, how.project, setup.cache)) if known else known
    except FeatureUnsupported as error:
        terminal.say(f"a linker order is not tried: {error}")
    config, candidates = with_remedies(how.config, system, known)
    setup = how.setup(config)
    terminal.say(
        f"trying {len(candidates)} remedies of {system}: new layouts from seed {how.order.first} on, "
        f"{how.order.layouts} of each"
    )
    of_layout = "{0.system}, layout {0.layout}".format
    with measuring_apart(config, how.names, how.order.confidence, terminal, of_layout) as (executor, advance):
        measuring = replace(setup, profiling=replace(setup.profiling, executor=executor))
        made = treat(explanation, measuring, candidates, how.order, advance)
    tell_executed(made.summary, how.names, terminal)
    return made
