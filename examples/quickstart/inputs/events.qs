# A monitor that reads log lines one at a time: each is parsed, matched against rules, put into
# running statistics, and perhaps reported.  The code for one line is about as large as an L1
# instruction cache, and lines follow one another quickly.
#
#     qs events.qs LINES

let lines = int(args[0] ?? "2000");
let rng = random.new(99);
let hosts = ["ant", "bee", "cat", "dog", "elk", "fox"];
let start = date.days("2024-02-27");

let shape = regex.compile("^([\\d-]+) (\\w+) (\\w+)=(-?\\d+)(ms|%)? ?(.*)$");
let alarm = regex.compile("fail(ed|ure)|timeout", "i");

# A stock of lines, since making them is not what is to be measured.
fn make_line(i) {
    let day = date.text(start + i // 10);
    let unit = rng.choice(["ms", "%", ""]);
    let note = rng.choice(["", "ok", "Timeout!", "Disks failed", "{\"user\": 7, \"tags\": [1, 2]}"]);
    return f"{day} {rng.choice(hosts)} load={rng.int(-20, 999)}{unit} {note}";
}
let stock = (0..120).list().map(make_line);

let seen = {};
let worst = [];
let report = [];
let words = {};
let users = 0;
let broken = 0;
let weekend = 0;
let checksum = 0;

fn statistics(host, value) {
    let s = seen[host];
    if s == nil {
        s = {count: 0, sum: 0, least: value, most: value};
        seen[host] = s;
    }
    s.count += 1;
    s.sum += value;
    s.least = math.min(s.least, value);
    s.most = math.max(s.most, value);
    return s;
}

fn handle(number, line) {
    let part = shape.match(line);
    if part == nil {
        broken += 1;
        return;
    }
    let host = part[2].upper();
    let value = int(part[4]);
    let s = statistics(host, value);
    let when = date.parts(part[1]);
    if when.weekday > 5 {
        weekend += 1;
    }
    let note = part[6].trim();
    for word in note.lower().split() {
        let key = text.stem(word);
        words[key] = (words[key] ?? 0) + 1;
    }
    if note.starts_with("{") {
        let data = json.parse(note);
        users += data.user + data.tags.sum();
    } else if alarm.test(note) {
        worst.heap_push([value, number]);
        if len(worst) > 8 {
            worst.heap_pop();
        }
    }
    let record = {host: host, value: value, week: when.week, ok: not text.glob("*fail*", note)};
    let entry = f"{number:05} {host:<4}{value:>5}{part[5] ?? "":2} mean {s.sum / s.count:.1f}";
    checksum = (checksum * 131 + codec.crc32(entry + json.dump(record))) % 1000003;
    if number % 173 == 0 and len(report) < 8 {
        report.push(entry);
    }
}

for number in 0..lines {
    handle(number, stock[number * 7 % len(stock)]);
}

for line in report {
    print(line);
}
for host in seen.keys().sort() {
    let s = seen[host];
    print(f"{host}: {s.count} lines, {s.least} to {s.most}, mean {s.sum / s.count:.3f}");
}
print("words:", words.items().sort_by(fn(w) => [-w[1], w[0]])[0:4]);
print("worst:", worst.sort().reversed());
print(f"users {users}, broken {broken}, weekend {weekend}, checksum {checksum}");
