"""What alignment does to layouts: it is kept, it decides where functions can begin, and it costs padding."""

from __future__ import annotations

from layoutrand.objects import elf
from workshop import Built, Workshop, main_calling, many_functions, symbols

WIDE = "__attribute__((aligned(64), noinline)) int wide(int x) { return x * 5 + 1; }\n"
COLD = "".join(
    f"__attribute__((cold, noinline)) int cold{k}(int x) {{ return x / {k + 3} - {k}; }}\n" for k in range(6)
)


def build(shop: Workshop) -> Built:
    """A program of functions aligned to 1, 16 and 64 bytes."""
    shop.write(
        plain__c=many_functions(12, prefix="p"),
        cold__c=COLD,
        wide__c=WIDE,
        main__c=main_calling("p11", "cold5", "wide"),
    )
    built = shop.built("$CC -c *.c && $CC -o prog main.o plain.o cold.o wide.o", layout={"classes": "mix"})
    built.assert_all_print_as_stock()
    return built


def test_functions_keep_their_alignment_and_change_their_phase(shop: Workshop) -> None:
    """Every section begins at a multiple of its alignment, and within that bound elsewhere in its cache line."""
    built = build(shop)
    assert built.result.capture is not None
    sections = built.result.capture.links[0].sections
    phases: dict[int, set[int]] = {section.align: set() for section in sections if not section.pinned}
    for binary in built.seeded.values():
        known = symbols(binary.path)
        for section in sections:
            address = known[f".lr.{section.index:07d}"]
            assert address % section.align == 0
            if not section.pinned:
                phases[section.align].add(address % 64)
    assert phases[64] == {0}
    assert phases[16] == {0, 16, 32, 48}
    assert len(phases[1]) > len(phases[16])


def test_the_size_of_the_text_is_recorded(shop: Workshop) -> None:
    """Of each layout the size of its text is known: it depends on the paddings, which depend on the order."""
    built = build(shop)
    sizes = set()
    for binary in built.by_layout.values():
        if binary.verification is None:
            continue
        content = elf.read(binary.path.read_bytes(), name="prog")
        size = int(content.sections["size"][content.section_names.index(".text")])
        assert binary.verification.text_size == size
        sizes.add(size)
    assert len(sizes) > 1
