"""[cluster]: what is accepted, every message about what is not, and what happens without the engine."""

import os
import sys

import pytest

import enginekit
from layoutrand.cli import options
from layoutrand.cluster.open import linking_cluster, opened
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.config.cluster import Local
from layoutrand.config.config import parse
from layoutrand.engines.known.dask import Dask
from layoutrand.engines.known.slurm import Slurm, sbatch_options
from layoutrand.errors import ClusterError, ConfigError, UsageError
from layoutrand.platform.disk import sha256_bytes

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
        kind="slurm",
        shared="/nfs/me",
        cache="/tmp/$USER",
        chunk=4,
        cpus=2,
        retries=0,
        partition="batch",
        account="abc",
        minutes=10,
        at_once=5,
        sbatch={"exclusive": True, "mem": "2G"},
    )
    dask = cluster('kind = "dask"\nshared = "s"\nscheduler = "tcp://h:8786"\nresource = "build"')
    assert dask == Dask(kind="dask", shared="s", scheduler="tcp://h:8786", resource="build")
    assert (dask.chunk, dask.cpus, dask.retries, dask.cache) == (8, 1, 2, None)


def test_options_of_a_job_that_measures():
    """It has its node to itself, and its own options of sbatch go over those of links."""
    settings = cluster(
        'kind = "slurm"\nshared = "s"\npartition = "batch"\nsbatch = { mem = "2G", exclude = "n1" }\n'
        "[cluster.measure]\nsbatch = { mem = 0 }"
    )
    assert sbatch_options(settings, "link") == {"mem": "2G", "exclude": "n1", "partition": "batch"}
    quiet = {"mem": 0, "exclude": "n1", "partition": "batch", "exclusive": True}
    assert sbatch_options(settings, "measure") == quiet
    shared = settings.model_copy(update={"measure": settings.measure.model_copy(update={"exclusive": False})})
    assert "exclusive" not in sbatch_options(shared, "measure")


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


def test_a_cluster_executes_pairs_back_to_back_unless_told_otherwise():
    """Rounds may take hours there; on this machine nothing changes."""
    assert config("slurm").order() == config("dask").order() == "pairs"
    assert options.on_executor(config("dask"), "local").order() == "blocks"
    assert cluster_order("blocks") == "blocks"


def cluster_order(order):
    """The order that a configuration with a cluster and this ``run.order`` has."""
    table = f'[run]\norder = "{order}"\n[cluster]\nkind = "slurm"\nshared = "s"\n'
    return parse(MINIMAL + table, path="layoutrand.toml").order()


def test_the_settings_of_tasks_that_execute():
    """Every key, and the defaults."""
    plain = cluster('kind = "slurm"\nshared = "s"').measure
    assert (plain.rounds, plain.exclusive, plain.cpus, plain.minutes) == (1, True, 1, 240)
    assert (plain.cpu, plain.unlike_cpus, plain.sbatch) == (None, False, {})
    slurm = cluster(
        'kind = "slurm"\nshared = "s"\n[cluster.measure]\nrounds = 4\nexclusive = false\ncpus = 2\nminutes = 9\n'
        'cpu = "Z80"\nunlike_cpus = true\nsbatch = { cpu-freq = "Performance" }'
    ).measure
    assert slurm.sbatch == {"cpu_freq": "Performance"}
    assert (slurm.rounds, slurm.exclusive, slurm.cpus, slurm.minutes, slurm.cpu) == (4, False, 2, 9, "Z80")
    assert cluster('kind = "dask"\nshared = "s"\nscheduler = "x"').measure.resource == "measure"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rounds = 0", "cluster.measure.rounds"),
        ('resource = "x"', "cluster.measure.resource"),
        ("sbatch = { time = 5 }", "'time' is set by layoutrand"),
        ('sbatch = { "--mem" = 5 }', "is written without its dashes"),
    ],
)
def test_wrong_settings_of_tasks_that_execute(text, words):
    """Named with their key."""
    assert words in "\n".join(problems(f'kind = "slurm"\nshared = "s"\n[cluster.measure]\n{text}'))


def test_rebuild_mode_has_nothing_that_could_travel(tmp_path):
    """Said before anything is opened."""
    rebuilt = options.in_mode(config("slurm"), "rebuild")
    with pytest.raises(UsageError, match="in rebuild mode there is none"), linking_cluster(rebuilt, tmp_path, print):
        pass
    with linking_cluster(options.on_executor(rebuilt, "local"), tmp_path, print) as cluster:
        assert cluster is None


