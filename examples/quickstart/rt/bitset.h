/* Sets of small natural numbers. */
#ifndef RT_BITSET_H
#define RT_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t *word;
    size_t bits;
} Bitset;

void bitset_init(Bitset *s, size_t bits); /* empty */
void bitset_free(Bitset *s);
void bitset_fill(Bitset *s);
void bitset_set(Bitset *s, size_t i);
void bitset_clear(Bitset *s, size_t i);
bool bitset_test(const Bitset *s, size_t i);
size_t bitset_count(const Bitset *s);
size_t bitset_next(const Bitset *s, size_t from); /* first member >= from, or bits */

/* The primes below s->bits. */
void bitset_sieve(Bitset *s);

#endif
