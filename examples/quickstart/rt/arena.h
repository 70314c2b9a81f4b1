/* Bump allocator: many small allocations, released all at once. */
#ifndef RT_ARENA_H
#define RT_ARENA_H

#include <stddef.h>

typedef struct ArenaChunk ArenaChunk;

typedef struct {
    ArenaChunk *head;
    size_t used; /* bytes used in head */
} Arena;

void arena_init(Arena *arena);
void arena_free(Arena *arena);

/* Zero-initialised memory, aligned for any type. */
void *arena_alloc(Arena *arena, size_t size);

/* NUL-terminated copy of len bytes. */
char *arena_copy(Arena *arena, const char *text, size_t len);

#endif
