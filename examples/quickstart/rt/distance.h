/* How far apart two byte strings are. */
#ifndef RT_DISTANCE_H
#define RT_DISTANCE_H

#include "buf.h"

size_t distance_levenshtein(const char *a, size_t an, const char *b, size_t bn);
size_t distance_hamming(const char *a, size_t an, const char *b, size_t bn);
double distance_jaro_winkler(const char *a, size_t an, const char *b, size_t bn); /* 1: equal */

/* A longest common subsequence. */
void distance_lcs(Buf *out, const char *a, size_t an, const char *b, size_t bn);

/* The four-character Soundex code of a word. */
void distance_soundex(Buf *out, const char *word, size_t len);

#endif
