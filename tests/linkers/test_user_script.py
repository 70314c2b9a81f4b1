"""GNU ld: linker scripts of the user's, with an order put into them."""

import pytest

from layoutrand.errors import FeatureUnsupported
from layoutrand.linkers.user_script import NOTHING, ordered_user_script, reserved


def ordered(script, *families):
    """The script on one line with one line for each family, numbered."""
    lines = [(family, f"*(.{family}.lr.{number})") for number, family in enumerate(families or ("text",))]
    return " ".join(ordered_user_script(script, lines).split())


def test_a_word_without_end_takes_no_time():
    """Looked for from each of its letters, as it once was, this took hours."""
    script = f"SECTIONS {{ .text : {{ {'x' * 200_000}< () *(.text .text.*) }} }}"
    assert TEXT in ordered(script)


TEXT = "*(.text.lr.0)"
PLACES = {
    "first of two patterns": ("*(.text .text.*)", f"{TEXT} *(.text .text.*)"),
    "one pattern without a dot": ("*(.text*)", f"{TEXT} *(.text*)"),
    "after what has a name": ("KEEP(*(.text.boot)) *(.text*)", f"KEEP(*(.text.boot)) {TEXT} *(.text*)"),
    "after a file's own": (
        "*start.o(.text .text.*) *(.text .text.*)",
        f"*start.o(.text .text.*) {TEXT} *(.text .text.*)",
    ),
    "after the plain section": ("*(.text) *(.text.*)", f"*(.text) {TEXT} *(.text.*)"),
    "sorted": ("*(SORT_BY_ALIGNMENT(SORT_BY_NAME(.text.*)))", f"{TEXT} *(SORT_BY_ALIGNMENT(SORT_BY_NAME(.text.*)))"),
    "sorted in part": ("*(.text SORT(.text.*))", f"{TEXT} *(.text SORT(.text.*))"),
    "kept": ("KEEP(*(.text .text.*))", f"KEEP({TEXT}) KEEP(*(.text .text.*))"),
    "kept with blanks": ("KEEP ( * ( .text .text.* ) )", f"KEEP({TEXT}) KEEP ( * ( .text .text.* ) )"),
    "a blank before the bracket": ("* (.text .text.*)", f"{TEXT} * (.text .text.*)"),
    "commas": ("*(.text, .text.*)", f"{TEXT} *(.text, .text.*)"),
    "quoted": ('"*"(".text" ".text.*")', f'{TEXT} "*"(".text" ".text.*")'),
    "in a comment": ("/* *(.text .text.*) */ *(.text*)", f"/* *(.text .text.*) */ {TEXT} *(.text*)"),
    "after expressions": (
        '_start = ADDR(.text); . = ALIGN(. + SIZEOF(.data), 16); ASSERT(SIZEOF(.text) < 10, "*(.text.*) x") *(.text .text.*)',
        f'_start = ADDR(.text); . = ALIGN(. + SIZEOF(.data), 16); ASSERT(SIZEOF(.text) < 10, "*(.text.*) x") {TEXT} *(.text .text.*)',
    ),
    "constructors excluded": (
        "KEEP (*(EXCLUDE_FILE (*crtend.o) .ctors)) *(.text .stub .text.*)",
        f"KEEP (*(EXCLUDE_FILE (*crtend.o) .ctors)) {TEXT} *(.text .stub .text.*)",
    ),
    "an output section's attributes": (
        ".text ALIGN(16) : AT(ADDR(.x)) { *(.text*) }",
        f".text ALIGN(16) : AT(ADDR(.x)) {{ {TEXT} *(.text*) }}",
    ),
    "only the first": ("*(.text*) *(.text*)", f"{TEXT} *(.text*) *(.text*)"),
}


@pytest.mark.parametrize(("script", "expected"), PLACES.values(), ids=PLACES.keys())
def test_lines_go_before_the_statement_that_takes_the_rest(script, expected):
    """And nothing else of the script changes."""
    assert ordered(script) == expected


def test_each_family_goes_to_its_own_statement():
    """Code and each kind of data, wherever the script has them."""
    script = ".bss : { *(.bss .bss.*) } .text : { *(.text*) } .ro : { *(.rodata*) } .data : { *(.data.rel.ro*) *(.data .data.*) }"

    assert ordered(script, "text", "rodata", "data.rel.ro", "data", "bss") == (
        ".bss : { *(.bss.lr.4) *(.bss .bss.*) } .text : { *(.text.lr.0) *(.text*) } .ro : { *(.rodata.lr.1) *(.rodata*) } "
        ".data : { *(.data.rel.ro.lr.2) *(.data.rel.ro*) *(.data.lr.3) *(.data .data.*) }"
    )


