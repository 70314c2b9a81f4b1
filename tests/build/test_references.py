"""What layoutrand.toml names must be there before anything is built."""

import pytest

from layoutrand.build.references import check_references
from layoutrand.config.config import parse
from layoutrand.errors import ConfigError

BASE = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["p"]\n'


def problems(text, project):
    config = parse(BASE + text, path="x")
    with pytest.raises(ConfigError) as caught:
        check_references(config, list(config.systems), project)
    return caught.value.problems


def test_what_is_there_is_right(tmp_path):
    (tmp_path / "in.txt").touch()
    text = '[systems.a]\n[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nstdin = "in.txt"\n'
    config = parse(BASE + text, path="x")

    check_references(config, ["a"], tmp_path)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ('[systems.a]\ntoolchain = "gcd"\n', "systems.a.toolchain: no toolchain called 'gcd'; there are "),
        ('[systems.a]\ntoolchain = "./my.toml"\n', "systems.a.toolchain: toolchain file "),
        ('[systems.a]\ntoolchain = "gcc-mold"\n', "layout.factors: toolchain 'gcc-mold' cannot do 'function-order'"),
        ('[systems.a]\nprebuilt = "none"\n', "systems.a.prebuilt: "),
        (
            '[systems.a]\n[[benchmarks]]\nname = "b"\ncommand = ["x"]\nexpect_stdout = "out"\n',
            "benchmarks[0].expect_stdout: there is no ",
        ),
        (
            '[systems.a]\n[[benchmarks]]\nname = "b"\ncommand = ["x"]\nfiles = ["in"]\n',
            "benchmarks[0].files[0]: there is no ",
        ),
        (
            '[systems.a]\n[[benchmarks]]\nname = "b"\ncommand = ["{project}/run.sh"]\n',
            "benchmarks[0].command: there is no ",
        ),
    ],
)
def test_what_is_not_there_is_told(tmp_path, text, start):
    (found,) = problems(text, tmp_path)

    assert found.startswith(start)


def test_a_toolchain_file_of_ones_own_has_lines_too(tmp_path):
    (tmp_path / "my.toml").write_text('name = "my"\ndescription = "d"\nextends = "gcc"\n\n[tools]\ncd = ["gcc"]\n')

    (found,) = problems('[systems.a]\ntoolchain = "./my.toml"\n', tmp_path)

    assert found.startswith(f"systems.a.toolchain: {tmp_path / 'my.toml'}, line 6: tools.cd: unknown key")


def test_what_two_systems_share_is_told_once(tmp_path):
    shared = "".join(f'[systems.{name}]\ntoolchain = "gcc-mold"\n' for name in "ab")

    (found,) = problems(shared, tmp_path)

    assert found.startswith("layout.factors: toolchain 'gcc-mold' cannot do 'function-order'")


def test_only_the_systems_that_are_built_count(tmp_path):
    config = parse(BASE + '[systems.a]\n[systems.b]\ntoolchain = "gcd"\n', path="x")

    check_references(config, ["a"], tmp_path)
