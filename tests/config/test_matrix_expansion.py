"""[matrix] of layoutrand.toml: what it expands to, and every message about what it cannot."""

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.build.first_build import Learned
from layoutrand.build.first_systems import AS_IT_IS, systems_to_compare
from layoutrand.build.new_project import FirstBenchmark, NewProject
from layoutrand.build.program_choice import ChosenProgram
from layoutrand.capture.recognise import Way
from layoutrand.config.config import System, as_dict, parse
from layoutrand.config.matrix import expand, matching
from layoutrand.errors import ConfigError, UsageError

REST = '[project]\nname = "p"\n[build]\nrepo = "x"\ncommands = ["make"]\nartefacts = ["prog"]\n'


def systems(matrix, rest=REST):
    """Name -> settings that are not the default."""
    config = parse(f"{rest}[matrix]\n{matrix}\n", path="x")
    return {name: system.model_dump(exclude_defaults=True) for name, system in config.systems.items()}


def problems(matrix, rest=REST):
    with pytest.raises(ConfigError) as caught:
        parse(f"{rest}[matrix]\n{matrix}\n", path="x")
    return caught.value.problems


def test_three_axes_are_all_combinations():
    """Revisions x toolchains x flags, the first axis varying slowest, named in the order of the file."""
    found = systems("""
        rev = ["v1.0", "main"]
        toolchain = ["gcc", "clang-lld"]
        flags = { O2 = "-O2", lto = { cflags = "-O2 -flto", ldflags = "-flto", env = { A = "b" } } }
    """)
    lto = {"cflags": "-O2 -flto", "ldflags": "-flto", "env": {"A": "b"}}

    assert list(found) == [
        "v1.0-gcc-O2",
        "v1.0-gcc-lto",
        "v1.0-clang-lld-O2",
        "v1.0-clang-lld-lto",
        "main-gcc-O2",
        "main-gcc-lto",
        "main-clang-lld-O2",
        "main-clang-lld-lto",
    ]
    assert found["v1.0-gcc-O2"] == {"rev": "v1.0", "cflags": "-O2"}
    assert found["main-clang-lld-lto"] == {"rev": "main", "toolchain": "clang-lld", **lto}


@pytest.mark.parametrize(
    ("matrix", "names"),
    [
        ('flags = { a = "" }', ["a"]),
        ('toolchain = ["gcc"]\nflags = { a = "", b = "" }', ["a", "b"]),
        ('toolchain = ["gcc"]\nflags = { a = "" }', ["gcc-a"]),
        ('flags = { a = "", b = "" }\ntoolchain = ["gcc", "lld"]', ["a-gcc", "a-lld", "b-gcc", "b-lld"]),
        ('flags = { a = "", b = "" }\nname = "x.{flags}+{flags}"', ["x.a+a", "x.b+b"]),
        ('rev = { old = "feature/x", new = "v2" }', ["old", "new"]),
        ('rev = ["feature/x"]\nflags = { a = "", b = "" }', ["a", "b"]),
        ('toolchain = { mine = "t/mine.toml", gcc = "gcc" }', ["mine", "gcc"]),
        ('rev = ["a", "b"]\nflags = { a = "", b = "" }\nexclude = [{ rev = "a", flags = "b" }]', ["a-a", "b-a", "b-b"]),
        ('rev = ["a", "b", "c"]\nexclude = [{ rev = ["a", "c"] }]', ["b"]),
    ],
)
def test_names(matrix, names):
    """Axes with more than one value name a system, or what the template says; exclusions leave the rest as it is."""
    assert list(systems(matrix)) == names


def test_a_matrix_is_the_systems_it_stands_for():
    """Beside systems that are written out, and with the same digest as if all were."""
    by_hand = '[systems.special]\ncflags = "-Os"\n[systems.O2]\ncflags = "-O2"\n[systems.O3]\ncflags = "-O3"\n'
    short = '[systems.special]\ncflags = "-Os"\n[matrix]\nflags = { O2 = "-O2", O3 = "-O3" }\n'

    assert parse(REST + short, path="x") == parse(REST + by_hand, path="x")
    assert "matrix" not in as_dict(parse(REST + short, path="x"))


def test_flags_replace_those_of_cxx_only_where_they_say_so():
    """A string is cflags, which C++ follows; a table has the keys of a system but toolchain and rev."""
    config = parse(
        REST + '[matrix]\nflags = { a = "-O2", b = { cflags = "-O2", cxxflags = "", fflags = "-O1" } }\n', path="x"
    )

    assert (config.systems["a"].cxxflags, config.systems["b"].cxxflags, config.systems["b"].fflags) == (None, "", "-O1")


