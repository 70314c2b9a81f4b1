#include "utf8.h"

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Length announced by a lead byte, 0 if it cannot lead. */
static size_t lead_length(unsigned char c)
{
    if (c < 0x80)
        return 1;
    if (c >= 0xC2 && c < 0xE0)
        return 2;
    if (c >= 0xE0 && c < 0xF0)
        return 3;
    if (c >= 0xF0 && c < 0xF5)
        return 4;
    return 0;
}

static bool in_range(uint32_t code, size_t length)
{
    switch (length) {
    case 3:
        return code >= 0x800 && !(code >= 0xD800 && code <= 0xDFFF);
    case 4:
        return code >= 0x10000 && code <= 0x10FFFF;
    default:
        return true;
    }
}

/* Returns 0 for an ill-formed sequence. */
static size_t decode_strict(const char *text, size_t len, uint32_t *code)
{
    static const unsigned char lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t n = lead_length((unsigned char)text[0]);
    if (n == 0 || n > len)
        return 0;
    uint32_t c = (unsigned char)text[0] & lead_mask[n];
    for (size_t i = 1; i < n; i++) {
        if (!is_continuation(text[i]))
            return 0;
        c = c << 6 | ((unsigned char)text[i] & 0x3F);
    }
    if (!in_range(c, n))
        return 0;
    *code = c;
    return n;
}

size_t utf8_decode(const char *text, size_t len, uint32_t *code)
{
    size_t n = decode_strict(text, len, code);
    if (n == 0) {
        *code = UTF8_REPLACEMENT;
        return 1;
    }
    return n;
}

void utf8_put(Buf *out, uint32_t code)
{
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = UTF8_REPLACEMENT;
    if (code < 0x80) {
        buf_putc(out, (char)code);
    } else if (code < 0x800) {
        buf_putc(out, (char)(0xC0 | code >> 6));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    } else if (code < 0x10000) {
        buf_putc(out, (char)(0xE0 | code >> 12));
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    } else {
        buf_putc(out, (char)(0xF0 | code >> 18));
        buf_putc(out, (char)(0x80 | (code >> 12 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    }
}

size_t utf8_count(const char *text, size_t len)
{
    size_t count = 0;
    uint32_t code;
    for (size_t i = 0; i < len; count++)
        i += utf8_decode(text + i, len - i, &code);
    return count;
}

bool utf8_valid(const char *text, size_t len)
{
    uint32_t code;
    for (size_t i = 0; i < len;) {
        size_t n = decode_strict(text + i, len - i, &code);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

size_t utf8_offset(const char *text, size_t len, size_t index)
{
    size_t i = 0;
    uint32_t code;
    while (index > 0 && i < len) {
        i += utf8_decode(text + i, len - i, &code);
        index--;
    }
    return i;
}

static size_t column_width(uint32_t c)
{
    bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                (c >= 0xFF00 && c <= 0xFF60) || (c >= 0x1F300 && c <= 0x1FAFF);
    bool combining = (c >= 0x300 && c <= 0x36F) || c == 0x200B || c == 0x200D;
    return combining ? 0 : wide ? 2 : 1;
}

size_t utf8_width(const char *text, size_t len)
{
    size_t width = 0;
    uint32_t code;
    for (size_t i = 0; i < len;) {
        i += utf8_decode(text + i, len - i, &code);
        width += column_width(code);
    }
    return width;
}
