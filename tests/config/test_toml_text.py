"""Whatever text layoutrand.toml and toolchain files hold, what is wrong with it is said with the file's name."""

import pytest

from layoutrand.config.config import parse
from layoutrand.config.lines import lines_of
from layoutrand.config.toolchain import parse as parse_toolchain
from layoutrand.errors import ConfigError

UNUSABLE = {
    "x = " + "9" * 5000: "not valid TOML: a number of thousands of digits",
    "x = 0x" + "f" * 5000: "x: is a number of more than 64 bits",
    "[run]\nschedule_seed = 18446744073709551617": "run.schedule_seed: is a number of more than 64 bits",
    "x = " + "[" * 5000: "nested too deeply",
    "x = " + "{a = " * 3000: "nested too deeply",
    # From Python 3.14.10 on its reader refuses that by itself, as it does the two before.
    "a." * 3000 + "b = 1": "nested too deeply|a: holds more than 64 tables or arrays within each other",
}


@pytest.mark.parametrize(("text", "problem"), UNUSABLE.items(), ids=UNUSABLE.values())
def test_what_no_key_can_hold(text, problem):
    for reader in (
        lambda: parse(text, path="some/layoutrand.toml"),
        lambda: parse_toolchain(text, path="some/layoutrand.toml", parent=str, linkers=[]),
    ):
        with pytest.raises(ConfigError) as refused:
            reader()
        assert str(refused.value).startswith("some/layoutrand.toml: 1 problem")
        assert any(each in str(refused.value) for each in problem.split("|"))
    assert isinstance(lines_of(text), dict)


def test_a_regular_expression_of_too_many_repetitions_is_none():
    text = 'benchmarks = [{ name = "b", command = ["c"], metric = { regex = "(x{99999999999})" } }]'
    with pytest.raises(ConfigError, match="metric.regex: not a regular expression"):
        parse(text, path="layoutrand.toml")


def test_a_key_is_told_in_one_line():
    with pytest.raises(ConfigError) as refused:
        parse('"a\\nlayoutrand: \\u001b[2J" = 1', path="layoutrand.toml")
    assert "  - a layoutrand: \\x1b[2J: unknown key" in str(refused.value)
