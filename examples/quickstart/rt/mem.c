#include "mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void out_of_memory(void)
{
    fputs("qs: out of memory\n", stderr);
    exit(3);
}

static size_t array_size(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        out_of_memory();
    return count * size;
}

void *rt_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *rt_alloc_array(size_t count, size_t size)
{
    return rt_alloc(array_size(count, size));
}

void *rt_zalloc_array(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *rt_realloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (!q)
        out_of_memory();
    return q;
}

void rt_free(void *p)
{
    free(p);
}
