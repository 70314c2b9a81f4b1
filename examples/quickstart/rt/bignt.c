/* The number-theoretic part of bigint.h, built on the four operations. */
#include "bigint.h"

void big_pow(Big *r, const Big *base, uint64_t exponent)
{
    Big result, square;
    big_init(&result);
    big_init(&square);
    big_from_int(&result, 1);
    big_copy(&square, base);
    while (exponent != 0) {
        if (exponent & 1)
            big_mul(&result, &result, &square);
        exponent >>= 1;
        if (exponent != 0)
            big_mul(&square, &square, &square);
    }
    big_copy(r, &result);
    big_free(&result);
    big_free(&square);
}

static bool test_bit(const Big *a, size_t bit)
{
    return a->limb[bit / 32] >> (bit % 32) & 1;
}

bool big_powmod(Big *r, const Big *base, const Big *exponent, const Big *modulus)
{
    if (exponent->negative || modulus->len == 0)
        return false;
    Big result, power, quotient;
    big_init(&result);
    big_init(&power);
    big_init(&quotient);
    big_from_int(&result, 1);
    big_divmod(&quotient, &result, &result, modulus);
    big_divmod(&quotient, &power, base, modulus);
    size_t bits = big_bits(exponent);
    for (size_t i = 0; i < bits; i++) {
        if (test_bit(exponent, i)) {
            big_mul(&result, &result, &power);
            big_divmod(&quotient, &result, &result, modulus);
        }
        big_mul(&power, &power, &power);
        big_divmod(&quotient, &power, &power, modulus);
    }
    big_copy(r, &result);
    big_free(&result);
    big_free(&power);
    big_free(&quotient);
    return true;
}

void big_gcd(Big *r, const Big *a, const Big *b)
{
    Big x, y, quotient;
    big_init(&x);
    big_init(&y);
    big_init(&quotient);
    big_copy(&x, a);
    big_copy(&y, b);
    x.negative = y.negative = false;
    while (y.len > 0) {
        big_divmod(&quotient, &x, &x, &y);
        Big t = x;
        x = y;
        y = t;
    }
    big_copy(r, &x);
    big_free(&x);
    big_free(&y);
    big_free(&quotient);
}

/* Newton's iteration from above: x' = (x + a / x) / 2 until it stops decreasing. */
bool big_isqrt(Big *r, const Big *a)
{
    if (a->negative)
        return false;
    if (a->len == 0) {
        big_from_int(r, 0);
        return true;
    }
    Big x, y, two, rem;
    big_init(&x);
    big_init(&y);
    big_init(&two);
    big_init(&rem);
    big_from_int(&two, 2);
    big_pow(&x, &two, (big_bits(a) + 1) / 2);
    for (;;) {
        big_divmod(&y, &rem, a, &x);
        big_add(&y, &y, &x);
        big_divmod(&y, &rem, &y, &two);
        if (big_cmp(&y, &x) >= 0)
            break;
        big_copy(&x, &y);
    }
    big_copy(r, &x);
    big_free(&x);
    big_free(&y);
    big_free(&two);
    big_free(&rem);
    return true;
}
