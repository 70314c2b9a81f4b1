/*
 * The algorithm for the shortest digits is Steele and White's, "How to print
 * floating-point numbers accurately" (PLDI 1990), with the scaling of Burger
 * and Dybvig (PLDI 1996).
 */
#include "decimal.h"

#include "mag.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LIMBS = 42, MANTISSA_BITS = 53, MIN_EXPONENT = -1074 };

/* A natural number below 2^1344, enough for any double and its neighbours, scaled. */
typedef struct {
    Limb limb[LIMBS];
    size_t len;
} Nat;

static void nat_set(Nat *n, uint64_t value)
{
    n->limb[0] = (Limb)value;
    n->limb[1] = (Limb)(value >> 32);
    n->len = mag_trim(n->limb, 2);
}

static void nat_mul_small(Nat *n, Limb m)
{
    Limb carry = mag_mul_small(n->limb, n->len, m, 0);
    if (carry != 0)
        n->limb[n->len++] = carry;
}

static void nat_mul_pow10(Nat *n, int exponent)
{
    for (; exponent >= 9; exponent -= 9)
        nat_mul_small(n, 1000000000u);
    for (; exponent > 0; exponent--)
        nat_mul_small(n, 10);
}

static void nat_shift_left(Nat *n, int bits)
{
    size_t limbs = (size_t)bits / 32;
    nat_mul_small(n, (Limb)1 << (bits % 32));
    if (n->len == 0 || limbs == 0)
        return;
    memmove(n->limb + limbs, n->limb, n->len * sizeof *n->limb);
    memset(n->limb, 0, limbs * sizeof *n->limb);
    n->len += limbs;
}

static int nat_cmp(const Nat *a, const Nat *b)
{
    return mag_cmp(a->limb, a->len, b->limb, b->len);
}

static void nat_sub(Nat *a, const Nat *b)
{
    mag_sub(a->limb, a->limb, a->len, b->limb, b->len);
    a->len = mag_trim(a->limb, a->len);
}

/* Order of a + b relative to c. */
static int nat_cmp_sum(const Nat *a, const Nat *b, const Nat *c)
{
    Nat sum;
    const Nat *longer = a->len >= b->len ? a : b, *shorter = longer == a ? b : a;
    Limb carry = mag_add(sum.limb, longer->limb, longer->len, shorter->limb, shorter->len);
    sum.len = longer->len;
    if (carry != 0)
        sum.limb[sum.len++] = carry;
    return nat_cmp(&sum, c);
}

/* value == mantissa * 2^exponent with an integral mantissa below 2^53. */
static uint64_t split(double value, int *exponent)
{
    double fraction = frexp(value, exponent);
    *exponent -= MANTISSA_BITS;
    uint64_t mantissa = (uint64_t)ldexp(fraction, MANTISSA_BITS);
    for (; *exponent < MIN_EXPONENT; ++*exponent)
        mantissa >>= 1; /* a subnormal: the bits shifted out are zero */
    return mantissa;
}

/* The value is r / scale; half the gaps to its neighbours are up / scale and down / scale. */
typedef struct {
    Nat r, scale, up, down;
    bool even; /* the ends of the interval that rounds to the value belong to it */
} State;

static void start(State *s, uint64_t mantissa, int exponent)
{
    bool power_of_two = mantissa == (uint64_t)1 << (MANTISSA_BITS - 1);
    int extra = power_of_two && exponent > MIN_EXPONENT; /* the gap below is half as wide */
    int shift = exponent > 0 ? exponent : 0;
    s->even = mantissa % 2 == 0;
    nat_set(&s->r, mantissa);
    nat_shift_left(&s->r, shift + 1 + extra);
    nat_set(&s->scale, 1);
    nat_shift_left(&s->scale, (exponent < 0 ? -exponent : 0) + 1 + extra);
    nat_set(&s->down, 1);
    nat_shift_left(&s->down, shift);
    nat_set(&s->up, 1);
    nat_shift_left(&s->up, shift + extra);
}

static bool reaches_scale(const State *s)
{
    int c = nat_cmp_sum(&s->r, &s->up, &s->scale);
    return s->even ? c >= 0 : c > 0;
}

