/*
 * Size-class allocator for the small, short-lived blocks of the object heap.
 * The caller passes the block size back on release, so blocks carry no header.
 * Built with -DQS_PLAIN_MALLOC every block is a malloc of its own, which lets
 * AddressSanitizer see each object.
 */
#ifndef RT_POOL_H
#define RT_POOL_H

#include <stddef.h>

enum { POOL_GRANULE = 16, POOL_CLASSES = 32, POOL_SLAB_BYTES = 32 * 1024 };

typedef struct PoolBlock PoolBlock;
typedef struct PoolSlab PoolSlab;

typedef struct {
    PoolBlock *free_list[POOL_CLASSES];
    PoolSlab *slabs;
    size_t slab_used; /* bytes handed out from the newest slab */
} Pool;

void pool_init(Pool *pool);
void *pool_alloc(Pool *pool, size_t size);
void pool_release(Pool *pool, void *block, size_t size);

/* Frees the slabs.  Blocks larger than the biggest class must be released first. */
void pool_destroy(Pool *pool);

#endif
