#include "bitset.h"

#include "mem.h"

static size_t word_count(size_t bits)
{
    return (bits + 63) / 64;
}

void bitset_init(Bitset *s, size_t bits)
{
    s->bits = bits;
    s->word = rt_zalloc_array(word_count(bits), sizeof *s->word);
}

void bitset_free(Bitset *s)
{
    rt_free(s->word);
    s->word = NULL;
    s->bits = 0;
}

void bitset_fill(Bitset *s)
{
    size_t n = word_count(s->bits);
    for (size_t i = 0; i < n; i++)
        s->word[i] = ~(uint64_t)0;
    if (s->bits % 64 != 0)
        s->word[n - 1] >>= 64 - s->bits % 64;
}

void bitset_set(Bitset *s, size_t i)
{
    s->word[i / 64] |= (uint64_t)1 << (i % 64);
}

void bitset_clear(Bitset *s, size_t i)
{
    s->word[i / 64] &= ~((uint64_t)1 << (i % 64));
}

bool bitset_test(const Bitset *s, size_t i)
{
    return s->word[i / 64] >> (i % 64) & 1;
}

static size_t popcount(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (size_t)(x * 0x0101010101010101u >> 56);
}

size_t bitset_count(const Bitset *s)
{
    size_t count = 0;
    for (size_t i = 0; i < word_count(s->bits); i++)
        count += popcount(s->word[i]);
    return count;
}

size_t bitset_next(const Bitset *s, size_t from)
{
    if (from >= s->bits)
        return s->bits;
    size_t i = from / 64;
    uint64_t w = s->word[i] >> (from % 64) << (from % 64);
    while (w == 0) {
        if (++i == word_count(s->bits))
            return s->bits;
        w = s->word[i];
    }
    return i * 64 + popcount((w & (0 - w)) - 1);
}

void bitset_sieve(Bitset *s)
{
    bitset_fill(s);
    for (size_t i = 0; i < 2 && i < s->bits; i++)
        bitset_clear(s, i);
    for (size_t p = 2; p * p < s->bits; p = bitset_next(s, p + 1))
        for (size_t m = p * p; m < s->bits; m += p)
            bitset_clear(s, m);
}
