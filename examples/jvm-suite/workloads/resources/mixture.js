// A mixture of what JavaScript programs do; ROUNDS is set by whoever runs it. The last expression is the result.
"use strict";

function Queue() {
  this.items = [];
}
Queue.prototype.put = function (priority, value) {
  var at = this.items.length;
  this.items.push({ priority: priority, value: value });
  while (at > 0) {
    var above = (at - 1) >> 1;
    if (this.items[above].priority <= this.items[at].priority) {
      break;
    }
    var held = this.items[above];
    this.items[above] = this.items[at];
    this.items[at] = held;
    at = above;
  }
};
Queue.prototype.take = function () {
  var first = this.items[0];
  var last = this.items.pop();
  if (this.items.length > 0) {
    this.items[0] = last;
    var at = 0;
    for (;;) {
      var least = at;
      for (var below = 2 * at + 1; below <= 2 * at + 2; below++) {
        if (below < this.items.length && this.items[below].priority < this.items[least].priority) {
          least = below;
        }
      }
      if (least === at) {
        break;
      }
      var held = this.items[least];
      this.items[least] = this.items[at];
      this.items[at] = held;
      at = least;
    }
  }
  return first;
};

function simulate(events) {
  var queue = new Queue();
  var clock = 0;
  var handled = 0;
  queue.put(0, 1);
  queue.put(5, 2);
  while (handled < events) {
    var event = queue.take();
    clock = event.priority;
    handled++;
    queue.put(clock + ((event.value * 7919) % 13) + 1, (event.value * 31 + handled) % 1009);
    if (queue.items.length < 40) {
      queue.put(clock + 3, handled % 17);
    }
  }
  return clock;
}

function tokens(rounds) {
  var text = "let total = price * (1 + rate) / 12; // monthly\nif (total >= 100.5) { print('much', total); }";
  var pattern = /\s+|\/\/[^\n]*|([A-Za-z_]\w*)|(\d+(?:\.\d+)?)|('[^']*')|([-+*\/=<>!]=?|[(){};,])/g;
  var counts = {};
  for (var round = 0; round < rounds; round++) {
    text.replace(pattern, function (all, name, number, string, operator) {
      var key = name ? "name" : number ? "number" : string ? "string" : operator ? "operator" : "blank";
      counts[key] = (counts[key] || 0) + 1;
      return "";
    });
  }
  return JSON.stringify(counts);
}

function records(rounds) {
  var made = [];
  for (var number = 0; number < rounds; number++) {
    made.push({ id: number, name: "n" + ((number * 37) % 101), tags: ["a", "b" + (number % 3)] });
  }
  var back = JSON.parse(JSON.stringify(made));
  back.sort(function (one, other) {
    return one.name < other.name ? -1 : one.name > other.name ? 1 : other.id - one.id;
  });
  return back
    .filter(function (record) { return record.tags[1] !== "b1"; })
    .map(function (record) { return record.id; })
    .reduce(function (sum, id, place) { return (sum * 3 + id * place) % 1000003; }, 0);
}

function memo(compute) {
  var known = {};
  return function (number) {
    return number in known ? known[number] : (known[number] = compute(number));
  };
}

function recursion(rounds) {
  var total = 0;
  for (var round = 0; round < rounds; round++) {
    var steps = memo(function (number) {
      return number < 2 ? number : (steps(number - 1) + steps(number - 2)) % 99991;
    });
    total = (total + steps(60 + (round % 20))) % 99991;
  }
  return total;
}

[simulate(ROUNDS * 20), tokens(ROUNDS), records(ROUNDS * 2), recursion(ROUNDS)].join(" | ");
