/* The module `big`: number theory on integers of any size. */
#include "../src/arith.h"
#include "../src/native.h"

/* Fetches two integers; both must be freed if this succeeds. */
static bool two(Vm *vm, const Value *argv, Big *a, Big *b)
{
    if (!arg_big(vm, argv, 0, a))
        return false;
    if (arg_big(vm, argv, 1, b))
        return true;
    big_free(a);
    return false;
}

static bool big_gcd_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Big a, b;
    if (!two(vm, argv, &a, &b))
        return false;
    big_gcd(&a, &a, &b);
    big_free(&b);
    return give(result, arith_from_big(vm, &a));
}

static bool big_lcm_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Big a, b, g;
    if (!two(vm, argv, &a, &b))
        return false;
    big_init(&g);
    big_gcd(&g, &a, &b);
    big_mul(&a, &a, &b);
    big_divmod(&a, &b, &a, &g); /* leaves a == 0 as it is if both were 0 */
    a.negative = false;
    big_free(&b);
    big_free(&g);
    return give(result, arith_from_big(vm, &a));
}

static bool big_divmod_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Big a, b;
    if (!two(vm, argv, &a, &b))
        return false;
    if (!big_divmod(&a, &b, &a, &b)) {
        big_free(&a);
        big_free(&b);
        return vm_throw(vm, "division by zero");
    }
    Value pair[] = {arith_from_big(vm, &a), arith_from_big(vm, &b)};
    return give(result, value_object(list_from(&vm->heap, pair, 2)));
}

static bool big_powmod_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Big a, e, m;
    if (!two(vm, argv, &a, &e))
        return false;
    bool ok = arg_big(vm, argv, 2, &m);
    if (ok) {
        ok = big_powmod(&a, &a, &e, &m) || vm_throw(vm, "bad exponent or modulus");
        big_free(&m);
    }
    big_free(&e);
    if (ok)
        return give(result, arith_from_big(vm, &a));
    big_free(&a);
    return false;
}

static bool big_isqrt_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Big a;
    if (!arg_big(vm, argv, 0, &a))
        return false;
    bool ok = big_isqrt(&a, &a);
    *result = arith_from_big(vm, &a);
    return ok || vm_throw(vm, "square root of a negative number");
}

static bool big_bits_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Big a;
    if (!arg_big(vm, argv, 0, &a))
        return false;
    *result = value_int((int64_t)big_bits(&a));
    big_free(&a);
    return true;
}

/* The product lo * (lo + 1) * ... * hi, by halves to keep the factors balanced. */
static void product(Big *r, int64_t lo, int64_t hi)
{
    if (lo >= hi) {
        big_from_int(r, lo > hi ? 1 : lo);
        return;
    }
    Big right;
    big_init(&right);
    int64_t mid = lo + (hi - lo) / 2;
    product(r, lo, mid);
    product(&right, mid + 1, hi);
    big_mul(r, r, &right);
    big_free(&right);
}

static bool big_factorial(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t n;
    Big r;
    if (!arg_size(vm, argv, 0, 20000, &n))
        return false;
    big_init(&r);
    product(&r, 1, (int64_t)n);
    return give(result, arith_from_big(vm, &r));
}

static bool big_binomial(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t n, k;
    Big top, bottom;
    if (!arg_size(vm, argv, 0, 20000, &n) || !arg_size(vm, argv, 1, n, &k))
        return false;
    if (k > n - k)
        k = n - k;
    big_init(&top);
    big_init(&bottom);
    product(&top, (int64_t)(n - k) + 1, (int64_t)n);
    product(&bottom, 1, (int64_t)k);
    big_divmod(&top, &bottom, &top, &bottom);
    big_free(&bottom);
    return give(result, arith_from_big(vm, &top));
}

/* F(2k) = F(k) (2 F(k+1) - F(k)), F(2k+1) = F(k)^2 + F(k+1)^2, bit by bit. */
static bool big_fibonacci(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t n;
    Big a, b, even, odd;
    if (!arg_size(vm, argv, 0, 200000, &n))
        return false;
    big_init(&a);
    big_init(&b);
    big_init(&even);
    big_init(&odd);
    big_from_int(&b, 1);
    for (size_t bit = (size_t)1 << 20; bit != 0; bit >>= 1) {
        big_add(&even, &b, &b);
        big_sub(&even, &even, &a);
        big_mul(&even, &even, &a);
        big_mul(&odd, &a, &a);
        big_mul(&b, &b, &b);
        big_add(&odd, &odd, &b);
        if (n & bit) {
            big_add(&b, &even, &odd);
            big_copy(&a, &odd);
        } else {
            big_copy(&a, &even);
            big_copy(&b, &odd);
        }
    }
    big_free(&b);
    big_free(&even);
    big_free(&odd);
    return give(result, arith_from_big(vm, &a));
}

static bool is_one(const Big *a)
{
    return a->len == 1 && a->limb[0] == 1 && !a->negative;
}

/* One round of the Miller-Rabin test of odd n, where n - 1 = d * 2^twos. */
static bool passes(const Big *n, const Big *minus_one, const Big *d, size_t twos, int64_t base)
{
    Big x, q;
    big_init(&x);
    big_init(&q);
    big_from_int(&x, base);
    big_powmod(&x, &x, d, n);
    bool ok = is_one(&x) || big_cmp(&x, minus_one) == 0;
    for (size_t i = 1; i < twos && !ok; i++) {
        big_mul(&x, &x, &x);
        big_divmod(&q, &x, &x, n);
        ok = big_cmp(&x, minus_one) == 0;
    }
    big_free(&x);
    big_free(&q);
    return ok;
}

/* Tests an odd n > 41 with thirteen bases, enough for numbers below 3e24. */
static bool miller_rabin(const Big *n)
{
    static const int64_t bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41};
    Big minus_one, d, two, rem;
    big_init(&minus_one);
    big_init(&d);
    big_init(&two);
    big_init(&rem);
    big_from_int(&two, 1);
    big_sub(&minus_one, n, &two);
    big_from_int(&two, 2);
    big_copy(&d, &minus_one);
    size_t twos = 0;
    for (; !big_is_odd(&d); twos++)
        big_divmod(&d, &rem, &d, &two);
    bool prime = true;
    for (size_t i = 0; prime && i < sizeof bases / sizeof *bases; i++)
        prime = passes(n, &minus_one, &d, twos, bases[i]);
    big_free(&minus_one);
    big_free(&d);
    big_free(&two);
    big_free(&rem);
    return prime;
}

static bool small_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return n > 1;
}

static bool big_is_prime(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Big n;
    int64_t small;
    if (!arg_big(vm, argv, 0, &n))
        return false;
    if (n.negative || (big_to_int(&n, &small) && small < 2000))
        *result = value_bool(!n.negative && small_prime(small));
    else
        *result = value_bool(big_is_odd(&n) && miller_rabin(&n));
    big_free(&n);
    return true;
}

void lib_big(Vm *vm)
{
    static const NativeDef functions[] = {
        {"gcd", big_gcd_of, 2, 2},         {"lcm", big_lcm_of, 2, 2},
        {"divmod", big_divmod_of, 2, 2},   {"powmod", big_powmod_of, 3, 3},
        {"isqrt", big_isqrt_of, 1, 1},     {"bits", big_bits_of, 1, 1},
        {"factorial", big_factorial, 1, 1}, {"binomial", big_binomial, 2, 2},
        {"fibonacci", big_fibonacci, 1, 1}, {"is_prime", big_is_prime, 1, 1},
        {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "big", functions);
}
