/* The module `math`. */
#include "../src/arith.h"
#include "../src/native.h"

#include "../rt/bitset.h"

#include <math.h>

static bool unary(Vm *vm, const Value *argv, Value *result, double (*f)(double))
{
    double x;
    return arg_float(vm, argv, 0, &x) && give(result, value_float(f(x)));
}

static bool math_sqrt(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return unary(vm, argv, result, sqrt);
}

static bool math_sin(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return unary(vm, argv, result, sin);
}

static bool math_cos(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return unary(vm, argv, result, cos);
}

static bool math_exp(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return unary(vm, argv, result, exp);
}

static bool math_log(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return unary(vm, argv, result, log);
}

/* To an int, by a rounding function. */
static bool rounded(Vm *vm, const Value *argv, Value *result, double (*f)(double))
{
    double x;
    if (value_type(argv[0]) == TYPE_INT)
        return give(result, argv[0]);
    if (!arg_float(vm, argv, 0, &x))
        return false;
    x = f(x);
    if (!(fabs(x) < 9.2e18))
        return vm_throw(vm, "number too large");
    return give(result, value_int((int64_t)x));
}

static bool math_floor(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return rounded(vm, argv, result, floor);
}

static bool math_ceil(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return rounded(vm, argv, result, ceil);
}

static bool math_round(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return rounded(vm, argv, result, round);
}

static bool math_abs(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int order;
    if (!value_compare(argv[0], value_int(0), &order))
        return vm_throw(vm, "abs of %s", value_type_name(argv[0]));
    return order < 0 ? arith_neg(vm, argv[0], result) : give(result, argv[0]);
}

/* The least (sign < 0) or greatest of the arguments. */
static bool extreme(Vm *vm, int argc, const Value *argv, int sign, Value *result)
{
    *result = argv[0];
    for (int i = 1; i < argc; i++) {
        int order;
        if (!value_compare(argv[i], *result, &order))
            return vm_throw(vm, "values that cannot be compared");
        if (order * sign > 0)
            *result = argv[i];
    }
    return true;
}

static bool math_min(Vm *vm, int argc, Value *argv, Value *result)
{
    return extreme(vm, argc, argv, -1, result);
}

static bool math_max(Vm *vm, int argc, Value *argv, Value *result)
{
    return extreme(vm, argc, argv, 1, result);
}

static bool math_clamp(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Value low[] = {argv[0], argv[1]};
    if (!extreme(vm, 2, low, 1, &low[0]))
        return false;
    low[1] = argv[2];
    return extreme(vm, 2, low, -1, result);
}

static bool math_popcount(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t i, count = 0;
    if (!arg_int(vm, argv, 0, &i))
        return false;
    for (uint64_t x = (uint64_t)i; x != 0; x &= x - 1)
        count++;
    return give(result, value_int(count));
}

static bool math_is_prime(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t n;
    if (!arg_int(vm, argv, 0, &n))
        return false;
    bool prime = n > 1;
    for (int64_t d = 2; prime && d <= n / d; d += d == 2 ? 1 : 2)
        prime = n % d != 0;
    return give(result, value_bool(prime));
}

static bool math_factor(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t n;
    if (!arg_int(vm, argv, 0, &n))
        return false;
    if (n < 1)
        return vm_throw(vm, "factor of a number below 1");
    List *list = list_new(&vm->heap, 0);
    for (int64_t d = 2; d <= n / d; d += d == 2 ? 1 : 2)
        for (; n % d == 0; n /= d)
            list_push(&vm->heap, list, value_int(d));
    if (n > 1)
        list_push(&vm->heap, list, value_int(n));
    return give(result, value_object(list));
}

/* The primes below a bound. */
static bool math_primes(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t bound;
    Bitset sieve;
    if (!arg_size(vm, argv, 0, 1 << 24, &bound))
        return false;
    bitset_init(&sieve, bound);
    bitset_sieve(&sieve);
    List *list = list_new(&vm->heap, bitset_count(&sieve));
    for (size_t p = bitset_next(&sieve, 0); p < bound; p = bitset_next(&sieve, p + 1))
        list_push(&vm->heap, list, value_int((int64_t)p));
    bitset_free(&sieve);
    return give(result, value_object(list));
}

static bool get_number(Vm *vm, const List *list, size_t i, double *x)
{
    return arith_to_double(list->items[i], x) ||
           vm_throw(vm, "expected a list of numbers");
}

static bool mean_of(Vm *vm, const List *list, double *mean)
{
    double sum = 0, x = 0;
    if (list->len == 0)
        return vm_throw(vm, "empty list");
    for (size_t i = 0; i < list->len; i++) {
        if (!get_number(vm, list, i, &x))
            return false;
        sum += x;
    }
    *mean = sum / (double)list->len;
    return true;
}

static bool math_mean(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list;
    double mean = 0;
    return arg_list(vm, argv, 0, &list) && mean_of(vm, list, &mean) &&
           give(result, value_float(mean));
}

/* The sample standard deviation. */
static bool math_stdev(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list;
    double mean = 0, squares = 0, x = 0;
    if (!arg_list(vm, argv, 0, &list) || !mean_of(vm, list, &mean))
        return false;
    for (size_t i = 0; i < list->len; i++) {
        if (!get_number(vm, list, i, &x))
            return false;
        squares += (x - mean) * (x - mean);
    }
    double n = (double)list->len;
    return give(result, value_float(n > 1 ? sqrt(squares / (n - 1)) : 0));
}

static bool math_median(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list;
    Value sum;
    if (!arg_list(vm, argv, 0, &list))
        return false;
    if (list->len == 0)
        return vm_throw(vm, "empty list");
    List *sorted = list_slice(&vm->heap, list, 0, list->len);
    if (!sort_list(vm, sorted, value_nil()))
        return false;
    Value low = sorted->items[(sorted->len - 1) / 2], high = sorted->items[sorted->len / 2];
    if (sorted->len % 2 == 1)
        return give(result, low);
    return arith_add(vm, low, high, &sum) && arith_div(vm, sum, value_int(2), result);
}

void lib_math(Vm *vm)
{
    static const NativeDef functions[] = {
        {"sqrt", math_sqrt, 1, 1},         {"sin", math_sin, 1, 1},
        {"cos", math_cos, 1, 1},           {"exp", math_exp, 1, 1},
        {"log", math_log, 1, 1},           {"floor", math_floor, 1, 1},
        {"ceil", math_ceil, 1, 1},         {"round", math_round, 1, 1},
        {"abs", math_abs, 1, 1},           {"min", math_min, 1, -1},
        {"max", math_max, 1, -1},          {"clamp", math_clamp, 3, 3},
        {"popcount", math_popcount, 1, 1}, {"is_prime", math_is_prime, 1, 1},
        {"factor", math_factor, 1, 1},     {"primes", math_primes, 1, 1},
        {"mean", math_mean, 1, 1},         {"stdev", math_stdev, 1, 1},
        {"median", math_median, 1, 1},     {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "math", functions);
}
