/* The module `random`: generators, seeded by the program, and their methods. */
#include "../src/native.h"

static Prng *self(const Value *argv)
{
    return &AS_RNG(argv[0])->rng;
}

static bool random_new(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t seed;
    return arg_int(vm, argv, 0, &seed) &&
           give(result, value_object(rng_new(&vm->heap, (uint64_t)seed)));
}

/* Uniform between the two bounds, both included. */
static bool rng_int(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t lo, hi;
    if (!arg_int(vm, argv, 1, &lo) || !arg_int(vm, argv, 2, &hi))
        return false;
    if (lo > hi)
        return vm_throw(vm, "empty range of random numbers");
    return give(result, value_int(prng_between(self(argv), lo, hi)));
}

static bool rng_float(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_float(prng_unit(self(argv))));
}

static bool rng_normal(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_float(prng_normal(self(argv))));
}

static bool rng_chance(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    double p;
    return arg_float(vm, argv, 1, &p) && give(result, value_bool(prng_unit(self(argv)) < p));
}

static bool rng_choice(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list;
    if (!arg_list(vm, argv, 1, &list))
        return false;
    if (list->len == 0)
        return vm_throw(vm, "choice from an empty list");
    return give(result, list->items[prng_below(self(argv), list->len)]);
}

/* Fisher-Yates, for the first `count` places. */
static void shuffle(Prng *rng, List *list, size_t count)
{
    for (size_t i = 0; i < count && i + 1 < list->len; i++) {
        size_t j = i + (size_t)prng_below(rng, list->len - i);
        Value v = list->items[i];
        list->items[i] = list->items[j];
        list->items[j] = v;
    }
}

static bool rng_shuffle(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list;
    if (!arg_list(vm, argv, 1, &list))
        return false;
    shuffle(self(argv), list, list->len);
    return give(result, argv[1]);
}

static bool rng_sample(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list;
    size_t count;
    if (!arg_list(vm, argv, 1, &list) || !arg_size(vm, argv, 2, list->len, &count))
        return false;
    List *copy = list_slice(&vm->heap, list, 0, list->len);
    shuffle(self(argv), copy, count);
    copy->len = count;
    return give(result, value_object(copy));
}

/* A pronounceable word of the given number of syllables. */
static bool rng_word(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    static const char consonants[] = "bcdfghjklmnprstvwz", vowels[] = "aeiou";
    size_t syllables;
    Buf out;
    if (!arg_size(vm, argv, 1, 100, &syllables))
        return false;
    buf_init(&out);
    for (; syllables > 0; syllables--) {
        buf_putc(&out, consonants[prng_below(self(argv), sizeof consonants - 1)]);
        buf_putc(&out, vowels[prng_below(self(argv), sizeof vowels - 1)]);
        if (prng_below(self(argv), 3) == 0)
            buf_putc(&out, consonants[prng_below(self(argv), sizeof consonants - 1)]);
    }
    return give_buf(vm, result, &out);
}

void lib_random(Vm *vm)
{
    static const NativeDef functions[] = {
        {"new", random_new, 1, 1},
        {NULL, NULL, 0, 0},
    };
    static const NativeDef methods[] = {
        {"int", rng_int, 3, 3},         {"float", rng_float, 1, 1},
        {"normal", rng_normal, 1, 1},   {"chance", rng_chance, 2, 2},
        {"choice", rng_choice, 2, 2},   {"shuffle", rng_shuffle, 2, 2},
        {"sample", rng_sample, 3, 3},   {"word", rng_word, 2, 2},
        {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "random", functions);
    vm_define_methods(vm, TYPE_RNG, methods);
}
