# A mixture of what Python programs do; ROUNDS is set by whoever runs it. Python 2.7, no module needed.


class Shape(object):
    def __init__(self, size):
        self.size = size

    def area(self):
        return 0


class Square(Shape):
    def area(self):
        return self.size * self.size


class Triangle(Shape):
    def area(self):
        return self.size * self.size // 2


def primes(limit):
    sieve = [True] * limit
    for number in xrange(2, limit):
        if sieve[number]:
            yield number
            for multiple in xrange(2 * number, limit, number):
                sieve[multiple] = False


def counter(start):
    state = [start]

    def step(by):
        state[0] += by
        return state[0]

    return step


def calls(rounds):
    shapes = [(Square, Triangle)[number % 2](number % 17) for number in range(200)]
    step = counter(5)
    total = 0
    for _ in xrange(rounds):
        for shape in shapes:
            total += shape.area()
        total = (total + step(3)) % 1000003
    return total


def words(rounds):
    text = "the quick brown fox jumps over the lazy dog and then over the other dog".split()
    counts = {}
    for round in xrange(rounds):
        for place, word in enumerate(text):
            key = word + str((round * 7 + place) % 50)
            counts[key] = counts.get(key, 0) + 1
    best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]
    return ", ".join("%s=%d" % pair for pair in best)


def matrix(size, rounds):
    left = [[(row * 3 + column) % 7 - 3.0 for column in range(size)] for row in range(size)]
    result = left
    for _ in xrange(rounds):
        turned = zip(*left)
        result = [[sum(a * b for a, b in zip(row, column)) % 11 for column in turned] for row in result]
    return "%.3f" % sum(map(sum, result))


def failures(rounds):
    caught = 0
    table = dict((number, number * number) for number in range(0, 100, 2))
    for number in xrange(rounds):
        try:
            caught += table[number % 100] % 2
        except KeyError:
            caught += 1
    return caught


def queens(size):
    solutions = 0
    stack = [(0, 0, 0, 0)]
    everything = (1 << size) - 1
    while stack:
        row, columns, left, right = stack.pop()
        if row == size:
            solutions += 1
            continue
        free = everything & ~(columns | left | right)
        while free:
            place = free & -free
            free ^= place
            stack.append((row + 1, columns | place, ((left | place) << 1) & everything, (right | place) >> 1))
    return solutions


print "primes", sum(primes(ROUNDS * 40)) % 1000003
print "calls", calls(ROUNDS)
print "words", words(ROUNDS * 10)
print "matrix", matrix(24, ROUNDS // 50 + 1)
print "failures", failures(ROUNDS * 100)
print "queens", queens(8)
print "long", pow(3, ROUNDS) % (10 ** 30 + 57)
