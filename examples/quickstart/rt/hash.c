#include "hash.h"

static uint32_t rotl(uint32_t x, int r)
{
    return x << r | x >> (32 - r);
}

static uint32_t load32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t scramble(uint32_t k)
{
    return rotl(k * 0xCC9E2D51u, 15) * 0x1B873593u;
}

static uint32_t finish(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    return h ^ h >> 16;
}

/* The 32-bit MurmurHash3 construction. */
uint32_t hash_bytes(const void *data, size_t len, uint32_t seed)
{
    const unsigned char *p = data;
    uint32_t h = seed;
    for (size_t n = len / 4; n > 0; n--, p += 4)
        h = rotl(h ^ scramble(load32(p)), 13) * 5 + 0xE6546B64u;
    uint32_t tail = 0;
    for (size_t n = len & 3; n > 0; n--)
        tail = tail << 8 | p[n - 1];
    return finish(h ^ scramble(tail) ^ (uint32_t)len);
}

uint64_t hash_fnv1a(const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}

uint64_t hash_mix64(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Four bits at a time: a 64-byte table instead of a kilobyte. */
uint32_t hash_crc32(const void *data, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
        0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
        0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    const unsigned char *p = data;
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

uint32_t hash_adler32(const void *data, size_t len)
{
    const unsigned char *p = data;
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < len; i++) {
        a = (a + p[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}
