/* Methods of lists that build new ones, most of them from a function's results. */
#include "../src/arith.h"
#include "../src/native.h"

/* A new list, also on the stack so that it survives collections during callbacks. */
static List *new_result(Vm *vm, size_t capacity, Value *result)
{
    List *list = list_new(&vm->heap, capacity);
    *result = value_object(list);
    vm_push(vm, *result);
    return list;
}

static bool seq_map(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    List *out = new_result(vm, list->len, result);
    for (size_t i = 0; i < list->len; i++) {
        Value v;
        if (!call1(vm, argv[1], list->items[i], &v))
            return false;
        list_push(&vm->heap, out, v);
    }
    return true;
}

static bool seq_filter(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    List *out = new_result(vm, 0, result);
    for (size_t i = 0; i < list->len; i++) {
        Value item = list->items[i], keep;
        vm_push(vm, item);
        if (!call1(vm, argv[1], item, &keep))
            return false;
        vm_pop(vm);
        if (value_truthy(keep))
            list_push(&vm->heap, out, item);
    }
    return true;
}

static bool seq_reduce(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    Value acc = argv[1];
    for (size_t i = 0; i < list->len; i++)
        if (!call2(vm, argv[2], acc, list->items[i], &acc))
            return false;
    return give(result, acc);
}

static bool seq_each(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    Value ignored;
    for (size_t i = 0; i < list->len; i++)
        if (!call1(vm, argv[1], list->items[i], &ignored))
            return false;
    return give(result, argv[0]);
}

/* Looks for the first item for which the function's truth is as wanted. */
static bool search(Vm *vm, const Value *argv, bool wanted, bool *found, Value *item)
{
    const List *list = AS_LIST(argv[0]);
    *found = false;
    for (size_t i = 0; i < list->len && !*found; i++) {
        Value v;
        *item = list->items[i];
        vm_push(vm, *item);
        if (!call1(vm, argv[1], *item, &v))
            return false;
        vm_pop(vm);
        *found = value_truthy(v) == wanted;
    }
    return true;
}

static bool seq_any(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    bool found;
    Value item;
    return search(vm, argv, true, &found, &item) && give(result, value_bool(found));
}

static bool seq_all(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    bool found;
    Value item;
    return search(vm, argv, false, &found, &item) && give(result, value_bool(!found));
}

static bool seq_find(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    bool found;
    Value item;
    return search(vm, argv, true, &found, &item) && give(result, found ? item : value_nil());
}

static bool seq_group_by(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    Map *groups = map_new(&vm->heap);
    *result = value_object(groups);
    vm_push(vm, *result);
    for (size_t i = 0; i < list->len; i++) {
        Value item = list->items[i], key, group;
        vm_push(vm, item);
        if (!call1(vm, argv[1], item, &key))
            return false;
        vm_pop(vm);
        if (!map_key_ok(key))
            return vm_throw(vm, "%s cannot be a map key", value_type_name(key));
        if (!map_get(groups, key, &group)) {
            group = value_object(list_new(&vm->heap, 0));
            map_set(&vm->heap, groups, key, group);
        }
        list_push(&vm->heap, AS_LIST(group), item);
    }
    return true;
}

static bool seq_zip(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *a = AS_LIST(argv[0]), *b;
    if (!arg_list(vm, argv, 1, &b))
        return false;
    size_t n = a->len < b->len ? a->len : b->len;
    List *out = new_result(vm, n, result);
    for (size_t i = 0; i < n; i++) {
        Value pair[] = {a->items[i], b->items[i]};
        list_push(&vm->heap, out, value_object(list_from(&vm->heap, pair, 2)));
    }
    return true;
}

static bool seq_flatten(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    List *out = new_result(vm, list->len, result);
    for (size_t i = 0; i < list->len; i++) {
        if (value_is(list->items[i], OBJ_LIST))
            list_extend(&vm->heap, out, AS_LIST(list->items[i]));
        else
            list_push(&vm->heap, out, list->items[i]);
    }
    return true;
}

