"""The programs' inputs, the same bytes everywhere: each is drawn from a generator of its own, keyed by its name."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

SIZES = ("tiny", "small", "test", "train", "ref")


class Draw:
    """A 64-bit linear congruential generator (Knuth's MMIX) keyed by a name; the upper bits are used."""

    def __init__(self, key: str) -> None:
        self.state = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")

    def below(self, limit: int) -> int:
        """A whole number from 0 to ``limit`` - 1."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & 0xFFFF_FFFF_FFFF_FFFF
        return (self.state >> 33) * limit >> 31

    def of(self, items: Sequence[str]) -> str:
        """One of the items."""
        return items[self.below(len(items))]

    def skewed(self, items: Sequence[str]) -> str:
        """One of the items, early ones more often, as words are in a text."""
        return items[self.below(self.below(self.below(len(items)) + 1) + 1)]


def words(key: str, count: int) -> list[str]:
    """Pronounceable words of one to four syllables."""
    draw = Draw(key)
    starts, ends = (
        "b bl c ch d f g gr h l m n p pr qu r s st t tr v w".split(),
        "a e i o u an en or et is um al".split(),
    )
    return ["".join(draw.of(starts) + draw.of(ends) for _ in range(1 + draw.below(4))) for _ in range(count)]


def text(key: str, size: int) -> bytes:
    """``size`` bytes of sentences; from 4 MB on, paragraphs of the beginning come back among new ones."""
    draw, vocabulary = Draw(key), words(key, 6000)
    parts: list[str] = []
    length = 0
    while length < size:
        if length > 4_000_000 and draw.below(8):
            paragraph = draw.of(parts)
        else:
            chosen = [draw.skewed(vocabulary) for _ in range(30 + draw.below(90))]
            paragraph = " ".join(chosen).capitalize() + (".\n" if draw.below(3) else f", {draw.below(100_000)}!\n\n")
        parts.append(paragraph)
        length += len(paragraph)
    return "".join(parts).encode()[:size]


def web_log(lines: int) -> bytes:
    """Requests to a web server in the common log format."""
    draw, names = Draw("web log"), words("web log", 700)
    kinds, agents = (".html", ".png", ".css", ".js", "", "/"), ("Mozilla/5.0", "Lynx/2.8", "Somebot/1.1", "Spider")
    made = []
    for number in range(lines):
        path = "/" + "/".join(draw.skewed(names) for _ in range(1 + draw.below(4))) + draw.of(kinds)
        query = f"?q={draw.of(names)}%20{draw.below(50)}" if draw.below(4) == 0 else ""
        status = draw.of((200, 200, 200, 200, 200, 304, 404, 500, 403))
        address = ".".join(str(draw.below(256)) for _ in range(4))
        clock = f"{number * 24 // lines:02}:{draw.below(60):02}:{draw.below(60):02}"
        made.append(
            f'{address} - - [17/Jun/2024:{clock} +0000] "GET {path}{query} HTTP/1.1" '
            f'{status} {draw.below(60_000)} "-" "{draw.of(agents)}"\n'
        )
    return "".join(made).encode()


def clauses(variables: int, count: int, key: str) -> bytes:
    """A random 3-SAT problem in DIMACS form."""
    draw = Draw(f"3-SAT {key}")
    made = [f"p cnf {variables} {count}"]
    for _ in range(count):
        chosen: set[int] = set()
        while len(chosen) < 3:
            chosen.add(1 + draw.below(variables))
        made.append(" ".join(str(name if draw.below(2) else -name) for name in sorted(chosen)) + " 0")
    return "\n".join([*made, ""]).encode()


def proteins(count: int) -> bytes:
    """Sequences of amino acids, as frequent as in Swiss-Prot, in FASTA form."""
    draw = Draw("proteins")
    per_thousand = dict(
        zip("ALGVESIKRDTPNQFYMHCW", (83, 97, 71, 69, 67, 66, 59, 58, 55, 54, 53, 47, 41, 39, 39, 29, 24, 23, 14, 11))
    )
    drawn_from = "".join(letter * times for letter, times in per_thousand.items())
    made = []
    for number in range(count):
        residues = "".join(draw.of(drawn_from) for _ in range(120 + draw.below(500)))
        made.append(
            f">gen{number:05} generated\n" + "\n".join(residues[k : k + 60] for k in range(0, len(residues), 60))
        )
    return "\n".join([*made, ""]).encode()


def video(width: int, height: int, frames: int) -> bytes:
    """Planar YUV 4:2:0: textured squares that move over a textured ground, with a little noise."""
    draw = Draw("video")
    ground = [
        bytes((40 + (x * x // 37 + x * y // 29 + y * 5) % 120) for x in range(width + 64)) for y in range(height + 64)
    ]
    squares = [
        (
            8 + draw.below(width // 4),
            draw.below(width),
            draw.below(height),
            draw.below(9) - 4,
            draw.below(7) - 3,
            draw.below(200),
        )
        for _ in range(9)
    ]
    made = bytearray()
    for frame in range(frames):
        rows = [bytearray(ground[y + frame % 64][frame // 2 % 64 :][:width]) for y in range(height)]
        for size, left, top, right, down, shade in squares:
            x, y = (left + right * frame) % (width - size), (top + down * frame) % height
            for row in range(y, min(y + size, height)):
                rows[row][x : x + size] = bytes((shade + (k * k + row * 3) // 9 % 48) for k in range(size))
        for _ in range(width * height // 50):
            rows[draw.below(height)][draw.below(width)] ^= 3
        made += b"".join(rows)
        for phase in (90, 140):
            chroma = bytes((phase + (x * 3 + frame) // 11 % 40) for x in range(width // 2))
            made += chroma * (height // 2)
    return bytes(made)


def catalogue(books: int) -> bytes:
    """An XML document: the books of a library and who wrote them."""
    draw, names = Draw("catalogue"), words("catalogue", 900)
    people = books // 8
    made = ['<?xml version="1.0"?>\n<library><people>\n']
    for number in range(people):
        made.append(f'<person id="p{number}"><name>{draw.of(names)} {draw.of(names).capitalize()}</name></person>\n')
    made.append("</people>\n")
    for number in range(books):
        lent = ' lent="yes"' if draw.below(3) == 0 else ""
        title = (
            f"{draw.of(names).capitalize()} of the {draw.of(names)}"
            if draw.below(2)
            else f"{draw.of(names)}  &amp; {draw.of(names)}"
        )
        abstract = "".join(
            draw.of(("{}", "{}", "{}", "<em>{}</em>", '{}<ref n="5"/>', "{} &lt;&#233;&gt;")).format(draw.skewed(names))
            + " "
            for _ in range(10 + draw.below(30))
        )
        made.append(
            f'<book id="b{number}" year="{1950 + draw.below(75)}"{lent}><title>{title}</title><author id="p{draw.below(people)}"/>'
            f"<pages>{40 + draw.below(900)}</pages><abstract>{abstract}</abstract></book>\n"
        )
    made.append("</library>\n")
    return "".join(made).encode()


def c_functions(functions: int) -> bytes:
    """C functions that need no header: structures, loops, switches, tables. Their names are ``N(...)``, a macro's."""
    draw, names = Draw("c program"), sorted(set(words("c program", 400)))
    made = []
    for number in range(functions):
        base = number // 20 * 20
        kind, table, mix = f"struct N(s{base})", f"N(t{base})", f"MIX{base}"
        if number == base:
            made.append(f"{kind} {{ word a; char b[{4 + draw.below(12)}]; {kind} *next; long c; }};\n")
            made.append(f"#define {mix}(x, y) ((((x) << {1 + draw.below(7)}) ^ (y)) + {draw.below(999)}u)\n")
            made.append(
                f"static const word {table}[] = {{ {', '.join(str(draw.below(65536)) for _ in range(16))} }};\n"
            )
        a, b = (f"{draw.of(names)}_{k}" for k in "ab")
        cases = "".join(
            f"        case {k}: {a} {draw.of(('+=', '^=', '-='))} {draw.of((a, b))} {draw.of('*+|&^')} {1 + draw.below(99)}; break;\n"
            for k in range(2 + draw.below(6))
        )
        value = f"{table}[{b} & 15]"
        if number and draw.below(40) == 0:
            value = f"N(f{draw.below(number)})({a} & 255, {b}) & 1023"
        made.append(
            f"/* {' '.join(draw.of(names) for _ in range(6))} */\n"
            f"static word N(f{number})(word {a}, word {b})\n{{\n"
            f'    {kind} v = {{ {a}, "{draw.of(names)[:3]}", 0, {draw.below(99)} }}, *p = &v;\n    word i;\n'
            f"    for (i = {draw.below(3)}; i < {3 + draw.below(5)}; i++) {{\n"
            f"        switch (({a} + i) % {3 + draw.below(6)}) {{\n{cases}"
            f"        default: {b} = {mix}({b}, p->a + v.b[i & 3]); }}\n"
            f"        if ({a} > {b} && !(p->c & {1 + draw.below(7)})) p->a = {value};\n"
            f"        else {a} = ({a} >> {1 + draw.below(5)}) ? {b} % {3 + draw.below(91)}u : v.a;\n"
            f"    }}\n    return p->a + {a} * {1 + draw.below(31)} - (word)sizeof({kind});\n}}\n"
        )
    calls = "".join(f"    sum = sum * 31 + N(f{number})(sum & 1023, {number});\n" for number in range(functions))
    return ("".join(made) + f"static word N(all)(word sum)\n{{\n{calls}    return sum;\n}}\n").encode()


def c_program(times: int) -> bytes:
    """A C program of ``functions.h``, included so many times under other names; it prints a sum over all functions."""
    made = [
        "int printf(const char *, ...);\ntypedef unsigned int word;\n"
        "#define JOIN2(a, b) a##b\n#define JOIN(a, b) JOIN2(a, b)\n"
    ]
    made += ["#define N(name) JOIN(PART, name)\n"]
    made += [f'#undef PART\n#define PART p{part}_\n#include "functions.h"\n' for part in range(times)]
    calls = "".join(f"    sum = p{part}_all(sum);\n" for part in range(times))
    return (
        "".join(made) + f'int main(void)\n{{\n    word sum = 1;\n{calls}    printf("%u\\n", sum);\n    return 0;\n}}\n'
    ).encode()


def sql(rows: int) -> bytes:
    """Statements for an empty database: tables, indices, joins, windows, recursion, updates and text."""
    return SQL.replace("{rows}", str(rows)).replace("{few}", str(rows // 8)).encode()


SQL = """\
CREATE TABLE parts(id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, price INTEGER);
CREATE TABLE stock(part INTEGER REFERENCES parts, place INTEGER, count INTEGER, PRIMARY KEY(part, place)) WITHOUT ROWID;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
 INSERT INTO parts SELECT i, hex(i * 2654435761 % 65521), i * 7919 % 97, i * 31 % 1009 FROM n;
INSERT INTO stock SELECT id, kind % 5, price * id % 41 FROM parts WHERE price % 3 > 0;
INSERT INTO stock SELECT id, 5 + price % 4, kind FROM parts WHERE kind % 4 = 1;
CREATE INDEX by_kind ON parts(kind, name);
CREATE INDEX by_price ON parts(price);
SELECT count(*), sum(price), min(name), max(name) FROM parts;
SELECT kind, count(*), sum(price) FROM parts WHERE name LIKE '%A%' GROUP BY kind HAVING count(*) > 3 ORDER BY 3 DESC, 1 LIMIT 9;
SELECT place, sum(count * price), count(DISTINCT kind) FROM stock JOIN parts ON parts.id = stock.part GROUP BY place ORDER BY place;
SELECT sum(x.price * y.price % 13) FROM parts x JOIN parts y ON y.id = x.price + 1 WHERE x.id % 3 = 0;
UPDATE parts SET name = lower(name) || '-' || kind WHERE id % 5 = 0;
DELETE FROM stock WHERE count % 11 = 3;
SELECT substr(name, 1, 2) AS k, count(*), max(price) FROM parts GROUP BY k ORDER BY 2 DESC, 1 LIMIT 7;
SELECT max(t), min(t) FROM (SELECT sum(price) OVER (PARTITION BY kind ORDER BY id ROWS 9 PRECEDING) AS t FROM parts WHERE id < {few});
WITH RECURSIVE walk(i, d, s) AS (SELECT 1, 0, 0 UNION ALL
 SELECT (i * 17 + d) % {rows} + 1, d + 1, (s + (SELECT price FROM parts WHERE id = i)) % 65536 FROM walk WHERE d < {few})
 SELECT max(d), sum(s) FROM walk;
SELECT count(*) FROM parts p WHERE EXISTS (SELECT 1 FROM stock s WHERE s.part = p.id AND s.place > 4) AND p.price BETWEEN 100 AND 700;
SELECT group_concat(id) FROM (SELECT id FROM parts WHERE name GLOB '*-1?' ORDER BY price DESC, id LIMIT 12);
SELECT count(*), sum(length(printf('%08x/%s', price, name))) FROM parts;
"""


def write(path: Path, content: bytes) -> None:
    """The file, with the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
