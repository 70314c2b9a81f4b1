#include "format.h"

#include "arith.h"
#include "show.h"

#include "../rt/num.h"
#include "../rt/textscan.h"
#include "../rt/utf8.h"
#include "../rt/words.h"

#include <string.h>

enum { MAX_WIDTH = 1000, MAX_PRECISION = 60 };

typedef struct {
    char fill;
    char align; /* 0: by type */
    bool plus, grouped;
    size_t width;
    int precision; /* -1: none given */
    char type;     /* 0: by value */
} Spec;

static size_t number(const char **p, const char *end, size_t limit)
{
    size_t n = 0;
    while (*p < end && **p >= '0' && **p <= '9' && n <= limit)
        n = n * 10 + (size_t)(*(*p)++ - '0');
    return n > limit ? limit : n;
}

static bool accept(const char **p, const char *end, char c)
{
    if (*p == end || **p != c)
        return false;
    ++*p;
    return true;
}

static bool is_align(char c)
{
    return c == '<' || c == '>' || c == '^';
}

static void parse_align(Spec *s, const char **p, const char *end)
{
    if (end - *p >= 2 && is_align((*p)[1])) {
        s->fill = (*p)[0];
        s->align = (*p)[1];
        *p += 2;
    } else if (end - *p >= 1 && is_align((*p)[0])) {
        s->align = *(*p)++;
    }
}

static bool parse(Spec *s, const char *p, const char *end)
{
    *s = (Spec){.fill = ' ', .precision = -1};
    parse_align(s, &p, end);
    s->plus = accept(&p, end, '+');
    if (p < end && *p == '0' && !s->align) {
        s->fill = '0';
        s->align = '>';
    }
    s->width = number(&p, end, MAX_WIDTH);
    s->grouped = accept(&p, end, ',');
    if (accept(&p, end, '.'))
        s->precision = (int)number(&p, end, MAX_PRECISION);
    if (p < end)
        s->type = *p++;
    return p == end;
}

static bool mismatch(Vm *vm, char type, Value v)
{
    return vm_throw(vm, "cannot format %s as '%c'", value_type_name(v), type);
}

static bool put_float(Vm *vm, Buf *out, const Spec *s, Value v)
{
    double d;
    if (!arith_to_double(v, &d))
        return mismatch(vm, s->type, v);
    int precision = s->precision < 0 ? 6 : s->precision;
    if (s->plus && d >= 0)
        buf_putc(out, '+');
    if (s->type == 'e')
        num_put_exp(out, d, precision);
    else
        num_put_fixed(out, s->type == '%' ? d * 100 : d, precision);
    if (s->type == '%')
        buf_putc(out, '%');
    return true;
}

static void put_radix(Buf *out, int64_t i, unsigned base)
{
    if (i < 0)
        buf_putc(out, '-');
    num_put_uint(out, i < 0 ? 0 - (uint64_t)i : (uint64_t)i, base);
}

static bool put_integer(Vm *vm, Buf *out, const Spec *s, Value v)
{
    if (value_is(v, OBJ_BIG) && (s->type == 'd' || s->type == 0)) {
        big_put(out, &AS_BIG(v)->big);
        return true;
    }
    if (v.tag != VAL_INT)
        return mismatch(vm, s->type, v);
    int64_t i = v.as.integer;
    if (s->plus && i >= 0)
        buf_putc(out, '+');
    switch (s->type) {
    case 'x':
        put_radix(out, i, 16);
        return true;
    case 'o':
        put_radix(out, i, 8);
        return true;
    case 'b':
        put_radix(out, i, 2);
        return true;
    case 'c':
        utf8_put(out, i < 0 || i > 0x10FFFF ? UTF8_REPLACEMENT : (uint32_t)i);
        return true;
    case 'r':
        return words_roman(out, i) || vm_throw(vm, "no roman numeral for the number");
    case 'w':
        words_cardinal(out, i);
        return true;
    case 'n':
        words_ordinal_suffix(out, i);
        return true;
    default:
        if (s->grouped)
            num_put_grouped(out, i, ',');
        else
            num_put_int(out, i);
        return true;
    }
}

/* The precision of text is a maximal number of characters. */
static void put_text(Buf *out, const Spec *s, Value v)
{
    size_t start = out->len;
    if (s->type == 'q')
        show_repr(out, v);
    else
        show_value(out, v);
    if (s->precision >= 0 && out->len > start) {
        size_t len = out->len - start;
        out->len = start + utf8_offset(out->data + start, len, (size_t)s->precision);
    }
}

static bool convert(Vm *vm, Buf *out, const Spec *s, Value v)
{
    if (s->type == 'f' || s->type == 'e' || s->type == '%')
        return put_float(vm, out, s, v);
    if (s->type != 0 && strchr("dxobcrwn", s->type))
        return put_integer(vm, out, s, v);
    if (s->type != 0 && s->type != 's' && s->type != 'q')
        return vm_throw(vm, "unknown format type '%c'", s->type);
    if (s->type == 0 && (v.tag == VAL_INT || value_is(v, OBJ_BIG)))
        return put_integer(vm, out, s, v);
    if (s->type == 0 && v.tag == VAL_FLOAT && s->precision >= 0)
        return put_float(vm, out, s, v);
    put_text(out, s, v);
    return true;
}

static Align alignment(const Spec *s, Value v)
{
    Type t = value_type(v);
    if (s->align == 0)
        return t == TYPE_INT || t == TYPE_FLOAT ? ALIGN_RIGHT : ALIGN_LEFT;
    return s->align == '<' ? ALIGN_LEFT : s->align == '>' ? ALIGN_RIGHT : ALIGN_CENTER;
}

/* Zeros go between a sign and the digits. */
static void pad(Buf *out, const Spec *s, Value v, const Buf *text)
{
    const char *digits = text->len > 0 ? text->data : "";
    size_t len = text->len, width = s->width;
    if (s->fill == '0' && (*digits == '-' || *digits == '+')) {
        buf_putc(out, *digits++);
        len--;
        width -= width > 0;
    }
    text_align(out, digits, len, width, s->fill, alignment(s, v));
}

bool format_value(Vm *vm, Buf *out, Value v, const char *spec, size_t len)
{
    Spec s;
    Buf text;
    if (!parse(&s, spec, spec + len))
        return vm_throw(vm, "malformed format");
    buf_init(&text);
    bool ok = convert(vm, &text, &s, v);
    if (ok)
        pad(out, &s, v, &text);
    buf_free(&text);
    return ok;
}
