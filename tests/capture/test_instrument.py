"""The record of a build: through JSON and back, and what makes two records the same."""

import json
from dataclasses import replace

import pytest

from buildkit import section
from layoutrand.cache.capture_record import SCHEMA, Capture, CapturedLink, from_json, identity_facts, to_json
from layoutrand.errors import CacheError
from layoutrand.platform.disk import canonical_json

LINK = CapturedLink(
    artefact="bin/prog",
    linker="gnu",
    output="bin/prog",
    argv=("-o", "x y", "\0/usr/lib/crt1.o", "caf\udce9"),
    replay_argv=("-s",),
    cwd="_build",
    environment={"LD_RUN_PATH": "$ORIGIN"},
    files={"_build/a.o": "11", "usr/lib/crt1.o": "22"},
    edited={"_build/a.o": "33"},
    members=("x.a(y.o)",),
    sections=(
        section(0, "a.o", ".text.f", size=3, group="sig"),
        section(1, "usr/lib/crt1.o", ".text", pinned=True, occurrence=2),
    ),
    identity=(1, 0),
    other_sizes={".data": 8},
    script="SECTIONS {}\n",
    users_script=False,
    moves={},
    code_sha256="44",
    original_sha256="55",
    warnings=("careful",),
)
TOOLS = {
    "ld": {"path": "/usr/bin/ld", "version": "GNU ld 2.40", "sha256": "aa"},
    "cc": {"path": "/usr/bin/gcc", "version": "12", "sha256": "bb"},
}
CAPTURE = Capture(
    id="00",
    system="O2",
    toolchain="gcc",
    separates_classes=True,
    tools=TOOLS,
    source={"digest": "66", "in_place": False},
    build_s=1.5,
    n_links=3,
    links=(LINK, replace(LINK, artefact="lib/x.so", sections=(), identity=())),
)


def test_a_capture_survives_json():
    """What is written is what is read, names with stray bytes and the root's marker included."""
    assert from_json(json.loads(json.dumps(to_json(CAPTURE))), where="x") == CAPTURE


def test_sections_are_rows():
    """One section is one short list, since a capture may have 45,000."""
    assert to_json(CAPTURE)["links"][0]["sections"] == [
        [0, "a.o", ".text.f", 0, "sig", "text", 3, 16, False],
        [1, "usr/lib/crt1.o", ".text", 2, "", "text", 16, 16, True],
    ]


def test_writing_changes_nothing():
    """The capture is as it was after it was written."""
    before = json.dumps(to_json(CAPTURE))

    assert json.dumps(to_json(CAPTURE)) == before
    assert CAPTURE.links[0].sections == LINK.sections


@pytest.mark.parametrize("schema", [None, "layoutrand/capture/2", 1])
def test_another_schema_is_refused(schema):
    """A record of another version is named, with what this version reads."""
    with pytest.raises(CacheError, match=f"^/cache/x: schema .*, this layoutrand reads '{SCHEMA}'$"):
        from_json({**to_json(CAPTURE), "schema": schema}, where="/cache/x")


@pytest.mark.parametrize(
    "damage", [{"links": [{}]}, {"links": 3}, {"id": None, "more": 1}, {"links": [{"sections": [[1]]}]}]
)
def test_a_damaged_record_is_an_ordinary_error(damage):
    """What is missing or too much is said with the place of the record."""
    with pytest.raises(CacheError, match="^x is no record of a capture: "):
        from_json({**to_json(CAPTURE), **damage}, where="x")


@pytest.mark.parametrize("order", [[0, 2], [0, -1], [0, 0], [1 << 70]])
def test_an_order_of_sections_that_are_not_there_is_refused(order):
    """A bundle's record comes from elsewhere, and layouts are drawn of what it lists."""
    table = to_json(CAPTURE)
    table["links"][0]["identity"] = order
    with pytest.raises(CacheError, match="^x is no record of a capture: .*an identity order of other sections"):
        from_json(table, where="x")


def test_a_link_is_found_by_its_artefact():
    """Each artefact has its link."""
    assert CAPTURE.link("lib/x.so").artefact == "lib/x.so"


def test_pinned_sections_do_not_count_as_movable():
    """Only what a seed may move is counted."""
    assert (LINK.movable(), CAPTURE.links[1].movable()) == (1, 0)


SAME = [
    {"edited": {}},
    {"members": ()},
    {"sections": tuple(replace(one, size=99) for one in LINK.sections)},
    {"identity": ()},
    {"other_sizes": {}},
    {"script": ""},
    {"code_sha256": ""},
    {"warnings": ()},
    {"original_sha256": ""},
]
DIFFERENT = [
    {"argv": ("-x",)},
    {"replay_argv": ()},
    {"cwd": "_build/sub"},
    {"environment": {}},
    {"files": {"_build/a.o": "99", "usr/lib/crt1.o": "22"}},
    {"linker": "lld"},
    {"artefact": "other"},
    {"output": "other"},
    {"moves": {"a.o": "\0/_build/a.o"}},
    {"sections": (*LINK.sections, section(2, "a.o", ".data.x", kind="data"))},
]


@pytest.mark.parametrize("change", DIFFERENT)
def test_what_decides_a_link_decides_the_identity_of_a_capture(change):
    """Another line, environment or content is another capture."""
    assert identity_facts([replace(LINK, **change)], TOOLS) != identity_facts([LINK], TOOLS)


@pytest.mark.parametrize("change", SAME)
def test_what_follows_from_the_link_does_not(change):
    """What is computed from line, files and linker adds nothing to the identity."""
    assert identity_facts([replace(LINK, **change)], TOOLS) == identity_facts([LINK], TOOLS)


def test_the_linker_is_part_of_the_identity_but_not_its_place():
    """Another version or another file of the linker is another capture; the same one installed elsewhere is not."""

    def tools(**changes):
        return {**TOOLS, "ld": {**TOOLS["ld"], **changes}}

    assert identity_facts([LINK], tools(path="/opt/ld")) == identity_facts([LINK], TOOLS)
    assert identity_facts([LINK], tools(sha256="cc")) != identity_facts([LINK], TOOLS)
    assert identity_facts([LINK], tools(version="2.41")) != identity_facts([LINK], TOOLS)


def test_identity_facts_can_be_hashed():
    """They are JSON values, stray bytes included."""
    assert canonical_json(identity_facts([LINK], TOOLS)).startswith(b'{"ld":')