/* Without repetitions, in the order of first occurrence; the items must be map keys. */
static bool seq_unique(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    List *out = new_result(vm, 0, result);
    Map *seen = map_new(&vm->heap);
    for (size_t i = 0; i < list->len; i++) {
        Value v = list->items[i], ignored;
        if (!map_key_ok(v))
            return vm_throw(vm, "%s cannot be a map key", value_type_name(v));
        if (map_get(seen, v, &ignored))
            continue;
        map_set(&vm->heap, seen, v, value_nil());
        list_push(&vm->heap, out, v);
    }
    return true;
}

static bool seq_tally(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    Map *counts = map_new(&vm->heap);
    for (size_t i = 0; i < list->len; i++) {
        Value v = list->items[i], n = value_int(0);
        if (!map_key_ok(v))
            return vm_throw(vm, "%s cannot be a map key", value_type_name(v));
        map_get(counts, v, &n);
        map_set(&vm->heap, counts, v, value_int(n.as.integer + 1));
    }
    return give(result, value_object(counts));
}

static bool seq_chunks(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    size_t size;
    if (!arg_size(vm, argv, 1, SIZE_MAX / 2, &size))
        return false;
    if (size == 0)
        return vm_throw(vm, "chunks of no elements");
    List *out = new_result(vm, list->len / size + 1, result);
    for (size_t i = 0; i < list->len; i += size) {
        size_t end = list->len - i < size ? list->len : i + size;
        list_push(&vm->heap, out, value_object(list_slice(&vm->heap, list, i, end)));
    }
    return true;
}

static bool seq_sum(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = AS_LIST(argv[0]);
    Value sum = value_int(0);
    for (size_t i = 0; i < list->len; i++)
        if (!arith_add(vm, sum, list->items[i], &sum))
            return false;
    return give(result, sum);
}

static bool extreme(Vm *vm, const List *list, int sign, Value *result)
{
    for (size_t i = 0; i < list->len; i++) {
        int order = sign;
        if (i > 0 && !value_compare(list->items[i], *result, &order))
            return vm_throw(vm, "values that cannot be compared");
        if (order * sign > 0)
            *result = list->items[i];
    }
    return true;
}

static bool seq_min(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return extreme(vm, AS_LIST(argv[0]), -1, result);
}

static bool seq_max(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return extreme(vm, AS_LIST(argv[0]), 1, result);
}

/* The integers of a range as a list. */
static bool range_list(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Range *r = AS_RANGE(argv[0]);
    int64_t n = range_length(r);
    if (n > 1 << 24)
        return vm_throw(vm, "range too large");
    List *out = new_result(vm, (size_t)n, result);
    for (int64_t i = 0; i < n; i++)
        list_push(&vm->heap, out, value_int(range_at(r, i)));
    return true;
}

void lib_seq(Vm *vm)
{
    static const NativeDef methods[] = {
        {"map", seq_map, 2, 2},         {"filter", seq_filter, 2, 2},
        {"reduce", seq_reduce, 3, 3},   {"each", seq_each, 2, 2},
        {"any", seq_any, 2, 2},         {"all", seq_all, 2, 2},
        {"find", seq_find, 2, 2},       {"group_by", seq_group_by, 2, 2},
        {"zip", seq_zip, 2, 2},         {"flatten", seq_flatten, 1, 1},
        {"unique", seq_unique, 1, 1},   {"tally", seq_tally, 1, 1},
        {"chunks", seq_chunks, 2, 2},   {"sum", seq_sum, 1, 1},
        {"min", seq_min, 1, 1},         {"max", seq_max, 1, 1},
        {NULL, NULL, 0, 0},
    };
    static const NativeDef range_methods[] = {
        {"list", range_list, 1, 1},
        {NULL, NULL, 0, 0},
    };
    vm_define_methods(vm, TYPE_LIST, methods);
    vm_define_methods(vm, TYPE_RANGE, range_methods);
}
