"""Layouts: pinned orders, and the rules that every drawn order keeps."""

import hashlib
from collections import Counter
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildkit import compiled, link_with, said, section
from layoutrand.errors import UsageError
from layoutrand.layout.factors import linker_seed, places_data
from layoutrand.layout.groups import count_layouts, identity_bytes, may_differ
from layoutrand.layout.order import draw
from layoutrand.model import IDENTITY, MAX_SEED
from layoutrand.objects.kinds import classify, is_function_section

FUNCTIONS = ("function-order",)
MODULES = ("module-order",)
IN_MODULE = ("function-order-in-module",)
BOTH = ("module-order", "function-order-in-module")
FACTORS = [FUNCTIONS, MODULES, IN_MODULE, BOTH]
KINDS = ("unlikely", "exit", "startup", "hot", "text")

# Object, section, and what is special, in the order in which GNU ld places them.
SAMPLE = [
    section(index, obj, name, kind=kind, **changes)
    for index, (obj, name, kind, changes) in enumerate(
        [
            ("b.o", ".text.unlikely.panic", "unlikely", {}),
            ("a.o", ".text.unlikely", "unlikely", {}),
            ("b.o", ".text.startup.main", "startup", {}),
            ("a.o", ".text.hot.spin", "hot", {}),
            ("crt1.o", ".text", "text", {"pinned": True}),
            ("a.o", ".text.alpha", "text", {}),
            ("a.o", ".text.beta", "text", {}),
            ("a.o", ".text._Z3maxIiET_S0_S0_", "text", {"group": "_Z3maxIiET_S0_S0_"}),
            ("b.o", ".text.alpha", "text", {}),
            ("b.o", ".text.gamma", "text", {}),
            ("lib/z.a(c.o)", ".text", "text", {}),
            ("lib/z.a(c.o)", ".text.helper", "text", {}),
            ("lib/z.a(c.o)", ".text.helper", "text", {"occurrence": 1}),
            ("crtend.o", ".text", "text", {"pinned": True}),
        ]
    )
]


def drawn(sections, seed, factors=FUNCTIONS, classes="keep", identity=None):
    """The order of one layout, as indices."""
    order = range(len(sections)) if identity is None else identity
    return list(draw(sections, order, name=seed, factors=factors, classes=classes).order)


@pytest.mark.parametrize(
    ("factors", "classes", "seed", "order"),
    [
        (FUNCTIONS, "keep", 0, [1, 0, 2, 3, 4, 11, 8, 7, 12, 6, 10, 9, 5, 13]),
        (FUNCTIONS, "keep", 1, [1, 0, 2, 3, 4, 7, 6, 9, 10, 5, 8, 12, 11, 13]),
        (FUNCTIONS, "keep", MAX_SEED, [1, 0, 2, 3, 4, 8, 6, 9, 11, 10, 7, 12, 5, 13]),
        (FUNCTIONS, "mix", 0, [11, 8, 7, 12, 4, 6, 2, 3, 1, 10, 0, 9, 5, 13]),
        (FUNCTIONS, "mix", 1, [1, 7, 6, 3, 4, 9, 10, 5, 8, 2, 0, 12, 11, 13]),
        (FUNCTIONS, "mix", MAX_SEED, [2, 8, 1, 6, 4, 9, 11, 10, 7, 0, 12, 3, 5, 13]),
        (MODULES, "keep", 0, [1, 0, 2, 3, 4, 5, 6, 7, 10, 11, 12, 8, 9, 13]),
        (MODULES, "keep", 1, [0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 5, 6, 7, 13]),
        (MODULES, "keep", MAX_SEED, [0, 1, 2, 3, 4, 10, 11, 12, 8, 9, 5, 6, 7, 13]),
        (MODULES, "mix", 0, [1, 3, 5, 6, 4, 7, 10, 11, 12, 0, 2, 8, 9, 13]),
        (MODULES, "mix", 1, [0, 2, 8, 9, 4, 10, 11, 12, 1, 3, 5, 6, 7, 13]),
        (MODULES, "mix", MAX_SEED, [10, 11, 12, 0, 4, 2, 8, 9, 1, 3, 5, 6, 7, 13]),
        (IN_MODULE, "keep", 0, [0, 1, 2, 3, 4, 7, 6, 5, 9, 8, 11, 10, 12, 13]),
        (IN_MODULE, "keep", 1, [0, 1, 2, 3, 4, 6, 5, 7, 9, 8, 10, 12, 11, 13]),
        (IN_MODULE, "keep", MAX_SEED, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 10, 12, 11, 13]),
        (IN_MODULE, "mix", 0, [9, 7, 0, 6, 4, 5, 3, 1, 8, 2, 11, 10, 12, 13]),
        (IN_MODULE, "mix", 1, [9, 6, 0, 5, 4, 3, 1, 7, 8, 2, 10, 12, 11, 13]),
        (IN_MODULE, "mix", MAX_SEED, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 10, 12, 11, 13]),
        (BOTH, "keep", 0, [1, 0, 2, 3, 4, 7, 6, 5, 11, 10, 12, 9, 8, 13]),
        (BOTH, "keep", 1, [0, 1, 2, 3, 4, 9, 8, 10, 12, 11, 6, 5, 7, 13]),
        (BOTH, "keep", MAX_SEED, [0, 1, 2, 3, 4, 10, 12, 11, 9, 8, 5, 6, 7, 13]),
        (BOTH, "mix", 0, [7, 6, 5, 3, 4, 1, 11, 10, 12, 9, 0, 8, 2, 13]),
        (BOTH, "mix", 1, [9, 0, 8, 2, 4, 10, 12, 11, 6, 5, 3, 1, 7, 13]),
        (BOTH, "mix", MAX_SEED, [10, 12, 11, 0, 4, 2, 9, 8, 1, 3, 5, 6, 7, 13]),
    ],
)
def test_orders_are_pinned_for_ever(factors, classes, seed, order):
    """The layout of a fixed list of sections never changes, for the first, a usual and the last seed."""
    assert drawn(SAMPLE, seed, factors, classes) == order