RULE = "use letters, digits and . _ + - only, beginning with a letter or digit"
WRONG = {
    "empty": ("", ["matrix: give at least one of rev, toolchain, flags"]),
    "unknown axis": ('flag = { a = "" }\nflags = { b = "" }', ["matrix.flag: unknown key; did you mean 'flags'?"]),
    "unknown axis, far": (
        'zzz = ["a"]\nflags = { b = "" }', ["matrix.zzz: unknown key; known here: rev, toolchain, flags, name, exclude"],
    ),
    "empty lists": ("rev = []\nflags = {}", ["matrix.rev: must not be empty", "matrix.flags: must not be empty"]),
    "slash in a revision": (
        'rev = ["feature/x y", "main"]',
        ["matrix.rev[0]: 'feature/x y' cannot be part of a system's name; give each value one by writing a table: "
         'rev = { feature-x-y = "feature/x y", ... }'],
    ),
    "toolchain by path": (
        'toolchain = ["./t/my.gcc.toml", "gcc"]',
        ["matrix.toolchain[0]: './t/my.gcc.toml' cannot be part of a system's name; give each value one by writing a table: "
         'toolchain = { "t-my.gcc" = "./t/my.gcc.toml", ... }'],
    ),
    "listed twice": ('rev = ["a", "b", "a"]', ["matrix.rev[2]: 'a' is listed twice"]),
    "flags as a list": (
        'flags = ["-O2", "-O3"]',
        ['matrix.flags: must be a table that gives each value a name, such as { O2 = "-O2", O3 = "-O3" }'],
    ),
    "axis of another type": (
        'rev = 3\nflags = "-O2"',
        ["matrix.rev: must be a table that gives each value a name, or an array (given: 3)",
         'matrix.flags: must be a table that gives each value a name, such as { O2 = "-O2", O3 = "-O3" } (given: \'-O2\')'],
    ),
    "value of another type": (
        'rev = [3, "-x"]\ntoolchain = { a = true }\nflags = { b = 4 }',
        ["matrix.rev[0]: must be a string (given: 3)", "matrix.rev[1]: must not begin with a dash (given: '-x')",
         "matrix.toolchain.a: must be a string (given: true)", "matrix.flags.b: must be a string (given: 4)"],
    ),
    "flags with problems": (
        "flags = { a = \"'\", b = { cflag = \"\", ldflags = \"'\" }, c = { rev = \"x\" }, d = { env = { \"A=\" = \"\" } } }",
        ["matrix.flags.a: cannot be split into words as a shell does: no closing quotation (given: \"'\")",
         "matrix.flags.b.ldflags: cannot be split into words as a shell does: no closing quotation (given: \"'\")",
         "matrix.flags.b.cflag: unknown key; did you mean 'cflags'?",
         "matrix.flags.c.rev: unknown key; did you mean 'env'?",
         "matrix.flags.d.env: 'A=' cannot be the name of an environment variable"],
    ),
    "name of a value": ('flags = { "a b" = "" }', [f"matrix.flags.a b: {RULE} (given: 'a b')"]),
    "name of a value with a newline": ('flags = { "a\\n" = "" }', [f"matrix.flags.a\n: {RULE} (given: 'a\\n')"]),
    "unknown placeholder": (
        'flags = { a = "", b = "" }\nname = "{flag}"',
        ["matrix.name: {flag} is no axis of this matrix; there are {flags}; did you mean 'flags'?"],
    ),
    "placeholder of an axis that is not there": (
        'flags = { a = "", b = "" }\nname = "{rev}-{flags}"', ["matrix.name: {rev} is no axis of this matrix; there are {flags}"],
    ),
    "template with a slash": (
        'flags = { a = "" }\nname = "x/{flags}"', [f"matrix.name: {RULE}, beside placeholders such as {{flags}} (given: 'x/{{flags}}')"],
    ),
    "template with a lone brace": (
        'flags = { a = "" }\nname = "{flags"', [f"matrix.name: {RULE}, beside placeholders such as {{flags}} (given: '{{flags')"],
    ),
    "template of another type": ('flags = { a = "" }\nname = 3', ["matrix.name: must be a string (given: 3)"]),
    "name that begins badly": ('flags = { a = "" }\nname = "-{flags}"', [f"matrix.name: '-a' cannot be a system's name: {RULE}"]),
    "template that forgets an axis": (
        'toolchain = ["gcc", "lld"]\nflags = { a = "", b = "" }\nname = "{toolchain}"',
        ["matrix.name: 'gcc' would be 2 systems (toolchain gcc, flags a; toolchain gcc, flags b); add {flags}",
         "matrix.name: 'lld' would be 2 systems (toolchain lld, flags a; toolchain lld, flags b); add {flags}"],
    ),
    "template without an axis": (
        'flags = { a = "", b = "", c = "", d = "" }\nname = "x"',
        ["matrix.name: 'x' would be 4 systems (flags a; flags b; flags c; ...); add {flags}"],
    ),
    "names that run together": (
        'rev = ["a", "a-b"]\nflags = { b-c = "", c = "" }',
        ["matrix.name: 'a-b-c' would be 2 systems (rev a, flags b-c; rev a-b, flags c); separate its parts, or rename a value"],
    ),
    "name of a system": (
        'flags = { O2 = "", O3 = "" }\n[systems.O2]',
        ["matrix: flags O2 would be called 'O2', as [systems.O2] is; give matrix.name a prefix, or exclude the cell"],
    ),
    "exclusions": (
        'rev = ["v1", "v2"]\nflags = { a = "", b = "" }\n'
        'exclude = [{ rev = "v3" }, { flag = "a" }, {}, 3, { rev = [] }, { rev = 4 }, { flags = ["a", "c"] }, { toolchain = "gcc" }]',
        ["matrix.exclude[0].rev: matches nothing, 'v3' is not among v1, v2",
         "matrix.exclude[1].flag: is no axis of this matrix; there are rev, flags; did you mean 'flags'?",
         "matrix.exclude[2]: is empty, so it would exclude everything",
         "matrix.exclude[3]: must be a table (given: 3)",
         "matrix.exclude[4].rev: must not be empty",
         "matrix.exclude[5].rev: must be a string or an array of strings (given: 4)",
         "matrix.exclude[6].flags: matches nothing, 'c' is not among a, b",
         "matrix.exclude[7].toolchain: is no axis of this matrix; there are rev, flags"],
    ),
    "exclusion of another type": ('flags = { a = "" }\nexclude = "a"', ["matrix.exclude: must be an array of tables (given: 'a')"]),
    "exclusion twice": (
        'flags = { a = "", b = "" }\nexclude = [{ flags = "a" }, { flags = "a" }]', ["matrix.exclude[1]: matches nothing that earlier entries leave"],
    ),
    "everything excluded": (
        'flags = { a = "", b = "" }\nexclude = [{ flags = ["a", "b"] }]', ["matrix.exclude: leaves no system"],
    ),
}  # a table: a row for what belongs together  # fmt: skip


