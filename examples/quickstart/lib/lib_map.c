/* Methods of maps. */
#include "../src/native.h"

static Map *self(const Value *argv)
{
    return AS_MAP(argv[0]);
}

static bool check_key(Vm *vm, Value key)
{
    return map_key_ok(key) || vm_throw(vm, "%s cannot be a map key", value_type_name(key));
}

static bool map_len(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_int(self(argv)->live));
}

static bool map_keys(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    MapEntry *e;
    List *list = list_new(&vm->heap, self(argv)->live);
    for (uint32_t i = 0; map_next(self(argv), &i, &e); i++)
        list_push(&vm->heap, list, e->key);
    return give(result, value_object(list));
}

static bool map_values(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    MapEntry *e;
    List *list = list_new(&vm->heap, self(argv)->live);
    for (uint32_t i = 0; map_next(self(argv), &i, &e); i++)
        list_push(&vm->heap, list, e->value);
    return give(result, value_object(list));
}

static bool map_items(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    MapEntry *e;
    List *list = list_new(&vm->heap, self(argv)->live);
    for (uint32_t i = 0; map_next(self(argv), &i, &e); i++) {
        Value pair[] = {e->key, e->value};
        list_push(&vm->heap, list, value_object(list_from(&vm->heap, pair, 2)));
    }
    return give(result, value_object(list));
}

static bool map_has(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Value ignored;
    return check_key(vm, argv[1]) &&
           give(result, value_bool(map_get(self(argv), argv[1], &ignored)));
}

static bool map_get_or(Vm *vm, int argc, Value *argv, Value *result)
{
    if (!check_key(vm, argv[1]))
        return false;
    if (!map_get(self(argv), argv[1], result) && argc > 2)
        *result = argv[2];
    return true;
}

static bool map_put(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    if (!check_key(vm, argv[1]))
        return false;
    map_set(&vm->heap, self(argv), argv[1], argv[2]);
    return give(result, argv[0]);
}

static bool map_remove(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    if (!check_key(vm, argv[1]))
        return false;
    map_delete(self(argv), argv[1], result);
    return true;
}

/* Replaces the value of a key, or the default, by a function of it. */
static bool map_update(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Value v = argv[2];
    if (!check_key(vm, argv[1]))
        return false;
    map_get(self(argv), argv[1], &v);
    if (!call1(vm, argv[3], v, result))
        return false;
    map_set(&vm->heap, self(argv), argv[1], *result);
    return true;
}

static bool map_duplicate(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return give(result, value_object(map_copy(&vm->heap, self(argv))));
}

/* A new map with the entries of both; the argument's win. */
static bool map_merge(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Map *other;
    MapEntry *e;
    if (!arg_map(vm, argv, 1, &other))
        return false;
    Map *out = map_copy(&vm->heap, self(argv));
    for (uint32_t i = 0; map_next(other, &i, &e); i++)
        map_set(&vm->heap, out, e->key, e->value);
    return give(result, value_object(out));
}

static bool map_empty(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    map_clear(&vm->heap, self(argv));
    return give(result, argv[0]);
}

static Map *new_result(Vm *vm, Value *result)
{
    Map *out = map_new(&vm->heap);
    *result = value_object(out);
    vm_push(vm, *result);
    return out;
}

static bool map_map(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Map *out = new_result(vm, result);
    MapEntry *e;
    for (uint32_t i = 0; map_next(self(argv), &i, &e); i++) {
        Value key = e->key, v;
        vm_push(vm, key);
        if (!call2(vm, argv[1], key, e->value, &v))
            return false;
        vm_pop(vm);
        map_set(&vm->heap, out, key, v);
    }
    return true;
}

static bool map_filter(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Map *out = new_result(vm, result);
    MapEntry *e;
    for (uint32_t i = 0; map_next(self(argv), &i, &e); i++) {
        Value key = e->key, v = e->value, keep;
        vm_push(vm, key);
        vm_push(vm, v);
        if (!call2(vm, argv[1], key, v, &keep))
            return false;
        vm->sp -= 2;
        if (value_truthy(keep))
            map_set(&vm->heap, out, key, v);
    }
    return true;
}

/* Values become keys and keys values. */
static bool map_invert(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Map *out = new_result(vm, result);
    MapEntry *e;
    for (uint32_t i = 0; map_next(self(argv), &i, &e); i++) {
        if (!check_key(vm, e->value))
            return false;
        map_set(&vm->heap, out, e->value, e->key);
    }
    return true;
}

void lib_map(Vm *vm)
{
    static const NativeDef methods[] = {
        {"len", map_len, 1, 1},         {"keys", map_keys, 1, 1},
        {"values", map_values, 1, 1},   {"items", map_items, 1, 1},
        {"has", map_has, 2, 2},         {"get", map_get_or, 2, 3},
        {"put", map_put, 3, 3},         {"remove", map_remove, 2, 2},
        {"update", map_update, 4, 4},   {"copy", map_duplicate, 1, 1},
        {"merge", map_merge, 2, 2},     {"clear", map_empty, 1, 1},
        {"map", map_map, 2, 2},         {"filter", map_filter, 2, 2},
        {"invert", map_invert, 1, 1},   {NULL, NULL, 0, 0},
    };
    vm_define_methods(vm, TYPE_MAP, methods);
}
