"""Functions that nobody calls, written as C that is C++ as well: a body of a drawn size, with loops and branches."""

from __future__ import annotations

from typing import Protocol


class Drawing(Protocol):
    """What numbers are drawn from."""

    def below(self, limit: int) -> int:
        """An integer in 0 ... limit-1."""


MOST_STATEMENTS = 40
_OPERATORS = ("+", "-", "^", "|", "&")


def unused_function(draws: Drawing) -> tuple[str, str]:
    """The name and the definition of an exported function that stands alone: no header, no call, no data."""
    name = f"unused_{draws.below(16**8):08x}"
    statements = [_statement(draws) for _ in range(2 + draws.below(MOST_STATEMENTS))]
    lines = [
        f"unsigned long {name}(unsigned long *table, unsigned long count);",
        f"unsigned long {name}(unsigned long *table, unsigned long count)",
        "{",
        f"    unsigned long sum = {1 + draws.below(1000)}UL, at;",
        "    if (table == 0 || count == 0)",
        "        return sum;",
        *(f"    {line}" for statement in statements for line in statement),
        "    return sum;",
        "}",
    ]
    return name, "\n".join(lines) + "\n"


def _statement(draws: Drawing) -> list[str]:
    kind, number, shift = draws.below(4), 1 + draws.below(60_000), 1 + draws.below(30)
    operator = _OPERATORS[draws.below(len(_OPERATORS))]
    if kind == 0:
        return [f"sum = (sum {operator} {number}UL) * {2 * draws.below(500) + 1}UL;"]
    if kind == 1:
        return ["for (at = 0; at < count; at++)", f"    sum {operator}= table[at] >> {shift};"]
    if kind == 2:
        return [
            f"if ((sum & {number}UL) > {draws.below(number)}UL)",
            f"    table[sum % count] {operator}= sum;",
            "else",
            f"    sum ^= table[{draws.below(64)}UL % count] << {shift};",
        ]
    return [
        f"switch (sum % {4 + draws.below(5)}UL) {{",
        f"    case 0: sum += {number}UL; break;",
        f"    case 1: sum ^= table[0] * {number}UL; break;",
        f"    case 2: table[count - 1] {operator}= {number}UL; break;",
        f"    case 3: sum = ~sum >> {shift}; break;",
        f"    default: sum {operator}= count; break;",
        "}",
    ]