@pytest.mark.parametrize(("matrix", "lines"), WRONG.values(), ids=WRONG.keys())
def test_message(matrix, lines):
    """Each mistake gives one line that begins with its key path and says what to do; none repeats another."""
    assert sorted(problems(matrix)) == sorted(lines)


def test_a_matrix_that_is_none():
    """A value in place of the table is told as such."""
    with pytest.raises(ConfigError) as caught:
        parse("matrix = 3\n" + REST, path="x")

    assert caught.value.problems == ["matrix: must be a table (given: 3)"]


def test_revisions_need_a_repository():
    """As for a system that is written out."""
    rest = REST.replace('repo = "x"\n', "")

    assert problems('rev = ["a"]', rest) == ["matrix.rev: needs build.repo"]


def test_problems_elsewhere_are_told_at_once():
    """A broken matrix hides no other mistake, and the systems beside it are checked, too."""
    found = problems('rev = []\n[systems.a]\ncflag = ""\n[layout]\nclasses = "x"\n')

    assert [line.split(": ")[0] for line in found] == ["layout.classes", "systems.a.cflag", "matrix.rev"]


def test_a_misspelt_matrix_is_an_unknown_key():
    """Not a file without systems alone."""
    with pytest.raises(ConfigError) as caught:
        parse(REST + '[matrx]\nflags = { a = "" }\n', path="x")

    assert caught.value.problems == ["systems: this key is required", "matrx: unknown key; did you mean 'matrix'?"]


@given(
    st.dictionaries(
        st.sampled_from(["rev", "toolchain", "flags", "name", "exclude", "zzz"]),
        st.recursive(
            st.booleans()
            | st.integers(-2, 2)
            | st.sampled_from(["", "a", "a/b", "{rev}", "{flags}-{rev}", "'", "-x", "x\n"]),
            lambda part: (
                st.lists(part, max_size=3)
                | st.dictionaries(st.sampled_from(["rev", "flags", "a", "b c", "cflags"]), part, max_size=3)
            ),
            max_leaves=8,
        ),
    )
)
def test_whatever_stands_there_is_expanded_or_explained(table):
    """Either systems or problems, never both or none, and never an exception."""
    found, wrong = expand(table, ["a"], lambda _axis, _settings: [])

    assert bool(found) != bool(wrong)
    assert all(line.startswith("matrix") for line in wrong)


