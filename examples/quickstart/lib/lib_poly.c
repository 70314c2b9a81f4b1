/* The module `poly`: polynomials modulo a prime as lists of coefficients, lowest first. */
#include "../src/native.h"

#include "../rt/mem.h"
#include "../rt/poly.h"

static uint32_t residue(int64_t i)
{
    int64_t m = i % POLY_PRIME;
    return (uint32_t)(m < 0 ? m + POLY_PRIME : m);
}

/* The numbers of a list as an array, to be freed; NULL after throwing. */
static uint32_t *coefficients(Vm *vm, const Value *argv, int i, size_t *count)
{
    List *list;
    if (!arg_list(vm, argv, i, &list))
        return NULL;
    uint32_t *a = rt_alloc_array(list->len, sizeof *a);
    for (size_t k = 0; k < list->len; k++) {
        if (list->items[k].tag != VAL_INT) {
            rt_free(a);
            vm_throw(vm, "coefficients must be int");
            return NULL;
        }
        a[k] = residue(list->items[k].as.integer);
    }
    *count = list->len;
    return a;
}

static Value to_list(Vm *vm, const uint32_t *a, size_t count)
{
    List *list = list_new(&vm->heap, count);
    for (size_t i = 0; i < count; i++)
        list_push(&vm->heap, list, value_int(a[i]));
    return value_object(list);
}

static bool poly_product(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t an = 0, bn = 0;
    uint32_t *a = coefficients(vm, argv, 0, &an);
    uint32_t *b = a ? coefficients(vm, argv, 1, &bn) : NULL;
    bool ok = b && ((an > 0 && bn > 0) || vm_throw(vm, "empty polynomial"));
    if (ok) {
        uint32_t *r = rt_alloc_array(an + bn - 1, sizeof *r);
        poly_mul(r, a, an, b, bn);
        *result = to_list(vm, r, an + bn - 1);
        rt_free(r);
    }
    rt_free(a);
    rt_free(b);
    return ok;
}

static bool poly_value(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t n = 0;
    int64_t x;
    if (!arg_int(vm, argv, 1, &x))
        return false;
    uint32_t *a = coefficients(vm, argv, 0, &n);
    if (!a)
        return false;
    *result = value_int(poly_eval(a, n, residue(x)));
    rt_free(a);
    return true;
}

static bool distinct(const uint32_t *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (a[i] == a[j])
                return false;
    return true;
}

static bool poly_through(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t n = 0, m = 0;
    uint32_t *xs = coefficients(vm, argv, 0, &n);
    uint32_t *ys = xs ? coefficients(vm, argv, 1, &m) : NULL;
    bool ok = ys && ((n == m && distinct(xs, n)) || vm_throw(vm, "bad points"));
    if (ok) {
        uint32_t *r = rt_alloc_array(n, sizeof *r);
        poly_interpolate(r, xs, ys, n);
        *result = to_list(vm, r, n);
        rt_free(r);
    }
    rt_free(xs);
    rt_free(ys);
    return ok;
}

static bool poly_inverse_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t x;
    if (!arg_int(vm, argv, 0, &x))
        return false;
    if (residue(x) == 0)
        return vm_throw(vm, "division by zero");
    return give(result, value_int(poly_inverse(residue(x))));
}

void lib_poly(Vm *vm)
{
    static const NativeDef functions[] = {
        {"mul", poly_product, 2, 2},
        {"eval", poly_value, 2, 2},
        {"interpolate", poly_through, 2, 2},
        {"inverse", poly_inverse_of, 1, 1},
        {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "poly", functions);
}
