#include "poly.h"

#include "mem.h"

#include <string.h>

enum { PRIMITIVE_ROOT = 3, TRANSFORM_SIZE = 32 };

static uint32_t add(uint32_t a, uint32_t b)
{
    uint32_t s = a + b;
    return s >= POLY_PRIME ? s - POLY_PRIME : s;
}

static uint32_t sub(uint32_t a, uint32_t b)
{
    return a >= b ? a - b : a + POLY_PRIME - b;
}

static uint32_t mul(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b % POLY_PRIME);
}

uint32_t poly_pow(uint32_t base, uint64_t exponent)
{
    uint32_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            result = mul(result, base);
        base = mul(base, base);
    }
    return result;
}

uint32_t poly_inverse(uint32_t x)
{
    return poly_pow(x, POLY_PRIME - 2);
}

uint32_t poly_eval(const uint32_t *a, size_t n, uint32_t x)
{
    uint32_t y = 0;
    while (n-- > 0)
        y = add(mul(y, x), a[n]);
    return y;
}

static void bit_reverse(uint32_t *a, size_t n)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            uint32_t t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
    }
}

static void butterflies(uint32_t *a, size_t half, uint32_t root)
{
    uint32_t w = 1;
    for (size_t k = 0; k < half; k++) {
        uint32_t u = a[k], v = mul(a[k + half], w);
        a[k] = add(u, v);
        a[k + half] = sub(u, v);
        w = mul(w, root);
    }
}

/* In-place transform; n is a power of two. */
static void transform(uint32_t *a, size_t n, int inverse)
{
    bit_reverse(a, n);
    for (size_t len = 2; len <= n; len *= 2) {
        uint32_t root = poly_pow(PRIMITIVE_ROOT, (POLY_PRIME - 1) / len);
        if (inverse)
            root = poly_inverse(root);
        for (size_t i = 0; i < n; i += len)
            butterflies(a + i, len / 2, root);
    }
    if (inverse) {
        uint32_t scale = poly_inverse((uint32_t)n);
        for (size_t i = 0; i < n; i++)
            a[i] = mul(a[i], scale);
    }
}

static void mul_school(uint32_t *r, const uint32_t *a, size_t an, const uint32_t *b, size_t bn)
{
    memset(r, 0, (an + bn - 1) * sizeof *r);
    for (size_t i = 0; i < an; i++)
        for (size_t j = 0; j < bn; j++)
            r[i + j] = add(r[i + j], mul(a[i], b[j]));
}

static void mul_transform(uint32_t *r, const uint32_t *a, size_t an, const uint32_t *b, size_t bn)
{
    size_t len = an + bn - 1, n = 1;
    while (n < len)
        n *= 2;
    uint32_t *fa = rt_zalloc_array(2 * n, sizeof *fa), *fb = fa + n;
    memcpy(fa, a, an * sizeof *fa);
    memcpy(fb, b, bn * sizeof *fb);
    transform(fa, n, 0);
    transform(fb, n, 0);
    for (size_t i = 0; i < n; i++)
        fa[i] = mul(fa[i], fb[i]);
    transform(fa, n, 1);
    memcpy(r, fa, len * sizeof *r);
    rt_free(fa);
}

void poly_mul(uint32_t *r, const uint32_t *a, size_t an, const uint32_t *b, size_t bn)
{
    if (an + bn <= TRANSFORM_SIZE)
        mul_school(r, a, an, b, bn);
    else
        mul_transform(r, a, an, b, bn);
}

/* a *= (x - c), where a has n coefficients before and n + 1 after. */
static void multiply_linear(uint32_t *a, size_t n, uint32_t c)
{
    a[n] = 0;
    for (size_t i = n + 1; i-- > 0;)
        a[i] = sub(i > 0 ? a[i - 1] : 0, mul(a[i], c));
}

/* q[0..n) = a / (x - c) for an exact division of a with n + 1 coefficients. */
static void divide_linear(uint32_t *q, const uint32_t *a, size_t n, uint32_t c)
{
    uint32_t carry = 0;
    for (size_t i = n; i-- > 0;) {
        carry = add(a[i + 1], mul(carry, c));
        q[i] = carry;
    }
}

/* Lagrange's formula over the master polynomial of all the points. */
void poly_interpolate(uint32_t *r, const uint32_t *xs, const uint32_t *ys, size_t n)
{
    uint32_t *master = rt_alloc_array(2 * n + 1, sizeof *master), *basis = master + n + 1;
    master[0] = 1;
    for (size_t i = 0; i < n; i++)
        multiply_linear(master, i + 1, xs[i]);
    memset(r, 0, n * sizeof *r);
    for (size_t i = 0; i < n; i++) {
        divide_linear(basis, master, n, xs[i]);
        uint32_t scale = mul(ys[i], poly_inverse(poly_eval(basis, n, xs[i])));
        for (size_t k = 0; k < n; k++)
            r[k] = add(r[k], mul(basis[k], scale));
    }
    rt_free(master);
}
