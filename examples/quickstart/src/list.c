#include "list.h"

#include <string.h>

static size_t array_bytes(size_t cap)
{
    return cap * sizeof(Value);
}

static void grow(Heap *heap, List *list, size_t need)
{
    size_t cap = list->cap < 4 ? 4 : list->cap * 2;
    if (cap < need)
        cap = need;
    list->items = heap_resize(heap, list->items, array_bytes(list->cap), array_bytes(cap));
    list->cap = cap;
}

List *list_new(Heap *heap, size_t capacity)
{
    List *list = heap_new(heap, OBJ_LIST, sizeof *list);
    list->len = 0;
    list->cap = 0;
    list->items = NULL;
    if (capacity > 0)
        grow(heap, list, capacity);
    return list;
}

List *list_from(Heap *heap, const Value *items, size_t count)
{
    List *list = list_new(heap, count);
    if (count > 0)
        memcpy(list->items, items, count * sizeof *items);
    list->len = count;
    return list;
}

void list_push(Heap *heap, List *list, Value v)
{
    if (list->len == list->cap)
        grow(heap, list, list->len + 1);
    list->items[list->len++] = v;
}

void list_extend(Heap *heap, List *list, const List *other)
{
    size_t n = other->len;
    if (n == 0)
        return;
    if (list->len + n > list->cap)
        grow(heap, list, list->len + n);
    memcpy(list->items + list->len, other->items, n * sizeof *list->items);
    list->len += n;
}

void list_insert(Heap *heap, List *list, size_t at, Value v)
{
    list_push(heap, list, v);
    memmove(list->items + at + 1, list->items + at, (list->len - 1 - at) * sizeof *list->items);
    list->items[at] = v;
}

Value list_remove(List *list, size_t at)
{
    Value v = list->items[at];
    list->len--;
    memmove(list->items + at, list->items + at + 1, (list->len - at) * sizeof *list->items);
    return v;
}

void list_reverse(List *list)
{
    for (size_t i = 0, j = list->len; i + 1 < j; i++) {
        Value v = list->items[i];
        list->items[i] = list->items[--j];
        list->items[j] = v;
    }
}

List *list_slice(Heap *heap, const List *list, size_t from, size_t to)
{
    return from < to ? list_from(heap, list->items + from, to - from) : list_new(heap, 0);
}

void list_trace(Heap *heap, List *list)
{
    for (size_t i = 0; i < list->len; i++)
        heap_mark(heap, list->items[i]);
}

void list_release(Heap *heap, List *list)
{
    heap_resize(heap, list->items, array_bytes(list->cap), 0);
    heap_delete(heap, list, sizeof *list);
}
