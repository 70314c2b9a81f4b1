"""Names in a narrow column."""

from layoutrand.text.distinct_names import distinct_names


def test_names_that_fit_stay():
    assert distinct_names(["work", "startup"], 7) == ["work", "startup"]


def test_what_long_names_share_is_left_out_first():
    names = ["bench/parse::strip::demo", "bench/parse::state::demo", "all 2 (mean)"]
    assert distinct_names(names, 20) == ["…strip::demo", "…state::demo", "all 2 (mean)"]


def test_names_that_differ_at_their_ends_can_be_told_apart():
    names = ["jp.test/StringEnd_NoEscape_Long", "jp.test/StringEnd_NoEscape_Short", "jp.test/StringEnd_WithEscape"]
    shown = distinct_names(names, 20)
    assert shown == ["…StringEnd…cape_Long", "…StringEnd…ape_Short", "…StringEnd…ithEscape"]


def test_one_long_name_keeps_its_begin():
    assert distinct_names(["bench/a_case_of_some_length"], 15) == ["bench/a…_length"]


def test_no_name_vanishes_where_it_is_what_others_begin_with():
    assert all(distinct_names(["a/long/name/", "a/long/name/"], 5))