def test_families_that_one_statement_takes_stay_mixed():
    """In the order of the layout, since that is how the linker places them."""
    assert ordered("*(.text* .rodata*) *(.data*)", "text", "rodata", "text", "data", "data.rel.ro") == (
        "*(.text.lr.0) *(.rodata.lr.1) *(.text.lr.2) *(.text* .rodata*) *(.data.lr.3) *(.data.rel.ro.lr.4) *(.data*)"
    )


def test_gaps_are_kept_out_of_keep():
    """Assignments are no input sections."""
    lines = [("text", ". += 5;"), ("text", "*(.text.lr.0)")]

    assert (
        " ".join(ordered_user_script("KEEP(*(.text*))", lines).split()) == ". += 5; KEEP(*(.text.lr.0)) KEEP(*(.text*))"
    )


@pytest.mark.parametrize(
    ("script", "family"),
    [
        ("", "text"),
        ("*(.text)", "text"),
        ("*a.o(.text .text.*)", "text"),
        ("*(.text.[a-m]*)", "text"),
        ("*(.data.rel.ro*)", "data"),
        ("/* *(.text*) */", "text"),
    ],
)
def test_a_script_without_such_a_statement_is_refused(script, family):
    """The message says what is missing."""
    with pytest.raises(FeatureUnsupported, match=rf"no statement such as \*\(\.{family} \.{family}\.\*\)"):
        ordered(script, family)


@pytest.mark.parametrize(
    "script",
    [
        "EXCLUDE_FILE(*a.o) *(.text .text.*) *(.text*)",
        "EXCLUDE_FILE (*a.o)\n  *(.text .text.*)",
        "*(EXCLUDE_FILE(*a.o) .text.*) *(.text*)",
        "INPUT_SECTION_FLAGS (SHF_EXECINSTR) *(.text .text.*)",
        "KEEP(*(EXCLUDE_FILE(*a.o) .text.*))",
    ],
)
def test_a_statement_with_exceptions_is_refused(script):
    """Which sections it takes cannot be told from it."""
    with pytest.raises(FeatureUnsupported, match="takes .text sections with an exception"):
        ordered(script)


HELD = [
    ("KEEP(*(.text.boot)) *(.text*)", "_build/a.o", "", ".text.boot"),
    ("*(.text.fast.*) *(.text*)", "_build/a.o", "", ".text.fast.f"),
    ("*start.o(.text .text.*) *(.text*)", "_build/src/start.o", "", ".text.x"),
    ("start.o(.text .text.*) *(.text*)", "_build/start.o", "", ".text.x"),
    ("*start.o(.text .text.*) *(.text*)", "_build/lib.a", "start.o", ".text.x"),
    ("*lib.a:start.o(.text*) *(.text*)", "_build/lib.a", "start.o", ".text.x"),
    ("*lib.a:(.text*) *(.text*)", "_build/lib.a", "x.o", ".text.x"),
    ('"*start.o"(".text.*") *(.text*)', "_build/start.o", "", ".text.x"),
    ("*(.text.[a-c]*) *(.text*)", "_build/a.o", "", ".text.beta"),
    ("*(SORT(.rodata.first*)) *(.rodata*)", "_build/a.o", "", ".rodata.first"),
]
FREE = [
    ("KEEP(*(.text.boot)) *(.text*)", "_build/a.o", "", ".text.booty"),
    ("*start.o(.data) *(.text*)", "_build/start.o", "", ".text.x"),
    ("*(.text .text.*)", "_build/a.o", "", ".text.f"),
    ("*(.text .text.*) *(.text.late)", "_build/a.o", "", ".text.late"),
    ("KEEP(*crtbegin.o(.ctors)) *(.text*)", "usr/lib/crtbegin.o", "", ".text"),
    ("/* *(.text.boot) */ *(.text*)", "_build/a.o", "", ".text.boot"),
    ("*(.text*) *start.o(.text.*)", "_build/start.o", "", ".text.x"),
    ("*other.a:start.o(.data*) *(.text*)", "_build/lib.a", "start.o", ".text.x"),
]


@pytest.mark.parametrize(("script", "file", "member", "section"), HELD)
def test_what_the_script_names_is_reserved(script, file, member, section):
    """By the section's name, the object's, the member's or the archive's."""
    assert reserved(script).holds(file, member, section)


@pytest.mark.parametrize(("script", "file", "member", "section"), FREE)
def test_what_it_does_not_name_is_free(script, file, member, section):
    """General patterns name nothing, nor does what comes after them, nor a name that goes with other sections."""
    assert not reserved(script).holds(file, member, section)


def test_no_script_reserves_nothing():
    """And says so by being equal to the constant."""
    assert reserved("") == NOTHING
    assert not NOTHING.holds("a.o", "", ".text.f")
