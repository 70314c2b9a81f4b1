"""The linker wrapper: which links it records, and that a record holds what the linker saw."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from buildkit import run
from layoutrand.capture.records import read_records
from layoutrand.config.build_recipe import LINKER_ENVIRONMENT
from layoutrand.platform import helper_client
from workshop import absent, require
from wrapkit import NASTY, SHELLS, dumped, linker_script, start, write_script

PASSED = [
    "",
    "-v",
    "-V",
    "--version",
    "--help",
    "--target-help",
    "--verbose",
    "-m elf_x86_64 -v",
    "-m elf_x86_64 --verbose",
    "--print-output-format",
    "--print-sysroot",
    "-r a.o -o b.o",
    "-o b.o -r a.o",
    "-i a.o",
    "-Ur a.o",
    "--relocatable a.o",
    "-relocatable a.o",
    "--version a.o",
    "-o conftest a.o",
    "-o conftest.exe a.o",
    "-o conftest1 a.o",
    "-o /tmp/x/conftest a.o",
    "-oconftest a.o",
    "--output=conftest a.o",
    "--output conftest a.o",
    "-o CMakeFiles/cmTC_12ab3 a.o",
    "-o sanitycheckc.exe a.o",
    "-o meson-private/sanitycheckcpp.exe a.o",
    "-pie --verbose -z now",
]
RECORDED = [
    "a.o",
    "-o prog a.o",
    "-oprog a.o",
    "--output=prog a.o",
    "-o prog -v a.o",
    "-V a.o",
    "--verbose -o prog a.o",
    "-shared -o x.so a.o",
    "-o prog @args",
    "@args",
    "-o myconftest a.o",
    "-o conftests/prog a.o",
    "-o prog conftest.o",
    "-o prog -lfoo",
    "--library=foo",
    "-soname -r a.o",
    "-rpath -i a.o",
    "-e --version a.o",
    "-o -r a.o",
]


@pytest.mark.parametrize(("mode", "line"), [("pass", line) for line in PASSED] + [("link", line) for line in RECORDED])
def test_mode_of_a_command_line(tmp_path, mode, line):
    """Probes, partial links and configure scripts' trials pass; everything else is recorded."""
    assert dumped(linker_script(tmp_path), *line.split(), what="mode") == mode


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("word", NASTY.values(), ids=NASTY.keys())
def test_nasty_arguments_arrive_as_they_are(tmp_path, shell, word):
    """What the linker gets is what the wrapper got, byte for byte."""
    arguments = [b"-o", word, b"a.o", word, b"--x=" + word]

    assert dumped(linker_script(tmp_path), *arguments, shell=shell) == arguments


def fake_linker(tmp_path, text="exit 0"):
    """A linker that does only what is said."""
    return write_script(tmp_path / "real ld", f"#!/bin/sh\n{text}\n")


def recorded(folder):
    """The only record."""
    [record] = read_records(folder / "rec")
    return record


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("word", NASTY.values(), ids=NASTY.keys())
def test_nasty_arguments_are_recorded_as_they_are(tmp_path, shell, word):
    """The record holds exactly the linker's arguments."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    arguments = [b"-o", b"prog", b"missing.o", word, b"--x=" + word]
    done = start(script, *arguments, shell=shell, cwd=tmp_path / "src")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert recorded(tmp_path).argv == tuple(os.fsdecode(argument) for argument in arguments)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "word", [w for w in NASTY.values() if w and len(w) < 200], ids=[n for n, w in NASTY.items() if w and len(w) < 200]
)
def test_nasty_files_and_directories_are_kept(tmp_path, shell, word):
    """Inputs whose names and directory hold anything are in the record with their content."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    folder = tmp_path / "src" / os.fsdecode(word)
    folder.mkdir()
    name = os.fsdecode(b"x" + word + b".o")
    (folder / name).write_bytes(b"content")
    start(script, "-o", "prog", name, f"--version-script={folder / name}", shell=shell, cwd=folder, check=True)
    record = recorded(tmp_path)

    assert record.cwd == str(folder)
    assert record.inputs() == {str(folder / name): b"content"}
    assert record.output() == str(folder / "prog")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_environment_of_the_linker_is_recorded(tmp_path, shell):
    """Variables that change a link are kept, those that are unset are told from those that are empty."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    value = "/a b:$ORIGIN\n'\"\\"
    inherited = {name: text for name, text in os.environ.items() if name not in LINKER_ENVIRONMENT}
    subprocess.run(
        [*SHELLS[shell], script, "a.o"],
        env={**inherited, "LD_RUN_PATH": value, "GNUTARGET": "", "OTHER": "x"},
        cwd=tmp_path,
        check=True,
    )

    assert recorded(tmp_path).environment == {"LD_RUN_PATH": value, "GNUTARGET": ""}


def test_the_linker_is_recorded(tmp_path):
    """The record names the real linker."""
    real = fake_linker(tmp_path)
    start(linker_script(tmp_path, real=str(real)), "a.o", cwd=tmp_path, check=True)

    assert recorded(tmp_path).linker == str(real)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("status", [0, 1, 42])
def test_the_exit_status_is_the_linkers(tmp_path, shell, status):
    """A link that fails, fails."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path, f"exit {status}")))

    assert start(script, "a.o", shell=shell, cwd=tmp_path).returncode == status


