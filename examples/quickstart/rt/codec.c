#include "codec.h"

#include "num.h"

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char HEX[] = "0123456789abcdef";

void base64_encode(Buf *out, const char *data, size_t len)
{
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t group = (uint32_t)p[i] << 16;
        if (n > 1)
            group |= (uint32_t)p[i + 1] << 8;
        if (n > 2)
            group |= p[i + 2];
        for (size_t k = 0; k < 4; k++)
            buf_putc(out, k <= n ? BASE64[group >> (18 - 6 * k) & 63] : '=');
    }
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(Buf *out, const char *text, size_t len)
{
    if (len % 4 != 0)
        return false;
    for (size_t i = 0; i < len; i += 4) {
        size_t pad = 0;
        if (i + 4 == len && text[i + 3] == '=')
            pad = text[i + 2] == '=' ? 2 : 1;
        uint32_t group = 0;
        for (size_t k = 0; k < 4; k++) {
            int v = k < 4 - pad ? base64_value(text[i + k]) : 0;
            if (v < 0)
                return false;
            group = group << 6 | (uint32_t)v;
        }
        for (size_t k = 0; k < 3 - pad; k++)
            buf_putc(out, (char)(group >> (16 - 8 * k)));
    }
    return true;
}

void hex_encode(Buf *out, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        buf_putc(out, HEX[(unsigned char)data[i] >> 4]);
        buf_putc(out, HEX[data[i] & 15]);
    }
}

/* The byte written as two hexadecimal digits, or -1. */
static int hex_pair(const char *text)
{
    int hi = num_digit(text[0]), lo = num_digit(text[1]);
    if (hi < 0 || hi > 15 || lo < 0 || lo > 15)
        return -1;
    return hi << 4 | lo;
}

bool hex_decode(Buf *out, const char *text, size_t len)
{
    if (len % 2 != 0)
        return false;
    for (size_t i = 0; i < len; i += 2) {
        int byte = hex_pair(text + i);
        if (byte < 0)
            return false;
        buf_putc(out, (char)byte);
    }
    return true;
}

static bool unreserved(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           c == '-' || c == '.' || c == '_' || c == '~';
}

void percent_encode(Buf *out, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (unreserved(data[i])) {
            buf_putc(out, data[i]);
        } else {
            buf_putc(out, '%');
            hex_encode(out, data + i, 1);
        }
    }
}

bool percent_decode(Buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '%') {
            buf_putc(out, text[i]);
            continue;
        }
        int byte = i + 2 < len ? hex_pair(text + i + 1) : -1;
        if (byte < 0)
            return false;
        buf_putc(out, (char)byte);
        i += 2;
    }
    return true;
}

/* Runs of a byte as (length, byte) pairs. */
void rle_encode(Buf *out, const char *data, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t run = 1;
        while (i + run < len && data[i + run] == data[i])
            run++;
        varint_put(out, run);
        buf_putc(out, data[i]);
        i += run;
    }
}

bool rle_decode(Buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint64_t run;
        if (!varint_get(text, len, &i, &run) || i >= len || run > 1u << 24)
            return false;
        buf_fill(out, text[i], (size_t)run);
    }
    return true;
}

void html_escape(Buf *out, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        switch (data[i]) {
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '>':
            buf_puts(out, "&gt;");
            break;
        case '"':
            buf_puts(out, "&quot;");
            break;
        default:
            buf_putc(out, data[i]);
            break;
        }
    }
}

void varint_put(Buf *out, uint64_t value)
{
    while (value >= 0x80) {
        buf_putc(out, (char)(value | 0x80));
        value >>= 7;
    }
    buf_putc(out, (char)value);
}

bool varint_get(const char *data, size_t len, size_t *pos, uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned shift = 0; *pos < len && shift < 63; shift += 7) {
        unsigned char c = (unsigned char)data[(*pos)++];
        v |= (uint64_t)(c & 0x7F) << shift;
        if (c < 0x80) {
            *value = v;
            return true;
        }
    }
    return false;
}
