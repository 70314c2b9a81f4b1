#include "textscan.h"

#include "utf8.h"

#include <string.h>

/* Horspool's search; short needles are not worth the table. */
static size_t find_long(const char *text, size_t len, const char *what, size_t wlen, size_t from)
{
    unsigned char skip[256];
    unsigned char longest = wlen > 255 ? 255 : (unsigned char)wlen;
    memset(skip, longest, sizeof skip);
    for (size_t i = wlen > 255 ? wlen - 255 : 0; i + 1 < wlen; i++)
        skip[(unsigned char)what[i]] = (unsigned char)(wlen - 1 - i);
    while (from + wlen <= len) {
        if (memcmp(text + from, what, wlen) == 0)
            return from;
        from += skip[(unsigned char)text[from + wlen - 1]];
    }
    return TEXT_NOT_FOUND;
}

static size_t find_short(const char *text, size_t len, const char *what, size_t wlen, size_t from)
{
    for (; from + wlen <= len; from++)
        if (text[from] == what[0] && memcmp(text + from, what, wlen) == 0)
            return from;
    return TEXT_NOT_FOUND;
}

size_t text_find(const char *text, size_t len, const char *what, size_t wlen, size_t from)
{
    if (wlen == 0)
        return from <= len ? from : TEXT_NOT_FOUND;
    if (wlen >= 4 && len - (from < len ? from : len) >= 64)
        return find_long(text, len, what, wlen, from);
    return find_short(text, len, what, wlen, from);
}

size_t text_rfind(const char *text, size_t len, const char *what, size_t wlen)
{
    if (wlen == 0)
        return len;
    for (size_t at = len; at-- > 0;)
        if (len - at >= wlen && memcmp(text + at, what, wlen) == 0)
            return at;
    return TEXT_NOT_FOUND;
}

size_t text_count(const char *text, size_t len, const char *what, size_t wlen)
{
    size_t count = 0;
    if (wlen == 0)
        return 0;
    for (size_t at = 0; (at = text_find(text, len, what, wlen, at)) != TEXT_NOT_FOUND; at += wlen)
        count++;
    return count;
}

/* Matches c against the set after '['; moves *p past the closing bracket. */
static bool glob_set(const char **p, const char *end, unsigned char c)
{
    const char *s = *p;
    bool negated = s < end && *s == '!', found = false;
    if (negated)
        s++;
    do {
        unsigned char lo = (unsigned char)*s, hi = lo;
        if (s + 2 < end && s[1] == '-' && s[2] != ']') {
            hi = (unsigned char)s[2];
            s += 2;
        }
        if (c >= lo && c <= hi)
            found = true;
        s++;
    } while (s < end && *s != ']');
    *p = s < end ? s + 1 : s;
    return found != negated;
}

/* Matches one pattern element other than '*' against c. */
static bool glob_one(const char **p, const char *end, unsigned char c)
{
    char e = *(*p)++;
    if (e == '?')
        return true;
    if (e == '[' && *p < end)
        return glob_set(p, end, c);
    if (e == '\\' && *p < end)
        e = *(*p)++;
    return (unsigned char)e == c;
}

bool text_glob(const char *pattern, size_t plen, const char *text, size_t len)
{
    const char *p = pattern, *end = pattern + plen;
    const char *star = NULL; /* after the last '*' seen */
    size_t i = 0, resume = 0;
    for (;;) {
        if (p < end && *p == '*') {
            star = ++p;
            resume = i;
        } else if (i < len && p < end && glob_one(&p, end, (unsigned char)text[i])) {
            i++;
        } else if (i == len && p == end) {
            return true;
        } else if (star && resume < len) {
            p = star;
            i = ++resume;
        } else {
            return false;
        }
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t next_word(const char *text, size_t len, size_t *pos)
{
    while (*pos < len && is_space(text[*pos]))
        ++*pos;
    size_t start = *pos;
    while (*pos < len && !is_space(text[*pos]))
        ++*pos;
    return start;
}

/* Fills one line; returns the position after its last word, and its words and columns. */
static size_t take_line(const char *text, size_t len, size_t pos, size_t width, size_t *words,
                        size_t *columns)
{
    size_t used = pos;
    *words = 0;
    *columns = 0;
    for (;;) {
        size_t at = used, start = next_word(text, len, &at);
        if (start == at)
            return used;
        size_t w = utf8_width(text + start, at - start);
        if (*words > 0 && *columns + *words + w > width)
            return used;
        *columns += w;
        ++*words;
        used = at;
    }
}

static void put_line(Buf *out, const char *text, size_t from, size_t to, size_t words,
                     size_t spaces)
{
    for (size_t i = 0; i < words; i++) {
        size_t start = next_word(text, to, &from);
        buf_write(out, text + start, from - start);
        size_t gaps = words - 1 - i;
        if (gaps > 0) {
            size_t n = (spaces + gaps - 1) / gaps;
            buf_fill(out, ' ', n);
            spaces -= n;
        }
    }
}

static void layout(Buf *out, const char *text, size_t len, size_t width, bool justify)
{
    size_t pos = 0, lines = 0;
    for (;;) {
        size_t words, columns;
        size_t end = take_line(text, len, pos, width, &words, &columns);
        if (words == 0)
            return;
        size_t rest = end, next = next_word(text, len, &rest);
        bool last = next == rest;
        size_t spaces = words - 1;
        if (justify && !last && columns + spaces < width)
            spaces = width - columns;
        if (lines++ > 0)
            buf_putc(out, '\n');
        put_line(out, text, pos, end, words, spaces);
        pos = end;
    }
}

void text_wrap(Buf *out, const char *text, size_t len, size_t width)
{
    layout(out, text, len, width, false);
}

void text_justify(Buf *out, const char *text, size_t len, size_t width)
{
    layout(out, text, len, width, true);
}

void text_align(Buf *out, const char *text, size_t len, size_t width, char fill, Align align)
{
    size_t columns = utf8_width(text, len);
    size_t room = columns < width ? width - columns : 0;
    size_t left = align == ALIGN_LEFT ? 0 : align == ALIGN_RIGHT ? room : room / 2;
    buf_fill(out, fill, left);
    buf_write(out, text, len);
    buf_fill(out, fill, room - left);
}

static size_t line_end(const char *text, size_t len, size_t pos)
{
    const char *nl = pos < len ? memchr(text + pos, '\n', len - pos) : NULL;
    return nl ? (size_t)(nl - text) : len;
}

static size_t indentation(const char *text, size_t from, size_t to)
{
    size_t n = 0;
    while (from + n < to && text[from + n] == ' ')
        n++;
    return n;
}

void text_dedent(Buf *out, const char *text, size_t len)
{
    size_t common = len;
    for (size_t pos = 0; pos < len; pos = line_end(text, len, pos) + 1) {
        size_t end = line_end(text, len, pos), n = indentation(text, pos, end);
        if (pos + n < end && n < common)
            common = n;
    }
    for (size_t pos = 0; pos < len; pos = line_end(text, len, pos) + 1) {
        size_t end = line_end(text, len, pos), n = indentation(text, pos, end);
        size_t from = pos + (n < common ? n : common);
        buf_write(out, text + from, end - from);
        if (end < len)
            buf_putc(out, '\n');
    }
}