KNOWN = ["gcc-O2", "gcc-O3", "clang-O2", "special"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["gcc-*"], ["gcc-O2", "gcc-O3"]),
        (["*-O2", "gcc-*"], ["gcc-O2", "clang-O2", "gcc-O3"]),
        (["special", "gcc-O?"], ["special", "gcc-O2", "gcc-O3"]),
        (["[cs]*"], ["clang-O2", "special"]),
        (["unknown"], ["unknown"]),
        ([], []),
    ],
)
def test_patterns_choose_systems(wanted, found):
    """Every system that a pattern matches, each once; what is no pattern is left to be judged as a name."""
    assert matching("system", wanted, KNOWN) == found


@pytest.mark.parametrize("pattern", ["GCC-*", "icc*", "gcc-[45]"])
def test_a_pattern_that_matches_nothing(pattern):
    """It is a mistake, not an empty choice."""
    with pytest.raises(UsageError) as caught:
        matching("system", [pattern], KNOWN)

    assert str(caught.value) == f"no system matches {pattern!r}; there are gcc-O2, gcc-O3, clang-O2, special"


def test_the_example_that_init_writes_is_valid():
    """The commented matrix of a new layoutrand.toml, without its marks, is six systems of a repository."""
    learned = Learned("gcc", Way(("make",)), (), ChosenProgram(("prog",), "/usr/bin/ld", 0, ()), ["function-order"])
    systems = systems_to_compare("gcc", is_rust=False)
    text = NewProject("p", "a makefile", learned, systems, FirstBenchmark("prog", ("{artefact}",))).text()
    text = text.replace('source = "."', 'repo = "."')
    first = text.index("# [matrix]")
    last = text.index("[[benchmarks]]")
    example = "\n".join(line.removeprefix("# ") for line in text[first:last].splitlines())
    config = parse(text[:first] + example + "\n" + text[last:], path="x")

    assert list(config.systems)[2:] == [
        "v1.0-gcc-O2",
        "v1.0-gcc-O3",
        "v1.0-gcc-lld-O2",
        "main-gcc-O2",
        "main-gcc-O3",
        "main-gcc-lld-O2",
    ]


OF_EXAMPLES = {
    "C": ({}, ["cflags"], ["cflags", "ldflags"]),
    "Fortran": ({"has_fortran": True}, ["cflags", "fflags"], ["cflags", "fflags"]),
    "Fortran alone": ({"has_fortran": True}, ["fflags"], ["fflags"]),
    "D": ({"takes_flags": False}, ["env"], ["env"]),
    "Cargo": ({"toolchain": "rust", "takes_flags": False}, ["profile"], ["profile"]),
    "Go": ({"toolchain": "go", "takes_flags": False}, ["env"], ["env"]),
}


@pytest.mark.parametrize("language", OF_EXAMPLES)
def test_the_system_that_is_proposed_has_what_reaches_the_compilers_of_the_build(language):
    """cflags = "-O3" was proposed for builds whose compilers had just been found to take no such flags."""
    differing, beside, in_matrix = OF_EXAMPLES[language]
    chosen = ChosenProgram(("prog",), "/usr/bin/ld", 0, ())
    learned = replace(Learned("gcc", Way(("make",)), (), chosen, ["function-order"]), **differing)
    systems = {"O2": System(fflags="-O2")} if language == "Fortran alone" else AS_IT_IS
    text = NewProject("p", "a makefile", learned, systems, FirstBenchmark("prog", ("{artefact}",))).text()
    lines = text.splitlines()
    first, matrix = (
        next(n for n, line in enumerate(lines) if line.startswith(mark)) for mark in ("# [sys", "# [matrix")
    )
    end = next(n for n, line in enumerate(lines) if line.startswith("[[benchmarks]]"))
    shown = [each.removeprefix("# ") for each in (*lines[first:matrix], *lines[matrix:end])]
    other = tomllib.loads("\n".join(each for each in shown if not each.startswith("Many systems")))

    (system,) = other["systems"].values()
    assert sorted(set(system) - {"toolchain"}) == beside
    assert sorted(list(other["matrix"]["flags"].values())[-1]) == in_matrix
    assert ("flags are appended to every compilation" in text) is (language not in {"D", "Go"})
