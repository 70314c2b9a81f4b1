#include "heap.h"

#include "object.h"

#include "../rt/mem.h"

#include <string.h>

enum { FIRST_THRESHOLD = 128 * 1024 };

void heap_init(Heap *heap)
{
    memset(heap, 0, sizeof *heap);
    heap->threshold = FIRST_THRESHOLD;
    pool_init(&heap->pool);
}

void heap_free(Heap *heap)
{
    heap_sweep(heap); /* nothing is marked */
    rt_free(heap->gray);
    pool_destroy(&heap->pool);
}

void *heap_new(Heap *heap, ObjKind kind, size_t size)
{
    Obj *obj = pool_alloc(&heap->pool, size);
    obj->next = heap->objects;
    obj->kind = (uint8_t)kind;
    obj->marked = false;
    heap->objects = obj;
    heap->bytes += size;
    return obj;
}

void heap_delete(Heap *heap, void *object, size_t size)
{
    heap->bytes -= size;
    pool_release(&heap->pool, object, size);
}

void heap_account(Heap *heap, size_t old_bytes, size_t new_bytes)
{
    heap->bytes += new_bytes - old_bytes;
}

void *heap_resize(Heap *heap, void *array, size_t old_bytes, size_t new_bytes)
{
    void *resized = new_bytes > 0 ? pool_alloc(&heap->pool, new_bytes) : NULL;
    size_t kept = old_bytes < new_bytes ? old_bytes : new_bytes;
    if (kept > 0)
        memcpy(resized, array, kept);
    if (old_bytes > 0)
        pool_release(&heap->pool, array, old_bytes);
    heap_account(heap, old_bytes, new_bytes);
    return resized;
}

bool heap_needs_collection(const Heap *heap)
{
#ifdef QS_GC_STRESS
    (void)heap;
    return true;
#else
    return heap->bytes > heap->threshold;
#endif
}

void heap_mark_object(Heap *heap, void *object)
{
    Obj *obj = object;
    if (!obj || obj->marked)
        return;
    obj->marked = true;
    if (heap->gray_len == heap->gray_cap) {
        heap->gray_cap = heap->gray_cap ? heap->gray_cap * 2 : 256;
        heap->gray = rt_realloc(heap->gray, heap->gray_cap * sizeof *heap->gray);
    }
    heap->gray[heap->gray_len++] = obj;
}

void heap_mark(Heap *heap, Value v)
{
    if (v.tag == VAL_OBJECT)
        heap_mark_object(heap, v.as.object);
}

void heap_trace(Heap *heap)
{
    while (heap->gray_len > 0)
        object_trace(heap, heap->gray[--heap->gray_len]);
}

void heap_sweep(Heap *heap)
{
    Obj **link = &heap->objects;
    while (*link) {
        Obj *obj = *link;
        if (obj->marked) {
            obj->marked = false;
            link = &obj->next;
        } else {
            *link = obj->next;
            object_release(heap, obj);
        }
    }
    heap->collections++;
    heap->threshold = heap->bytes * 2 > FIRST_THRESHOLD ? heap->bytes * 2 : FIRST_THRESHOLD;
}
