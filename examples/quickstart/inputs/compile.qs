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
let results = [];

for number in 0..programs {
    let source = program(number);
    for t in meta.tokens(source).unique() {
        tokens.update(t, 0, fn(n) => n + 1);
    }
    let tree = meta.tree(source);
    let main = meta.compile(source);
    let value = main();
    let listing = meta.listing(main);
    listed += len(listing.lines());
    digest = (digest * 33 + hash(tree) + hash(str(value))) % 998244353;
    if number % 100 == 0 {
        results.push(value);
    }
    try {
        meta.eval(source[0:len(source) * 2 // 3]);
    } catch e {
        digest = (digest + len(e)) % 998244353;
    }
}

print(f"{programs} programs, {listed} instructions, digest {digest}");
print("some results:", results);
let common = tokens.items().sort_by(fn(t) => [-t[1], t[0]]);
print("common tokens:", common[0:12].map(fn(t) => f"{t[0]} {t[1]}"));
print(meta.tree("let x = 2 * 3 + y; x |> print"));
print(meta.listing(meta.compile("for i in 0..3 { if i < 2 { print(i); } }")));
