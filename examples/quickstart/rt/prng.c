#include "prng.h"

#include "hash.h"

static uint64_t rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

void prng_seed(Prng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9E3779B97F4A7C15u;
        rng->s[i] = hash_mix64(seed);
    }
}

uint64_t prng_next(Prng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t prng_below(Prng *rng, uint64_t bound)
{
    uint64_t threshold = (0 - bound) % bound; /* rejects the uneven tail */
    for (;;) {
        uint64_t r = prng_next(rng);
        if (r >= threshold)
            return r % bound;
    }
}

int64_t prng_between(Prng *rng, int64_t lo, int64_t hi)
{
    uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
    uint64_t r = span == 0 ? prng_next(rng) : prng_below(rng, span);
    return (int64_t)((uint64_t)lo + r);
}

double prng_unit(Prng *rng)
{
    return (double)(prng_next(rng) >> 11) * 0x1.0p-53;
}

double prng_normal(Prng *rng)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += prng_unit(rng);
    return sum - 6.0;
}
