#include "mag.h"

#include "mem.h"

#include <string.h>

enum { KARATSUBA_LIMBS = 20 };

size_t mag_trim(const Limb *a, size_t n)
{
    while (n > 0 && a[n - 1] == 0)
        n--;
    return n;
}

int mag_cmp(const Limb *a, size_t an, const Limb *b, size_t bn)
{
    if (an != bn)
        return an < bn ? -1 : 1;
    while (an-- > 0)
        if (a[an] != b[an])
            return a[an] < b[an] ? -1 : 1;
    return 0;
}

Limb mag_add(Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < an; i++) {
        carry += (uint64_t)a[i] + (i < bn ? b[i] : 0);
        r[i] = (Limb)carry;
        carry >>= 32;
    }
    return (Limb)carry;
}

Limb mag_sub(Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn)
{
    uint64_t borrow = 0;
    for (size_t i = 0; i < an; i++) {
        uint64_t d = (uint64_t)a[i] - (i < bn ? b[i] : 0) - borrow;
        r[i] = (Limb)d;
        borrow = d >> 63;
    }
    return (Limb)borrow;
}

Limb mag_mul_small(Limb *a, size_t n, Limb m, Limb carry)
{
    uint64_t acc = carry;
    for (size_t i = 0; i < n; i++) {
        acc += (uint64_t)a[i] * m;
        a[i] = (Limb)acc;
        acc >>= 32;
    }
    return (Limb)acc;
}

Limb mag_div_small(Limb *a, size_t n, Limb d)
{
    uint64_t rem = 0;
    while (n-- > 0) {
        rem = rem << 32 | a[n];
        a[n] = (Limb)(rem / d);
        rem %= d;
    }
    return (Limb)rem;
}

static void mul_school(Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn)
{
    memset(r, 0, (an + bn) * sizeof *r);
    for (size_t i = 0; i < an; i++) {
        uint64_t acc = 0;
        for (size_t j = 0; j < bn; j++) {
            acc += (uint64_t)a[i] * b[j] + r[i + j];
            r[i + j] = (Limb)acc;
            acc >>= 32;
        }
        r[i + bn] = (Limb)acc;
    }
}

/* Adds b into r, letting the carry run on past bn; the caller knows that it fits. */
static void add_at(Limb *r, size_t rn, const Limb *b, size_t bn)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < rn && (i < bn || carry != 0); i++) {
        carry += (uint64_t)r[i] + (i < bn ? b[i] : 0);
        r[i] = (Limb)carry;
        carry >>= 32;
    }
}

/* Karatsuba on operands of equal length n; scratch comes from the heap. */
static void mul_karatsuba(Limb *r, const Limb *a, const Limb *b, size_t n)
{
    size_t lo = n / 2, hi = n - lo; /* hi >= lo */
    Limb *sum_a = rt_alloc_array(4 * (hi + 1), sizeof *sum_a);
    Limb *sum_b = sum_a + hi + 1;
    Limb *mid = sum_b + hi + 1;

    mag_mul(r, a, lo, b, lo);
    mag_mul(r + 2 * lo, a + lo, hi, b + lo, hi);
    sum_a[hi] = mag_add(sum_a, a + lo, hi, a, lo);
    sum_b[hi] = mag_add(sum_b, b + lo, hi, b, lo);
    mag_mul(mid, sum_a, hi + 1, sum_b, hi + 1);
    mag_sub(mid, mid, 2 * hi + 2, r, 2 * lo);
    mag_sub(mid, mid, 2 * hi + 2, r + 2 * lo, 2 * hi);
    add_at(r + lo, 2 * n - lo, mid, mag_trim(mid, 2 * hi + 2));
    rt_free(sum_a);
}

void mag_mul(Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn)
{
    if (an == bn && an >= KARATSUBA_LIMBS)
        mul_karatsuba(r, a, b, an);
    else
        mul_school(r, a, an, b, bn);
}

static int leading_zeros(Limb x)
{
    int n = 0;
    while (!(x & 0x80000000u)) {
        x <<= 1;
        n++;
    }
    return n;
}

static Limb shift_left(Limb *r, const Limb *a, size_t n, int bits)
{
    uint64_t acc = 0;
    for (size_t i = 0; i < n; i++) {
        acc |= (uint64_t)a[i] << bits;
        r[i] = (Limb)acc;
        acc >>= 32;
    }
    return (Limb)acc;
}

static void shift_right(Limb *r, const Limb *a, size_t n, int bits)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t high = i + 1 < n ? a[i + 1] : 0;
        r[i] = (Limb)((high << 32 | a[i]) >> bits);
    }
}

/* First guess at a quotient digit, at most one too large (Knuth 4.3.1, step D3). */
static uint64_t estimate(const Limb *u, const Limb *v, size_t n)
{
    uint64_t top = (uint64_t)u[n] << 32 | u[n - 1];
    uint64_t q = top / v[n - 1], rem = top % v[n - 1];
    while (q >> 32 || q * v[n - 2] > (rem << 32 | u[n - 2])) {
        q--;
        rem += v[n - 1];
        if (rem >> 32)
            break;
    }
    return q;
}

/* u[0..n] -= q * v[0..n); returns whether the result went negative (steps D4, D5). */
static int subtract_product(Limb *u, const Limb *v, size_t n, uint64_t q)
{
    uint64_t carry = 0, borrow = 0;
    for (size_t i = 0; i < n; i++) {
        carry += q * v[i];
        uint64_t d = (uint64_t)u[i] - (Limb)carry - borrow;
        u[i] = (Limb)d;
        borrow = d >> 63;
        carry >>= 32;
    }
    uint64_t d = (uint64_t)u[n] - carry - borrow;
    u[n] = (Limb)d;
    return (int)(d >> 63);
}

static void divmod_knuth(Limb *q, Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn)
{
    int shift = leading_zeros(b[bn - 1]);
    Limb *u = rt_alloc_array(an + 1 + bn, sizeof *u);
    Limb *v = u + an + 1;
    u[an] = shift_left(u, a, an, shift);
    shift_left(v, b, bn, shift);
    for (size_t j = an - bn + 1; j-- > 0;) {
        uint64_t digit = estimate(u + j, v, bn);
        if (subtract_product(u + j, v, bn, digit)) {
            digit--;
            u[j + bn] += mag_add(u + j, u + j, bn, v, bn);
        }
        q[j] = (Limb)digit;
    }
    shift_right(r, u, bn, shift);
    rt_free(u);
}

void mag_divmod(Limb *q, Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn)
{
    if (bn > 1) {
        divmod_knuth(q, r, a, an, b, bn);
        return;
    }
    memcpy(q, a, an * sizeof *q);
    r[0] = mag_div_small(q, an, b[0]);
}
