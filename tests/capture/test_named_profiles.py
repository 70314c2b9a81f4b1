"""A profile that flags name by its path is part of a build's key by its content, in no other place of which it is."""

import pytest

from layoutrand.capture.named_profiles import profiles_digest


@pytest.mark.parametrize(
    "option",
    [
        "-fprofile-use={}",
        "-fprofile-instr-use={}",
        "-fprofile-sample-use={}",
        "-fauto-profile={}",
        "-Wl,--symbol-ordering-file={}",
        "-Wl,--symbol-ordering-file,{}",
        "-fprofile-use -fprofile-dir={}",
        "-fbasic-block-sections=list={}",
        "-Wl,--section-ordering-file={}",
        "-Wl,--call-graph-ordering-file={}",
        "-Wl,-T,{}",
        "-T {}",
        "-Wl,--version-script={}",
        "--data={}",
        "-data={}",
        "-data {}",
        "-Cprofile-use={}",
        "-C profile-use={}",
        "--reorder-functions=user --function-order={}",
    ],
)
@pytest.mark.parametrize("in_commands", [False, True])
def test_another_content_is_another_build(tmp_path, option, in_commands):
    profile = tmp_path / "x.profdata"
    text = f'"-O2 {option.format(profile)}" -g'

    def digest():
        return profiles_digest([] if in_commands else [text], [f"make CFLAGS={text}"] if in_commands else [])

    absent = digest()
    profile.write_text("1")
    first = digest()
    profile.write_text("2")
    assert len({absent, first, digest()}) == 3
    profile.write_text("1")
    assert digest() == first


def test_a_directory_is_its_files(tmp_path):
    flags = [f"-fprofile-use={tmp_path}"]
    (tmp_path / "a.gcda").write_text("1")
    first = profiles_digest(flags, [])
    (tmp_path / "a.gcda").write_text("2")
    assert profiles_digest(flags, []) != first


@pytest.mark.parametrize(
    "flags",
    [
        "-O2",
        "-fprofile-use",
        "-fprofile-use=../prof",
        "-I/usr/include",
        "-fprofile-use /etc/passwd",
        "-fno-T/etc/passwd",
    ],
)
def test_flags_that_name_none_leave_keys_as_they_were(flags):
    assert profiles_digest([flags], ["make"]) == ""


@pytest.mark.parametrize("command", ["sort -T {} names", "rsync -T {} a b", "cp -T {} here", "./configure --data={}"])
def test_a_directory_that_other_programs_are_given_is_in_no_key(tmp_path, command):
    """Else a build whose `sort` has room in /tmp is another one each time, and all of /tmp is read for it."""
    assert profiles_digest([], [command.format(tmp_path)]) == ""


def test_what_commands_train_themselves_is_not_asked_for_before(tmp_path):
    use = f"$CC -fprofile-use={tmp_path}"
    assert profiles_digest([], [f"$CC -fprofile-generate={tmp_path}", use]) == ""
    assert profiles_digest([], [use]) != ""
    bolted = f"llvm-bolt prog -o new -data={tmp_path}/fdata"
    assert profiles_digest([], [f"perf2bolt prog -p perf.data -o {tmp_path}/fdata", bolted]) == ""
    assert profiles_digest([], [bolted]) != ""