def test_probes_leave_no_record(tmp_path):
    """Nothing is written for what is only asked."""
    script = linker_script(tmp_path)
    for line in ("--version", "-v", "--verbose", "-r missing.o"):
        start(script, *line.split(), cwd=tmp_path)

    assert list((tmp_path / "rec").iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["-v"], ["--verbose"], ["--help"], ["-m", "elf_x86_64", "-V"], ["missing.o"]],
    ids=" ".join,
)
def test_the_linker_answers_as_without_wrapper(tmp_path, arguments):
    """Output, errors and status are the real linker's."""
    real = require("ld.bfd", "binutils")
    plain = subprocess.run([real, *arguments], cwd=tmp_path, capture_output=True)
    wrapped = start(linker_script(tmp_path), *arguments, cwd=tmp_path)

    assert (wrapped.returncode, wrapped.stdout, wrapped.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_inputs_are_kept_as_the_linker_saw_them(tmp_path):
    """Files that the linker or the build deletes or changes afterwards are in the record as they were."""
    for name in ("gone.o", "changed.o"):
        (tmp_path / "src" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "src" / name).write_bytes(b"before")
    real = fake_linker(tmp_path, "rm gone.o; printf after > changed.o")
    start(linker_script(tmp_path, real=str(real)), "gone.o", "changed.o", cwd=tmp_path / "src", check=True)

    assert recorded(tmp_path).inputs() == {str(tmp_path / "src" / name): b"before" for name in ("gone.o", "changed.o")}


def test_links_to_files_are_kept_as_files(tmp_path):
    """A symbolic link is kept as what it points to, and two names of one file are two files."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    (tmp_path / "elsewhere").write_bytes(b"content")
    (tmp_path / "src" / "soft.o").symlink_to(tmp_path / "elsewhere")
    os.link(tmp_path / "elsewhere", tmp_path / "src" / "hard.o")
    os.link(tmp_path / "elsewhere", tmp_path / "src" / "hard2.o")
    start(script, "soft.o", "hard.o", "hard2.o", "hard.o", cwd=tmp_path / "src", check=True)

    assert recorded(tmp_path).inputs() == {
        str(tmp_path / "src" / name): b"content" for name in ("soft.o", "hard.o", "hard2.o")
    }


def test_what_is_no_file_is_not_kept(tmp_path):
    """Directories, missing files, the output and the system's files are not in the record."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)), system_prefixes=[f"{tmp_path}/sys tem/"])
    (tmp_path / "sys tem").mkdir()
    for path in (tmp_path / "sys tem" / "crt1.o", tmp_path / "src" / "a.o", tmp_path / "src" / "prog"):
        path.write_bytes(b"x")
    start(
        script,
        "-o",
        "prog",
        f"{tmp_path}/sys tem/crt1.o",
        "a.o",
        "missing.o",
        ".",
        "-L.",
        "-lc",
        cwd=tmp_path / "src",
        check=True,
    )

    assert recorded(tmp_path).inputs() == {str(tmp_path / "src" / "a.o"): b"x"}


@pytest.mark.parametrize("through", ["arguments", "response file"])
def test_own_files_below_a_system_prefix_are_kept(tmp_path, through):
    """A build or its temporary files may lie below /usr: those are kept, also from a response file."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)), system_prefixes=[f"{tmp_path}/"])
    names = [tmp_path / "src" / "a.o", tmp_path / "tmp" / "cc1.o", tmp_path / "other.o"]
    for path in names:
        path.write_bytes(b"x")
    (tmp_path / "src" / "args").write_text("\n".join(map(str, names)))
    start(script, *(["@args"] if through == "response file" else names), cwd=tmp_path / "src", check=True)

    assert set(recorded(tmp_path).inputs()) == set(map(str, names[:2]))


@pytest.mark.parametrize("shell", SHELLS)
def test_response_files_are_recorded_expanded(tmp_path, shell):
    """The record has the words inside a response file, which the driver deletes after the link."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    (tmp_path / "src" / "a b.o").write_bytes(b"x")
    (tmp_path / "src" / "inner").write_bytes(b"-lm '-rpath=$ORIGIN'")
    (tmp_path / "src" / "args").write_bytes(b'-o "the prog" a\\ b.o @inner caf\xe9')
    start(script, "-z", "now", "@args", "@missing", shell=shell, cwd=tmp_path / "src", check=True)
    record = recorded(tmp_path)

    assert record.argv == ("-z", "now", "-o", "the prog", "a b.o", "-lm", "-rpath=$ORIGIN", "caf\udce9", "@missing")
    assert record.inputs() == {str(tmp_path / "src" / "a b.o"): b"x"}
    assert record.output() == str(tmp_path / "src" / "the prog")


def test_concurrent_links_have_records_of_their_own(tmp_path):
    """Forty links at the same time leave forty whole records."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    (tmp_path / "src" / "a.o").write_bytes(b"x")
    running = [subprocess.Popen([script, "-o", f"prog{n}", "a.o"], cwd=tmp_path / "src") for n in range(40)]
    statuses = [process.wait() for process in running]
    records = read_records(tmp_path / "rec")

    assert statuses == [0] * 40
    assert sorted(record.argv[1] for record in records) == sorted(f"prog{n}" for n in range(40))
    assert all(record.inputs() for record in records)


def test_a_process_number_may_come_again(tmp_path):
    """A record of an earlier process with the same number is left alone, and the new one put beside it."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    text = script.read_text().replace("record=$records/$$.", "record=$records/4711.")
    script.write_text(text)
    for name in ("first", "second", "third"):
        start(script, "-o", name, "a.o", cwd=tmp_path, check=True)

    assert [record.argv[1] for record in read_records(tmp_path / "rec")] == ["first", "second", "third"]
    assert sorted(path.name for path in (tmp_path / "rec").iterdir()) == ["4711.0", "4711.1", "4711.2"]


@pytest.mark.parametrize("shell", SHELLS)
def test_records_that_cannot_be_made_fail_the_link_at_once(tmp_path, shell):
    """Without a place for records the link fails with a message, and does not try for long."""
    script = linker_script(tmp_path, records=str(tmp_path / "no such place"))
    done = start(script, "a.o", shell=shell, cwd=tmp_path, timeout=10)

    assert done.returncode == 127
    assert (
        done.stderr.decode()
        == f"layoutrand: ld wrapper: cannot record this link under {tmp_path}/no such place (full disk?)\n"
    )


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "limit", ["size=4k", "size=16k", "size=24k", *(f"nr_inodes={number}" for number in range(1, 9))]
)
def test_a_full_disk_fails_the_link_with_a_message(tmp_path, shell, limit):
    """Whichever part of the record no longer fits, the link fails and says why; no half record counts."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    small = tmp_path / "rec"
    _mount_small(small, limit)
    try:
        (tmp_path / "src" / "a.o").write_bytes(os.urandom(100_000))
        done = start(script, "-o", "prog", "a.o", "x" * 6000, shell=shell, cwd=tmp_path / "src")

        assert done.returncode == 127
        assert b"layoutrand: ld wrapper: cannot" in done.stderr
        assert b"(full disk?)" in done.stderr
        assert read_records(small) == []
    finally:
        run("umount", small)


def _mount_small(folder, limit):
    if os.geteuid() != 0 or not shutil.which("mount"):
        absent("only root can mount a small file system")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "tmpfs", folder], capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here (a container without the right)")


def test_a_file_that_is_called_like_an_option_is_kept(tmp_path):
    """tar takes no input's name for an option of its own."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    (tmp_path / "src" / "--directory=x").write_bytes(b"x")
    start(script, "--version-script=--directory=x", "a.o", cwd=tmp_path / "src", check=True)

    assert recorded(tmp_path).inputs() == {str(tmp_path / "src" / "--directory=x"): b"x"}


