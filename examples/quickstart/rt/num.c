#include "num.h"

#include "decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 64, FLOAT_TEXT = 400 };

static const char DIGITS[] = "0123456789abcdefghijklmnopqrstuvwxyz";

void num_put_uint(Buf *out, uint64_t value, unsigned base)
{
    char text[MAX_DIGITS];
    size_t at = sizeof text;
    do {
        text[--at] = DIGITS[value % base];
        value /= base;
    } while (value != 0);
    while (at < sizeof text)
        buf_putc(out, text[at++]);
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void num_put_int(Buf *out, int64_t value)
{
    if (value < 0)
        buf_putc(out, '-');
    num_put_uint(out, magnitude(value), 10);
}

void num_put_grouped(Buf *out, int64_t value, char separator)
{
    uint64_t rest = magnitude(value);
    size_t start = out->len;
    int digits = 0;
    do {
        if (digits > 0 && digits % 3 == 0)
            buf_putc(out, separator);
        buf_putc(out, (char)('0' + rest % 10));
        rest /= 10;
        digits++;
    } while (rest != 0);
    if (value < 0)
        buf_putc(out, '-');
    buf_reverse(out, start);
}

static bool put_special(Buf *out, double value)
{
    if (isnan(value)) {
        buf_puts(out, "nan");
        return true;
    }
    if (isinf(value)) {
        buf_puts(out, value < 0 ? "-inf" : "inf");
        return true;
    }
    return false;
}

static void put_scientific(Buf *out, const char *digits, int count, int exponent)
{
    buf_putc(out, digits[0]);
    if (count > 1) {
        buf_putc(out, '.');
        buf_write(out, digits + 1, (size_t)count - 1);
    }
    buf_puts(out, exponent < 0 ? "e-" : "e+");
    exponent = exponent < 0 ? -exponent : exponent;
    if (exponent < 10)
        buf_putc(out, '0');
    num_put_int(out, exponent);
}

/* A small integral value needs no search for the shortest text. */
static bool put_integral(Buf *out, double value)
{
    if (value != floor(value) || fabs(value) >= 1e15)
        return false;
    if (value == 0 && signbit(value))
        buf_putc(out, '-');
    num_put_int(out, (int64_t)value);
    buf_puts(out, ".0");
    return true;
}

/* As 1.25, or as 1.25e+30 if that would take too many zeros. */
void num_put_float(Buf *out, double value)
{
    char digits[DECIMAL_DIGITS + 1];
    int point;
    if (put_special(out, value) || put_integral(out, value))
        return;
    if (value < 0)
        buf_putc(out, '-');
    int count = decimal_shortest(fabs(value), digits, &point);
    if (point < -3 || point > 16) {
        put_scientific(out, digits, count, point - 1);
    } else if (point <= 0) {
        buf_puts(out, "0.");
        buf_fill(out, '0', (size_t)-point);
        buf_write(out, digits, (size_t)count);
    } else {
        int whole = count < point ? count : point;
        buf_write(out, digits, (size_t)whole);
        buf_fill(out, '0', (size_t)(point - whole));
        buf_putc(out, '.');
        if (count > point)
            buf_write(out, digits + point, (size_t)(count - point));
        else
            buf_putc(out, '0');
    }
}

void num_put_fixed(Buf *out, double value, int decimals)
{
    if (!put_special(out, value))
        decimal_fixed(out, value, decimals);
}

void num_put_exp(Buf *out, double value, int decimals)
{
    if (put_special(out, value))
        return;
    char text[FLOAT_TEXT];
    int len = snprintf(text, sizeof text, "%.*e", decimals, value);
    buf_write(out, text, (size_t)len);
}

int num_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return -1;
}

bool num_parse_int(const char *text, size_t len, unsigned base, int64_t *value)
{
    size_t i = 0;
    bool negative = false;
    if (len > 0 && (text[0] == '-' || text[0] == '+')) {
        negative = text[0] == '-';
        i = 1;
    }
    if (i == len)
        return false;
    int64_t v = 0; /* accumulated as a negative number, whose range is the larger */
    for (; i < len; i++) {
        int d = num_digit(text[i]);
        if (d < 0 || (unsigned)d >= base)
            return false;
        if (__builtin_mul_overflow(v, (int64_t)base, &v) ||
            __builtin_sub_overflow(v, (int64_t)d, &v))
            return false;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, v, &v))
        return false;
    *value = v;
    return true;
}

/* Accepts [+-]digits[.digits][(e|E)[+-]digits] with at least one digit. */
static bool float_syntax(const char *s, size_t len)
{
    size_t i = 0, digits = 0;
    if (i < len && (s[i] == '-' || s[i] == '+'))
        i++;
    for (; i < len && s[i] >= '0' && s[i] <= '9'; i++)
        digits++;
    if (i < len && s[i] == '.')
        for (i++; i < len && s[i] >= '0' && s[i] <= '9'; i++)
            digits++;
    if (digits == 0)
        return false;
    if (i < len && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < len && (s[i] == '-' || s[i] == '+'))
            i++;
        size_t first = i;
        while (i < len && s[i] >= '0' && s[i] <= '9')
            i++;
        if (i == first)
            return false;
    }
    return i == len;
}

bool num_parse_float(const char *text, size_t len, double *value)
{
    char copy[FLOAT_TEXT];
    if (len >= sizeof copy || !float_syntax(text, len))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    *value = strtod(copy, NULL);
    return true;
}
