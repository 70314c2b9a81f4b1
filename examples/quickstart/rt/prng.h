/* xoshiro256** pseudo-random numbers, seeded through splitmix64. */
#ifndef RT_PRNG_H
#define RT_PRNG_H

#include <stdint.h>

typedef struct {
    uint64_t s[4];
} Prng;

void prng_seed(Prng *rng, uint64_t seed);
uint64_t prng_next(Prng *rng);
uint64_t prng_below(Prng *rng, uint64_t bound); /* uniform in [0, bound), bound > 0 */
int64_t prng_between(Prng *rng, int64_t lo, int64_t hi);
double prng_unit(Prng *rng); /* uniform in [0, 1) */

/* Sum of uniforms, approximately normal with mean 0 and variance 1; exact arithmetic only. */
double prng_normal(Prng *rng);

#endif
