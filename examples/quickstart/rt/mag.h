/*
 * Natural-number arithmetic on arrays of 32-bit limbs, least significant first.
 * Lengths may include leading zero limbs unless stated otherwise.
 */
#ifndef RT_MAG_H
#define RT_MAG_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t Limb;

size_t mag_trim(const Limb *a, size_t n); /* length without leading zeros */
int mag_cmp(const Limb *a, size_t an, const Limb *b, size_t bn); /* trimmed operands */

/* r may be a.  an >= bn; both return the carry or borrow out of r[0..an). */
Limb mag_add(Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn);
Limb mag_sub(Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn);

/* r[0..an+bn) = a * b; r must not overlap the operands. */
void mag_mul(Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn);

/* In place: a = a * m + carry, returning the carry out; a = a / d, returning the remainder. */
Limb mag_mul_small(Limb *a, size_t n, Limb m, Limb carry);
Limb mag_div_small(Limb *a, size_t n, Limb d);

/*
 * q[0..an-bn] = a / b and r[0..bn) = a % b.  Requires an >= bn >= 1, b trimmed;
 * q and r must not overlap the operands.
 */
void mag_divmod(Limb *q, Limb *r, const Limb *a, size_t an, const Limb *b, size_t bn);

#endif
