/* Merge sort of values, declared in native.h. */
#include "native.h"

#include <string.h>

enum { SHORT_RUN = 8 };

typedef struct {
    Vm *vm;
    Value order; /* nil, or a function of two values that tells their order */
    bool failed;
} Sorter;

static int sign_of(Sorter *s, Value v)
{
    if (v.tag == VAL_INT)
        return v.as.integer < 0 ? -1 : v.as.integer > 0;
    if (v.tag == VAL_BOOL)
        return v.as.boolean ? -1 : 1; /* "comes before" */
    s->failed = !vm_throw(s->vm, "order function must return int or bool");
    return 0;
}

static int by_function(Sorter *s, Value a, Value b)
{
    Value r;
    if (call2(s->vm, s->order, a, b, &r))
        return sign_of(s, r);
    s->failed = true;
    return 0;
}

static int compare(Sorter *s, Value a, Value b)
{
    int order = 0;
    if (s->failed)
        return 0;
    if (s->order.tag != VAL_NIL)
        return by_function(s, a, b);
    if (!value_compare(a, b, &order)) {
        s->failed = true;
        vm_throw(s->vm, "cannot compare %s and %s", value_type_name(a), value_type_name(b));
    }
    return order;
}

static void insertion_sort(Sorter *s, Value *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        Value v = a[i];
        size_t j = i;
        for (; j > 0 && compare(s, a[j - 1], v) > 0; j--)
            a[j] = a[j - 1];
        a[j] = v;
    }
}

/* Merges a[0..mid) with a[mid..n); the left part moves to scratch. */
static void merge(Sorter *s, Value *a, size_t mid, size_t n, Value *scratch)
{
    memcpy(scratch, a, mid * sizeof *a);
    size_t i = 0, j = mid, out = 0;
    while (i < mid && j < n)
        a[out++] = compare(s, scratch[i], a[j]) <= 0 ? scratch[i++] : a[j++];
    if (i < mid)
        memcpy(a + out, scratch + i, (mid - i) * sizeof *a);
}

static void merge_sort(Sorter *s, Value *a, size_t n, Value *scratch)
{
    if (n <= SHORT_RUN) {
        insertion_sort(s, a, n);
        return;
    }
    size_t mid = n / 2;
    merge_sort(s, a, mid, scratch);
    merge_sort(s, a + mid, n - mid, scratch);
    if (compare(s, a[mid - 1], a[mid]) > 0)
        merge(s, a, mid, n, scratch);
}

/*
 * Sorts a copy, since the order function might change the list.  The second
 * half of the copy is the scratch space, so that the collector sees all items.
 */
bool sort_list(Vm *vm, List *list, Value order)
{
    Sorter s = {vm, order, false};
    size_t n = list->len;
    List *copy = list_new(&vm->heap, 2 * n);
    list_extend(&vm->heap, copy, list);
    list_extend(&vm->heap, copy, list);
    vm_push(vm, value_object(copy));
    merge_sort(&s, copy->items, n, copy->items + n);
    vm_pop(vm);
    if (s.failed || n == 0)
        return !s.failed;
    list->len = 0;
    copy->len = n;
    list_extend(&vm->heap, list, copy);
    return true;
}
