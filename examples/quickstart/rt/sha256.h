/* The SHA-256 digest. */
#ifndef RT_SHA256_H
#define RT_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

typedef struct {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[SHA256_BLOCK];
    size_t used;
} Sha256;

void sha256_init(Sha256 *ctx);
void sha256_update(Sha256 *ctx, const void *data, size_t len);
void sha256_final(Sha256 *ctx, unsigned char digest[SHA256_BYTES]);

#endif
