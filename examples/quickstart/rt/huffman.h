/* Canonical Huffman coding of byte strings. */
#ifndef RT_HUFFMAN_H
#define RT_HUFFMAN_H

#include "buf.h"

#include <stdbool.h>

enum { HUFFMAN_SYMBOLS = 256 };

/* Code length in bits of every byte (0 for bytes that do not occur). */
void huffman_lengths(const char *data, size_t len, unsigned char lengths[HUFFMAN_SYMBOLS]);

/* Output: varint size, number of distinct bytes, (byte, length) pairs, packed bits. */
void huffman_encode(Buf *out, const char *data, size_t len);
bool huffman_decode(Buf *out, const char *data, size_t len);

#endif
