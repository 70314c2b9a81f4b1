/* Maps byte strings to the small integers 0, 1, 2, ... in order of insertion. */
#ifndef RT_STRTAB_H
#define RT_STRTAB_H

#include "arena.h"

#include <stdint.h>

typedef struct {
    const char *text;
    uint32_t len;
    uint32_t hash;
} StrtabEntry;

typedef struct {
    StrtabEntry *entries;
    uint32_t count, cap;
    uint32_t *slots; /* entry number plus one, 0 if free; a power of two of them */
    uint32_t slot_count;
    Arena names;
} Strtab;

#define STRTAB_NONE UINT32_MAX

void strtab_init(Strtab *t);
void strtab_free(Strtab *t);
uint32_t strtab_find(const Strtab *t, const char *text, size_t len);
uint32_t strtab_add(Strtab *t, const char *text, size_t len); /* finds or inserts */

#endif
