/* Pattern -> syntax tree, by recursive descent. */
#include "regex_node.h"

#include <string.h>

enum { MAX_REPEAT = 200, MAX_NESTING = 100 };

typedef RegexNode Node;
typedef RegexNodeKind NodeKind;

typedef struct {
    const char *p, *end;
    Arena *arena;
    Regex *re;
    const char *error;
    int depth;
} Parser;

static Node *parse_alternatives(Parser *ps);

static Node *new_node(Parser *ps, NodeKind kind, Node *left, Node *right)
{
    Node *n = arena_alloc(ps->arena, sizeof *n);
    n->kind = kind;
    n->left = left;
    n->right = right;
    return n;
}

static Node *fail(Parser *ps, const char *message)
{
    if (!ps->error)
        ps->error = message;
    ps->p = ps->end;
    return new_node(ps, N_EMPTY, NULL, NULL);
}

static bool at(const Parser *ps, char c)
{
    return ps->p < ps->end && *ps->p == c;
}

static bool accept(Parser *ps, char c)
{
    if (!at(ps, c))
        return false;
    ps->p++;
    return true;
}

void byteset_add(ByteSet *set, unsigned char lo, unsigned char hi)
{
    for (unsigned c = lo; c <= hi; c++)
        set->bits[c / 32] |= 1u << (c % 32);
}

static void byteset_invert(ByteSet *set)
{
    for (int i = 0; i < 8; i++)
        set->bits[i] = ~set->bits[i];
}

static void byteset_union(ByteSet *set, const ByteSet *other)
{
    for (int i = 0; i < 8; i++)
        set->bits[i] |= other->bits[i];
}

/* Adds the other case of every letter in the set. */
static void byteset_fold(ByteSet *set)
{
    for (unsigned char c = 'a'; c <= 'z'; c++) {
        unsigned char upper = (unsigned char)(c - 'a' + 'A');
        if (byteset_has(set, c) || byteset_has(set, upper)) {
            byteset_add(set, c, c);
            byteset_add(set, upper, upper);
        }
    }
}

/* \d \w \s and their negations; false if c names no class. */
static bool named_class(char c, ByteSet *set)
{
    memset(set, 0, sizeof *set);
    switch (c | 0x20) {
    case 'd':
        byteset_add(set, '0', '9');
        break;
    case 'w':
        byteset_add(set, '0', '9');
        byteset_add(set, 'A', 'Z');
        byteset_add(set, 'a', 'z');
        byteset_add(set, '_', '_');
        break;
    case 's':
        byteset_add(set, '\t', '\r');
        byteset_add(set, ' ', ' ');
        break;
    default:
        return false;
    }
    if (!(c & 0x20))
        byteset_invert(set);
    return true;
}

static int escaped_byte(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    default:
        return (unsigned char)c;
    }
}

