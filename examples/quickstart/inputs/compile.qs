# The front end at work: small programs are generated, scanned, parsed, listed, compiled and
# run, all of it many times over.
#
#     qs compile.qs PROGRAMS

let rng = random.new(7);
let programs = int(args[0] ?? "30");

let operators = ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"];
let relations = ["<", "<=", "==", "!=", ">", ">="];

# A random expression over the given names, with only non-zero divisors and small shifts.
fn expression(names, depth) {
    if depth == 0 or rng.chance(0.2) {
        return rng.chance(0.5) ? rng.choice(names) : str(rng.int(-50, 300));
    }
    let left = expression(names, depth - 1);
    match rng.int(0, 6) {
        0 => return f"({left} {rng.choice(relations)} {expression(names, depth - 1)} ? 3 : {rng.choice(names)})";
        1 => return f"-({left})";
        2 => return f"[{left}, {rng.choice(names)}, 7].max()";
        3 => return f"len(str({left}))";
    }
    let op = rng.choice(operators);
    if op in ["//", "%"] {
        return f"({left} {op} {rng.int(2, 40)})";
    }
    if op in ["<<", ">>"] {
        return f"(({left}) % 4096 {op} {rng.int(0, 6)})";
    }
    if op in ["&", "|", "^"] {
        return f"(({left}) % 65536 {op} {rng.int(0, 255)})";
    }
    return f"({left} {op} {expression(names, depth - 1)})";
}

fn program(number) {
    let name = f"f{number % 10}";
    let lines = [
        f"fn {name}(a, b, c) \{",
        f"    let x = {expression(["a", "b", "c"], 3)};",
        "    let seen = {low: 0, high: 0};",
        f"    for i in 0..{rng.int(2, 5)} \{",
        f"        if i % 2 == 0 \{ x = {expression(["x", "i", "a"], 2)}; \}",
        f"        else \{ x -= {expression(["b", "i"], 1)}; \}",
        "        if x < 0 { seen.low += 1; continue; }",
        "        seen.high += 1;",
        "    }",
        "    let add = fn(d) => d + seen.low - seen.high;",
        f"    try \{ if x % 7 == {rng.int(0, 6)} \{ throw \"seven\"; \} x += add({rng.int(0, 9)}); \}",
        "    catch e { x = len(e); }",
        "    while x > 1_000_000 { x = x // 3; }",
        "    match x % 3 {",
        "        0 => return f\"z{x}\";",
        f"        1, 2 => \{ return x * {rng.int(2, 9)}; \}",
        "        _ => return nil;",
        "    }",
        "}",
        f"{name}({rng.int(-9, 99)}, {rng.int(1, 50)}, {rng.int(0, 5)})"
    ];
    return "\n".join(lines);
}

let tokens = {};
let digest = 0;
let listed = 0;
let broken = 0;
let results = [];

fn mix(n) {
    digest = (digest * 33 + n) % 998244353;
}

# Each pass of the compiler works through a batch of programs before the next one does.
let batch_size = 4;

for first in range(0, programs, batch_size) {
    let sources = range(first, math.min(first + batch_size, programs)).list().map(program);
    for source in sources {
        for kind, count in meta.tokens(source).tally() {
            tokens[kind] = (tokens[kind] ?? 0) + count;
        }
    }
    for source in sources {
        mix(hash(meta.tree(source)));
    }
    let mains = sources.map(meta.compile);
    for main in mains {
        results.push(main());
    }
    for main in mains {
        let listing = meta.listing(main);
        listed += listing.count("\n");
        mix(codec.adler32(listing));
    }
    for source in sources {
        try {
            meta.eval(source[0:len(source) * 2 // 3]);
        } catch e {
            broken += 1;
            mix(len(e));
        }
    }
}

print(f"{programs} programs, {listed} lines of listing, {broken} broken, digest {digest}");
print("first results:", results[0:8]);
print("integers among them:", results.filter(fn(r) => type(r) == "int").len());
let common = tokens.items().sort_by(fn(t) => [-t[1], t[0]]);
print("common tokens:", "  ".join(common[0:12].map(fn(t) => f"{t[0]} {t[1]}")));
print(meta.tree("let x = 2 * 3 + y; x |> print"));
print(meta.listing(meta.compile("for i in 0..3 { if i < 2 { print(i); } }")));
