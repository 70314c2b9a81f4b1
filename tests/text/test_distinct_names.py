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


def test_names_of_java_lose_their_package():
    names = ["org.x.samples.Tree.walk", "org.x.samples.Trie.walk"]
    assert distinct_names(names, 12) == ["…Tree.walk", "…Trie.walk"]


def test_names_that_differ_in_their_middle_alone_can_be_told_apart():
    names = [f"org.x.Tree.walk,certainty=16,arg={arg},kind=red_or_black" for arg in (1, 31)]
    assert distinct_names(names, 22) == ["…16,arg=1,kind=red_or…", "…16,arg=31,kind=red_o…"]
    assert len(set(distinct_names(["a" * 40 + str(k) + "b" * 40 for k in range(5)], 10))) == 5


def test_a_benchmark_is_named_where_others_stand_beside_it():
    """What is left of the long one was its system alone, as if it had no name."""
    long = "a_benchmark_of_some_length"
    assert distinct_names([f"{long} O2", f"{long} O3"], 20) == ["…O2", "…O3"]
    assert distinct_names([f"{long} O2", "y O2", f"{long} O3", "y O3"], 20) == [
        "a_benchmar…length O2",
        "y O2",
        "a_benchmar…length O3",
        "y O3",
    ]