BLOCKS = [
    section(index, obj, name, kind=kind, **changes)
    for index, (obj, name, kind, changes) in enumerate(
        [
            ("crt1.o", ".text", "text", {"pinned": True}),
            *(("a.o", ".text.f", "text", {"occurrence": k}) for k in range(5)),
            ("a.o", ".text.g", "text", {}),
            *(("b.o", ".text.f", "text", {"occurrence": k}) for k in range(3)),
            *(("b.o", ".text.inline", "text", {"occurrence": k, "group": "inline"}) for k in range(2)),
            ("b.o", ".text.unlikely.f", "unlikely", {}),
            ("b.o", ".text.unlikely.f", "unlikely", {"occurrence": 1}),
        ]
    )
]


@pytest.mark.parametrize(
    ("factors", "seed", "order"),
    [
        (("block-order",), 1, [0, 3, 4, 1, 5, 2, 6, 8, 9, 7, 10, 11, 13, 12]),
        (("block-order",), 2, [0, 1, 2, 4, 5, 3, 6, 7, 8, 9, 10, 11, 13, 12]),
        (("function-order",), 1, [0, 10, 11, 6, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13]),
        (("block-order", "function-order"), 1, [0, 10, 11, 6, 3, 4, 1, 5, 2, 8, 9, 7, 13, 12]),
        (("block-order", "function-order"), MAX_SEED, [0, 11, 10, 7, 8, 9, 1, 2, 5, 3, 4, 6, 13, 12]),
        (("block-order", "module-order"), 1, [0, 8, 9, 7, 10, 11, 3, 4, 1, 5, 2, 6, 13, 12]),
        (("block-order", "function-order-in-module"), 1, [0, 6, 3, 4, 1, 5, 2, 10, 11, 8, 9, 7, 13, 12]),
    ],
)
def test_orders_of_blocks_are_pinned_for_ever(factors, seed, order):
    """Blocks move within their function, and functions as a whole."""
    found = list(draw(BLOCKS, range(len(BLOCKS)), name=seed, factors=factors, classes="keep", whole=True).order)
    assert found == order
    functions = [(BLOCKS[i].object, BLOCKS[i].name) for i in found]
    assert len([key for key, _ in groupby(functions)]) == len(set(functions))
    if "block-order" not in factors:
        assert all(a < b for a, b in pairwise(found) if functions[found.index(a)] == functions[found.index(b)])
    else:
        alone = draw(BLOCKS, range(len(BLOCKS)), name=seed, factors=("block-order",), classes="keep", whole=True).order
        of_f = [i for i in alone if BLOCKS[i].object == "a.o" and BLOCKS[i].name == ".text.f"]
        assert [i for i in found if i in of_f] == of_f  # within a function as without the other factors


def test_one_function_in_blocks_has_one_place():
    one = BLOCKS[:6]
    assert not may_differ(one, range(6), factors=("function-order",), classes="keep", whole=True)
    assert may_differ(one, range(6), factors=("block-order",), classes="keep", whole=True)
    assert may_differ(one, range(6), factors=("function-order",), classes="keep")


