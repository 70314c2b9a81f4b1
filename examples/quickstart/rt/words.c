#include "words.h"

#include "num.h"

#include <string.h>

static const char *const SMALL[] = {
    "zero",    "one",     "two",       "three",    "four",     "five",    "six",
    "seven",   "eight",   "nine",      "ten",      "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen",  "seventeen", "eighteen", "nineteen",
};
static const char *const TENS[] = {
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
};
static const struct {
    uint64_t value;
    const char *name;
} SCALES[] = {
    {1000000000000000000u, "quintillion"}, {1000000000000000u, "quadrillion"},
    {1000000000000u, "trillion"},          {1000000000u, "billion"},
    {1000000u, "million"},                 {1000u, "thousand"},
};
enum { SCALE_COUNT = sizeof SCALES / sizeof *SCALES };

static void below_hundred(Buf *out, unsigned n)
{
    if (n < 20) {
        buf_puts(out, SMALL[n]);
        return;
    }
    buf_puts(out, TENS[n / 10]);
    if (n % 10 != 0) {
        buf_putc(out, '-');
        buf_puts(out, SMALL[n % 10]);
    }
}

static void below_thousand(Buf *out, unsigned n)
{
    if (n >= 100) {
        buf_puts(out, SMALL[n / 100]);
        buf_puts(out, " hundred");
        if (n % 100 == 0)
            return;
        buf_puts(out, " and ");
    }
    below_hundred(out, n % 100);
}

void words_cardinal(Buf *out, int64_t value)
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0)
        buf_puts(out, "minus ");
    bool any = false;
    for (int i = 0; i < SCALE_COUNT; i++) {
        if (rest < SCALES[i].value)
            continue;
        if (any)
            buf_putc(out, ' ');
        below_thousand(out, (unsigned)(rest / SCALES[i].value));
        buf_putc(out, ' ');
        buf_puts(out, SCALES[i].name);
        rest %= SCALES[i].value;
        any = true;
    }
    if (any && rest == 0)
        return;
    if (any)
        buf_puts(out, rest < 100 ? " and " : " ");
    below_thousand(out, (unsigned)rest);
}

static bool replace_tail(Buf *out, const char *tail, const char *replacement)
{
    size_t n = strlen(tail);
    if (out->len < n || memcmp(out->data + out->len - n, tail, n) != 0)
        return false;
    out->len -= n;
    buf_puts(out, replacement);
    return true;
}

void words_ordinal(Buf *out, int64_t value)
{
    static const char *const irregular[][2] = {
        {"one", "first"},   {"two", "second"}, {"three", "third"},  {"five", "fifth"},
        {"eight", "eighth"}, {"nine", "ninth"}, {"twelve", "twelfth"}, {"ty", "tieth"},
    };
    words_cardinal(out, value);
    for (size_t i = 0; i < sizeof irregular / sizeof *irregular; i++)
        if (replace_tail(out, irregular[i][0], irregular[i][1]))
            return;
    buf_puts(out, "th");
}

void words_ordinal_suffix(Buf *out, int64_t value)
{
    static const char *const suffixes[] = {"th", "st", "nd", "rd"};
    int last = (int)(value % 10), last2 = (int)(value % 100);
    last = last < 0 ? -last : last;
    last2 = last2 < 0 ? -last2 : last2;
    bool teen = last2 >= 11 && last2 <= 13;
    num_put_int(out, value);
    buf_puts(out, last <= 3 && !teen ? suffixes[last] : "th");
}

static const struct {
    int value;
    const char *numeral;
} ROMAN[] = {
    {1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
    {40, "XL"},  {10, "X"},   {9, "IX"},  {5, "V"},    {4, "IV"},  {1, "I"},
};
enum { ROMAN_COUNT = sizeof ROMAN / sizeof *ROMAN };

bool words_roman(Buf *out, int64_t value)
{
    if (value < 1 || value > 3999)
        return false;
    for (int i = 0; i < ROMAN_COUNT; i++)
        for (; value >= ROMAN[i].value; value -= ROMAN[i].value)
            buf_puts(out, ROMAN[i].numeral);
    return true;
}

/* Accepts only the canonical spelling. */
bool words_parse_roman(const char *text, size_t len, int64_t *value)
{
    int64_t sum = 0;
    size_t at = 0;
    for (int i = 0; i < ROMAN_COUNT; i++) {
        size_t n = strlen(ROMAN[i].numeral);
        while (len - at >= n && memcmp(text + at, ROMAN[i].numeral, n) == 0) {
            sum += ROMAN[i].value;
            at += n;
        }
    }
    Buf check;
    buf_init(&check);
    bool ok = at == len && words_roman(&check, sum) && check.len == len &&
              memcmp(check.data, text, len) == 0;
    buf_free(&check);
    *value = sum;
    return ok;
}

static bool is_vowel(char c)
{
    return memchr("aeiou", c, 5) != NULL;
}

void words_plural(Buf *out, const char *noun, size_t len)
{
    size_t start = out->len;
    buf_write(out, noun, len);
    char before = len >= 2 ? noun[len - 2] : 'a';
    if (out->len == start)
        return;
    if (!is_vowel(before) && replace_tail(out, "y", "ies"))
        return;
    if (replace_tail(out, "fe", "ves") || replace_tail(out, "ss", "sses"))
        return;
    if (replace_tail(out, "s", "ses") || replace_tail(out, "x", "xes") ||
        replace_tail(out, "ch", "ches") || replace_tail(out, "sh", "shes"))
        return;
    buf_putc(out, 's');
}
