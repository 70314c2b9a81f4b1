#include "arith.h"

#include <math.h>

enum { MAX_BIG_BITS = 1 << 20 };

typedef enum { ADD, SUB, MUL, IDIV, MOD } Operation;

static const char *const SYMBOLS[] = {"+", "-", "*", "//", "%"};

Value arith_from_big(Vm *vm, Big *b)
{
    int64_t small;
    if (!big_to_int(b, &small))
        return value_object(big_new(&vm->heap, b));
    big_free(b);
    return value_int(small);
}

bool arith_to_big(Value v, Big *b)
{
    big_init(b);
    if (v.tag == VAL_INT)
        big_from_int(b, v.as.integer);
    else if (value_is(v, OBJ_BIG))
        big_copy(b, &AS_BIG(v)->big);
    else
        return false;
    return true;
}

bool arith_to_double(Value v, double *d)
{
    if (v.tag == VAL_FLOAT)
        *d = v.as.number;
    else if (v.tag == VAL_INT)
        *d = (double)v.as.integer;
    else if (value_is(v, OBJ_BIG))
        *d = big_to_double(&AS_BIG(v)->big);
    else
        return false;
    return true;
}

static bool bad_operands(Vm *vm, const char *symbol, Value a, Value b)
{
    return vm_throw(vm, "cannot apply %s to %s and %s", symbol, value_type_name(a),
                    value_type_name(b));
}

static bool float_operation(Vm *vm, Operation op, double x, double y, Value *r)
{
    switch (op) {
    case ADD:
        *r = value_float(x + y);
        return true;
    case SUB:
        *r = value_float(x - y);
        return true;
    case MUL:
        *r = value_float(x * y);
        return true;
    default:
        if (y == 0)
            return vm_throw(vm, "division by zero");
        *r = value_float(op == IDIV ? floor(x / y) : x - y * floor(x / y));
        return true;
    }
}

static bool big_operation(Vm *vm, Operation op, Value a, Value b, Value *r)
{
    Big x, y, other;
    bool ok = true;
    arith_to_big(a, &x);
    arith_to_big(b, &y);
    big_init(&other);
    switch (op) {
    case ADD:
        big_add(&x, &x, &y);
        break;
    case SUB:
        big_sub(&x, &x, &y);
        break;
    case MUL:
        big_mul(&x, &x, &y);
        break;
    case IDIV:
        ok = big_divmod(&x, &other, &x, &y);
        break;
    case MOD:
        ok = big_divmod(&other, &x, &x, &y);
        break;
    }
    *r = arith_from_big(vm, &x);
    big_free(&y);
    big_free(&other);
    return ok || vm_throw(vm, "division by zero");
}

static bool is_integer(Value v)
{
    return v.tag == VAL_INT || value_is(v, OBJ_BIG);
}

/* The operations common to all numbers. */
static bool number_operation(Vm *vm, Operation op, Value a, Value b, Value *r)
{
    double x, y;
    if (is_integer(a) && is_integer(b))
        return big_operation(vm, op, a, b, r);
    if (!arith_to_double(a, &x) || !arith_to_double(b, &y))
        return bad_operands(vm, SYMBOLS[op], a, b);
    return float_operation(vm, op, x, y, r);
}

bool arith_add(Vm *vm, Value a, Value b, Value *r)
{
    int64_t sum;
    if (a.tag == VAL_INT && b.tag == VAL_INT &&
        !__builtin_add_overflow(a.as.integer, b.as.integer, &sum)) {
        *r = value_int(sum);
        return true;
    }
    if (a.tag == VAL_FLOAT && b.tag == VAL_FLOAT) {
        *r = value_float(a.as.number + b.as.number);
        return true;
    }
    return number_operation(vm, ADD, a, b, r);
}

bool arith_sub(Vm *vm, Value a, Value b, Value *r)
{
    int64_t difference;
    if (a.tag == VAL_INT && b.tag == VAL_INT &&
        !__builtin_sub_overflow(a.as.integer, b.as.integer, &difference)) {
        *r = value_int(difference);
        return true;
    }
    if (a.tag == VAL_FLOAT && b.tag == VAL_FLOAT) {
        *r = value_float(a.as.number - b.as.number);
        return true;
    }
    return number_operation(vm, SUB, a, b, r);
}

bool arith_mul(Vm *vm, Value a, Value b, Value *r)
{
    int64_t product;
    if (a.tag == VAL_INT && b.tag == VAL_INT &&
        !__builtin_mul_overflow(a.as.integer, b.as.integer, &product)) {
        *r = value_int(product);
        return true;
    }
    if (a.tag == VAL_FLOAT && b.tag == VAL_FLOAT) {
        *r = value_float(a.as.number * b.as.number);
        return true;
    }
    return number_operation(vm, MUL, a, b, r);
}

bool arith_div(Vm *vm, Value a, Value b, Value *r)
{
    double x, y;
    if (!arith_to_double(a, &x) || !arith_to_double(b, &y))
        return bad_operands(vm, "/", a, b);
    if (y == 0)
        return vm_throw(vm, "division by zero");
    *r = value_float(x / y);
    return true;
}

/* Whether both are machine integers whose quotient is one too. */
static bool small_division(Value a, Value b)
{
    return a.tag == VAL_INT && b.tag == VAL_INT && b.as.integer != 0 &&
           !(a.as.integer == INT64_MIN && b.as.integer == -1);
}

bool arith_idiv(Vm *vm, Value a, Value b, Value *r)
{
    if (!small_division(a, b))
        return number_operation(vm, IDIV, a, b, r);
    int64_t x = a.as.integer, y = b.as.integer;
    *r = value_int(x / y - (x % y != 0 && (x < 0) != (y < 0)));
    return true;
}

bool arith_mod(Vm *vm, Value a, Value b, Value *r)
{
    if (!small_division(a, b))
        return number_operation(vm, MOD, a, b, r);
    int64_t y = b.as.integer, m = a.as.integer % y;
    *r = value_int(m != 0 && (m < 0) != (y < 0) ? m + y : m);
    return true;
}

static bool integer_power(Vm *vm, Value a, int64_t exponent, Value *r)
{
    Big base;
    arith_to_big(a, &base);
    if (big_bits(&base) > 1 && (uint64_t)exponent > MAX_BIG_BITS / big_bits(&base)) {
        big_free(&base);
        return vm_throw(vm, "number too large");
    }
    big_pow(&base, &base, (uint64_t)exponent);
    *r = arith_from_big(vm, &base);
    return true;
}

bool arith_pow(Vm *vm, Value a, Value b, Value *r)
{
    double x, y;
    if (is_integer(a) && b.tag == VAL_INT && b.as.integer >= 0)
        return integer_power(vm, a, b.as.integer, r);
    if (!arith_to_double(a, &x) || !arith_to_double(b, &y))
        return bad_operands(vm, "**", a, b);
    *r = value_float(pow(x, y));
    return true;
}

bool arith_neg(Vm *vm, Value a, Value *r)
{
    if (a.tag != VAL_FLOAT)
        return arith_sub(vm, value_int(0), a, r);
    *r = value_float(-a.as.number);
    return true;
}