@pytest.mark.parametrize(
    ("factors", "digest"),
    [
        (FUNCTIONS, "08985aa79e96fe3a42fc158e923940337f37a9eec4da77b2e39e9aa03de7b349"),
        (MODULES, "debf5489c997e624fb7aa99046173b3f03679d646e77f2184edb6364284c83e3"),
        (IN_MODULE, "26a4bd551a8169da4c426df87bf1f63b9245adca3b3c1008a1dd821328faeac9"),
    ],
)
def test_a_large_order_is_pinned_for_ever(factors, digest):
    """So is that of 20,000 sections."""
    sections = [
        section(
            number,
            f"d{number % 97}/m{number % 613}.o",
            f".text.f{number * 7919 % 100003}",
            kind=("unlikely", "startup", "text")[min(2, number // 500)],
            pinned=number % 1009 == 0,
        )
        for number in range(20000)
    ]
    order = " ".join(map(str, drawn(sections, 42, factors)))

    assert hashlib.sha256(order.encode()).hexdigest() == digest


def test_identity_is_the_order_given():
    """The identity layout moves nothing, whatever the factors."""
    identity = [3, 0, 2, 1]

    assert drawn(SAMPLE[:4], IDENTITY, BOTH, "mix", identity) == identity


def test_a_layout_says_what_it_is():
    """The layout carries its name, factors and classes as given."""
    layout = draw(SAMPLE, range(len(SAMPLE)), name=5, factors=BOTH, classes="mix")

    assert (layout.name, layout.factors, layout.classes) == (5, BOTH, "mix")


@st.composite
def captures(draw_):
    """Sections of a few objects with repeating names, and an identity order with or without grouped classes."""
    rows = draw_(
        st.lists(
            st.tuples(st.sampled_from("abcde"), st.sampled_from("fgh"), st.sampled_from(KINDS), st.booleans()),
            max_size=25,
        )
    )
    seen = {}
    sections = []
    for index, (obj, name, kind, pinned) in enumerate(rows):
        occurrence = seen.get((obj, name), 0)
        seen[obj, name] = occurrence + 1
        sections.append(
            section(
                index, f"{obj}.o", f".text.{name}", kind=kind, occurrence=occurrence, pinned=pinned and index % 3 == 0
            )
        )
    identity = list(range(len(rows)))
    if draw_(st.booleans()):
        identity.sort(key=lambda index: KINDS.index(sections[index].kind))
    return sections, identity


ANY = (captures(), st.integers(0, MAX_SEED), st.sampled_from(FACTORS), st.sampled_from(["keep", "mix"]))


@given(*ANY)
def test_every_layout_is_a_permutation(capture, seed, factors, classes):
    """No section is lost or doubled."""
    sections, identity = capture

    assert sorted(drawn(sections, seed, factors, classes, identity)) == sorted(identity)


@given(*ANY)
def test_pinned_sections_keep_their_slots(capture, seed, factors, classes):
    """Start files and system libraries stay where the linker put them."""
    sections, identity = capture
    order = drawn(sections, seed, factors, classes, identity)

    for before, after in zip(identity, order, strict=True):
        assert before == after or not (sections[before].pinned or sections[after].pinned)


@given(captures(), st.integers(0, MAX_SEED), st.sampled_from([FUNCTIONS, IN_MODULE]))
def test_kept_classes_keep_their_slots(capture, seed, factors):
    """The class found in each slot is the one that identity has there, grouped or not."""
    sections, identity = capture
    order = drawn(sections, seed, factors, "keep", identity)

    assert [sections[index].kind for index in order] == [sections[index].kind for index in identity]


@given(captures(), st.integers(0, MAX_SEED), st.sampled_from([MODULES, BOTH]))
def test_module_order_keeps_classes_that_the_linker_groups(capture, seed, factors):
    """Where classes are contiguous in identity, they stay so under module order."""
    sections, identity = capture
    identity = sorted(identity, key=lambda index: KINDS.index(sections[index].kind))
    order = drawn(sections, seed, factors, "keep", identity)

    assert [sections[index].kind for index in order] == [sections[index].kind for index in identity]


def _runs(sections, order):
    """Objects in the order in which they appear, pinned sections left out, one entry for each unbroken run."""
    return [obj for obj, _ in groupby(sections[index].object for index in order if not sections[index].pinned)]


@given(captures(), st.integers(0, MAX_SEED), st.sampled_from(["keep", "mix"]))
def test_module_order_moves_objects_whole_within_each_region(capture, seed, classes):
    """In each class that the linker groups, or in all of the code if it groups none, every object is one run."""
    sections, identity = capture
    kinds = [sections[index].kind for index in identity]
    grouped = classes == "keep" and len([kind for kind, _ in groupby(kinds)]) == len(set(kinds))
    order = drawn(sections, seed, MODULES, classes, identity)

    for region in set(kinds) if grouped else {None}:
        inside = [index for index in order if region in (None, sections[index].kind)]
        runs = _runs(sections, inside)
        assert len(runs) == len(set(runs))


@pytest.mark.parametrize("seed", range(12))
def test_module_order_moves_objects_whole_where_the_linker_mixes_classes(seed):
    """As lld places them, one class interrupted by another once: each object stays in one piece."""
    rows = [("a.o", "text"), ("a.o", "hot"), ("b.o", "text"), ("b.o", "text"), ("c.o", "text")]
    sections = [section(index, obj, kind=kind) for index, (obj, kind) in enumerate(rows)]
    order = drawn(sections, seed, MODULES)

    assert sorted(_runs(sections, order)) == ["a.o", "b.o", "c.o"]


@given(captures(), st.integers(0, MAX_SEED))
def test_module_order_keeps_the_order_inside_each_object(capture, seed):
    """Module order alone never swaps two sections of one object and class."""
    sections, identity = capture
    order = drawn(sections, seed, MODULES, "keep", identity)

    for key in {(item.object, item.kind) for item in sections if not item.pinned}:
        mine = [i for i in order if (sections[i].object, sections[i].kind) == key and not sections[i].pinned]
        assert mine == [i for i in identity if i in set(mine)]


@given(captures(), st.integers(0, MAX_SEED), st.sampled_from(["keep", "mix"]))
def test_order_in_module_moves_nothing_to_another_object(capture, seed, classes):
    """Function order in module fills each slot from the object that had it."""
    sections, identity = capture
    order = drawn(sections, seed, IN_MODULE, classes, identity)

    assert [sections[index].object for index in order] == [sections[index].object for index in identity]


@given(captures(), st.integers(0, MAX_SEED))
def test_both_factors_together_are_one_after_the_other(capture, seed):
    """Module order with order in module is module order applied to what order in module gives."""
    sections, identity = capture
    inside = drawn(sections, seed, IN_MODULE, "keep", identity)

    assert drawn(sections, seed, BOTH, "keep", identity) == drawn(sections, seed, MODULES, "keep", inside)
    assert drawn(sections, seed, BOTH, "keep", identity) == drawn(sections, seed, BOTH[::-1], "keep", identity)


def _names(sections, order):
    return [identity_bytes(sections[index]) for index in order]


@given(st.integers(0, MAX_SEED), st.integers(0, len(SAMPLE)), st.sampled_from([FUNCTIONS, MODULES, BOTH]))
def test_a_new_function_leaves_the_others_in_their_relative_order(seed, at, factors):
    """A function added to the program anywhere moves no two old functions past each other."""
    old = [item for item in SAMPLE if not item.pinned]
    added = section(99, "b.o", ".text.brand_new")
    grown = [*old[:at], added, *old[at:]]
    grown.sort(key=lambda item: KINDS.index(item.kind))

    before = _names(old, drawn(old, seed, factors))
    after = _names(grown, drawn(grown, seed, factors))

    assert [name for name in after if name != identity_bytes(added)] == before


@given(st.integers(0, MAX_SEED), st.sets(st.integers(0, 19)), st.sets(st.integers(0, 19)))
def test_two_systems_place_shared_functions_in_the_same_relative_order(seed, first, second):
    """One seed couples two builds: functions that both have keep their relative order."""
    systems = [
        [section(number, f"m{number % 3}.o", f".text.f{number}") for number in sorted(s)] for s in (first, second)
    ]
    orders = [_names(system, drawn(system, seed)) for system in systems]
    shared = set(orders[0]) & set(orders[1])

    assert [n for n in orders[0] if n in shared] == [n for n in orders[1] if n in shared]


def test_a_comdat_function_is_known_by_its_signature_alone():
    """Whichever object contributes a template instance, it is the same function to the order."""
    one = section(0, "a.o", ".text._Z1fIiEvv", group="_Z1fIiEvv")
    other = section(7, "lib/b.a(z.o)", ".text._Z1fIiEvv", group="_Z1fIiEvv")

    assert identity_bytes(one) == identity_bytes(other)


def test_same_named_functions_of_different_objects_differ():
    """Two static helpers in two objects, or twice in one, are different functions to the order."""
    helpers = [
        section(0, "a.o", ".text.helper"),
        section(1, "b.o", ".text.helper"),
        section(2, "b.o", ".text.helper", occurrence=1),
        section(3, "b.o", ".text.helper", group="helper"),
    ]

    assert len(set(map(identity_bytes, helpers))) == 4


def test_names_that_are_not_utf8_have_an_identity():
    """An object whose name holds a stray byte can be ordered."""
    assert identity_bytes(section(0, b"caf\xe9.o".decode("utf-8", "surrogateescape"))).startswith(
        b"object\0caf\xe9.o\0"
    )


def test_neighbouring_seeds_give_different_layouts():
    """100 seeds give 100 different layouts of ten functions."""
    sections = [section(number) for number in range(10)]

    assert len({tuple(drawn(sections, seed)) for seed in range(100)}) == 100


def test_an_empty_capture_has_an_empty_layout():
    """Nothing to place gives a layout without slots, for every factor."""
    assert [drawn([], 1, factors) for factors in FACTORS] == [[], [], [], []]


CLASSES = {
    ".text": "text",
    ".text.main": "text",
    ".text.unlikely": "unlikely",
    ".text.unlikely.": "unlikely",
    ".text.unlikely.cold": "unlikely",
    ".text.exit": "exit",
    ".text.exit.bye": "exit",
    ".text.startup": "startup",
    ".text.startup.main": "startup",
    ".text.hot": "hot",
    ".text.hot.foo": "hot",
    ".text.hot.": "hot",
    ".text.hotel": "text",
    ".text.hot_": "text",
    ".text.startups": "text",
    ".text.exitcode": "text",
    ".text.unlikelyhood": "text",
    ".text.x_unlikely": "unlikely",
    ".text._unlikely": "unlikely",
    ".text.hot.x_unlikely": "unlikely",
    ".text.startup.x_unlikely": "unlikely",
    ".text.xunlikely": "text",
    ".text.not_unlikely_at_all": "text",
    ".text.sorted.7": "text",
    ".text.foo.hot": "text",
}


@pytest.mark.parametrize(("name", "kind"), CLASSES.items())
def test_class_of_a_section_name(name, kind):
    """Only the exact prefixes and the suffix _unlikely make a class."""
    assert classify(name) == kind


def test_classes_are_those_of_gnu_ld(tmp_path):
    """GNU ld, given a section of every kind of name, places each class together, in its own order."""
    named = [
        name for name in CLASSES if name not in (".text", ".text.sorted.7")
    ]  # sorted ones come between two classes
    lines = ['.globl main\n.section .text.main,"ax",@progbits\nmain: xor %eax,%eax\nret\n']
    lines += [f'.section "{name}","ax",@progbits\ns{number}: .fill 16,1,0x90\n' for number, name in enumerate(named)]
    obj = compiled(tmp_path, "sections.s", "".join(lines) + '.section .note.GNU-stack,"",@progbits\n')
    prog = link_with("bfd", tmp_path, [obj])

    addresses = {}
    for row in said("nm", prog).splitlines():
        fields = row.split()
        if len(fields) == 3 and fields[2][1:].isdigit() and fields[2][0] == "s":
            addresses[named[int(fields[2][1:])]] = int(fields[0], 16)
    placed = [classify(name) for name in sorted(addresses, key=addresses.__getitem__)]

    assert len(placed) == len(named)
    assert [kind for kind, _ in groupby(placed)] == list(KINDS)


def test_functions_named_like_classes_are_classed_as_the_linker_sees_them(tmp_path):
    """Functions that are only called hot or unlikely get section names of those classes from the compiler."""
    text = "int hot(void){return 1;} int unlikely(void){return 2;} int startup(void){return 3;} int hotel(void){return 4;}\n"
    obj = compiled(tmp_path, "named.c", text + "int main(void){return hot()+unlikely()+startup()+hotel()-10;}", "-O2")
    names = [row.split()[1] for row in said("objdump", "-h", "-w", obj).splitlines() if " .text." in row]

    assert {name: classify(name) for name in names} == {
        ".text.hot": "hot",
        ".text.unlikely": "unlikely",
        ".text.startup": "startup",
        ".text.hotel": "text",
        ".text.startup.main": "startup",
    }


def test_neighbours_differ_between_layouts():
    """Hardly any two sections that stand side by side in one layout still do in the next."""
    sections = [section(number) for number in range(1000)]
    pairs = [set(pairwise(drawn(sections, seed))) for seed in (1, 2)]

    assert len(pairs[0] & pairs[1]) < 10


@pytest.mark.parametrize(
    ("name", "own"),
    [
        (".text", False),
        (".text.", False),
        (".text.unlikely", False),
        (".text.startup", False),
        (".text.hot.", False),
        (".text.exit", False),
        (".text.main", True),
        (".text.startup.main", True),
        (".text.unlikely.f", True),
        (".text._ZN1aC2Ev", True),
        (".text.hotel", True),
        (".init", False),
    ],
)
def test_sections_of_single_functions(name, own):
    """A function's own section is told from the common sections of its class by name."""
    assert is_function_section(name) is own


DATA_ORDER = ("data-order",)
WITH_DATA = [
    *SAMPLE,
    *(
        section(len(SAMPLE) + number, obj, name, kind=kind, **changes)
        for number, (obj, name, kind, changes) in enumerate(
            [
                ("crt1.o", ".rodata", "rodata", {"pinned": True}),
                ("a.o", ".rodata.table", "rodata", {}),
                ("b.o", ".rodata.table", "rodata", {}),
                ("b.o", ".rodata._ZTV1A", "rodata", {"group": "_ZTV1A"}),
                ("b.o", ".rodata.more", "rodata", {}),
                ("a.o", ".data.rel.ro.local.names", "data.rel.ro.local", {}),
                ("b.o", ".data.rel.ro.local.names", "data.rel.ro.local", {}),
                ("a.o", ".data.rel.ro._ZTV1B", "data.rel.ro", {}),
                ("b.o", ".data.rel.ro._ZTV1C", "data.rel.ro", {}),
                ("crt1.o", ".data", "data", {"pinned": True}),
                ("a.o", ".data.counter", "data", {}),
                ("a.o", ".data.other", "data", {}),
                ("b.o", ".data.counter", "data", {}),
                ("a.o", ".bss.buffer", "bss", {}),
                ("b.o", ".bss.buffer", "bss", {}),
                ("b.o", ".bss.zero", "bss", {}),
            ]
        )
    ),
]
CODE = range(len(SAMPLE))


@pytest.mark.parametrize(
    ("seed", "order"),
    [
        (0, [14, 17, 15, 18, 16, 19, 20, 21, 22, 23, 24, 26, 25, 29, 28, 27]),
        (1, [14, 18, 17, 16, 15, 20, 19, 22, 21, 23, 24, 25, 26, 29, 28, 27]),
        (MAX_SEED, [14, 17, 16, 18, 15, 20, 19, 22, 21, 23, 25, 24, 26, 28, 27, 29]),
    ],
)
def test_orders_of_data_are_pinned_for_ever(seed, order):
    """The layout of a fixed list of variables never changes; code is not touched."""
    found = drawn(WITH_DATA, seed, DATA_ORDER)

    assert found[: len(SAMPLE)] == list(CODE)
    assert found[len(SAMPLE) :] == order


@pytest.mark.parametrize("factors", [FUNCTIONS, MODULES, IN_MODULE, BOTH], ids="+".join)
@pytest.mark.parametrize("classes", ["keep", "mix"])
@pytest.mark.parametrize("seed", [0, 1, 42, MAX_SEED])
def test_factors_draw_from_streams_of_their_own(seed, classes, factors):
    """Data order changes nothing of the code's order, nor code's factors that of data, nor padding either."""
    code, data = len(SAMPLE), WITH_DATA[len(SAMPLE) :]
    both = draw(
        WITH_DATA,
        range(len(WITH_DATA)),
        name=seed,
        factors=(*factors, "data-order", "padding"),
        classes=classes,
        padding=9,
    )
    code_alone = draw(WITH_DATA, range(len(WITH_DATA)), name=seed, factors=factors, classes=classes)
    data_alone = draw(WITH_DATA, range(len(WITH_DATA)), name=seed, factors=DATA_ORDER, classes=classes)

    assert both.order[:code] == code_alone.order[:code]
    assert both.order[code:] == data_alone.order[code:]
    assert code_alone.order[code:] == tuple(item.index for item in data)
    assert drawn(SAMPLE, seed, factors, classes) == list(both.order[:code])


@given(st.permutations(range(len(WITH_DATA))), st.integers(0, MAX_SEED), st.sampled_from(["keep", "mix"]))
def test_kinds_of_data_never_mix(identity, seed, classes):
    """Whatever the classes, each slot keeps its kind of data; pinned sections keep theirs."""
    order = drawn(WITH_DATA, seed, ("function-order", "data-order"), classes, identity)

    def kind(index):
        found = WITH_DATA[index].kind
        return found if classes == "keep" or found not in KINDS else "code"

    assert [kind(index) for index in order] == [kind(index) for index in identity]
    for slot, index in enumerate(identity):
        if WITH_DATA[index].pinned:
            assert order[slot] == index


GAPS = [
    [21, 40, 36, 58, 0, 64, 42, 30, 32, 46, 27, 17, 59, 0],
    [37, 24, 2, 35, 0, 4, 16, 29, 24, 13, 19, 53, 61, 0],
    [7, 34, 14, 23, 0, 42, 18, 30, 60, 26, 61, 2, 25, 0],
]


@pytest.mark.parametrize(("seed", "gaps"), list(zip([0, 1, MAX_SEED], GAPS, strict=True)))
def test_gaps_are_pinned_for_ever(seed, gaps):
    """The gap before each function of a fixed list never changes, in bytes, by capture index."""
    layout = draw(SAMPLE, range(len(SAMPLE)), name=seed, factors=("padding",), classes="keep", padding=64)

    assert layout.order == tuple(CODE)
    assert list(layout.gaps) == gaps


@given(captures(), st.integers(0, MAX_SEED), st.integers(1, 1 << 20), st.sampled_from(FACTORS))
def test_a_gap_belongs_to_its_function(capture, seed, largest, factors):
    """It travels with the function wherever other factors put it, and is at most the largest that was allowed."""
    sections, identity = capture
    alone, together = (
        draw(sections, identity, name=seed, factors=(*others, "padding"), classes="keep", padding=largest)
        for others in ((), factors)
    )

    assert all(0 <= gap <= largest for gap in alone.gaps)
    assert dict(zip(alone.order, alone.gaps, strict=True)) == dict(zip(together.order, together.gaps, strict=True))
    assert all(not gap for index, gap in zip(alone.order, alone.gaps, strict=True) if sections[index].pinned)


def test_gaps_reach_from_nothing_to_the_largest():
    """With four possible gaps all four turn up, about equally often; data and identity have none."""
    sections = [*(section(number) for number in range(4000)), section(4000, name=".data.x", kind="data")]
    gaps = draw(sections, range(4001), name=3, factors=("padding",), classes="keep", padding=3).gaps

    assert all(850 < gaps[:4000].count(size) < 1150 for size in range(4))
    assert gaps[4000] == 0
    assert draw(sections, range(4001), name=IDENTITY, factors=("padding",), classes="keep", padding=3).gaps == ()
    assert draw(sections, range(4001), name=3, factors=("function-order",), classes="keep", padding=3).gaps == ()


OFFSETS = {0: 349312, 1: 1155008, MAX_SEED: 1146368}


@pytest.mark.parametrize("seed", OFFSETS)
def test_offsets_are_pinned_for_ever(seed):
    """All of it is left free before the first function that can move, of any program."""
    layout = draw(SAMPLE, range(len(SAMPLE)), name=seed, factors=("text-offset",), classes="keep")
    first = next(slot for slot, index in enumerate(layout.order) if not SAMPLE[index].pinned)

    assert layout.order == tuple(CODE)
    assert {slot: gap for slot, gap in enumerate(layout.gaps) if gap} == {first: OFFSETS[seed]}


@given(captures(), st.integers(0, MAX_SEED))
def test_an_offset_adds_to_a_gap_and_draws_by_itself(capture, seed):
    """Whatever else is drawn, it is before the first movable code, a multiple of a line, below a huge page."""
    sections, identity = capture
    alone, padded, both = (
        draw(sections, identity, name=seed, factors=factors, classes="keep", padding=64)
        for factors in (("text-offset",), ("padding",), ("padding", "text-offset"))
    )
    offset = sum(alone.gaps)

    assert offset % 64 == 0
    assert offset < 2 << 20
    assert len([gap for gap in alone.gaps if gap]) <= 1
    assert both.gaps == tuple(a + b for a, b in zip(alone.gaps, padded.gaps, strict=True))


def test_offsets_reach_every_line_of_a_page_and_every_page_of_a_huge_one():
    """About equally often."""
    drawn = [
        sum(draw([section(0)], [0], name=seed, factors=("text-offset",), classes="keep").gaps) for seed in range(6400)
    ]
    lines, pages = Counter(one % 4096 // 64 for one in drawn), Counter(one // 4096 for one in drawn)

    assert set(lines) == set(range(64))
    assert set(pages) == set(range(512))
    assert 60 < min(lines.values()) < max(lines.values()) < 140
    assert max(pages.values()) < 35


def test_padding_without_room_is_refused():
    """No gap at all would be a factor that does nothing."""
    with pytest.raises(UsageError, match="padding_bytes"):
        draw(SAMPLE, CODE, name=1, factors=("padding",), classes="keep", padding=0)


@pytest.mark.parametrize(
    ("seed", "stream", "number"),
    [
        (0, "padding", 1784982495),
        (1, "padding", 240212718),
        (1, "linker-shuffle", 2067348559),
        (MAX_SEED, "linker-shuffle", 355175190),
    ],
)
def test_seeds_for_linkers_are_pinned_for_ever(seed, stream, number):
    """Golden, and by the definition of the keyed hash written out."""
    key = seed.to_bytes(8, "big") + hashlib.blake2b(stream.encode(), digest_size=16).digest()
    digest = hashlib.blake2b(b"linker", digest_size=16, key=key, person=b"layoutrand/1").digest()

    assert linker_seed(seed, stream) == number
    assert number == int.from_bytes(digest, "big") % (2**31 - 1) + 1


@given(st.integers(0, MAX_SEED))
def test_seeds_for_linkers_fit_all_of_them(seed):
    """At least 1 and below 2^31: 0 and -1 mean something else to lld, and 32 bits must do."""
    assert 1 <= linker_seed(seed, "padding") < 2**31


@pytest.mark.parametrize(
    ("factors", "moves"),
    [
        (("function-order",), False),
        (("padding",), False),
        (("data-order",), True),
        (("function-order", "data-order"), True),
        (("linker-shuffle",), True),
        (("link-order",), False),
    ],
)
def test_which_factors_place_data(factors, moves):
    """mold's own shuffle moves data too."""
    assert places_data(factors) is moves


@st.composite
def _few_sections(draw_):
    """Up to six sections of two objects and three kinds, some pinned, in any order of the linker's."""
    n = draw_(st.integers(1, 6))
    pick = st.tuples(st.sampled_from("ab"), st.sampled_from(["text", "hot", "rodata"]), st.booleans())
    rows = draw_(st.lists(pick, min_size=n, max_size=n))
    sections = [
        section(
            index,
            f"{obj}.o",
            f".{kind}.f{index}" if kind == "rodata" else f".text.{kind}.f{index}",
            kind=kind,
            pinned=pinned,
        )
        for index, (obj, kind, pinned) in enumerate(rows)
    ]
    return sections, draw_(st.permutations(range(n)))


@pytest.mark.parametrize("factors", [*FACTORS, ("data-order",), ("data-order", "module-order"), ("padding",)])
@pytest.mark.parametrize("classes", ["keep", "mix"])
@given(case=_few_sections())
def test_whether_layouts_may_differ_is_exact(factors, classes, case):
    """Exactly where some seed gives another layout than identity, and 60 seeds find it wherever two may change places."""
    sections, identity = case
    layouts = {
        (layout.order, layout.gaps if any(layout.gaps) else ())
        for layout in (
            draw(sections, identity, name=seed, factors=factors, classes=classes, padding=64) for seed in range(60)
        )
    }
    differ = layouts != {(tuple(identity), ())}
    assert may_differ(sections, identity, factors=factors, classes=classes) == differ


@pytest.mark.parametrize(
    ("factors", "classes", "whole"),
    [
        (FUNCTIONS, "keep", False),
        (FUNCTIONS, "mix", False),
        (IN_MODULE, "keep", False),
        (("data-order",), "keep", False),
    ],
)
def test_small_programs_have_as_many_layouts_as_are_counted(factors, classes, whole):
    """So many seeds give them all: a few sections each."""
    few = [
        section(number, obj, name, kind=kind)
        for number, (obj, name, kind) in enumerate(
            [
                ("a.o", ".text.alpha", "text"),
                ("a.o", ".text.beta", "text"),
                ("b.o", ".text.gamma", "text"),
                ("b.o", ".text.hot.spin", "hot"),
                ("a.o", ".data.x", "data"),
                ("b.o", ".data.y", "data"),
            ]
        )
    ]
    seen = {tuple(drawn(few, seed, factors, classes)) for seed in range(400)}
    assert len(seen) == count_layouts(few, range(len(few)), factors=factors, classes=classes, whole=whole)


def test_layouts_are_not_counted_where_they_are_many_or_gaps_are_drawn():
    many = [section(number, "a.o", f".text.f{number}") for number in range(9)]
    assert count_layouts(many[:8], range(8), factors=FUNCTIONS, classes="keep") == 40_320
    assert count_layouts(many, range(9), factors=FUNCTIONS, classes="keep") is None
    assert count_layouts(many[:2], range(2), factors=("function-order", "padding"), classes="keep") is None
    assert count_layouts([section(0, "a.o", ".text", pinned=True)], [0], factors=FUNCTIONS, classes="keep") == 1