@pytest.mark.parametrize(("kind", "package"), [("slurm", "submitit"), ("dask", "distributed")])
def test_an_engine_whose_package_is_absent_names_the_extra(kind, package, tmp_path, monkeypatch):
    """And how to do without."""
    monkeypatch.setitem(sys.modules, package, None)
    words = rf'needs the Python package {package}: pip install "layoutrand\[{kind}\]", or give --executor local'
    with pytest.raises(ClusterError, match=words), linking_cluster(config(kind), tmp_path, print):
        pass


def test_a_machine_without_slurm_says_so(tmp_path, monkeypatch):
    """Before anything is submitted."""
    monkeypatch.setitem(sys.modules, "submitit", sys)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="sbatch is not on PATH"), opened(config("slurm").cluster, tmp_path):
        pass


@pytest.mark.parametrize("kind", ["slurm", "dask"])
@pytest.mark.parametrize("name", ["", "results", "slurm"])
@pytest.mark.parametrize(
    ("mode", "trust_group", "words"),
    [
        (0o777, False, "everybody may write to it. chmod go-w '"),
        (0o1777, False, "everybody may write to it. chmod go-w '"),
        (0o777, True, "everybody may write to it. chmod go-w '"),
        (0o775, False, "its group may write to it. chmod go-w '"),
    ],
)
def test_a_directory_that_others_may_write_is_refused(tmp_path, kind, name, mode, trust_group, words):
    """What jobs and their answers are unpickled from, and binaries, decide what is executed as the user."""
    shared = tmp_path / "a shared"
    (shared / name).mkdir(parents=True)
    (shared / name).chmod(mode)
    settings = config(kind).cluster.model_copy(update={"trust_group": trust_group})
    for purpose in ("link", "measure"):
        with pytest.raises(ClusterError) as caught, opened(settings, shared, purpose):
            pass
        assert f"a shared{'/' if name else ''}{name} is not yours alone: {words}" in str(caught.value)


def test_a_link_counts_as_what_it_leads_to(tmp_path):
    """Scratch directories of clusters are reached by links, whose own permissions say nothing."""
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "slurm").mkdir(parents=True)
    real.chmod(0o755)
    link.symlink_to(real)
    (real / "nowhere").symlink_to("gone")
    SharedDirectory(link).require_own()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (real / "results").symlink_to(tmp_path / "open")
    with pytest.raises(ClusterError, match="/link/results is not yours alone: everybody may write to it"):
        SharedDirectory(link).require_own()


@pytest.mark.parametrize(("trust_group", "mode"), [(False, 0o700), (True, 0o755)])
def test_where_jobs_leave_pickles_only_their_user_may_look(tmp_path, monkeypatch, trust_group, mode):
    """submitit makes directories and pickles as the umask has it, which on many clusters lets the group write."""
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    enginekit.behind("slurm", tmp_path, monkeypatch)
    settings = config("slurm").cluster.model_copy(update={"trust_group": trust_group})
    with opened(settings, shared):
        made = (shared / "slurm").stat().st_mode & 0o777
    (shared / "slurm").chmod(0o755)  # as an earlier layoutrand made it
    with opened(settings, shared):
        found = (shared / "slurm").stat().st_mode & 0o777
    assert made | mode == mode
    assert found == mode


def test_a_group_may_be_trusted_and_new_directories_are_of_no_more_users(tmp_path):
    """Where the group may write to the directory it may to what is made there; elsewhere not, whatever the umask."""
    before = os.umask(0o002)
    try:
        for mode, trusted in ((0o775, True), (0o755, False)):
            shared = SharedDirectory(tmp_path / f"{mode:o}" / "shared", trust_group=trusted)
            shared.root.mkdir(parents=True)
            shared.root.chmod(mode)
            shared.put_result("ab" * 32, {"sha256": sha256_bytes(b"x")}, b"x")
            ReturnedRecords(shared.root, "run", trust_group=trusted).put("key", {})
            shared.require_own()
            folders = [path for path in shared.root.rglob("*") if path.is_dir()]
            assert {path.stat().st_mode & 0o777 for path in folders} == {mode}
            files = [path for path in shared.root.rglob("*") if path.is_file()]
            assert {path.stat().st_mode & 0o777 for path in files} == {mode & 0o666}
    finally:
        os.umask(before)
