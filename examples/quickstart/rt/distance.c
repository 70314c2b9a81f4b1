#include "distance.h"

#include "mem.h"

#include <stdbool.h>

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t max2(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t distance_levenshtein(const char *a, size_t an, const char *b, size_t bn)
{
    size_t *row = rt_alloc_array(bn + 1, sizeof *row);
    for (size_t j = 0; j <= bn; j++)
        row[j] = j;
    for (size_t i = 1; i <= an; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= bn; j++) {
            size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = min2(substitute, min2(row[j], row[j - 1]) + 1);
        }
    }
    size_t result = row[bn];
    rt_free(row);
    return result;
}

size_t distance_hamming(const char *a, size_t an, const char *b, size_t bn)
{
    size_t common = min2(an, bn), count = max2(an, bn) - common;
    for (size_t i = 0; i < common; i++)
        count += a[i] != b[i];
    return count;
}

/* Marks the characters of a and b that match each other within the window. */
static size_t jaro_matches(const char *a, size_t an, bool *used_a, const char *b, size_t bn,
                           bool *used_b)
{
    size_t window = max2(max2(an, bn) / 2, 1) - 1, matches = 0;
    for (size_t i = 0; i < an; i++) {
        size_t from = i > window ? i - window : 0, to = min2(i + window + 1, bn);
        for (size_t j = from; j < to; j++) {
            if (!used_b[j] && a[i] == b[j]) {
                used_a[i] = used_b[j] = true;
                matches++;
                break;
            }
        }
    }
    return matches;
}

static size_t jaro_transpositions(const char *a, size_t an, const bool *used_a, const char *b,
                                  const bool *used_b)
{
    size_t count = 0, j = 0;
    for (size_t i = 0; i < an; i++) {
        if (!used_a[i])
            continue;
        while (!used_b[j])
            j++;
        count += a[i] != b[j++];
    }
    return count / 2;
}

double distance_jaro_winkler(const char *a, size_t an, const char *b, size_t bn)
{
    if (an == 0 || bn == 0)
        return an == bn ? 1.0 : 0.0;
    bool *used = rt_zalloc_array(an + bn, sizeof *used);
    size_t m = jaro_matches(a, an, used, b, bn, used + an);
    size_t t = jaro_transpositions(a, an, used, b, used + an);
    rt_free(used);
    if (m == 0)
        return 0.0;
    double dm = (double)m;
    double jaro = (dm / (double)an + dm / (double)bn + (dm - (double)t) / dm) / 3.0;
    size_t prefix = 0;
    while (prefix < min2(4, min2(an, bn)) && a[prefix] == b[prefix])
        prefix++;
    return jaro + (double)prefix * 0.1 * (1.0 - jaro);
}

void distance_lcs(Buf *out, const char *a, size_t an, const char *b, size_t bn)
{
    size_t width = bn + 1;
    uint32_t *best = rt_zalloc_array((an + 1) * width, sizeof *best);
    for (size_t i = an; i-- > 0;) {
        for (size_t j = bn; j-- > 0;) {
            uint32_t *cell = &best[i * width + j];
            if (a[i] == b[j])
                *cell = cell[width + 1] + 1;
            else
                *cell = (uint32_t)max2(cell[width], cell[1]);
        }
    }
    for (size_t i = 0, j = 0; i < an && j < bn;) {
        const uint32_t *cell = &best[i * width + j];
        if (a[i] == b[j]) {
            buf_putc(out, a[i]);
            i++;
            j++;
        } else if (cell[width] >= cell[1]) {
            i++;
        } else {
            j++;
        }
    }
    rt_free(best);
}

static char soundex_class(char c)
{
    static const char classes[] = "01230120022455012623010202";
    c |= 0x20;
    return c >= 'a' && c <= 'z' ? classes[c - 'a'] : '0';
}

void distance_soundex(Buf *out, const char *word, size_t len)
{
    if (len == 0)
        return;
    size_t emitted = 1;
    char last = soundex_class(word[0]);
    buf_putc(out, word[0] >= 'a' && word[0] <= 'z' ? (char)(word[0] - 'a' + 'A') : word[0]);
    for (size_t i = 1; i < len && emitted < 4; i++) {
        char class = soundex_class(word[i]);
        char lower = word[i] | 0x20;
        if (class != '0' && class != last) {
            buf_putc(out, class);
            emitted++;
        }
        if (lower != 'h' && lower != 'w') /* transparent to repeated classes */
            last = class;
    }
    buf_fill(out, '0', 4 - emitted);
}
