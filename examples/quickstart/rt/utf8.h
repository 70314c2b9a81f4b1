/* UTF-8 decoding and encoding.  Ill-formed bytes decode as U+FFFD, one byte at a time. */
#ifndef RT_UTF8_H
#define RT_UTF8_H

#include "buf.h"

#include <stdbool.h>

enum { UTF8_REPLACEMENT = 0xFFFD };

/* Decodes the code point at text[0..len), len > 0; returns the bytes consumed. */
size_t utf8_decode(const char *text, size_t len, uint32_t *code);
void utf8_put(Buf *out, uint32_t code);
size_t utf8_count(const char *text, size_t len);
bool utf8_valid(const char *text, size_t len);

/* Byte offset of the code point number `index` (or len if the text is shorter). */
size_t utf8_offset(const char *text, size_t len, size_t index);

/* Columns the text takes on a terminal; wide East Asian characters count twice. */
size_t utf8_width(const char *text, size_t len);

#endif