static void times_ten(State *s)
{
    nat_mul_small(&s->r, 10);
    nat_mul_small(&s->up, 10);
    nat_mul_small(&s->down, 10);
}

/* Makes r / scale lie in [0.1, 1), times ten; returns the power of ten taken out. */
static int normalise(State *s, double value)
{
    int point = (int)ceil(log10(value) - 1e-10);
    if (point >= 0) {
        nat_mul_pow10(&s->scale, point);
    } else {
        nat_mul_pow10(&s->r, -point);
        nat_mul_pow10(&s->up, -point);
        nat_mul_pow10(&s->down, -point);
    }
    if (reaches_scale(s))
        return point + 1;
    times_ten(s);
    return point;
}

static int next_digit(State *s)
{
    int digit = 0;
    while (nat_cmp(&s->r, &s->scale) >= 0) {
        nat_sub(&s->r, &s->scale);
        digit++;
    }
    return digit;
}

int decimal_shortest(double value, char digits[DECIMAL_DIGITS + 1], int *point)
{
    State s;
    int exponent, count = 0;
    uint64_t mantissa = split(value, &exponent);
    start(&s, mantissa, exponent);
    *point = normalise(&s, value);
    for (;;) {
        int digit = next_digit(&s), c = nat_cmp(&s.r, &s.down);
        bool low = s.even ? c <= 0 : c < 0, high = reaches_scale(&s);
        if (!low && !high) {
            digits[count++] = (char)('0' + digit);
            times_ten(&s);
            continue;
        }
        bool up = high && (!low || nat_cmp_sum(&s.r, &s.r, &s.scale) >= 0);
        digits[count++] = (char)('0' + digit + up);
        return count;
    }
}

/* n / 2^bits, rounded to nearest, ties to even. */
static void round_shift_right(Nat *n, int bits)
{
    Nat half, quotient = *n;
    size_t limbs = (size_t)bits / 32, shift = (size_t)bits % 32;
    if (bits == 0)
        return;
    quotient.len = n->len > limbs ? n->len - limbs : 0;
    for (size_t i = 0; i < quotient.len; i++) {
        uint64_t high = i + limbs + 1 < n->len ? n->limb[i + limbs + 1] : 0;
        quotient.limb[i] = (Limb)((high << 32 | n->limb[i + limbs]) >> shift);
    }
    for (size_t i = limbs; i < n->len; i++) /* n becomes the remainder */
        n->limb[i] &= i == limbs ? ((Limb)1 << shift) - 1 : 0;
    n->len = mag_trim(n->limb, n->len);
    quotient.len = mag_trim(quotient.limb, quotient.len);
    nat_set(&half, 1);
    nat_shift_left(&half, bits - 1);
    int c = nat_cmp(n, &half);
    bool odd = quotient.len > 0 && quotient.limb[0] % 2 == 1;
    *n = quotient;
    if (c > 0 || (c == 0 && odd)) {
        n->limb[n->len] = 0;
        n->len = mag_trim(n->limb, n->len + 1);
        Limb one = 1;
        if (n->len == 0 || mag_add(n->limb, n->limb, n->len, &one, 1))
            n->limb[n->len++] = 1;
    }
}

/* Digits from the last to the first, with a point after `places` of them. */
static void put_reversed(Buf *out, Nat *n, int places)
{
    for (int count = 0; n->len > 0 || count <= places;) {
        Limb group = mag_div_small(n->limb, n->len, 1000000000u);
        n->len = mag_trim(n->limb, n->len);
        for (int i = 0; i < 9 && (n->len > 0 || group != 0 || count <= places); i++) {
            if (count == places && places > 0)
                buf_putc(out, '.');
            buf_putc(out, (char)('0' + group % 10));
            group /= 10;
            count++;
        }
    }
}

void decimal_fixed(Buf *out, double value, int places)
{
    Nat n;
    int exponent;
    size_t from = out->len;
    nat_set(&n, split(fabs(value), &exponent));
    nat_mul_pow10(&n, places);
    if (exponent > 0)
        nat_shift_left(&n, exponent);
    else
        round_shift_right(&n, -exponent);
    put_reversed(out, &n, places);
    if (signbit(value))
        buf_putc(out, '-');
    buf_reverse(out, from);
}