@pytest.fixture
def public():
    """A directory that other users can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="layoutrand-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_directory_without_permission_fails_the_link_with_a_message(public, shell):
    """An ordinary user whose cache is not writable is told so."""
    script = linker_script(public, real=str(fake_linker(public)))
    (public / "rec").chmod(0o555)
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    done = start(script, "a.o", shell=shell, cwd="/", **as_nobody)

    assert done.returncode == 127
    assert done.stderr.decode() == f"layoutrand: ld wrapper: cannot record this link under {public}/rec (full disk?)\n"


def test_an_input_that_changes_while_it_is_kept_is_no_failure(tmp_path):
    """tar's warning about a changing file does not fail the build; repeating the link shows whether it matters."""
    tar = write_script(tmp_path / "tar", f'#!/bin/sh\n"{shutil.which("tar")}" "$@"\nexit 1\n')
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)), tar=str(tar))
    (tmp_path / "src" / "a.o").write_bytes(b"x")

    assert start(script, "a.o", cwd=tmp_path / "src").returncode == 0
    assert recorded(tmp_path).inputs() == {str(tmp_path / "src" / "a.o"): b"x"}


def test_any_other_failure_of_tar_fails_the_link(tmp_path):
    """Inputs that cannot be kept are an error."""
    tar = write_script(tmp_path / "tar", "#!/bin/sh\nexit 2\n")
    done = start(linker_script(tmp_path, tar=str(tar)), "a.o", cwd=tmp_path)

    assert done.returncode == 127
    assert b"cannot keep the inputs of this link" in done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_no_program_is_looked_up_on_path(tmp_path, shell):
    """A build that empties PATH is recorded all the same."""
    argv = [shutil.which(SHELLS[shell][0]), *SHELLS[shell][1:]]
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)))
    (tmp_path / "src" / "a.o").write_bytes(b"x")
    subprocess.run([*argv, script, "a.o"], cwd=tmp_path / "src", env={"PATH": "/nonexistent"}, check=True)

    assert recorded(tmp_path).inputs() == {str(tmp_path / "src" / "a.o"): b"x"}


