"""What `run.redact` names is masked wherever its value stands, and nothing else is changed."""

from __future__ import annotations

import pickle

import pytest

from layoutrand.config.config import parse
from layoutrand.config.redaction import Redaction, not_masked, redaction_of, without_digests
from layoutrand.errors import ConfigError

TOML = """
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["prog"]
env = { FETCH = "build-secret" }
[systems.O2]
toolchain = "gcc"
env = { LICENCE = "system-secret" }
[[benchmarks]]
name = "b"
command = ["{artefact}"]
env = { TOKEN = "bench-secret", OTHER = "shown" }
[run]
redact = ["FETCH", "LICENCE", "TOKEN", "SESSION"]
"""


def redaction(environment=None):
    return redaction_of(parse(TOML, path="layoutrand.toml"), environment or {})


def test_values_come_from_every_table_and_from_the_environment():
    found = redaction({"SESSION": "of the shell", "TOKEN": "also this", "HOME": "/home/me"})
    text = "build-secret system-secret bench-secret shown of the shell also this /home/me"
    assert found.text(text) == (
        "<redacted FETCH> <redacted LICENCE> <redacted TOKEN> shown <redacted SESSION> <redacted TOKEN> /home/me"
    )


def test_nothing_is_masked_that_nobody_named():
    found = redaction_of(parse(TOML.replace('redact = ["FETCH", "LICENCE", "TOKEN", "SESSION"]', ""), path="x"), {})
    assert not found
    assert found.of_json({"TOKEN": "bench-secret"}) == {"TOKEN": "bench-secret"}
    assert found.of_facts({"TOKEN": "bench-secret"}) == {"TOKEN": "bench-secret"}


def test_the_longest_value_is_masked_first():
    found = Redaction(("A", "B")).and_of({"A": "token", "B": "token-and-more"})
    assert found.text("token-and-more, token, --key=token.") == "<redacted B>, <redacted A>, --key=<redacted A>."
    assert [name for name, _ in found.patterns()] == [b"token-and-more", b"token"]


def test_json_is_masked_in_every_depth_and_by_name():
    found = Redaction(("KEY",)).and_of({"KEY": "s3cret"})
    value = {"env": {"KEY": "another", "x": ["s3cret!", 1, None, True, ("a s3cret",)]}, "s3cret": 1.5}
    assert found.of_json(value) == {
        "env": {"KEY": "<redacted KEY>", "x": ["<redacted KEY>!", 1, None, True, ["a <redacted KEY>"]]},
        "<redacted KEY>": 1.5,
    }


def test_short_values_are_masked_where_they_stand_alone():
    found = Redaction(("N", "GONE")).and_of({"N": "1"})
    assert found.of_json({"N": "1", "argv": ["1", "10", "-n1"]}) == {
        "N": "<redacted N>",
        "argv": ["<redacted N>", "10", "-n1"],
    }
    assert found.patterns() == []
    assert [line.split(",")[0] for line in not_masked(found)] == [
        "run.redact names GONE",
        "the value of N (run.redact) has fewer than 4 characters: it is masked where it stands alone",
    ]


def test_another_value_is_another_key_and_is_not_told():
    """By the beginning of its SHA-256, which no record for others has."""
    one, other = ({"env": {"KEY": value}, "words": [f"--key={value}"]} for value in ("s3cret", "s4cret"))
    found = Redaction(("KEY",)).and_of({"KEY": "s3cret"})
    newer = Redaction(("KEY",)).and_of({"KEY": "s4cret"})
    assert found.of_facts(one) != newer.of_facts(other)
    assert Redaction(("KEY",)).and_of({"KEY": "s3cret"}).of_facts(one) == found.of_facts(one)
    assert "s3cret" not in str(found.of_facts(one))
    assert without_digests(found.of_facts(one)) == without_digests(newer.of_facts(other))
    assert without_digests(found.of_facts(one)) == {"env": {"KEY": "<redacted KEY>"}, "words": ["--key=<redacted KEY>"]}


def test_it_travels_and_does_not_show_in_tracebacks():
    found = redaction()
    assert pickle.loads(pickle.dumps(found)) == found
    assert "secret" not in repr(found)


@pytest.mark.parametrize("name", ["", "A=B", "<x>", "a,b"])
def test_names_that_are_none_are_refused(name):
    with pytest.raises(ConfigError, match="cannot be the name of an environment variable"):
        parse(TOML.replace('"SESSION"', f'"{name}"'), path="x")
