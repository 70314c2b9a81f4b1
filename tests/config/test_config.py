"""layoutrand.toml: what is accepted, and every message about what is not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.config.config import Config, as_dict, choose, parse
from layoutrand.config.problems import suggest
from layoutrand.errors import ConfigError, UsageError

MINIMAL = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n'
BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


def problems(text):
    """The lines of the error that a text gives."""
    with pytest.raises(ConfigError) as caught:
        parse(text, path="layoutrand.toml")
    return caught.value.problems


def changed(table, line):
    """The minimal file with one more line in a table."""
    assert f"[{table}]\n" in MINIMAL
    return MINIMAL.replace(f"[{table}]\n", f"[{table}]\n{line}\n")


def test_a_minimal_file_has_sensible_defaults():
    """A name, a command, an artefact and a system are enough."""
    config = parse(MINIMAL, path="x")

    assert (config.build.source, config.build.in_place, config.layout.factors, config.layout.classes) == (
        ".",
        False,
        ["function-order"],
        "keep",
    )
    assert (config.systems["a"].toolchain, config.systems["a"].cflags, config.benchmarks, config.run.executions) == (
        "gcc",
        "",
        [],
        1,
    )
    assert config.run.controls == ["stock", "identity"]


def test_a_full_file_is_read_whole():
    """Every key of the design is where it belongs."""
    text = """
        [project]
        name = "gnugo-3.8"
        [build]
        repo = "https://example.org/gnugo.git"
        rev = "v3.8"
        commands = ["./configure", "make -j{jobs}"]
        artefacts = ["interface/gnugo", "lib/x.so"]
        exclude = ["*.o", "build/"]
        env = { V = "1" }
        timeout_s = 600
        [layout]
        factors = ["module-order", "function-order-in-module"]
        classes = "mix"
        [systems.O2]
        toolchain = "gcc"
        cflags = "-O2 '-DX=a b'"
        cxxflags = "-O1"
        fflags = "-O1 -fcheck=all"
        ldflags = "-Wl,-O1"
        [systems."O3.new+x"]
        rev = "main"
        env = { A = "" }
        [[benchmarks]]
        name = "genmove"
        command = ["{artefact}", "--data", "{project}/data", "{artefact_dir}", "{{print}}", "${1}", "{}"]
        artefact = "interface/gnugo"
        stdin = "inputs/genmove.gtp"
        expect_stdout = "inputs/genmove.out"
        files = ["a", "b"]
        env = { LANG = "C" }
        timeout_s = 1.5
        metric = { regex = "time: ([0-9.]+) ms", name = "time", unit = "ms", warmup = 2 }
        [[benchmarks]]
        name = "misses"
        command = ["{artefact}"]
        metric = { wall = true, cachegrind = true }
        [run]
        executions = 3
        schedule_seed = 18446744073709551615
        randomise = ["env-size"]
        controls = ["stock"]
    """
    config = parse(text, path="x")

    assert config.systems["O3.new+x"].rev == "main"
    assert config.build.timeout_s == 600.0
    assert config.benchmarks[0].timeout_s == 1.5
    assert config.benchmarks[0].metric.regex == "time: ([0-9.]+) ms"
    assert config.run.schedule_seed == 2**64 - 1
    assert Config.model_validate(as_dict(config)) == config


WRONG = {
    # what is wrong: (text, the one problem)
    "no project": (MINIMAL.replace('[project]\nname = "p"\n', ""), "project: this key is required"),
    "no systems": (MINIMAL.replace("[systems.a]\n", ""), "systems: this key is required"),
    "no system": (MINIMAL.replace("[systems.a]\n", "[systems]\n"), "systems: must not be empty"),
    "no commands": (MINIMAL.replace('commands = ["make"]\n', ""), "build.commands: this key is required"),
    "empty commands": (MINIMAL.replace('["make"]', "[]"), "build.commands: must not be empty"),
    "empty artefacts": (MINIMAL.replace('["prog"]', "[]"), "build.artefacts: must not be empty"),
    "table that is none": (MINIMAL.replace('[project]\nname = "p"\n', "project = 3\n"), "project: must be a table (given: 3)"),
    "system that is none": (MINIMAL.replace("[systems.a]\n", "[systems]\na = true\n"), "systems.a: must be a table (given: true)"),
    "list that is none": (MINIMAL.replace('["make"]', '"make"'), "build.commands: must be an array (given: 'make')"),
    "text that is none": (MINIMAL.replace('name = "p"', "name = 3"), "project.name: must be a string (given: 3)"),
    "text in a list that is none": (MINIMAL.replace('["make"]', '["a", 3]'), "build.commands[1]: must be a string (given: 3)"),
    "bad name": (
        MINIMAL.replace('"p"', '"a b"'),
        "project.name: use letters, digits and . _ + - only, beginning with a letter or digit (given: 'a b')",
    ),
    "name with a newline": (
        MINIMAL.replace('"p"', '"p\\n"'),
        "project.name: use letters, digits and . _ + - only, beginning with a letter or digit (given: 'p\\n')",
    ),
    "bad name of a system": (
        MINIMAL.replace("[systems.a]", '[systems."-a"]'),
        "systems.-a: use letters, digits and . _ + - only, beginning with a letter or digit (given: '-a')",
    ),
    "text of another form than a name": (
        '[project]\nname = "p"\n[suite]\nkind = "spec-cpu"\nroot = "/x"\nbenchmarks = ["a"]\nlabel = "a+b"\n[systems.a]\n',
        "suite.label: must be of the form [A-Za-z0-9._-]+ (given: 'a+b')",
    ),
    "required key, misspelt": (MINIMAL.replace('name = "p"', 'nam = "p"'), "project.nam: unknown key; did you mean 'name'?"),
    "required table, misspelt": (MINIMAL.replace("[project]", "[projet]"), "projet: unknown key; did you mean 'project'?"),
    "required key of [build], misspelt": (MINIMAL.replace("commands", "comands"), "build.comands: unknown key; did you mean 'commands'?"),
    "unknown table, near": (MINIMAL + "[layuot]\n", "layuot: unknown key; did you mean 'layout'?"),
    "unknown table, far": (MINIMAL + "[xyz]\n", "xyz: unknown key; known here: project, build, suite, layout, systems, benchmarks, run, cluster, warmup, matrix"),
    "unknown key, of other case": (changed("build", "IN_PLACE = true"), "build.IN_PLACE: unknown key; did you mean 'in_place'?"),
    "unknown key, near": (changed("build", 'comands = ["x"]'), "build.comands: unknown key; did you mean 'commands'?"),
    "unknown key, far": (changed("project", "zzz = 1"), "project.zzz: unknown key; known here: name"),
    "unknown key of a system": (changed("systems.a", 'cflag = ""'), "systems.a.cflag: unknown key; did you mean 'cflags'?"),
    "unknown key of a benchmark": (MINIMAL + BENCHMARK + "time_out_s = 3\n", "benchmarks[0].time_out_s: unknown key; did you mean 'timeout_s'?"),
    "unknown key of a metric": (MINIMAL + BENCHMARK + "metric = { wal = true, wall = true }\n", "benchmarks[0].metric.wal: unknown key; did you mean 'wall'?"),
    "unknown key of a system called metric": (
        MINIMAL.replace("[systems.a]\n", '[systems.metric]\ncflag = ""\n'), "systems.metric.cflag: unknown key; did you mean 'cflags'?",
    ),
    "unknown key of a run": (MINIMAL + "[run]\nexecution = 1\n", "run.execution: unknown key; did you mean 'executions'?"),
    "absolute artefact": (MINIMAL.replace('"prog"', '"/bin/ls"'), "build.artefacts: '/bin/ls' must be a file's path relative to the source"),
    "artefact outside": (MINIMAL.replace('"prog"', '"a/../../b"'), "build.artefacts: 'a/../../b' must be a file's path relative to the source"),
    "artefact that is a directory": (MINIMAL.replace('"prog"', '"a/"'), "build.artefacts: 'a/' must be a file's path relative to the source"),
    "flags for a file elsewhere": (MINIMAL + 'file_flags = { "../a.c" = "-O3" }\n', "systems.a.file_flags: '../a.c' must be a file's path relative to the source"),
    "no flags for a file": (MINIMAL + 'file_flags = { "a.c" = " " }\n', "systems.a.file_flags: no flags are given for 'a.c'"),
    "flags for a file that are no words": (MINIMAL + 'file_flags = { "a.c" = "-D\'" }\n', "systems.a.file_flags: cannot be split into words as a shell does: no closing quotation"),
    "empty artefact": (MINIMAL.replace('"prog"', '""'), "build.artefacts: '' must be a file's path relative to the source"),
    "artefact twice": (MINIMAL.replace('"prog"', '"a", "a"'), "build.artefacts: the same artefact is listed twice"),
    "source and repo": (changed("build", 'source = "x"\nrepo = "y"'), "build: give either source or repo, not both"),
    "revision without repo": (changed("build", 'rev = "main"'), "build.rev: needs build.repo"),
    "revision of a system without repo": (changed("systems.a", 'rev = "main"'), "systems.a.rev: needs build.repo"),
    "in place and repo": (changed("build", 'in_place = true\nrepo = "y"'), "build.in_place: builds where the source is, so it cannot go with repo"),
    "revision like an option": (changed("build", 'repo = "y"\nrev = "--output=x"'), "build.rev: must not begin with a dash (given: '--output=x')"),
    "repository like an option": (changed("build", 'repo = "-x"'), "build.repo: must not begin with a dash (given: '-x')"),
    "time limit zero": (changed("build", "timeout_s = 0"), "build.timeout_s: must be greater than 0 (given: 0)"),
    "time limit as text": (changed("build", 'timeout_s = "5"'), "build.timeout_s: must be a number (given: '5')"),
    "time limit as truth": (changed("build", "timeout_s = true"), "build.timeout_s: must be a number (given: true)"),
    "time limit endless": (changed("build", "timeout_s = inf"), "build.timeout_s: must be a finite number (given: inf)"),
    "time limit no number": (changed("build", "timeout_s = nan"), "build.timeout_s: must be a finite number (given: nan)"),
    "truth as text": (changed("build", 'in_place = "yes"'), "build.in_place: must be true or false (given: 'yes')"),
    "unknown factor": (
        MINIMAL + '[layout]\nfactors = ["function_order"]\n',
        "layout.factors[0]: must be 'function-order', 'module-order', 'function-order-in-module', 'block-order', 'data-order', 'padding', 'text-offset', 'link-order', 'linker-shuffle', 'cds-order', 'heap-base' or 'jit-stress' (given: 'function_order'); did you mean 'function-order'?",
    ),
    "no factor": (MINIMAL + "[layout]\nfactors = []\n", "layout.factors: must not be empty"),
    "factor twice": (MINIMAL + '[layout]\nfactors = ["module-order", "module-order"]\n', "layout.factors: a factor is listed twice"),
    "factors that exclude each other": (
        MINIMAL + '[layout]\nfactors = ["function-order", "module-order"]\n',
        "layout.factors: function-order already orders all functions, so it cannot go with another order factor",
    ),
    "unknown coupling": (
        MINIMAL + '[layout]\ncouple = "adress"\n',
        "layout.couple: must be 'order' or 'address' (given: 'adress')",
    ),
    "rebuilt systems coupled by address": (
        changed("build", 'mode = "rebuild"') + '[layout]\ncouple = "address"\n',
        'layout.couple: "address" needs captures to link, so it cannot go with build.mode = "rebuild"',
    ),
    "a linker's own order coupled by address": (
        MINIMAL + '[systems.other]\n[layout]\ncouple = "address"\nfactors = ["linker-shuffle"]\n',
        'layout: linker-shuffle leaves addresses to others than layoutrand, so it cannot go with couple = "address"',
    ),
    "layouts of rebuilt systems written": (
        changed("build", 'mode = "rebuild"') + '[layout]\nengine = "permute"\n',
        'layout.engine: "permute" needs captures, so it cannot go with build.mode = "rebuild"',
    ),
    "layouts of prebuilt systems written": (
        MINIMAL.replace("[systems.a]\n", '[systems.a]\nprebuilt = "/x"\n') + '[layout]\nengine = "permute"\n',
        'layout.engine: "permute" needs captures, and prebuilt systems have none: leave it out',
    ),
    "layouts of a JDK written": (
        MINIMAL.replace("[systems.a]\n", '[systems.a]\nprebuilt = "/x"\n')
        + '[layout]\nengine = "permute"\nfactors = ["heap-base"]\n',
        'layout.engine: "permute" writes what a linker would, and heap-base takes no linker: leave it out',
    ),
    "unknown classes": (MINIMAL + '[layout]\nclasses = "kept"\n', "layout.classes: must be 'keep' or 'mix' (given: 'kept')"),
    "flags with an open quote": (
        changed("systems.a", """cflags = "-DX='a" """), "systems.a.cflags: cannot be split into words as a shell does: no closing quotation (given: \"-DX='a\")",
    ),
    "link flags with a lone backslash": (
        changed("systems.a", "ldflags = 'a\\'"), "systems.a.ldflags: cannot be split into words as a shell does: no escaped character (given: 'a\\\\')",
    ),
    "variable of another type": (changed("systems.a", "env = { A = 1 }"), "systems.a.env.A: must be a string (given: 1)"),
    "variable with a bad name": (changed("build", 'env = { "A=B" = "x" }'), "build.env: 'A=B' cannot be the name of an environment variable"),
    "variable without a name": (changed("build", 'env = { "" = "x" }'), "build.env: '' cannot be the name of an environment variable"),
    "benchmark without command": (MINIMAL + '[[benchmarks]]\nname = "b"\n', "benchmarks[0].command: this key is required"),
    "benchmarks as a table": (MINIMAL + '[benchmarks]\nname = "b"\n', "benchmarks: must be an array"),
    "benchmark with an empty command": (MINIMAL + '[[benchmarks]]\nname = "b"\ncommand = []\n', "benchmarks[0].command: must not be empty"),
    "unknown placeholder": (
        MINIMAL + '[[benchmarks]]\nname = "b"\ncommand = ["{artefacts}"]\n',
        "benchmarks[0].command: {artefacts} in '{artefacts}' is not a placeholder; there are {args}, {artefact}, {artefact_dir}, {home}, {launcher}, {project}, {tmp}. "
        "Write {{artefacts}} for {artefacts} itself",
    ),
    "number of jobs, misspelt": (
        MINIMAL.replace('"make"', '"make -j{jobs}", "make -C b -j 2 A={job}"'),
        "build.commands: {job} in 'make -C b -j 2 A={job}' is not a placeholder; {jobs} is how many jobs",
    ),
    "number of jobs by another name": (
        MINIMAL.replace('"make"', '"ninja -j {nproc}"'),
        "build.commands: {nproc} in 'ninja -j {nproc}' is not a placeholder; {jobs} is how many jobs",
    ),
    "two benchmarks of one name": (MINIMAL + BENCHMARK + BENCHMARK, "benchmarks[1].name: benchmarks[0] is called 'b' too"),
    "artefact that is not built": (
        MINIMAL + BENCHMARK + 'artefact = "porg"\n', "benchmarks[0].artefact: 'porg' is not in build.artefacts; did you mean 'prog'?",
    ),
    "no metric": (MINIMAL + BENCHMARK + "metric = {}\n", "benchmarks[0].metric: choose at least one of wall, cachegrind, counters, regex, json, printed, instruments"),
    "pattern that is none": (
        MINIMAL + BENCHMARK + 'metric = { regex = "(" }\n',
        "benchmarks[0].metric.regex: not a regular expression: missing ), unterminated subpattern at position 0 (given: '(')",
    ),
    "pattern that Python may come to read otherwise": (
        MINIMAL + BENCHMARK + 'metric = { regex = "[[a]([0-9]+)" }\n',
        "benchmarks[0].metric.regex: ambiguous: Possible nested set at position 1; write \\[ for the sign itself (given: '[[a]([0-9]+)')",
    ),
    "pattern without group": (
        MINIMAL + BENCHMARK + 'metric = { regex = "x" }\n', "benchmarks[0].metric.regex: needs exactly one group, around the number; it has 0 (given: 'x')",
    ),
    "pattern with two groups": (
        MINIMAL + BENCHMARK + 'metric = { regex = "(x)(y)" }\n',
        "benchmarks[0].metric.regex: needs exactly one group, around the number; it has 2 (given: '(x)(y)')",
    ),
    "name that is taken": (
        MINIMAL + BENCHMARK + 'metric = { regex = "(x)", name = "wall_s" }\n',
        "benchmarks[0].metric: name = 'wall_s' is what layoutrand calls a measurement of its own; choose another",
    ),
    "negative warm-up": (
        MINIMAL + BENCHMARK + "metric = { wall = true, warmup = -1 }\n", "benchmarks[0].metric.warmup: must be greater than or equal to 0 (given: -1)",
    ),
    "no execution": (MINIMAL + "[run]\nexecutions = 0\n", "run.executions: must be greater than or equal to 1 (given: 0)"),
    "half an execution": (MINIMAL + "[run]\nexecutions = 1.5\n", "run.executions: must be a whole number (given: 1.5)"),
    "executions as truth": (MINIMAL + "[run]\nexecutions = true\n", "run.executions: must be a whole number (given: true)"),
    "seed too large": (
        MINIMAL + "[run]\nschedule_seed = 18446744073709551616\n",
        "run.schedule_seed: must be less than 18446744073709551616 (given: 18446744073709551616)",
    ),
    "unknown randomisation": (MINIMAL + '[run]\nrandomise = ["aslr"]\n', "run.randomise[0]: must be 'env-size', 'stack-offset', 'heap-offset' or 'mmap-offset' (given: 'aslr')"),
    "unknown control": (MINIMAL + '[run]\ncontrols = ["none"]\n', "run.controls[0]: must be 'stock' or 'identity' (given: 'none')"),
    "NUL in a command": (MINIMAL.replace('"make"', '"make\\u0000"'), "build.commands[0]: holds a NUL character"),
    "NUL in flags": (changed("systems.a", 'cflags = "\\u0000"'), "systems.a.cflags: holds a NUL character"),
}  # a table: a row for what belongs together  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), WRONG.values(), ids=WRONG.keys())
def test_message(text, problem):
    """Each mistake gives one line that begins with its key path and says what is wrong."""
    assert problems(text) == [problem]


def test_all_problems_are_reported_at_once():
    """Wrong types, unknown keys, missing keys and keys that do not fit together are all in one error."""
    text = """
        [project]
        nam = "p"
        [build]
        commands = "make"
        artefacts = ["prog"]
        rev = "main"
        source = 3
        [systems.a]
        cflags = "'"
        rev = "x"
        [[benchmarks]]
        name = "b"
        command = ["{x}"]
        artefact = "other"
        [[benchmarks]]
        name = "b"
        command = []
        [[benchmarks]]
        command = ["{artefact}"]
        [run]
        executions = 0
        [unknown]
    """

    assert [line.split(": ")[0] for line in problems(text)] == [
        "project.nam",
        "build.source",
        "build.commands",
        "systems.a.cflags",
        "benchmarks[0].command",
        "benchmarks[1].command",
        "benchmarks[2].name",
        "run.executions",
        "unknown",
        "build.rev",
        "systems.a.rev",
        "benchmarks[0].artefact",
        "benchmarks[1].name",
    ]


def test_the_error_names_the_file_and_counts():
    """The whole message begins with the file and the number of problems, one line each."""
    with pytest.raises(ConfigError) as caught:
        parse("x = 1\n[project]\nname = 1\n", path="dir/layoutrand.toml")

    assert str(caught.value).splitlines()[0] == "dir/layoutrand.toml: 4 problems"
    assert all(line.startswith("  - ") for line in str(caught.value).splitlines()[1:])
    assert len(str(caught.value).splitlines()) == 5
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("text", ["[project", "a = ", "\ufeff", "x = 1\nx = 2", '"' * 3])
def test_what_is_no_toml_is_one_problem(text):
    """A syntax error is reported with its place, and nothing else is guessed."""
    [problem] = problems(text)

    assert re.fullmatch(r"not valid TOML: .* \(at (line \d+, column \d+|end of document)\)", problem)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[build]\n",
        "systems = 3\nbuild = 4\nbenchmarks = 5\n",
        "[[systems]]\n[[build]]\n[benchmarks]\n",
        "benchmarks = [1, [2]]\n",
    ],
)
def test_shapes_that_are_quite_wrong_are_explained_too(text):
    """Tables, arrays and numbers in each other's places give messages and nothing else."""
    assert all(": " in line for line in problems(text))


