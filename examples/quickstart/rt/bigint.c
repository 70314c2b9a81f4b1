#include "bigint.h"

#include "hash.h"
#include "mem.h"

#include <string.h>

/* Takes ownership of an array of limbs. */
static void assign(Big *r, Limb *limb, size_t len, bool negative)
{
    rt_free(r->limb);
    r->limb = limb;
    r->len = mag_trim(limb, len);
    r->negative = negative && r->len > 0;
}

void big_init(Big *b)
{
    b->limb = NULL;
    b->len = 0;
    b->negative = false;
}

void big_free(Big *b)
{
    rt_free(b->limb);
    big_init(b);
}

void big_copy(Big *r, const Big *a)
{
    Limb *limb = rt_alloc_array(a->len, sizeof *limb);
    if (a->len > 0)
        memcpy(limb, a->limb, a->len * sizeof *limb);
    assign(r, limb, a->len, a->negative);
}

static void swap(Big *a, Big *b)
{
    Big t = *a;
    *a = *b;
    *b = t;
}

void big_from_int(Big *r, int64_t value)
{
    uint64_t m = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    Limb *limb = rt_alloc_array(2, sizeof *limb);
    limb[0] = (Limb)m;
    limb[1] = (Limb)(m >> 32);
    assign(r, limb, 2, value < 0);
}

bool big_to_int(const Big *a, int64_t *value)
{
    if (a->len > 2)
        return false;
    uint64_t m = 0;
    for (size_t i = a->len; i-- > 0;)
        m = m << 32 | a->limb[i];
    if (m > (uint64_t)INT64_MAX + (a->negative ? 1 : 0))
        return false;
    *value = !a->negative ? (int64_t)m : m == 0 ? 0 : -(int64_t)(m - 1) - 1;
    return true;
}

double big_to_double(const Big *a)
{
    double d = 0;
    for (size_t i = a->len; i-- > 0;)
        d = d * 4294967296.0 + a->limb[i];
    return a->negative ? -d : d;
}

int big_cmp(const Big *a, const Big *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    int c = mag_cmp(a->limb, a->len, b->limb, b->len);
    return a->negative ? -c : c;
}

uint32_t big_hash(const Big *a)
{
    uint32_t h = a->negative ? 0x9E3779B9u : 0;
    for (size_t i = 0; i < a->len; i++)
        h = (uint32_t)hash_mix64((uint64_t)h << 32 | a->limb[i]);
    return h;
}

size_t big_bits(const Big *a)
{
    if (a->len == 0)
        return 0;
    size_t bits = (a->len - 1) * 32;
    for (Limb top = a->limb[a->len - 1]; top != 0; top >>= 1)
        bits++;
    return bits;
}

bool big_is_odd(const Big *a)
{
    return a->len > 0 && (a->limb[0] & 1);
}

void big_neg(Big *r, const Big *a)
{
    big_copy(r, a);
    r->negative = !a->negative && r->len > 0;
}

static void add_magnitudes(Big *r, const Big *a, const Big *b, bool negative)
{
    if (a->len < b->len) {
        const Big *t = a;
        a = b;
        b = t;
    }
    Limb *limb = rt_alloc_array(a->len + 1, sizeof *limb);
    limb[a->len] = mag_add(limb, a->limb, a->len, b->limb, b->len);
    assign(r, limb, a->len + 1, negative);
}

/* |a| - |b| with the sign of a, or of its negation when |b| is the larger. */
static void sub_magnitudes(Big *r, const Big *a, const Big *b, bool negative)
{
    if (mag_cmp(a->limb, a->len, b->limb, b->len) < 0) {
        const Big *t = a;
        a = b;
        b = t;
        negative = !negative;
    }
    Limb *limb = rt_alloc_array(a->len, sizeof *limb);
    mag_sub(limb, a->limb, a->len, b->limb, b->len);
    assign(r, limb, a->len, negative);
}

void big_add(Big *r, const Big *a, const Big *b)
{
    if (a->negative == b->negative)
        add_magnitudes(r, a, b, a->negative);
    else
        sub_magnitudes(r, a, b, a->negative);
}

void big_sub(Big *r, const Big *a, const Big *b)
{
    if (a->negative != b->negative)
        add_magnitudes(r, a, b, a->negative);
    else
        sub_magnitudes(r, a, b, a->negative);
}

void big_mul(Big *r, const Big *a, const Big *b)
{
    size_t len = a->len + b->len;
    Limb *limb = rt_alloc_array(len, sizeof *limb);
    if (a->len == 0 || b->len == 0)
        len = 0;
    else
        mag_mul(limb, a->limb, a->len, b->limb, b->len);
    assign(r, limb, len, a->negative != b->negative);
}

/* Quotient and remainder of the magnitudes, both non-negative. */
static void divmod_magnitudes(Big *q, Big *r, const Big *a, const Big *b)
{
    if (a->len < b->len) {
        big_copy(r, a);
        r->negative = false;
        big_from_int(q, 0);
        return;
    }
    size_t qlen = a->len - b->len + 1, rlen = b->len;
    Limb *ql = rt_alloc_array(qlen, sizeof *ql);
    Limb *rl = rt_alloc_array(rlen, sizeof *rl);
    mag_divmod(ql, rl, a->limb, a->len, b->limb, b->len);
    assign(q, ql, qlen, false);
    assign(r, rl, rlen, false);
}

bool big_divmod(Big *quotient, Big *remainder, const Big *a, const Big *b)
{
    if (b->len == 0)
        return false;
    Big q, r;
    big_init(&q);
    big_init(&r);
    divmod_magnitudes(&q, &r, a, b);
    q.negative = a->negative != b->negative && q.len > 0;
    r.negative = a->negative && r.len > 0;
    if (r.len > 0 && a->negative != b->negative) { /* truncated to floor */
        Big one;
        big_init(&one);
        big_from_int(&one, 1);
        big_sub(&q, &q, &one);
        big_add(&r, &r, b);
        big_free(&one);
    }
    swap(quotient, &q);
    swap(remainder, &r);
    big_free(&q);
    big_free(&r);
    return true;
}

bool big_parse(Big *r, const char *text, size_t len)
{
    size_t i = len > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    if (i == len)
        return false;
    Limb *limb = rt_zalloc_array(len / 9 + 2, sizeof *limb);
    size_t used = 0;
    for (size_t k = i; k < len; k++) {
        if (text[k] < '0' || text[k] > '9') {
            rt_free(limb);
            return false;
        }
        Limb carry = mag_mul_small(limb, used, 10, (Limb)(text[k] - '0'));
        if (carry != 0)
            limb[used++] = carry;
    }
    assign(r, limb, used, text[0] == '-');
    return true;
}

void big_put(Buf *out, const Big *a)
{
    if (a->len == 0) {
        buf_putc(out, '0');
        return;
    }
    Big rest;
    big_init(&rest);
    big_copy(&rest, a);
    size_t start = out->len;
    while (rest.len > 0) {
        Limb group = mag_div_small(rest.limb, rest.len, 1000000000u);
        rest.len = mag_trim(rest.limb, rest.len);
        for (int i = 0; i < 9 && (rest.len > 0 || group != 0); i++, group /= 10)
            buf_putc(out, (char)('0' + group % 10));
    }
    if (a->negative)
        buf_putc(out, '-');
    buf_reverse(out, start);
    big_free(&rest);
}
