/* Exact conversion of finite doubles to decimal digits, with integer arithmetic only. */
#ifndef RT_DECIMAL_H
#define RT_DECIMAL_H

#include "buf.h"

enum { DECIMAL_DIGITS = 17, DECIMAL_MAX_PLACES = 60 };

/*
 * The shortest digits that identify a positive value among the doubles, the
 * nearest to it of those.  The value is 0.d1d2d3... * 10^*point; returns the
 * number of digits.
 */
int decimal_shortest(double value, char digits[DECIMAL_DIGITS + 1], int *point);

/* Rounded to a number of places after the point, ties to even; places <= DECIMAL_MAX_PLACES. */
void decimal_fixed(Buf *out, double value, int places);

#endif