@given(
    st.recursive(
        st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
        lambda part: (
            st.lists(part, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "rev", "repo", "artefact", "artefacts", "metric", "env", "a b"]),
                part,
                max_size=3,
            )
        ),
        max_leaves=8,
    ),
    st.sampled_from(["project", "build", "systems", "benchmarks", "run", "layout"]),
)
def test_no_table_breaks_the_checks(value, key):
    """Whatever stands under a key, the answer is a configuration or a list of problems."""
    from layoutrand.config.config import _unwritable
    from layoutrand.config.cross_checks import across

    table = {key: value}

    assert all(isinstance(line, str) for line in [*across(table), *_unwritable(table, ())])


@pytest.mark.parametrize(
    ("wanted", "known", "chosen"),
    [([], ["a", "b"], ["a", "b"]), (["b"], ["a", "b"], ["b"]), (["b", "a"], ["a", "b"], ["b", "a"])],
)
def test_choose(wanted, known, chosen):
    """Names asked for are taken in their order, and all where none is asked for."""
    assert choose("system", wanted, known) == chosen


@pytest.mark.parametrize(
    ("wanted", "known", "message"),
    [
        ("patchd", ["base", "patched"], "no system called 'patchd'; there are base, patched; did you mean 'patched'?"),
        ("x", ["O2"], "no system called 'x'; there are O2"),
        ("x", [], "no system called 'x'; there are none"),
    ],
)
def test_choosing_what_is_not_there(wanted, known, message):
    """An unknown name is a usage error that lists the known ones."""
    with pytest.raises(UsageError) as caught:
        choose("system", [wanted], known)

    assert str(caught.value) == message


def test_suggestions_are_near():
    """Only a name that looks alike is suggested."""
    assert (suggest("comands", ["commands", "exclude"]), suggest("x", ["commands"]), suggest("a", [])) == (
        "; did you mean 'commands'?",
        "",
        "",
    )


def test_a_configuration_cannot_be_changed():
    """What was checked stays as it was."""
    config = parse(MINIMAL, path="x")

    with pytest.raises(ValueError, match="frozen"):
        config.build.in_place = True