static Node *byte_node(Parser *ps, int value)
{
    Node *n = new_node(ps, N_BYTE, NULL, NULL);
    n->value = value;
    bool letter = (value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z');
    if (ps->re->ignore_case && letter) {
        n->kind = N_SET;
        byteset_add(&n->set, (unsigned char)value, (unsigned char)value);
        byteset_fold(&n->set);
    }
    return n;
}

static Node *assertion(Parser *ps, RegexOp op)
{
    Node *n = new_node(ps, N_ASSERT, NULL, NULL);
    n->value = op;
    return n;
}

static Node *parse_escape(Parser *ps)
{
    if (ps->p == ps->end)
        return fail(ps, "trailing backslash");
    char c = *ps->p++;
    if (c == 'b')
        return assertion(ps, RX_WORD_EDGE);
    if (c == 'B')
        return assertion(ps, RX_NOT_WORD_EDGE);
    ByteSet set;
    if (named_class(c, &set)) {
        Node *n = new_node(ps, N_SET, NULL, NULL);
        n->set = set;
        return n;
    }
    return byte_node(ps, escaped_byte(c));
}

/* One member of a set: a byte (returned), or a class (added to set; returns -1). */
static int parse_member(Parser *ps, ByteSet *set)
{
    char c = *ps->p++;
    if (c != '\\' || ps->p == ps->end)
        return (unsigned char)c;
    ByteSet named;
    c = *ps->p++;
    if (named_class(c, &named)) {
        byteset_union(set, &named);
        return -1;
    }
    return escaped_byte(c);
}

static Node *parse_set(Parser *ps)
{
    Node *n = new_node(ps, N_SET, NULL, NULL);
    bool invert = accept(ps, '^');
    for (bool first = true; first || !at(ps, ']'); first = false) {
        if (ps->p == ps->end)
            return fail(ps, "missing ]");
        int lo = parse_member(ps, &n->set);
        if (lo < 0)
            continue;
        int hi = lo;
        if (at(ps, '-') && ps->p + 1 < ps->end && ps->p[1] != ']') {
            ps->p++;
            hi = parse_member(ps, &n->set);
        }
        if (hi < lo)
            return fail(ps, "bad range in set");
        byteset_add(&n->set, (unsigned char)lo, (unsigned char)hi);
    }
    ps->p++;
    if (ps->re->ignore_case)
        byteset_fold(&n->set);
    if (invert)
        byteset_invert(&n->set);
    return n;
}

static Node *parse_group(Parser *ps)
{
    int number = -1;
    if (ps->depth >= MAX_NESTING)
        return fail(ps, "groups nested too deeply");
    if (at(ps, '?')) {
        ps->p++;
        if (!accept(ps, ':'))
            return fail(ps, "unknown group syntax");
    } else if (ps->re->groups == REGEX_MAX_GROUPS) {
        return fail(ps, "too many groups");
    } else {
        number = ps->re->groups++;
    }
    ps->depth++;
    Node *n = new_node(ps, N_GROUP, parse_alternatives(ps), NULL);
    ps->depth--;
    n->value = number;
    if (!accept(ps, ')'))
        return fail(ps, "missing )");
    return n;
}

static Node *parse_atom(Parser *ps)
{
    char c = *ps->p++;
    switch (c) {
    case '.':
        return new_node(ps, N_ANY, NULL, NULL);
    case '[':
        return parse_set(ps);
    case '(':
        return parse_group(ps);
    case '^':
        return assertion(ps, RX_BEGIN);
    case '$':
        return assertion(ps, RX_END);
    case '\\':
        return parse_escape(ps);
    case '*':
    case '+':
    case '?':
        return fail(ps, "nothing to repeat");
    default:
        return byte_node(ps, (unsigned char)c);
    }
}

static int parse_count(Parser *ps)
{
    int n = 0;
    while (ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9' && n <= MAX_REPEAT)
        n = n * 10 + (*ps->p++ - '0');
    return n;
}

/* {m}, {m,} or {m,n}, after the opening brace. */
static void parse_bounds(Parser *ps, Node *n)
{
    n->min = n->max = parse_count(ps);
    if (accept(ps, ','))
        n->max = at(ps, '}') ? -1 : parse_count(ps);
    if (!accept(ps, '}'))
        fail(ps, "bad repetition");
    else if (n->min > MAX_REPEAT || n->max > MAX_REPEAT || (n->max >= 0 && n->max < n->min))
        fail(ps, "bad repetition bounds");
}

static Node *parse_repeat(Parser *ps)
{
    Node *atom = parse_atom(ps);
    while (at(ps, '*') || at(ps, '+') || at(ps, '?') || at(ps, '{')) {
        Node *n = new_node(ps, N_REPEAT, atom, NULL);
        char c = *ps->p++;
        n->min = c == '+' ? 1 : 0;
        n->max = c == '?' ? 1 : -1;
        if (c == '{')
            parse_bounds(ps, n);
        n->lazy = accept(ps, '?');
        atom = n;
    }
    return atom;
}

static Node *parse_sequence(Parser *ps)
{
    Node *sequence = new_node(ps, N_EMPTY, NULL, NULL);
    while (ps->p < ps->end && *ps->p != '|' && *ps->p != ')')
        sequence = new_node(ps, N_CAT, sequence, parse_repeat(ps));
    return sequence;
}

static Node *parse_alternatives(Parser *ps)
{
    Node *n = parse_sequence(ps);
    while (accept(ps, '|'))
        n = new_node(ps, N_ALT, n, parse_sequence(ps));
    return n;
}

RegexNode *regex_parse(Regex *re, Arena *arena, const char *pattern, size_t len,
                       const char **error)
{
    Parser ps = {.p = pattern, .end = pattern + len, .arena = arena, .re = re};
    Node *root = parse_alternatives(&ps);
    if (ps.p != ps.end)
        fail(&ps, "unmatched )");
    *error = ps.error;
    return ps.error ? NULL : root;
}
