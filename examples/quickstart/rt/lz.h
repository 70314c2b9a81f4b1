/*
 * LZ77 compression.  The output is a sequence of tokens: a varint n followed,
 * if n is even, by n/2 literal bytes; if odd, by a varint distance, and the
 * token copies n/2 bytes from that far back.
 */
#ifndef RT_LZ_H
#define RT_LZ_H

#include "buf.h"

#include <stdbool.h>

void lz_compress(Buf *out, const char *data, size_t len);
bool lz_expand(Buf *out, const char *data, size_t len);

#endif
