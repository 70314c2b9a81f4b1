# An order-processing service.  Orders pass through ten stages in small batches, and each stage
# uses other parts of the library, so that the code in use changes all the time.
#
#     qs orders.qs REQUESTS [BATCH]

let rng = random.new(20240229);
let requests = int(args[0] ?? "50");
let batch_size = int(len(args) > 1 ? args[1] : "10");

let failures = {};
let revenue = 0;
let stored = 0;
let expected = 0.0;
let digest = 0;
let samples = [];

let cities = ["Arnhem", "Bruges", "Cadiz", "Delft", "Evora", "Fulda", "Graz", "Haarlem"];
let roads = [[0, 1, 190], [1, 3, 160], [0, 3, 120], [3, 7, 55], [7, 0, 100], [1, 5, 480],
             [5, 6, 600], [6, 2, 2300], [5, 2, 2200], [2, 4, 400], [4, 2, 410], [6, 5, 610]];
let goods = ["brass hinges", "copper wires", "walnut boxes", "linen cloth", "glass beads",
             "iron nails", "paper lanterns", "wax candles"];

let address = regex.compile("^([A-Za-z]+)\\s+(\\d{1,3})([a-c]?),\\s*(\\w+)$");
let email = regex.compile("\\b[a-z.]+@[a-z]+\\.(com|org)\\b", "i");

# Stage 1: the customer's browser sends a form.
fn submit(number) {
    let name = rng.word(2).title() + " " + rng.word(3).title();
    let lines = [];
    for i in 0..rng.int(1, 4) {
        lines.push({item: rng.choice(goods), count: rng.int(1, 30), cents: rng.int(99, 9999)});
    }
    return json.dump({
        id: number,
        name: name,
        email: name.lower().replace(" ", ".") + "@example." + rng.choice(["com", "org", "net"]),
        address: f"{rng.word(2).title()} {rng.int(1, 99)}{rng.choice(["", "a", "b"])}, {rng.choice(cities)}",
        day: 19000 + rng.int(0, 2000),
        express: rng.chance(0.3),
        note: rng.chance(0.5) ? "Please <ring> the \"bell\" & wait" : nil,
        lines: lines
    });
}

# Stage 2: the form is read and checked.
fn check(text) {
    let order = json.parse(text);
    let parts = address.match(order.address);
    if parts == nil {
        throw f"bad address {order.address:q}";
    }
    if not email.test(order.email) {
        throw f"bad mail address {order.email:q}";
    }
    order.street = parts[1];
    order.house = int(parts[2]);
    order.city = parts[4];
    return order;
}

# Stage 3: prices, with discount rules that are kept as source texts.
let rules = [
    "fn(count, cents) => count >= 20 ? cents * 90 // 100 : cents",
    "fn(count, cents) => count * cents > 50000 ? cents - 25 : cents",
    "fn(count, cents) { let c = cents; if count % 2 == 0 { c -= 1; } return c; }"
];

fn price(order) {
    let rule = meta.eval(rules[order.id % len(rules)]);
    let total = 0;
    for line in order.lines {
        line.cents = rule(line.count, line.cents);
        line.sum = line.count * line.cents;
        total += line.sum;
    }
    order.total = order.express ? total + 1500 : total;
    return order;
}

# Stage 4: the way of the parcel.
fn route(order) {
    let target = cities.index_of(order.city);
    let path = graph.path(len(cities), roads, 0, target);
    order.route = " - ".join(path.map(fn(i) => cities[i]));
    order.hops = len(path) - 1;
    return order;
}

# Stage 5: when it will arrive; not on a Sunday.
fn schedule(order) {
    let day = order.day + 2 * order.hops + (order.express ? 1 : 3);
    while date.weekday(day) == 7 {
        day += 1;
    }
    order.due = date.text(day, "%a %d %b %Y");
    order.invoice = date.text(date.add_months(day, 1));
    return order;
}

