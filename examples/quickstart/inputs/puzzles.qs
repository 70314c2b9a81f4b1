# Classic small programs, in turn: most of the time goes into the virtual machine itself.
#
#     qs puzzles.qs ROUNDS

let rounds = int(args[0] ?? "5");
let rng = random.new(42);

fn queens(n) {
    fn place(row, columns, up, down) {
        if row == n {
            return 1;
        }
        let count = 0;
        for c in 0..n {
            let u = row + c;
            let d = row - c + n;
            if (columns >> c & 1) + (up >> u & 1) + (down >> d & 1) == 0 {
                count += place(row + 1, columns | 1 << c, up | 1 << u, down | 1 << d);
            }
        }
        return count;
    }
    return place(0, 0, 0, 0);
}

fn collatz(limit) {
    let best = 0;
    let length = {[1]: 1};
    for start in 2..limit {
        let n = start;
        let steps = 0;
        while not (n in length) {
            n = n % 2 == 0 ? n // 2 : 3 * n + 1;
            steps += 1;
        }
        length[start] = steps + length[n];
        if length[start] > length.get(best, 0) {
            best = start;
        }
    }
    return [best, length[best]];
}

fn counter(start) {
    let n = start;
    return {next: fn() { n += 1; return n; }, back: fn(k) { n -= k; return n; }};
}

fn closures(count) {
    let counters = (0..5).list().map(fn(i) => counter(i * 10));
    let sum = 0;
    for i in 0..count {
        let c = counters[i % 5];
        sum += i % 3 == 0 ? c.back(2) : c.next();
    }
    return sum;
}

fn life(generations) {
    let alive = {};
    for cell in [[1, 0], [2, 1], [0, 2], [1, 2], [2, 2], [10, 10], [11, 10], [12, 10]] {
        alive[cell[0] * 64 + cell[1]] = true;
    }
    for g in 0..generations {
        let near = {};
        for key in alive {
            for d in [-65, -64, -63, -1, 1, 63, 64, 65] {
                near[key + d] = (near[key + d] ?? 0) + 1;
            }
        }
        alive = near.filter(fn(key, n) => n == 3 or (n == 2 and key in alive)).map(fn(k, n) => true);
    }
    return alive.keys().sort();
}

fn quicksort(list) {
    if len(list) < 2 {
        return list;
    }
    let pivot = list[len(list) // 2];
    let low = list.filter(fn(x) => x < pivot);
    let high = list.filter(fn(x) => x > pivot);
    return quicksort(low) + [pivot] * list.count(pivot) + quicksort(high);
}

# A recursive-descent calculator, written in the language itself.
fn calculate(text) {
    let at = 0;
    let sum = nil; # needed before it can be defined
    fn peek() { return at < len(text) ? text[at] : ""; }
    fn take() { let c = peek(); at += 1; return c; }
    fn factor() {
        if peek() == "(" {
            take();
            let v = sum();
            take();
            return v;
        }
        let digits = "";
        while peek().is_digit() {
            digits += take();
        }
        return int(digits);
    }
    fn product() {
        let v = factor();
        while peek() == "*" {
            take();
            v *= factor();
        }
        return v;
    }
    sum = fn() {
        let v = product();
        while peek() in ["+", "-"] {
            v = take() == "+" ? v + product() : v - product();
        }
        return v;
    };
    return sum();
}

fn pi_digits(count) {
    let q = 1; let r = 0; let t = 1; let k = 1; let n = 3; let l = 3;
    let digits = "";
    while len(digits) < count {
        if 4 * q + r - t < n * t {
            digits += str(n);
            let next = 10 * (r - n * t);
            n = 10 * (3 * q + r) // t - 10 * n;
            q *= 10;
            r = next;
        } else {
            let next = (2 * q + r) * l;
            n = (q * (7 * k) + 2 + r * l) // (t * l);
            q *= k;
            t *= l;
            l += 2;
            k += 1;
            r = next;
        }
    }
    return digits;
}

fn knapsack(items, capacity) {
    let best = [0] * (capacity + 1);
    for item in items {
        for c in range(capacity, item.weight - 1, -1) {
            best[c] = math.max(best[c], best[c - item.weight] + item.value);
        }
    }
    return best.last();
}

fn words(count) {
    let text = (0..count).list().map(fn(i) => rng.word(1)[0:2]);
    let tally = {};
    for w in text {
        tally[w] = (tally[w] ?? 0) + 1;
    }
    let top = tally.items().sort_by(fn(p) => [-p[1], p[0]])[0:3];
    return ", ".join(top.map(fn(p) => f"{p[0]}:{p[1]}"));
}

fn mandelbrot(size) {
    let rows = [];
    for y in 0..size {
        let row = "";
        for x in 0..size * 2 {
            let cr = x / size * 1.5 - 2.0;
            let ci = y / size * 2.0 - 1.0;
            let zr = 0.0; let zi = 0.0; let n = 0;
            while n < 12 and zr * zr + zi * zi < 4.0 {
                let t = zr * zr - zi * zi + cr;
                zi = 2.0 * zr * zi + ci;
                zr = t;
                n += 1;
            }
            row += " .:-=+*%@#&$#"[n];
        }
        rows.push(row);
    }
    return "\n".join(rows);
}

let last = {};
for round in 0..rounds {
    last.queens = queens(5);
    last.collatz = collatz(60);
    last.closures = closures(80);
    last.life = life(4);
    last.sorted = quicksort((0..40).list().map(fn(i) => rng.int(0, 60)))[0:10];
    last.value = calculate("(1+2)*(3+4)*5-6*(7-8*(9+10))+11*12");
    last.pi = pi_digits(12);
    last.loot = knapsack((1..8).list().map(fn(i) => {weight: i + rng.int(0, 3), value: i * 3}), 20);
    last.words = words(40);
    last.picture = mandelbrot(6);
}
for key, value in last {
    print(f"{key:>9}: {key == "picture" ? "\n" + value : value}");
}
