#include "strtab.h"

#include "hash.h"
#include "mem.h"

#include <stdbool.h>
#include <string.h>

static uint32_t hash(const char *text, size_t len)
{
    return hash_bytes(text, len, 0x51ED270Bu);
}

static bool equal(const StrtabEntry *e, const char *text, size_t len, uint32_t h)
{
    return e->hash == h && e->len == len && memcmp(e->text, text, len) == 0;
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t probe(const Strtab *t, const char *text, size_t len, uint32_t h)
{
    uint32_t mask = t->slot_count - 1, i = h & mask;
    while (t->slots[i] != 0 && !equal(&t->entries[t->slots[i] - 1], text, len, h))
        i = (i + 1) & mask;
    return i;
}

static void grow(Strtab *t)
{
    rt_free(t->slots);
    t->slot_count = t->slot_count ? t->slot_count * 2 : 64;
    t->slots = rt_zalloc_array(t->slot_count, sizeof *t->slots);
    t->cap = t->slot_count / 2;
    t->entries = rt_realloc(t->entries, t->cap * sizeof *t->entries);
    for (uint32_t n = 0; n < t->count; n++) {
        const StrtabEntry *e = &t->entries[n];
        t->slots[probe(t, e->text, e->len, e->hash)] = n + 1;
    }
}

void strtab_init(Strtab *t)
{
    memset(t, 0, sizeof *t);
    arena_init(&t->names);
}

void strtab_free(Strtab *t)
{
    rt_free(t->entries);
    rt_free(t->slots);
    arena_free(&t->names);
    strtab_init(t);
}

uint32_t strtab_find(const Strtab *t, const char *text, size_t len)
{
    if (t->count == 0)
        return STRTAB_NONE;
    uint32_t n = t->slots[probe(t, text, len, hash(text, len))];
    return n == 0 ? STRTAB_NONE : n - 1;
}

uint32_t strtab_add(Strtab *t, const char *text, size_t len)
{
    if (t->count == t->cap)
        grow(t);
    uint32_t h = hash(text, len), slot = probe(t, text, len, h);
    if (t->slots[slot] == 0) {
        t->entries[t->count] = (StrtabEntry){arena_copy(&t->names, text, len), (uint32_t)len, h};
        t->slots[slot] = ++t->count;
    }
    return t->slots[slot] - 1;
}
