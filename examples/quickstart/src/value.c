#include "value.h"

#include "object.h"
#include "str.h"

#include "../rt/hash.h"

#include <math.h>

/* Lists nested deeper, perhaps in themselves, are different and have no order. */
enum { MAX_NESTING = 500 };

Type value_type(Value v)
{
    static const Type object_types[] = {
        [OBJ_STR] = TYPE_STR,           [OBJ_LIST] = TYPE_LIST,
        [OBJ_MAP] = TYPE_MAP,           [OBJ_RANGE] = TYPE_RANGE,
        [OBJ_BIG] = TYPE_INT,           [OBJ_MATRIX] = TYPE_MATRIX,
        [OBJ_REGEX] = TYPE_REGEX,       [OBJ_RNG] = TYPE_RNG,
        [OBJ_PROTO] = TYPE_FUNCTION,    [OBJ_CLOSURE] = TYPE_FUNCTION,
        [OBJ_CELL] = TYPE_NIL,          [OBJ_NATIVE] = TYPE_FUNCTION,
    };
    switch (v.tag) {
    case VAL_BOOL:
        return TYPE_BOOL;
    case VAL_INT:
        return TYPE_INT;
    case VAL_FLOAT:
        return TYPE_FLOAT;
    case VAL_OBJECT:
        return object_types[v.as.object->kind];
    default:
        return TYPE_NIL;
    }
}

const char *type_name(Type type)
{
    static const char *const names[TYPE_COUNT] = {
        "nil", "bool", "int", "float", "str", "list",
        "map", "range", "matrix", "regex", "rng", "function",
    };
    return names[type];
}

const char *value_type_name(Value v)
{
    return type_name(value_type(v));
}

static bool equal_at(Value a, Value b, int depth);

static bool lists_equal(const List *a, const List *b, int depth)
{
    if (a->len != b->len || depth > MAX_NESTING)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (!equal_at(a->items[i], b->items[i], depth))
            return false;
    return true;
}

static bool matrices_equal(const Matrix *a, const Matrix *b)
{
    if (a->rows != b->rows || a->cols != b->cols)
        return false;
    for (size_t i = 0; i < a->rows * a->cols; i++)
        if (a->cell[i] != b->cell[i])
            return false;
    return true;
}

static bool ranges_equal(const Range *a, const Range *b)
{
    return a->from == b->from && a->to == b->to && a->step == b->step;
}

/* Maps, functions and the like are equal only to themselves. */
static bool objects_equal(Value a, Value b, int depth)
{
    if (a.as.object == b.as.object)
        return true;
    if (a.as.object->kind != b.as.object->kind)
        return false;
    switch ((ObjKind)a.as.object->kind) {
    case OBJ_STR:
        return str_equal(AS_STR(a), AS_STR(b));
    case OBJ_LIST:
        return lists_equal(AS_LIST(a), AS_LIST(b), depth + 1);
    case OBJ_BIG:
        return big_cmp(&AS_BIG(a)->big, &AS_BIG(b)->big) == 0;
    case OBJ_MATRIX:
        return matrices_equal(&AS_MATRIX(a)->m, &AS_MATRIX(b)->m);
    case OBJ_RANGE:
        return ranges_equal(AS_RANGE(a), AS_RANGE(b));
    default:
        return false;
    }
}

static bool is_number(Value v)
{
    return v.tag == VAL_INT || v.tag == VAL_FLOAT || value_is(v, OBJ_BIG);
}

static double to_double(Value v)
{
    switch (v.tag) {
    case VAL_INT:
        return (double)v.as.integer;
    case VAL_FLOAT:
        return v.as.number;
    default:
        return big_to_double(&AS_BIG(v)->big);
    }
}

static bool equal_at(Value a, Value b, int depth)
{
    if (a.tag != b.tag)
        return (a.tag == VAL_FLOAT || b.tag == VAL_FLOAT) && is_number(a) && is_number(b) &&
               to_double(a) == to_double(b);
    switch (a.tag) {
    case VAL_BOOL:
        return a.as.boolean == b.as.boolean;
    case VAL_INT:
        return a.as.integer == b.as.integer;
    case VAL_FLOAT:
        return a.as.number == b.as.number;
    case VAL_OBJECT:
        return objects_equal(a, b, depth);
    default:
        return true;
    }
}

bool value_equal(Value a, Value b)
{
    return equal_at(a, b, 0);
}

/* Integers that do not fit a machine word are kept as bigs, so the sign decides. */
static int compare_integers(Value a, Value b)
{
    if (a.tag == VAL_INT && b.tag == VAL_INT)
        return a.as.integer < b.as.integer ? -1 : a.as.integer > b.as.integer;
    if (a.tag == VAL_INT)
        return AS_BIG(b)->big.negative ? 1 : -1;
    if (b.tag == VAL_INT)
        return AS_BIG(a)->big.negative ? -1 : 1;
    return big_cmp(&AS_BIG(a)->big, &AS_BIG(b)->big);
}

static bool compare_numbers(Value a, Value b, int *order)
{
    if (a.tag != VAL_FLOAT && b.tag != VAL_FLOAT) {
        *order = compare_integers(a, b);
        return true;
    }
    double x = to_double(a), y = to_double(b);
    *order = x < y ? -1 : x > y;
    return !isnan(x) && !isnan(y);
}

static bool compare_at(Value a, Value b, int *order, int depth);

static bool compare_lists(const List *a, const List *b, int *order, int depth)
{
    if (depth > MAX_NESTING)
        return false;
    for (size_t i = 0; i < a->len && i < b->len; i++) {
        if (!compare_at(a->items[i], b->items[i], order, depth))
            return false;
        if (*order != 0)
            return true;
    }
    *order = a->len < b->len ? -1 : a->len > b->len;
    return true;
}

static bool compare_at(Value a, Value b, int *order, int depth)
{
    if (is_number(a) && is_number(b))
        return compare_numbers(a, b, order);
    if (value_is(a, OBJ_STR) && value_is(b, OBJ_STR)) {
        *order = str_compare(AS_STR(a), AS_STR(b));
        return true;
    }
    if (value_is(a, OBJ_LIST) && value_is(b, OBJ_LIST))
        return compare_lists(AS_LIST(a), AS_LIST(b), order, depth + 1);
    return false;
}

bool value_compare(Value a, Value b, int *order)
{
    return compare_at(a, b, order, 0);
}

bool value_hash(Value v, uint32_t *hash)
{
    switch (v.tag) {
    case VAL_BOOL:
        *hash = v.as.boolean ? 0x5BD1E995u : 0x1B873593u;
        return true;
    case VAL_INT:
        *hash = (uint32_t)hash_mix64((uint64_t)v.as.integer);
        return true;
    case VAL_OBJECT:
        if (v.as.object->kind != OBJ_STR)
            return false;
        *hash = str_hash(AS_STR(v));
        return true;
    default:
        return false;
    }
}
