"""What is not carried to nodes must be there, and the same."""

from __future__ import annotations

import json
import shutil

import pytest

from dacapokit import make_jar, make_jdk, write_project
from fakes import make_config
from layoutrand.cluster.installed import check_places, places_of
from layoutrand.config.config import parse
from layoutrand.errors import ClusterError, ConfigError, HostError
from layoutrand.suites.expand import expanded
from speckit import make_spec_root


def dacapo(root, tmp_path):
    """A DaCapo project whose JDK is outside of it."""
    jdk = make_jdk(tmp_path / "jdk")
    write_project(
        root,
        {"jar": str(make_jar(tmp_path / "d.jar")), "benchmarks": ["fop"], "iterations": 3},
        {"a": {"prebuilt": str(jdk)}},
    )
    return expanded(parse((root / "layoutrand.toml").read_text(), path="layoutrand.toml"), root)


def test_a_plain_project_needs_nothing_else(tmp_path):
    assert places_of(make_config('[[benchmarks]]\nname = "b"\ncommand = ["x"]\n'), tmp_path, ["a", "b"]) == ()


def test_a_jar_and_a_jdk_are_compared_by_content(tmp_path):
    config = dacapo(tmp_path / "p", tmp_path)
    places = places_of(config, tmp_path / "p", ["a"])
    assert [(place.kind, place.key) for place in places] == [("file", "systems.a.prebuilt"), ("dacapo", "suite.jar")]
    check_places(places, "n1")

    make_jar(tmp_path / "d.jar", names=("fop",))
    with pytest.raises(ClusterError, match=r"suite.jar: .*/d.jar has another content on n1 than here; what is named"):
        check_places(places, "n1")
    (tmp_path / "d.jar").unlink()
    with pytest.raises(ClusterError, match=r"suite.jar: .*/d.jar cannot be used on n7: "):
        check_places(places, "n7")

    (tmp_path / "jdk/lib/server/libjvm.so").write_text("another")
    with pytest.raises(ClusterError, match=r"systems.a.prebuilt: .*/libjvm.so has another content on n1"):
        check_places(places[:1], "n1")
    shutil.rmtree(tmp_path / "jdk")
    with pytest.raises(ClusterError, match=r"libjvm.so cannot be used on n1: cannot read .*: No such file"):
        check_places(places[:1], "n1")


def test_what_lies_within_the_project_is_carried_instead(tmp_path):
    make_jdk(tmp_path / "jdk")
    write_project(
        tmp_path,
        {"jar": str(make_jar(tmp_path / "d.jar")), "benchmarks": ["fop"], "iterations": 3},
        {"a": {"prebuilt": "jdk"}},
    )
    config = expanded(parse((tmp_path / "layoutrand.toml").read_text(), path="layoutrand.toml"), tmp_path)
    assert [place.kind for place in places_of(config, tmp_path, ["a"])] == ["dacapo"]


def test_the_template_of_an_image_without_what_is_excluded(tmp_path):
    make_jdk(tmp_path / "jdk")
    (tmp_path / "jdk/lib/src.zip").write_text("1")
    image = {"template": str(tmp_path / "jdk"), "path": "lib/server/libjvm.so", "exclude": ["lib/src.zip"]}
    table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in (image | {"check": ["{home}/bin/java"]}).items())
    text = (
        '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["libjvm.so"]\n'
        f"image = {{ {table} }}\n[systems.a]\n"
    )
    config = parse(text, path="layoutrand.toml")
    places = places_of(config, tmp_path, ["a"])
    assert [place.key for place in places] == ["build.image.template"]
    (tmp_path / "jdk/lib/src.zip").write_text("2")
    check_places(places, "n1")
    (tmp_path / "jdk/bin/java").write_text("2")
    with pytest.raises(ClusterError, match="build.image.template: .* has another content on n1"):
        check_places(places, "n1")
    shutil.rmtree(tmp_path / "jdk")
    with pytest.raises(ClusterError, match="cannot be used on n1: .*no such directory"):
        check_places(places, "n1")
    with pytest.raises(HostError, match="no such directory"):
        places_of(config, tmp_path, ["a"])


def test_an_installation_of_spec_by_its_version_and_benchmarks(tmp_path):
    root = make_spec_root(tmp_path / "cpu2017")
    text = (
        f'[project]\nname = "p"\n[suite]\nkind = "spec-cpu"\nroot = "{root}"\nbenchmarks = ["999.specrand_ir"]\n'
        "[systems.a]\n"
    )
    config = parse(text, path="layoutrand.toml")
    places = places_of(config, tmp_path, ["a"])
    check_places(places, "n1")
    (root / "version.txt").write_text("9.9.9\n")
    with pytest.raises(ClusterError, match="suite.root: .* has another content on n1"):
        check_places(places, "n1")
    (root / "shrc").unlink()
    with pytest.raises(ClusterError, match="suite.root: .* cannot be used on n1: .*has no shrc"):
        check_places(places, "n1")
    with pytest.raises(ConfigError, match="has no shrc"):
        places_of(config, tmp_path, ["a"])
