/* The module `date`.  Dates are day numbers; "YYYY-MM-DD" is accepted as well. */
#include "../src/native.h"

#include "../rt/date.h"

static bool date_days(Vm *vm, int argc, Value *argv, Value *result)
{
    int64_t year, month, day, days;
    if (argc == 1)
        return arg_date(vm, argv, 0, &days) && give(result, value_int(days));
    if (argc != 3)
        return vm_throw(vm, "date.days takes a date or year, month and day");
    if (!arg_int(vm, argv, 0, &year) || !arg_int(vm, argv, 1, &month) ||
        !arg_int(vm, argv, 2, &day))
        return false;
    bool small = month >= 1 && month <= 12 && day >= 1 && day <= 31;
    Date d = {year, small ? (int)month : 0, small ? (int)day : 0};
    if (!date_valid(&d))
        return vm_throw(vm, "no such date");
    return give(result, value_int(date_to_days(&d)));
}

static bool date_text(Vm *vm, int argc, Value *argv, Value *result)
{
    int64_t days;
    Str *format = NULL;
    Buf out;
    if (!arg_date(vm, argv, 0, &days) || (argc > 1 && !arg_str(vm, argv, 1, &format)))
        return false;
    buf_init(&out);
    if (format)
        date_format(&out, days, format->data, format->len);
    else
        date_format(&out, days, "%Y-%m-%d", 8);
    return give_buf(vm, result, &out);
}

static Value from_date(Date d)
{
    return value_int(date_to_days(&d));
}

static bool date_weekday_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t days;
    return arg_date(vm, argv, 0, &days) && give(result, value_int(date_weekday(days)));
}

static bool date_leap(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t year;
    return arg_int(vm, argv, 0, &year) && give(result, value_bool(date_is_leap(year)));
}

static bool date_easter_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t year;
    return arg_size(vm, argv, 0, 99999, &year) &&
           give(result, from_date(date_easter((int64_t)year)));
}

static bool date_plus_months(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t days, months;
    if (!arg_date(vm, argv, 0, &days) || !arg_int(vm, argv, 1, &months))
        return false;
    if (months < -100000 || months > 100000)
        return vm_throw(vm, "too many months");
    Date d = date_from_days(days);
    return give(result, from_date(date_add_months(&d, months)));
}

/* The parts of a date as a map. */
static bool date_parts(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t days, week_year;
    int week;
    if (!arg_date(vm, argv, 0, &days))
        return false;
    Date d = date_from_days(days);
    date_iso_week(days, &week_year, &week);
    Map *map = map_new(&vm->heap);
    map_set_cstr(&vm->heap, map, "year", value_int(d.year));
    map_set_cstr(&vm->heap, map, "month", value_int(d.month));
    map_set_cstr(&vm->heap, map, "day", value_int(d.day));
    map_set_cstr(&vm->heap, map, "weekday", value_int(date_weekday(days)));
    map_set_cstr(&vm->heap, map, "week", value_int(week));
    return give(result, value_object(map));
}

void lib_date(Vm *vm)
{
    static const NativeDef functions[] = {
        {"days", date_days, 1, 3},          {"text", date_text, 1, 2},
        {"weekday", date_weekday_of, 1, 1}, {"is_leap", date_leap, 1, 1},
        {"easter", date_easter_of, 1, 1},   {"add_months", date_plus_months, 2, 2},
        {"parts", date_parts, 1, 1},        {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "date", functions);
}
