/* Growable arrays of values. */
#ifndef QS_LIST_H
#define QS_LIST_H

#include "object.h"

List *list_new(Heap *heap, size_t capacity);
List *list_from(Heap *heap, const Value *items, size_t count);
void list_push(Heap *heap, List *list, Value v);
void list_extend(Heap *heap, List *list, const List *other); /* other may be the list itself */
void list_insert(Heap *heap, List *list, size_t at, Value v);
Value list_remove(List *list, size_t at);
void list_reverse(List *list);
List *list_slice(Heap *heap, const List *list, size_t from, size_t to);
void list_trace(Heap *heap, List *list);
void list_release(Heap *heap, List *list);

#endif
