#include "date.h"

#include "num.h"

static const char *const MONTHS[] = {"January", "February", "March", "April", "May", "June",
                                     "July", "August", "September", "October", "November",
                                     "December"};
static const char *const WEEKDAYS[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
                                       "Saturday", "Sunday"};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    return a - floor_div(a, b) * b;
}

bool date_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int date_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && date_is_leap(year) ? 29 : days[month - 1];
}

bool date_valid(const Date *d)
{
    return d->year >= -999999 && d->year <= 999999 && d->month >= 1 && d->month <= 12 &&
           d->day >= 1 && d->day <= date_month_days(d->year, d->month);
}

/* Years are counted from March, so that the leap day comes last. */
int64_t date_to_days(const Date *d)
{
    int64_t year = d->year - (d->month <= 2);
    int64_t era = floor_div(year, 400), year_of_era = floor_mod(year, 400);
    int month = (d->month + 9) % 12;
    int64_t day_of_year = (153 * month + 2) / 5 + d->day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

Date date_from_days(int64_t days)
{
    days += 719468;
    int64_t era = floor_div(days, 146097), doe = floor_mod(days, 146097);
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int doy = (int)(doe - (365 * yoe + yoe / 4 - yoe / 100));
    int month = (5 * doy + 2) / 153;
    Date d = {.day = doy - (153 * month + 2) / 5 + 1, .month = (month + 2) % 12 + 1};
    d.year = yoe + era * 400 + (d.month <= 2);
    return d;
}

int date_weekday(int64_t days)
{
    return (int)floor_mod(days + 3, 7) + 1;
}

int date_year_day(int64_t days)
{
    Date d = date_from_days(days);
    Date start = {d.year, 1, 1};
    return (int)(days - date_to_days(&start)) + 1;
}

void date_iso_week(int64_t days, int64_t *year, int *week)
{
    int64_t thursday = days - date_weekday(days) + 4;
    *year = date_from_days(thursday).year;
    *week = (date_year_day(thursday) - 1) / 7 + 1;
}

/* The anonymous Gregorian computus. */
Date date_easter(int64_t year)
{
    int64_t a = year % 19, b = year / 100, c = year % 100;
    int64_t d = b / 4, e = b % 4, f = (b + 8) / 25, g = (b - f + 1) / 3;
    int64_t h = (19 * a + b - d - g + 15) % 30;
    int64_t i = c / 4, k = c % 4, l = (32 + 2 * e + 2 * i - h - k) % 7;
    int64_t m = (a + 11 * h + 22 * l) / 451;
    int64_t n = h + l - 7 * m + 114;
    return (Date){year, (int)(n / 31), (int)(n % 31) + 1};
}

Date date_add_months(const Date *date, int64_t months)
{
    int64_t total = date->year * 12 + date->month - 1 + months;
    Date d = {floor_div(total, 12), (int)floor_mod(total, 12) + 1, date->day};
    int last = date_month_days(d.year, d.month);
    if (d.day > last)
        d.day = last;
    return d;
}

static bool parse_field(const char *text, size_t len, int64_t *value)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return num_parse_int(text, len, 10, value);
}

bool date_parse(const char *text, size_t len, Date *date)
{
    int64_t month, day;
    if (len != 10 || text[4] != '-' || text[7] != '-' || !parse_field(text, 4, &date->year) ||
        !parse_field(text + 5, 2, &month) || !parse_field(text + 8, 2, &day))
        return false;
    date->month = (int)month;
    date->day = (int)day;
    return date_valid(date);
}

static void put_padded(Buf *out, int64_t value, int width)
{
    size_t start = out->len;
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (int i = 0; i < width || v != 0; i++, v /= 10)
        buf_putc(out, (char)('0' + v % 10));
    if (value < 0)
        buf_putc(out, '-');
    buf_reverse(out, start);
}

static void put_directive(Buf *out, int64_t days, char directive)
{
    Date d = date_from_days(days);
    int64_t week_year;
    int week;
    date_iso_week(days, &week_year, &week);
    switch (directive) {
    case 'Y':
        put_padded(out, d.year, 4);
        break;
    case 'm':
        put_padded(out, d.month, 2);
        break;
    case 'd':
        put_padded(out, d.day, 2);
        break;
    case 'j':
        put_padded(out, date_year_day(days), 3);
        break;
    case 'u':
        put_padded(out, date_weekday(days), 1);
        break;
    case 'V':
        put_padded(out, week, 2);
        break;
    case 'G':
        put_padded(out, week_year, 4);
        break;
    case 'a':
        buf_write(out, WEEKDAYS[date_weekday(days) - 1], 3);
        break;
    case 'A':
        buf_puts(out, WEEKDAYS[date_weekday(days) - 1]);
        break;
    case 'b':
        buf_write(out, MONTHS[d.month - 1], 3);
        break;
    case 'B':
        buf_puts(out, MONTHS[d.month - 1]);
        break;
    default:
        buf_putc(out, directive);
        break;
    }
}

void date_format(Buf *out, int64_t days, const char *format, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (format[i] == '%' && i + 1 < len)
            put_directive(out, days, format[++i]);
        else
            buf_putc(out, format[i]);
    }
}
