/* Text encodings of bytes.  The decoders return false for malformed input. */
#ifndef RT_CODEC_H
#define RT_CODEC_H

#include "buf.h"

#include <stdbool.h>

void base64_encode(Buf *out, const char *data, size_t len);
bool base64_decode(Buf *out, const char *text, size_t len);
void hex_encode(Buf *out, const char *data, size_t len);
bool hex_decode(Buf *out, const char *text, size_t len);
void percent_encode(Buf *out, const char *data, size_t len);
bool percent_decode(Buf *out, const char *text, size_t len);
void rle_encode(Buf *out, const char *data, size_t len);
bool rle_decode(Buf *out, const char *text, size_t len);
void html_escape(Buf *out, const char *data, size_t len);

/* Variable-length unsigned integers, seven bits to a byte, least significant first. */
void varint_put(Buf *out, uint64_t value);
bool varint_get(const char *data, size_t len, size_t *pos, uint64_t *value);

#endif
