"""`layoutrand exec`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import completing, options
from layoutrand.errors import UsageError
from layoutrand.library.configuration import choose_systems
from layoutrand.library.project_directory import CONFIG_NAME, project_of

if TYPE_CHECKING:
    from layoutrand.cli.terminal import Terminal
    from layoutrand.config.config import Config


def exec_(  # noqa: PLR0913 - one parameter for each option
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="The command; -- before it keeps its options apart.")
    ],
    seed: Annotated[str, typer.Option(metavar="SEED", help="The layout: a number, or identity.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Lay out links that write a file of this name alone (a path or its end); repeatable."
        ),
    ] = None,
    excepted: Annotated[
        list[str] | None, typer.Option("--except", metavar="NAME", help="Leave links of this name alone; repeatable.")
    ] = None,
    toolchain: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compiler and linker; default: those of the system, gcc without a file."),
    ] = None,
    factors: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="What is drawn; default: layout.factors, function-order without a file."),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completing.systems,
            help="Whose toolchain and flags in layoutrand.toml; default: the first.",
        ),
    ] = None,
    directory: Annotated[
        Path,
        typer.Option(
            "-C",
            "--directory",
            metavar="DIR",
            callback=project_of,
            help="The project: where layoutrand.toml is, if there is one, and the source whose objects are placed. "
            "The command is executed in the current directory all the same.",
        ),
    ] = Path(),
    quiet: options.Quiet = False,
) -> int:
    """Execute a command; every program and shared library it links comes out in the layout of the seed.

    Example: layoutrand exec --seed 7 -- make -j8

    The command finds wrappers of compiler and linker on PATH, and in $CC, $CXX and $LD.

    When it has ended, a line for each program says what became of it.

    The exit status is the command's, or 1 if that is 0 and a program did not get the layout.
    """
    from layoutrand.build.exec import Wish, execute_wrapped
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.config.seeds import parse_layout
    from layoutrand.platform.process import SubprocessRunner

    terminal = options.terminal(json=False, quiet=quiet)
    wish = Wish(parse_layout(seed), tuple(only or ()), tuple(excepted or ()))
    config, name = _configured(directory, system, toolchain, factors, terminal)
    result = execute_wrapped(
        config,
        name,
        directory,
        command,
        wish,
        folder=Path.cwd(),
        cache=Cache(default_root()),
        runner=SubprocessRunner(),
    )
    for line in (*result.applied, *result.left, *result.remarks):
        terminal.say(line)
    for line in result.failed:
        terminal.fail(line)
    return result.status or (1 if result.failed else 0)


def _configured(
    directory: Path, system: str | None, toolchain: str | None, factors: str | None, terminal: Terminal
) -> tuple[Config, str]:
    """The project's configuration, or one made of options where it has none, and the system in it.

    What an option changes in the file is said.
    """
    from layoutrand.config.config import unconfigured

    chosen = None if factors is None else [factor.strip() for factor in factors.split(",")]
    if not (directory / CONFIG_NAME).exists():
        if not directory.is_dir():
            raise UsageError(f"-C {directory}: no such directory")
        if system is not None:
            raise UsageError(
                f"--system {system}: there is no {CONFIG_NAME} in {directory.absolute()} that would have "
                "systems; --toolchain and --factors do without one"
            )
        config = unconfigured(toolchain or "gcc", chosen or ["function-order"])
        defaults = [*(() if toolchain else ("toolchain gcc",)), *(() if chosen else ("function-order",))]
        if defaults:
            terminal.say(f"no {CONFIG_NAME} in {directory.resolve()}: {', '.join(defaults)}")
        return config, next(iter(config.systems))
    config = options.load_config(directory)
    name = system or next(iter(config.systems))
    choose_systems(config, [name])
    options.must_be_built(config, name)
    return _overridden(config, name, toolchain, chosen, terminal), name


def _overridden(
    config: Config, name: str, toolchain: str | None, factors: list[str] | None, terminal: Terminal
) -> Config:
    from layoutrand.config.config import unconfigured

    system, policy = config.systems[name], config.layout
    if toolchain is not None and toolchain != system.toolchain:
        if "toolchain" in system.model_fields_set:
            terminal.say(f"--toolchain {toolchain} instead of {system.toolchain}, which system {name} has in the file")
        system = system.model_copy(update={"toolchain": toolchain})
    if factors is not None and sorted(factors) != sorted(policy.factors):
        checked = unconfigured(system.toolchain, factors).layout.factors
        if "factors" in policy.model_fields_set:
            said = ", ".join(policy.factors)
            terminal.say(f"--factors {','.join(factors)} instead of {said}, which layout.factors has in the file")
        policy = policy.model_copy(update={"factors": checked})
    return config.model_copy(update={"systems": {**config.systems, name: system}, "layout": policy})
