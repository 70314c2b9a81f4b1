/* The Porter stemmer for English words in lower-case ASCII letters. */
#ifndef RT_STEM_H
#define RT_STEM_H

#include "buf.h"

void stem_word(Buf *out, const char *word, size_t len);

#endif
