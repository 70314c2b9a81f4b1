#include "arena.h"

#include "mem.h"

#include <string.h>

enum { CHUNK_BYTES = 8 * 1024 };

struct ArenaChunk {
    ArenaChunk *next;
    size_t size;
    max_align_t data[];
};

static size_t round_up(size_t n)
{
    const size_t align = _Alignof(max_align_t);
    return (n + align - 1) / align * align;
}

/* Adds a chunk with room for at least `need` bytes. */
static void grow(Arena *arena, size_t need)
{
    size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;
    ArenaChunk *chunk = rt_alloc(sizeof *chunk + size);
    chunk->next = arena->head;
    chunk->size = size;
    arena->head = chunk;
    arena->used = 0;
}

void arena_init(Arena *arena)
{
    arena->head = NULL;
    arena->used = 0;
}

void arena_free(Arena *arena)
{
    ArenaChunk *chunk = arena->head;
    while (chunk) {
        ArenaChunk *next = chunk->next;
        rt_free(chunk);
        chunk = next;
    }
    arena_init(arena);
}

void *arena_alloc(Arena *arena, size_t size)
{
    size = round_up(size);
    if (!arena->head || arena->used + size > arena->head->size)
        grow(arena, size);
    char *p = (char *)arena->head->data + arena->used;
    arena->used += size;
    return memset(p, 0, size);
}

char *arena_copy(Arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);
    if (len > 0)
        memcpy(copy, text, len);
    return copy;
}
