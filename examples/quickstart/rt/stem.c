/* M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. */
#include "stem.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
    char *s;
    size_t len;
} Word;

typedef struct {
    const char *suffix, *replacement;
} Rule;

static bool is_consonant(const Word *w, size_t i)
{
    switch (w->s[i]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return false;
    case 'y':
        return i == 0 || !is_consonant(w, i - 1);
    default:
        return true;
    }
}

/* Number of vowel-consonant sequences in the first len letters. */
static int measure(const Word *w, size_t len)
{
    int m = 0;
    size_t i = 0;
    while (i < len && is_consonant(w, i))
        i++;
    while (i < len) {
        while (i < len && !is_consonant(w, i))
            i++;
        if (i == len)
            break;
        m++;
        while (i < len && is_consonant(w, i))
            i++;
    }
    return m;
}

static bool has_vowel(const Word *w, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_consonant(w, i))
            return true;
    return false;
}

static bool ends_double(const Word *w)
{
    return w->len >= 2 && w->s[w->len - 1] == w->s[w->len - 2] && is_consonant(w, w->len - 1);
}

/* Whether the first len letters end consonant-vowel-consonant, the last not w, x or y. */
static bool ends_cvc(const Word *w, size_t len)
{
    if (len < 3 || !is_consonant(w, len - 1) || is_consonant(w, len - 2) ||
        !is_consonant(w, len - 3))
        return false;
    char c = w->s[len - 1];
    return c != 'w' && c != 'x' && c != 'y';
}

static bool ends(const Word *w, const char *suffix)
{
    size_t n = strlen(suffix);
    return n <= w->len && memcmp(w->s + w->len - n, suffix, n) == 0;
}

static void replace(Word *w, const char *suffix, const char *replacement)
{
    size_t n = strlen(replacement);
    w->len -= strlen(suffix);
    memcpy(w->s + w->len, replacement, n);
    w->len += n;
}

/* Applies the first rule whose suffix matches, if the stem's measure exceeds min. */
static void apply(Word *w, const Rule *rules, int min)
{
    for (; rules->suffix; rules++) {
        if (!ends(w, rules->suffix))
            continue;
        if (measure(w, w->len - strlen(rules->suffix)) > min)
            replace(w, rules->suffix, rules->replacement);
        return;
    }
}

static void step1a(Word *w)
{
    if (ends(w, "sses") || ends(w, "ies"))
        w->len -= 2;
    else if (ends(w, "s") && !ends(w, "ss"))
        w->len -= 1;
}

static void tidy_after_1b(Word *w)
{
    if (ends(w, "at") || ends(w, "bl") || ends(w, "iz")) {
        w->s[w->len++] = 'e';
    } else if (ends_double(w)) {
        if (!ends(w, "l") && !ends(w, "s") && !ends(w, "z"))
            w->len--;
    } else if (measure(w, w->len) == 1 && ends_cvc(w, w->len)) {
        w->s[w->len++] = 'e';
    }
}

static void step1b(Word *w)
{
    if (ends(w, "eed")) {
        if (measure(w, w->len - 3) > 0)
            w->len--;
    } else if (ends(w, "ed") && has_vowel(w, w->len - 2)) {
        w->len -= 2;
        tidy_after_1b(w);
    } else if (ends(w, "ing") && has_vowel(w, w->len - 3)) {
        w->len -= 3;
        tidy_after_1b(w);
    }
}

static void step1c(Word *w)
{
    if (ends(w, "y") && has_vowel(w, w->len - 1))
        w->s[w->len - 1] = 'i';
}

static void step2(Word *w)
{
    static const Rule rules[] = {
        {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},
        {"izer", "ize"},    {"abli", "able"},   {"alli", "al"},     {"entli", "ent"},
        {"eli", "e"},       {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
        {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"}, {"fulness", "ful"},
        {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"},   {"biliti", "ble"},
        {NULL, NULL},
    };
    apply(w, rules, 0);
}

static void step3(Word *w)
{
    static const Rule rules[] = {
        {"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
        {"ical", "ic"},  {"ful", ""},   {"ness", ""},    {NULL, NULL},
    };
    apply(w, rules, 0);
}

static void step4(Word *w)
{
    static const Rule rules[] = {
        {"al", ""},  {"ance", ""}, {"ence", ""},  {"er", ""},   {"ic", ""},  {"able", ""},
        {"ible", ""}, {"ant", ""}, {"ement", ""}, {"ment", ""}, {"ent", ""}, {"ou", ""},
        {"ism", ""}, {"ate", ""},  {"iti", ""},   {"ous", ""},  {"ive", ""}, {"ize", ""},
        {NULL, NULL},
    };
    if (ends(w, "ion")) {
        size_t stem = w->len - 3;
        if (stem > 0 && (w->s[stem - 1] == 's' || w->s[stem - 1] == 't') && measure(w, stem) > 1)
            w->len = stem;
        return;
    }
    apply(w, rules, 1);
}

static void step5(Word *w)
{
    if (ends(w, "e")) {
        int m = measure(w, w->len - 1);
        if (m > 1 || (m == 1 && !ends_cvc(w, w->len - 1)))
            w->len--;
    }
    if (ends(w, "ll") && measure(w, w->len) > 1)
        w->len--;
}

void stem_word(Buf *out, const char *word, size_t len)
{
    if (len <= 2) {
        buf_write(out, word, len);
        return;
    }
    Word w = {buf_reserve(out, len + 4), len};
    memcpy(w.s, word, len);
    step1a(&w);
    step1b(&w);
    step1c(&w);
    step2(&w);
    step3(&w);
    step4(&w);
    step5(&w);
    out->len += w.len;
}
