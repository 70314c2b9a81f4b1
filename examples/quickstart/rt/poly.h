/* Polynomials over the field of integers modulo the prime 998244353. */
#ifndef RT_POLY_H
#define RT_POLY_H

#include <stddef.h>
#include <stdint.h>

enum { POLY_PRIME = 998244353 };

uint32_t poly_pow(uint32_t base, uint64_t exponent);
uint32_t poly_inverse(uint32_t x);
uint32_t poly_eval(const uint32_t *a, size_t n, uint32_t x);

/* r[0..an+bn-1) = a * b; by number-theoretic transform when large.  an, bn > 0. */
void poly_mul(uint32_t *r, const uint32_t *a, size_t an, const uint32_t *b, size_t bn);

/* The coefficients of the polynomial of degree < n through n points with distinct xs. */
void poly_interpolate(uint32_t *r, const uint32_t *xs, const uint32_t *ys, size_t n);

#endif
