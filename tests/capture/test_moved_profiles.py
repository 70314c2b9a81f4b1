"""What gcc says of profiles that it does not find, in the forms in which builds print it."""

import pytest

from layoutrand.capture.moved_profiles import missing_profiles, name_anew, profiles_of

TREE = "/cache/work/b1/src"


@pytest.mark.parametrize(
    ("line", "missing", "folder"),
    [
        (
            "a.c:1:1: warning: ‘p/#cache#work#b1#src#o#a.gcda’ profile count data file not found [-Wmissing-profile]",
            "o/a.gcda",
            "p",
        ),
        ("a.c:1:1: Warnung: »/cache/work/b1/src/o/a.gcda« nicht gefunden [-Wmissing-profile]", "o/a.gcda", ""),
        ("a.c:1:1: error: 'p/#cache#work#b1#src#l#^#a.gcda' not found [-Werror=missing-profile]", "a.gcda", "p"),
        (
            "\x1b[01m\x1b[Ka.c:1:1:\x1b[m\x1b[K \x1b[01;35m\x1b[Kwarning: \x1b[m\x1b[K'\x1b[01m\x1b[K"
            "/q/#cache#work#b1#src#a.gcda\x1b[m\x1b[K' profile count data file not found "
            "[\x1b[01;35m\x1b[K-Wmissing-profile\x1b[m\x1b[K]",
            "a.gcda",
            "/q",
        ),
    ],
)
def test_a_missing_profile_is_told_by_what_it_is_of(tmp_path, line, missing, folder):
    log = tmp_path / "log"
    log.write_text(f"gcc -Wno-missing-profile a.c\n{line}\n{line}\n")
    (found,) = missing_profiles(log, type(tmp_path)(TREE), is_copy=True)
    assert (found.profiles, found.folder) == ((missing,), folder)


@pytest.mark.parametrize(
    "line",
    [
        "gcc -Wmissing-profile -fprofile-use='x.gcda' a.c",
        "a.c:3:5: warning: profile for function ‘f’ not found in profile data [-Wmissing-profile]",
        "rm 'a.gcda'",
    ],
)
def test_other_lines_are_none(tmp_path, line):
    log = tmp_path / "log"
    log.write_text(f"{line}\n")
    assert missing_profiles(log, tmp_path, is_copy=True) == []


def test_profiles_of_the_source_alone_are_named_anew(tmp_path):
    source, tree = tmp_path / "source", tmp_path / "tree"
    own = f"{source}".replace("/", "#")
    names = [f"p/{own}#a.gcda", f"p/{own}s#a.gcda", f"p/{own}#a.txt", "p/#x#a.gcda", "p/a.gcda", f"{own}#b.gcda"]
    (tree / "p").mkdir(parents=True)
    for name in names:
        (tree / name).write_text(name)
    ours = profiles_of(source, names)
    assert ours == [names[0], names[5]]
    name_anew(tree, source, ours)
    name_anew(tree, source, ours)  # what is there stays
    again = f"{tree}".replace("/", "#")
    assert (tree / f"p/{again}#a.gcda").read_text() == names[0]
    assert (tree / f"{again}#b.gcda").read_text() == names[5]
    assert len(list(tree.rglob("*.gcda"))) == 7


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ([], "without it: none is in {folder}"),
        (["#elsewhere#src#a.gcda"], "in {folder} names have the path of the directory that was built"),
        (["{tree}#b.gcda", "#elsewhere#src#a.gcda"], "there are profiles of others"),
    ],
)
def test_why_none_is_found_is_looked_for_where_gcc_looks(tmp_path, there, why):
    tree, folder = tmp_path / "tree", tmp_path / "profiles"
    begin = f"{tree}".replace("/", "#")
    (tree / "prof").mkdir(parents=True)
    (tree / "prof" / f"{begin}#b.gcda").write_text("of another system's profiles")
    folder.mkdir()
    for name in there:
        (folder / name.format(tree=begin)).write_text("")
    log = tmp_path / "log"
    log.write_text(f"a.c:1:1: warning: '{folder}/{begin}#a.gcda' not found [-Wmissing-profile]\n")
    (found,) = missing_profiles(log, tree, is_copy=True)
    assert why.format(folder=folder) in str(found)


def test_a_folder_of_the_source_that_the_copy_lacks_is_told_as_that(tmp_path):
    log = tmp_path / "log"
    log.write_text(f"a.c:1:1: warning: 'prof/{str(tmp_path).replace('/', '#')}#a.gcda' not found [-Wmissing-profile]\n")
    (found,) = missing_profiles(log, tmp_path, is_copy=True)
    assert "none is in prof, in the copy of the source that is built: there is none in the source, or" in str(found)
