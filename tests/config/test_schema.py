"""The JSON Schema of layoutrand.toml: it is what the models say, and what is valid fits it."""

import json
import re
import tomllib
from pathlib import Path

import fastjsonschema
import pydantic
import pytest

from layoutrand.config import config, schema
from manual import key_tables

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "src" / "layoutrand" / "schemas" / schema.FILE_NAME
EXAMPLES = sorted((ROOT / "examples").rglob("layoutrand.toml"))
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def fits():
    """Takes a table; raises for one that does not fit."""
    return fastjsonschema.compile(json.loads(SHIPPED.read_text()))


def test_what_is_shipped_is_what_the_models_say():
    """`make manual` makes it anew."""
    (locked,) = re.findall(r"^pydantic==(\S+)", (ROOT / ".ci" / "constraints.txt").read_text(), re.MULTILINE)
    if pydantic.VERSION != locked:
        pytest.skip(f"pydantic {pydantic.VERSION} words schemas in its own way; {locked} made the one that is shipped")
    assert SHIPPED.read_text() == schema.text(key_tables.BY_MODEL)


def test_examples_fit(fits):
    assert EXAMPLES
    for path in EXAMPLES:
        fits(tomllib.loads(path.read_text()))
    for text in re.findall(r"```toml\n(.*?)```", README, re.DOTALL):
        if "[project]" in text:
            fits(tomllib.loads(text))


SMALLEST = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["p"]\n'
VALID = {
    "matrix": '[matrix]\nrev = ["a"]\nflags = { O2 = "-O2", lto = { cflags = "-flto" } }\n',
    "cpu": "[systems.a]\n[run]\ncpu = [1, 2]\n",
    "one cpu": "[systems.a]\n[run]\ncpu = 3\n",
    "limit": '[systems.a]\n[[benchmarks]]\nname = "b"\ncommand = ["x"]\nmemory_limit = "2GiB"\n',
    "cluster": '[systems.a]\n[cluster]\nkind = "slurm"\nshared = "/nfs"\n',
    "json": '[systems.a]\n[[benchmarks]]\nname = "b"\ncommand = ["x"]\nmetric = { json = "/a", name = "n" }\n',
}


@pytest.mark.parametrize("text", VALID.values(), ids=VALID.keys())
def test_what_is_valid_fits(fits, text):
    text = SMALLEST + text if "matrix" not in text else SMALLEST.replace("[build]", '[build]\nrepo = "."') + text
    config.parse(text, path="x")

    fits(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        SMALLEST + "[systems.a]\ncflag = ''\n",
        SMALLEST + "[systems.a]\n[run]\nexecutions = 0\n",
        SMALLEST + "[systems.a]\n[layout]\nfactors = ['order']\n",
        SMALLEST + "[systems.a]\n[cluster]\nkind = 'pbs'\n",
        SMALLEST + "[systems.'two words']\n",
    ],
)
def test_what_is_wrong_by_itself_does_not(fits, text):
    with pytest.raises(fastjsonschema.JsonSchemaException):
        fits(tomllib.loads(text))
