/*
 * The garbage-collected heap: mark and sweep.  A collection happens only when
 * the virtual machine asks for one, at points where every live value is
 * reachable from its roots; allocating never collects.
 */
#ifndef QS_HEAP_H
#define QS_HEAP_H

#include "value.h"

#include "../rt/pool.h"

typedef struct {
    Obj *objects;
    size_t bytes;     /* held by the objects, including their arrays */
    size_t threshold; /* a collection is due above this */
    Obj **gray;       /* marked, but not traced yet */
    size_t gray_len, gray_cap;
    uint64_t collections;
    Pool pool;
} Heap;

void heap_init(Heap *heap);
void heap_free(Heap *heap);

/* A new object of `size` bytes; the fields after the header are uninitialised. */
void *heap_new(Heap *heap, ObjKind kind, size_t size);
void heap_delete(Heap *heap, void *object, size_t size);

/* Memory of an object outside its block, allocated elsewhere, grew or shrank. */
void heap_account(Heap *heap, size_t old_bytes, size_t new_bytes);

/* Grows, shrinks or (with new_bytes 0) frees an array of an object; NULL has 0 bytes. */
void *heap_resize(Heap *heap, void *array, size_t old_bytes, size_t new_bytes);

bool heap_needs_collection(const Heap *heap);

/* A collection: mark the roots, then trace and sweep. */
void heap_mark_object(Heap *heap, void *object); /* may be NULL */
void heap_mark(Heap *heap, Value v);
void heap_trace(Heap *heap);
void heap_sweep(Heap *heap);

#endif
