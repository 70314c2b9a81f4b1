/* Non-cryptographic hashes and checksums. */
#ifndef RT_HASH_H
#define RT_HASH_H

#include <stddef.h>
#include <stdint.h>

uint32_t hash_bytes(const void *data, size_t len, uint32_t seed);
uint64_t hash_fnv1a(const void *data, size_t len);
uint64_t hash_mix64(uint64_t x);
uint32_t hash_crc32(const void *data, size_t len);
uint32_t hash_adler32(const void *data, size_t len);

#endif
