/* Conversion between numbers and text. */
#ifndef RT_NUM_H
#define RT_NUM_H

#include "buf.h"

#include <stdbool.h>

void num_put_int(Buf *out, int64_t value);
void num_put_uint(Buf *out, uint64_t value, unsigned base);

/* Integer with a separator between groups of three digits. */
void num_put_grouped(Buf *out, int64_t value, char separator);

/* Shortest decimal text that reads back as the same double; always shows that it is a float. */
void num_put_float(Buf *out, double value);
void num_put_fixed(Buf *out, double value, int decimals);
void num_put_exp(Buf *out, double value, int decimals);

/* The whole of text[0..len) must be a number; false if not, or if it does not fit. */
bool num_parse_int(const char *text, size_t len, unsigned base, int64_t *value);
bool num_parse_float(const char *text, size_t len, double *value);

/* Value of a digit in bases up to 36, or -1. */
int num_digit(char c);

#endif
