/* Hash tables from bool, int or str keys to values; iteration is in insertion order. */
#ifndef QS_MAP_H
#define QS_MAP_H

#include "object.h"

Map *map_new(Heap *heap);
bool map_key_ok(Value key);

/* The keys of these must satisfy map_key_ok. */
bool map_get(const Map *map, Value key, Value *value);
void map_set(Heap *heap, Map *map, Value key, Value value);
bool map_delete(Map *map, Value key, Value *old);

void map_set_cstr(Heap *heap, Map *map, const char *key, Value value);

/* The entry at *cursor or the first live one after it; false at the end. */
bool map_next(const Map *map, uint32_t *cursor, MapEntry **entry);

Map *map_copy(Heap *heap, const Map *map);
void map_clear(Heap *heap, Map *map);
void map_trace(Heap *heap, Map *map);
void map_release(Heap *heap, Map *map);

#endif
