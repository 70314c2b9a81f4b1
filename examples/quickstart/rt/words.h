/* Numbers in words and numerals. */
#ifndef RT_WORDS_H
#define RT_WORDS_H

#include "buf.h"

#include <stdbool.h>

void words_cardinal(Buf *out, int64_t value);     /* "forty-two" */
void words_ordinal(Buf *out, int64_t value);      /* "forty-second" */
void words_ordinal_suffix(Buf *out, int64_t value); /* "42nd" */
bool words_roman(Buf *out, int64_t value);        /* 1..3999 */
bool words_parse_roman(const char *text, size_t len, int64_t *value);
void words_plural(Buf *out, const char *noun, size_t len);

#endif
