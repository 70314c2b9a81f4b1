/* Dates of the proleptic Gregorian calendar as day numbers; day 0 is 1970-01-01. */
#ifndef RT_DATE_H
#define RT_DATE_H

#include "buf.h"

#include <stdbool.h>

typedef struct {
    int64_t year;
    int month; /* 1..12 */
    int day;   /* 1..31 */
} Date;

bool date_is_leap(int64_t year);
int date_month_days(int64_t year, int month);
bool date_valid(const Date *date);
int64_t date_to_days(const Date *date);
Date date_from_days(int64_t days);
int date_weekday(int64_t days); /* 1 Monday .. 7 Sunday */
int date_year_day(int64_t days); /* 1..366 */
void date_iso_week(int64_t days, int64_t *year, int *week);
Date date_easter(int64_t year);
Date date_add_months(const Date *date, int64_t months);

/* "YYYY-MM-DD" */
bool date_parse(const char *text, size_t len, Date *date);

/* %Y %m %d %j %a %A %b %B %u %V %G %% as in strftime's C locale */
void date_format(Buf *out, int64_t days, const char *format, size_t len);

#endif
