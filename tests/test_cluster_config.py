"""[cluster]: what is accepted, every message about what is not, and what happens without the engine."""

import sys

import pytest

from fakes import make_config
from layoutrand.cli import options
from layoutrand.core.cluster import Dask, Local, Slurm
from layoutrand.core.config import parse
from layoutrand.errors import ClusterError, ConfigError, UsageError
from layoutrand.usecases.farming import farm_of
from layoutrand.world.executors import opened

MINIMAL = '[project]\nname = "p"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n'


def cluster(text):
    """The table that a text gives."""
    return parse(f"{MINIMAL}[cluster]\n{text}", path="layoutrand.toml").cluster


def problems(text):
    """The lines of the error that a text gives."""
    with pytest.raises(ConfigError) as caught:
        cluster(text)
    return caught.value.problems


def test_without_a_table_nothing_leaves_this_machine():
    """As before there was one."""
    assert parse(MINIMAL, path="x").cluster == Local() == cluster('kind = "local"')


def test_a_table_of_each_engine():
    """Every key, and the defaults."""
    slurm = cluster(
        'kind = "slurm"\nshared = "/nfs/me"\ncache = "/tmp/$USER"\nchunk = 4\ncpus = 2\nretries = 0\n'
        'partition = "batch"\naccount = "abc"\nminutes = 10\nat_once = 5\nsbatch = { exclusive = true, mem = "2G" }'
    )
    assert slurm == Slurm(
        kind="slurm", shared="/nfs/me", cache="/tmp/$USER", chunk=4, cpus=2, retries=0, partition="batch",
        account="abc", minutes=10, at_once=5, sbatch={"exclusive": True, "mem": "2G"},
    )  # fmt: skip
    dask = cluster('kind = "dask"\nshared = "s"\nscheduler = "tcp://h:8786"\nresource = "build"')
    assert dask == Dask(kind="dask", shared="s", scheduler="tcp://h:8786", resource="build")
    assert (dask.chunk, dask.cpus, dask.retries, dask.cache) == (8, 1, 2, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('kind = "pbs"', "cluster"),
        ('kind = "slurm"', "cluster.shared"),
        ('kind = "dask"\nshared = "s"', "cluster.scheduler"),
        ('kind = "local"\nshared = "s"', "cluster.shared"),
        ('kind = "slurm"\nshared = ""', "cluster.shared"),
        ('kind = "slurm"\nshared = "s"\nchunk = 0', "cluster.chunk"),
        ('kind = "slurm"\nshared = "s"\nretries = -1', "cluster.retries"),
        ('kind = "slurm"\nshared = "s"\npartion = "x"', "did you mean 'partition'"),
        ('kind = "slurm"\nshared = "s"\nsbatch = { "--mem" = "1G" }', "written without its dashes"),
        ('kind = "slurm"\nshared = "s"\nsbatch = { job-name = "x" }', "is set by layoutrand"),
        ('kind = "dask"\nshared = "s"\nscheduler = "x"\nminutes = 3', "cluster.minutes"),
    ],
)
def test_what_is_wrong_is_named(text, words):
    """By key, in one line."""
    (problem,) = problems(text)
    assert words in problem


def config(kind):
    """A configuration with this engine."""
    tables = {
        "local": "",
        "slurm": '[cluster]\nkind = "slurm"\nshared = "s"\n',
        "dask": '[cluster]\nkind = "dask"\nshared = "s"\nscheduler = "tcp://127.0.0.1:1"\n',
    }
    return parse(MINIMAL + tables[kind], path="x")


def test_the_command_line_chooses_this_machine_or_what_is_written():
    """An engine that nothing is known of cannot be chosen."""
    assert options.on_executor(config("dask"), None) == config("dask")
    assert options.on_executor(config("dask"), "dask") == config("dask")
    assert options.on_executor(config("dask"), "local") == config("local")
    with pytest.raises(UsageError, match=r'write \[cluster\] with kind = "slurm" into layoutrand.toml, where kind is'):
        options.on_executor(config("dask"), "slurm")
    with pytest.raises(UsageError, match="no executor called 'slrum'.*slurm"):
        options.on_executor(config("dask"), "slrum")


def test_run_measures_the_machine_that_it_is_started_on():
    """So a cluster is refused rather than a login node measured."""
    options.must_execute_here(make_config('[[benchmarks]]\nname = "b"\ncommand = ["x"]\n'))
    with pytest.raises(UsageError, match=r"Start it on the one that is to be measured, with --executor local"):
        options.must_execute_here(config("slurm"))


def test_rebuild_mode_has_nothing_that_could_travel(tmp_path):
    """Said before anything is opened."""
    rebuilt = options.in_mode(config("slurm"), "rebuild")
    with pytest.raises(UsageError, match="in rebuild mode there is none"), farm_of(rebuilt, tmp_path, print):
        pass
    with farm_of(options.on_executor(rebuilt, "local"), tmp_path, print) as farm:
        assert farm is None


@pytest.mark.parametrize(("kind", "package"), [("slurm", "submitit"), ("dask", "distributed")])
def test_an_engine_whose_package_is_absent_names_the_extra(kind, package, tmp_path, monkeypatch):
    """And how to do without."""
    monkeypatch.setitem(sys.modules, package, None)
    words = rf'needs the Python package {package}: pip install "layoutrand\[{kind}\]", or give --executor local'
    with pytest.raises(ClusterError, match=words), farm_of(config(kind), tmp_path, print):
        pass


def test_a_machine_without_slurm_says_so(tmp_path, monkeypatch):
    """Before anything is submitted."""
    monkeypatch.setitem(sys.modules, "submitit", sys)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="sbatch is not on PATH"), opened(config("slurm").cluster, tmp_path):
        pass
