#include "pool.h"

#include "mem.h"

#include <string.h>

struct PoolBlock {
    PoolBlock *next;
};

struct PoolSlab {
    PoolSlab *next;
    max_align_t data[POOL_SLAB_BYTES / sizeof(max_align_t)];
};

void pool_init(Pool *pool)
{
    memset(pool, 0, sizeof *pool);
    pool->slab_used = POOL_SLAB_BYTES;
}

#ifndef QS_PLAIN_MALLOC

static size_t size_class(size_t size)
{
    return size == 0 ? 0 : (size - 1) / POOL_GRANULE;
}

static void *carve(Pool *pool, size_t bytes)
{
    if (pool->slab_used + bytes > POOL_SLAB_BYTES) {
        PoolSlab *slab = rt_alloc(sizeof *slab);
        slab->next = pool->slabs;
        pool->slabs = slab;
        pool->slab_used = 0;
    }
    void *block = (char *)pool->slabs->data + pool->slab_used;
    pool->slab_used += bytes;
    return block;
}

void *pool_alloc(Pool *pool, size_t size)
{
    size_t cls = size_class(size);
    if (cls >= POOL_CLASSES)
        return rt_alloc(size);
    PoolBlock *block = pool->free_list[cls];
    if (block) {
        pool->free_list[cls] = block->next;
        return block;
    }
    return carve(pool, (cls + 1) * POOL_GRANULE);
}

void pool_release(Pool *pool, void *p, size_t size)
{
    size_t cls = size_class(size);
    if (cls >= POOL_CLASSES) {
        rt_free(p);
        return;
    }
    PoolBlock *block = p;
    block->next = pool->free_list[cls];
    pool->free_list[cls] = block;
}

#else

void *pool_alloc(Pool *pool, size_t size)
{
    (void)pool;
    return rt_alloc(size);
}

void pool_release(Pool *pool, void *p, size_t size)
{
    (void)pool;
    (void)size;
    rt_free(p);
}

#endif

void pool_destroy(Pool *pool)
{
    PoolSlab *slab = pool->slabs;
    while (slab) {
        PoolSlab *next = slab->next;
        rt_free(slab);
        slab = next;
    }
    pool_init(pool);
}
