#include "map.h"

#include "str.h"

#include <string.h>

enum { FIRST_SLOTS = 8 };

static uint32_t hash(Value key)
{
    uint32_t h = 0;
    value_hash(key, &h);
    return h;
}

static bool same_key(const MapEntry *e, Value key, uint32_t h)
{
    return e->hash == h && value_equal(e->key, key);
}

/* The slot that leads to the key, or the free slot where the search ends. */
static uint32_t probe(const Map *map, Value key, uint32_t h)
{
    uint32_t mask = map->slot_count - 1, i = h & mask;
    while (map->slots[i] != 0 && !same_key(&map->entries[map->slots[i] - 1], key, h))
        i = (i + 1) & mask;
    return i;
}

static size_t entry_bytes(const Map *map)
{
    return map->cap * sizeof *map->entries;
}

static size_t slot_bytes(const Map *map)
{
    return map->slot_count * sizeof *map->slots;
}

static void insert_slot(Map *map, uint32_t entry)
{
    uint32_t mask = map->slot_count - 1, i = map->entries[entry].hash & mask;
    while (map->slots[i] != 0)
        i = (i + 1) & mask;
    map->slots[i] = entry + 1;
}

/* Drops the deleted entries, keeping the order. */
static void compact(Map *map)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < map->used; i++)
        if (map->entries[i].key.tag != VAL_NIL)
            map->entries[n++] = map->entries[i];
    map->used = n;
}

static void grow(Heap *heap, Map *map)
{
    size_t before = entry_bytes(map);
    uint32_t slots = map->slot_count ? map->slot_count : FIRST_SLOTS;
    compact(map);
    while (map->live + 1 > slots / 4 * 3 / 2 && slots < 1u << 31)
        slots *= 2;
    heap_resize(heap, map->slots, slot_bytes(map), 0);
    map->slot_count = slots;
    map->cap = slots / 4 * 3;
    map->slots = heap_resize(heap, NULL, 0, slot_bytes(map));
    memset(map->slots, 0, slot_bytes(map));
    map->entries = heap_resize(heap, map->entries, before, entry_bytes(map));
    for (uint32_t i = 0; i < map->used; i++)
        insert_slot(map, i);
}

Map *map_new(Heap *heap)
{
    Map *map = heap_new(heap, OBJ_MAP, sizeof *map);
    map->live = map->used = map->cap = map->slot_count = 0;
    map->entries = NULL;
    map->slots = NULL;
    return map;
}

bool map_key_ok(Value key)
{
    uint32_t h;
    return value_hash(key, &h);
}

static MapEntry *find(const Map *map, Value key)
{
    if (map->live == 0)
        return NULL;
    uint32_t slot = map->slots[probe(map, key, hash(key))];
    return slot == 0 ? NULL : &map->entries[slot - 1];
}

bool map_get(const Map *map, Value key, Value *value)
{
    const MapEntry *e = find(map, key);
    if (e)
        *value = e->value;
    return e != NULL;
}

void map_set(Heap *heap, Map *map, Value key, Value value)
{
    MapEntry *e = find(map, key);
    if (e) {
        e->value = value;
        return;
    }
    if (map->used == map->cap)
        grow(heap, map);
    map->entries[map->used] = (MapEntry){key, value, hash(key)};
    insert_slot(map, map->used);
    map->used++;
    map->live++;
}

void map_set_cstr(Heap *heap, Map *map, const char *key, Value value)
{
    map_set(heap, map, value_object(str_from_cstr(heap, key)), value);
}

bool map_delete(Map *map, Value key, Value *old)
{
    MapEntry *e = find(map, key);
    if (!e)
        return false;
    *old = e->value;
    e->key = e->value = value_nil(); /* the slot stays, so that searches go on past it */
    map->live--;
    return true;
}

bool map_next(const Map *map, uint32_t *cursor, MapEntry **entry)
{
    while (*cursor < map->used && map->entries[*cursor].key.tag == VAL_NIL)
        ++*cursor;
    if (*cursor >= map->used)
        return false;
    *entry = &map->entries[*cursor];
    return true;
}

Map *map_copy(Heap *heap, const Map *map)
{
    Map *copy = map_new(heap);
    MapEntry *e;
    for (uint32_t i = 0; map_next(map, &i, &e); i++)
        map_set(heap, copy, e->key, e->value);
    return copy;
}

void map_clear(Heap *heap, Map *map)
{
    heap_resize(heap, map->entries, entry_bytes(map), 0);
    heap_resize(heap, map->slots, slot_bytes(map), 0);
    map->live = map->used = map->cap = map->slot_count = 0;
    map->entries = NULL;
    map->slots = NULL;
}

void map_trace(Heap *heap, Map *map)
{
    for (uint32_t i = 0; i < map->used; i++) {
        heap_mark(heap, map->entries[i].key);
        heap_mark(heap, map->entries[i].value);
    }
}

void map_release(Heap *heap, Map *map)
{
    map_clear(heap, map);
    heap_delete(heap, map, sizeof *map);
}