def test_a_link_without_files_of_its_own_is_recorded(tmp_path):
    """A link that names only libraries has an empty set of kept inputs."""
    start(linker_script(tmp_path, real=str(fake_linker(tmp_path))), "-lc", "-o", "prog", cwd=tmp_path, check=True)

    assert recorded(tmp_path).inputs() == {}


def test_a_missing_linker_is_named(tmp_path):
    """The message says what cannot be executed."""
    done = start(linker_script(tmp_path, real=str(tmp_path / "gone")), "a.o", cwd=tmp_path)

    assert done.returncode == 127
    assert done.stderr.decode() == f"layoutrand: ld wrapper: cannot execute {tmp_path}/gone\n"


def test_laid_out_in_place_a_failed_link_stays_failed(tmp_path):
    """With a layout to apply, the first link's failure ends it with its own status."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path, "exit 42")), relink=str(tmp_path / "settings.json"))

    assert start(script, "a.o", cwd=tmp_path).returncode == 42


def test_laid_out_in_place_the_link_is_handed_to_layoutrand(tmp_path):
    """With a layout to apply, the client gets the record and the settings, and its status is the link's."""
    python = write_script(tmp_path / "py thon", f"#!/bin/sh\nprintf '%s\\0' \"$@\" > '{tmp_path}/handed'\nexit 5\n")
    script = linker_script(
        tmp_path, real=str(fake_linker(tmp_path)), python=str(python), relink=f"{tmp_path}/the settings.json"
    )
    done = start(script, "a.o", cwd=tmp_path)
    handed = (tmp_path / "handed").read_bytes().decode().split("\0")[:-1]

    assert done.returncode == 5
    assert handed == ["-I", "-S", helper_client.__file__, str(recorded(tmp_path).path), f"{tmp_path}/the settings.json"]


