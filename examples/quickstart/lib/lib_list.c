/* Methods of lists that access and change the elements. */
#include "../src/native.h"

static List *self(const Value *argv)
{
    return AS_LIST(argv[0]);
}

static bool list_len(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_int((int64_t)self(argv)->len));
}

static bool list_push_all(Vm *vm, int argc, Value *argv, Value *result)
{
    for (int i = 1; i < argc; i++)
        list_push(&vm->heap, self(argv), argv[i]);
    return give(result, argv[0]);
}

static bool list_pop(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list = self(argv);
    if (list->len == 0)
        return vm_throw(vm, "pop from an empty list");
    return give(result, list->items[--list->len]);
}

static bool list_insert_at(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t at;
    if (!arg_size(vm, argv, 1, self(argv)->len, &at))
        return false;
    list_insert(&vm->heap, self(argv), at, argv[2]);
    return give(result, argv[0]);
}

static bool list_remove_at(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t at;
    if (self(argv)->len == 0)
        return vm_throw(vm, "remove from an empty list");
    if (!arg_size(vm, argv, 1, self(argv)->len - 1, &at))
        return false;
    return give(result, list_remove(self(argv), at));
}

static bool list_extend_with(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *other;
    if (!arg_list(vm, argv, 1, &other))
        return false;
    list_extend(&vm->heap, self(argv), other);
    return give(result, argv[0]);
}

static bool list_clear(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    self(argv)->len = 0;
    return give(result, argv[0]);
}

static bool list_copy(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return give(result, value_object(list_slice(&vm->heap, self(argv), 0, self(argv)->len)));
}

static bool list_reversed(Vm *vm, int argc, Value *argv, Value *result)
{
    list_copy(vm, argc, argv, result);
    list_reverse(AS_LIST(*result));
    return true;
}

static bool list_first(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    const List *list = self(argv);
    return give(result, list->len > 0 ? list->items[0] : value_nil());
}

static bool list_last(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    const List *list = self(argv);
    return give(result, list->len > 0 ? list->items[list->len - 1] : value_nil());
}

static bool list_index_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    const List *list = self(argv);
    for (size_t i = 0; i < list->len; i++)
        if (value_equal(list->items[i], argv[1]))
            return give(result, value_int((int64_t)i));
    return true;
}

static bool list_count(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    int64_t count = 0;
    for (size_t i = 0; i < self(argv)->len; i++)
        count += value_equal(self(argv)->items[i], argv[1]);
    return give(result, value_int(count));
}

/* In place, by an optional order function. */
static bool list_sort(Vm *vm, int argc, Value *argv, Value *result)
{
    *result = argv[0];
    return sort_list(vm, self(argv), argc > 1 ? argv[1] : value_nil());
}

/* By the keys that a function computes, each of them once. */
static bool list_sort_by(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Heap *heap = &vm->heap;
    List *list = self(argv), *pairs = list_new(heap, list->len);
    vm_push(vm, value_object(pairs));
    for (size_t i = 0; i < list->len; i++) {
        Value pair[] = {value_nil(), value_int((int64_t)i), list->items[i]};
        vm_push(vm, pair[2]);
        if (!call1(vm, argv[1], pair[2], &pair[0]))
            return false;
        vm_pop(vm);
        list_push(heap, pairs, value_object(list_from(heap, pair, 3)));
    }
    if (!sort_list(vm, pairs, value_nil()))
        return false;
    List *sorted = list_new(heap, pairs->len);
    for (size_t i = 0; i < pairs->len; i++)
        list_push(heap, sorted, AS_LIST(pairs->items[i])->items[2]);
    return give(result, value_object(sorted));
}

static bool precedes(Vm *vm, Value a, Value b, bool *yes)
{
    int order;
    if (!value_compare(a, b, &order))
        return vm_throw(vm, "cannot compare %s and %s", value_type_name(a), value_type_name(b));
    *yes = order < 0;
    return true;
}

/* The list as a binary heap, the least element first. */
static bool list_heap_push(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list = self(argv);
    list_push(&vm->heap, list, argv[1]);
    for (size_t i = list->len - 1; i > 0;) {
        size_t up = (i - 1) / 2;
        bool less = false;
        if (!precedes(vm, list->items[i], list->items[up], &less))
            return false;
        if (!less)
            break;
        Value v = list->items[i];
        list->items[i] = list->items[up];
        list->items[up] = v;
        i = up;
    }
    return give(result, argv[0]);
}

static bool heap_sift_down(Vm *vm, List *list)
{
    for (size_t i = 0, child = 1; child < list->len; child = 2 * i + 1) {
        bool less = false;
        if (child + 1 < list->len &&
            !precedes(vm, list->items[child + 1], list->items[child], &less))
            return false;
        child += less;
        if (!precedes(vm, list->items[child], list->items[i], &less))
            return false;
        if (!less)
            return true;
        Value v = list->items[i];
        list->items[i] = list->items[child];
        list->items[child] = v;
        i = child;
    }
    return true;
}

static bool list_heap_pop(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list = self(argv);
    if (list->len == 0)
        return vm_throw(vm, "pop from an empty heap");
    *result = list->items[0];
    list->items[0] = list->items[--list->len];
    return heap_sift_down(vm, list);
}

/* Index where a value belongs in a sorted list. */
static bool list_bisect(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const List *list = self(argv);
    size_t lo = 0, hi = list->len;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        bool less = false;
        if (!precedes(vm, list->items[mid], argv[1], &less))
            return false;
        if (less)
            lo = mid + 1;
        else
            hi = mid;
    }
    return give(result, value_int((int64_t)lo));
}

void lib_list(Vm *vm)
{
    static const NativeDef methods[] = {
        {"len", list_len, 1, 1},           {"push", list_push_all, 1, -1},
        {"pop", list_pop, 1, 1},           {"insert", list_insert_at, 3, 3},
        {"remove", list_remove_at, 2, 2},  {"extend", list_extend_with, 2, 2},
        {"clear", list_clear, 1, 1},       {"copy", list_copy, 1, 1},
        {"reversed", list_reversed, 1, 1}, {"first", list_first, 1, 1},
        {"last", list_last, 1, 1},         {"index_of", list_index_of, 2, 2},
        {"count", list_count, 2, 2},       {"sort", list_sort, 1, 2},
        {"sort_by", list_sort_by, 2, 2},   {"heap_push", list_heap_push, 2, 2},
        {"heap_pop", list_heap_pop, 1, 1}, {"bisect", list_bisect, 2, 2},
        {NULL, NULL, 0, 0},
    };
    vm_define_methods(vm, TYPE_LIST, methods);
}
