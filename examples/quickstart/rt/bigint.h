/*
 * Arbitrary-precision integers.  Results are written to an initialised Big,
 * which may be one of the operands.
 */
#ifndef RT_BIGINT_H
#define RT_BIGINT_H

#include "buf.h"
#include "mag.h"

#include <stdbool.h>

typedef struct {
    Limb *limb;
    size_t len; /* without leading zeros; 0 for zero */
    bool negative;
} Big;

void big_init(Big *b);
void big_free(Big *b);
void big_copy(Big *r, const Big *a);
void big_from_int(Big *r, int64_t value);
bool big_parse(Big *r, const char *text, size_t len);
void big_put(Buf *out, const Big *a);

bool big_to_int(const Big *a, int64_t *value); /* false if it does not fit */
double big_to_double(const Big *a);
int big_cmp(const Big *a, const Big *b);
uint32_t big_hash(const Big *a);
size_t big_bits(const Big *a);
bool big_is_odd(const Big *a);

void big_neg(Big *r, const Big *a);
void big_add(Big *r, const Big *a, const Big *b);
void big_sub(Big *r, const Big *a, const Big *b);
void big_mul(Big *r, const Big *a, const Big *b);

/* Floor division, as for machine integers in the language; false if b is zero. */
bool big_divmod(Big *quotient, Big *remainder, const Big *a, const Big *b);

void big_pow(Big *r, const Big *base, uint64_t exponent);
bool big_powmod(Big *r, const Big *base, const Big *exponent, const Big *modulus);
void big_gcd(Big *r, const Big *a, const Big *b);
bool big_isqrt(Big *r, const Big *a); /* false for a negative argument */

#endif