# Stage 6: a checksum and a toy signature, so that nobody changes the bill.
let modulus = 1000000007 * 998244353;
fn sign(order) {
    let text = f"{order.id}|{order.name}|{order.total}|{order.due}";
    let digest = codec.sha256(text);
    let m = int(digest[0:12], 16);
    order.seal = codec.base64(codec.unhex(digest[0:24]));
    order.signature = big.powmod(m, 65537, modulus);
    order.crc = codec.crc32(text) ^ codec.adler32(text);
    return order;
}

# Stage 7: the letter.
fn letter(order) {
    let rows = order.lines.sort_by(fn(l) => [-l.sum, l.item]).map(fn(l) =>
        f"  {l.item:<16}{l.count:>4} x {l.cents / 100:>7.2f} = {l.sum / 100:>9.2f}");
    let body = f"Dear {order.name}, your {text.ordinal(order.hops + 1)} parcel with " +
               f"{text.cardinal(len(order.lines))} {text.plural("item")} goes by way of " +
               f"{order.route} and arrives on {order.due}. " + (order.note ?? "");
    return text.wrap(codec.html(body), 48) + "\n" + "\n".join(rows) + "\n" +
           f"  {"total":*<20} {order.total / 100:>+22.2f}\n" +
           f"  seal {order.seal} no. {order.id:r}";
}

# Stage 8: the archive keeps it compressed, and reads it again.
fn archive(message) {
    let packed = codec.lz(message);
    let coded = codec.huffman(packed);
    assert(codec.unlz(codec.unhuffman(coded)) == message, "archive is damaged");
    return len(coded);
}

# Stage 9: the warehouse's forecast, a small linear model.
let history = [];
fn forecast(order) {
    history.push([order.total / 100, float(order.hops), float(len(order.lines))]);
    if len(history) > 5 {
        history.remove(0);
    }
    if len(history) < 4 {
        return order;
    }
    let x = matrix.new(history.map(fn(h) => [1.0, h[1], h[2]]));
    let y = matrix.new(history.map(fn(h) => [h[0]]));
    let xt = x.transpose();
    let ridge = matrix.identity(3).scale(0.5);
    let w = xt.mul(x).add(ridge).solve(xt.mul(y));
    expected = w.get(0, 0) + w.get(1, 0) * 2.0 + w.get(2, 0) * 3.0;
    return order;
}

# Stage 10: the index for the search page.
let index = {};
fn remember(order) {
    for line in order.lines {
        for word in line.item.split() {
            index.update(text.stem(word), [], fn(ids) => ids.push(order.id)[-6:]);
        }
    }
    let key = text.soundex(order.name);
    index.update(key, [], fn(ids) => ids.push(order.id)[-4:]);
    return key;
}

# Orders go through a stage together, in batches; those that fail drop out.
fn stage(batch, step) {
    let done = [];
    for order in batch {
        try {
            done.push(step(order));
        } catch e {
            failures.update(e.split()[1], 0, fn(n) => n + 1);
        }
    }
    return done;
}

fn bookkeeping(order) {
    let message = letter(order);
    stored += archive(message);
    revenue += order.total;
    digest = (digest * 31 + order.crc + order.signature) % 1000000007;
    if len(samples) < 2 {
        samples.push(message);
    }
    return order;
}

for first in range(0, requests, batch_size) {
    let batch = range(first + 1, math.min(first + batch_size, requests) + 1).list();
    for step in [submit, check, price, route, schedule, sign, bookkeeping, forecast, remember] {
        batch = stage(batch, step);
    }
}

for message in samples {
    print(message);
    print();
}
print(f"{requests} requests, revenue {revenue:,}, stored {stored} bytes, digest {digest}");
print(f"forecast {expected:.3f}, failures {failures}");
print("index:", len(index), "entries,", "candl" in index ? index["candl"] : "no candles");
let names = index.keys().filter(fn(k) => regex.compile("^[A-Z]\\d").test(k));
print("nearest names:", names.sort_by(fn(k) => [text.levenshtein(k, "T260"), k])[0:5]);
