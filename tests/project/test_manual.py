"""The parts of the documentation that are made of the code are as the code has them, and leave nothing out."""

import re
import subprocess

import pytest

from layoutrand.config import schema, toolchain
from layoutrand.results import rows
from manual import key_tables, write
from workshop import require

REFERENCE = write.DOCS / "reference"


def test_what_is_made_of_the_code_is_as_it_would_be_made_now():
    """`make manual` mends it; of the schema, tests/config/test_schema.py says so with any version of pydantic."""
    made = {path: text for path, text in write.expected().items() if path.name != schema.FILE_NAME}
    differing = [
        str(path.relative_to(write.ROOT))
        for path, text in made.items()
        if not path.is_file() or path.read_text("utf-8") != text
    ]

    assert (differing, write.superfluous(made)) == ([], []), "make manual"


def test_every_key_has_a_meaning_and_every_meaning_a_key():
    """Of layoutrand.toml and of toolchain files; `config/key_meanings.toml` is the place."""
    of_models = {table: set(key_tables.keys(table)) for table in [*key_tables.MODELS, "matrix"]}
    told = {table: set(keys) for table, keys in key_tables.MEANINGS.items()}

    assert told == of_models


def test_every_table_of_keys_stands_in_the_reference():
    """Each once."""
    text = "".join((REFERENCE / name).read_text("utf-8") for name in ("configuration.md", "toolchains.md"))

    assert sorted(re.findall(r"<!-- keys (\S+): made", text)) == sorted(key_tables.MEANINGS)


def test_a_key_that_is_needed_says_so():
    """By a table where some are and some are not."""
    assert key_tables.keys("warmup") == {
        "benchmark": ("string", "**needed**"),
        "iterations": ("integer", "**needed**"),
        "host": ("string", ""),
        "system": ("string", ""),
    }
    assert {"cc", "ld"} < set(toolchain.Tools.model_fields)
    assert key_tables.keys("run")["order"][1] == "`blocks`"


def test_the_columns_of_the_results_file_are_documented():
    """Its tables, and every column of an execution."""
    page = (REFERENCE / "results.md").read_text("utf-8")
    tables = re.findall(r"CREATE TABLE (\w+)", rows.SCHEMA)

    assert re.findall(r"^\| `(\w+)` \| [^|]*\|$", page.split("The columns of")[0], re.MULTILINE) == tables
    assert [name for name in rows.EXECUTION_COLUMNS if f"`{name}`" not in page] == []
    assert f"`PRAGMA user_version` ({rows.SCHEMA_VERSION})" in page


@pytest.mark.slow
def test_manual_pages_are_set_without_a_complaint():
    """By groff, with all its warnings."""
    groff = require("groff", "groff")
    pages = sorted((write.DOCS / "man").glob("*.1"))
    assert len(pages) > 10

    for page in pages:
        done = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-P-cbou", page], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), page.name
        assert "NAME" in done.stdout
        assert "layoutrand" in done.stdout
