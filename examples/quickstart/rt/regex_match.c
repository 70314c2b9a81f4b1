/* Runs a compiled pattern: all threads of the automaton advance together. */
#include "mem.h"
#include "regex.h"

#include <string.h>

typedef struct {
    uint32_t pc;
    RegexMatch match;
} Thread;

/* Threads in order of preference; `mark` tells which pcs are present in this step. */
typedef struct {
    Thread *threads;
    size_t count, size;
    uint32_t *mark;
    uint32_t generation;
} ThreadList;

struct RegexScratch {
    ThreadList a, b;
};

typedef struct {
    const Regex *re;
    const char *text;
    size_t len;
} Subject;

bool byteset_has(const ByteSet *set, unsigned char c)
{
    return set->bits[c / 32] >> (c % 32) & 1;
}

bool regex_is_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool word_edge(const Subject *s, size_t at)
{
    bool before = at > 0 && regex_is_word((unsigned char)s->text[at - 1]);
    bool after = at < s->len && regex_is_word((unsigned char)s->text[at]);
    return before != after;
}

/* Only the slots of the pattern's own groups are in use. */
static void copy_slots(const Regex *re, RegexMatch *to, const RegexMatch *from)
{
    memcpy(to->slot, from->slot, 2 * (size_t)re->groups * sizeof *to->slot);
}

static bool assertion_holds(const Subject *s, RegexOp op, size_t at)
{
    switch (op) {
    case RX_BEGIN:
        return at == 0;
    case RX_END:
        return at == s->len;
    case RX_WORD_EDGE:
        return word_edge(s, at);
    default:
        return !word_edge(s, at);
    }
}

/* Follows jumps, splits, saves and assertions until instructions that read a byte. */
static void add_thread(ThreadList *list, const Subject *s, uint32_t pc, size_t at, RegexMatch *m)
{
    if (list->mark[pc] == list->generation)
        return;
    list->mark[pc] = list->generation;
    const RegexInsn *insn = &s->re->code[pc];
    switch (insn->op) {
    case RX_JUMP:
        add_thread(list, s, insn->x, at, m);
        break;
    case RX_SPLIT:
        add_thread(list, s, insn->x, at, m);
        add_thread(list, s, insn->y, at, m);
        break;
    case RX_SAVE: {
        size_t old = m->slot[insn->x];
        m->slot[insn->x] = at;
        add_thread(list, s, pc + 1, at, m);
        m->slot[insn->x] = old;
        break;
    }
    case RX_BEGIN:
    case RX_END:
    case RX_WORD_EDGE:
    case RX_NOT_WORD_EDGE:
        if (assertion_holds(s, insn->op, at))
            add_thread(list, s, pc + 1, at, m);
        break;
    default:
        list->threads[list->count].pc = pc;
        copy_slots(s->re, &list->threads[list->count].match, m);
        list->count++;
        break;
    }
}

static bool reads(const Regex *re, const RegexInsn *insn, unsigned char c)
{
    switch (insn->op) {
    case RX_BYTE:
        return insn->x == c;
    case RX_ANY:
        return c != '\n';
    case RX_SET:
        return byteset_has(&re->sets[insn->x], c);
    default:
        return false;
    }
}

static void list_clear(ThreadList *list)
{
    list->count = 0;
    if (++list->generation == 0) { /* wrapped around: old marks might seem new */
        memset(list->mark, 0, list->size * sizeof *list->mark);
        list->generation = 1;
    }
}

/* Advances every thread over the byte at `at`.  Returns true if some thread matched. */
static bool step(const Subject *s, size_t at, ThreadList *now, ThreadList *next, RegexMatch *best)
{
    for (size_t i = 0; i < now->count; i++) {
        Thread *t = &now->threads[i];
        const RegexInsn *insn = &s->re->code[t->pc];
        if (insn->op == RX_MATCH) {
            copy_slots(s->re, best, &t->match); /* the other threads are less preferred */
            return true;
        }
        if (at < s->len && reads(s->re, insn, (unsigned char)s->text[at]))
            add_thread(next, s, t->pc + 1, at + 1, &t->match);
    }
    return false;
}

/* The byte every match must begin with, or -1. */
static int first_byte(const Regex *re)
{
    size_t pc = 0;
    while (re->code[pc].op == RX_SAVE)
        pc++;
    return re->code[pc].op == RX_BYTE ? (int)re->code[pc].x : -1;
}

static void list_init(ThreadList *list, size_t size)
{
    list->threads = rt_alloc_array(size, sizeof *list->threads);
    list->mark = rt_zalloc_array(size, sizeof *list->mark);
    list->size = size;
    list->count = 0;
    list->generation = 1;
}

static void list_free(ThreadList *list)
{
    rt_free(list->threads);
    rt_free(list->mark);
}

RegexScratch *regex_scratch_new(const Regex *re)
{
    RegexScratch *scratch = rt_alloc(sizeof *scratch);
    list_init(&scratch->a, re->len);
    list_init(&scratch->b, re->len);
    return scratch;
}

void regex_scratch_free(RegexScratch *scratch)
{
    if (!scratch)
        return;
    list_free(&scratch->a);
    list_free(&scratch->b);
    rt_free(scratch);
}

bool regex_search(const Regex *re, const char *text, size_t len, size_t from, RegexMatch *match)
{
    Subject subject = {re, text, len};
    ThreadList *now = &re->scratch->a, *next = &re->scratch->b;
    RegexMatch unset;
    for (int i = 0; i < REGEX_SLOTS; i++)
        unset.slot[i] = REGEX_UNSET;
    list_clear(now);
    int first = first_byte(re);
    bool found = false;
    for (size_t at = from; at <= len; at++) {
        if (now->count == 0) {
            if (found)
                break;
            while (first >= 0 && at < len && (unsigned char)text[at] != first)
                at++;
        }
        if (!found)
            add_thread(now, &subject, 0, at, &unset);
        list_clear(next);
        if (step(&subject, at, now, next, match))
            found = true;
        ThreadList *t = now;
        now = next;
        next = t;
    }
    for (int i = 2 * re->groups; found && i < REGEX_SLOTS; i++)
        match->slot[i] = REGEX_UNSET;
    return found;
}