def test_laid_out_in_place_no_input_is_copied(tmp_path):
    """Inputs stay where they are while the wrapper runs, so a link that is laid out at once needs no copies."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)), python=shutil.which("true"), relink="/order.json")
    (tmp_path / "src" / "a.o").write_bytes(b"x")
    start(script, "a.o", cwd=tmp_path / "src", check=True)

    assert recorded(tmp_path).inputs() == {}
    assert not (recorded(tmp_path).path / "inputs.tar").exists()


MAPPED = ["a.o -o prog", "-o -M a.o", "-m -Map a.o", "-soname --cref a.o"]
NOT_MAPPED = [
    "-M a.o",
    "-Map=x a.o",
    "-Map x a.o",
    "--Map=x a.o",
    "--Map x a.o",
    "--print-map a.o",
    "-print-map a.o",
    "--print-map-discarded a.o",
    "--cref a.o",
    "-cref a.o",
    "a.o b.o c.o d.o e.o f.o g.o h.o i.o",
]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("line", "asked"), [(line, True) for line in MAPPED] + [(line, False) for line in NOT_MAPPED])
def test_laid_out_in_place_a_link_is_asked_for_its_map(tmp_path, shell, line, asked):
    """Before what the build says, unless it asks for such a report itself, or the line is long; else nothing is added."""
    real = fake_linker(tmp_path, f"printf '%s\\0' \"$@\" > '{tmp_path}/got'")
    script = linker_script(
        tmp_path, real=str(real), python=shutil.which("true"), client="/client.py", relink="/order.json", maps=8
    )
    start(script, *line.split(), cwd=tmp_path / "src", shell=shell, check=True)
    got = (tmp_path / "got").read_bytes().decode().split("\0")[:-1]
    added = [f"-Map={recorded(tmp_path).path}/map"] if asked else []

    assert got == [*added, *line.split()]
    assert list(recorded(tmp_path).argv) == line.split()


def test_a_linker_that_is_killed_over_its_map_gets_another_chance(tmp_path):
    """As where a limit on the size of files is below the map's; any other failure stays what it is."""
    real = fake_linker(
        tmp_path,
        f"case $1 in -Map=*) echo half > ${{1#-Map=}}; kill -XFSZ $$ ;; esac; printf '%s ' \"$@\" > '{tmp_path}/got'",
    )
    script = linker_script(
        tmp_path, real=str(real), python=shutil.which("true"), client="/client.py", relink="/order.json", maps=8
    )
    start(script, "a.o", "-o", "prog", cwd=tmp_path / "src", check=True)

    assert (tmp_path / "got").read_text() == "a.o -o prog "
    assert recorded(tmp_path).map() == ""


def test_nobody_who_lays_out_is_an_error(tmp_path):
    """Where the helper has gone the link fails and says so, and does not wait."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)), relink=str(tmp_path / "order.json"))
    done = start(script, "a.o", cwd=tmp_path)

    assert done.returncode == 1
    assert done.stderr.decode() == (
        "layoutrand: the layoutrand that started this build cannot be asked to lay out this link: No such file or "
        "directory\n"
    )


def test_laid_out_in_place_the_output_looks_old_until_it_is_laid_out(tmp_path):
    """Whoever is killed between the link and its layout must not find the program up to date the next time."""
    stat = 'stat -c %Y -- "./-o ut" > "' + str(tmp_path) + '/time"'
    python = write_script(tmp_path / "python", f"#!/bin/sh\n{stat}\n")
    linker = fake_linker(tmp_path, "echo linked > './-o ut'")
    script = linker_script(tmp_path, real=str(linker), python=str(python), relink="/order.json")
    (tmp_path / "a.o").write_text("object")
    done = start(script, "-o", "-o ut", "a.o", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, b"")
    assert int((tmp_path / "time").read_text()) < (tmp_path / "a.o").stat().st_mtime - 1e8


@pytest.mark.parametrize("kind", ["ld.bfd", "ld.lld-19"])
def test_a_real_link_through_the_driver_is_recorded(tmp_path, kind):
    """gcc finds the wrapper, the program works, and the record holds the object that gcc deleted."""
    real = require(kind, "binutils" if kind == "ld.bfd" else "lld-19")
    script = linker_script(tmp_path, real=real)
    (tmp_path / "src" / "a.c").write_text("int main(void) { return 3; }\n")
    run(
        "gcc",
        f"-B{script.parent}/",
        "a.c",
        "-o",
        "prog",
        cwd=tmp_path / "src",
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )
    record = recorded(tmp_path)
    kept = [path for path in record.inputs() if path.startswith(f"{tmp_path}/tmp/")]

    assert subprocess.run([tmp_path / "src" / "prog"]).returncode == 3
    assert record.output() == str(tmp_path / "src" / "prog")
    assert [path for path in kept if path.endswith(".o")] != []
    assert not any(Path(path).exists() for path in kept)


def test_the_expander_needs_nothing_but_the_interpreter(tmp_path):
    """Response files are expanded without the package, its dependencies or the user's environment."""
    script = linker_script(tmp_path, real=str(fake_linker(tmp_path)), python=sys.executable)
    (tmp_path / "args").write_text("-o prog")
    start(script, "@args", cwd=tmp_path, env={"PYTHONPATH": "/nonexistent", "PYTHONHOME": "/nonexistent"}, check=True)

    assert recorded(tmp_path).argv == ("-o", "prog")
