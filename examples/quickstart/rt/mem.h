/* Checked wrappers around malloc: allocation failure ends the program. */
#ifndef RT_MEM_H
#define RT_MEM_H

#include <stddef.h>

void *rt_alloc(size_t size);
void *rt_alloc_array(size_t count, size_t size);
void *rt_zalloc_array(size_t count, size_t size);
void *rt_realloc(void *p, size_t size);
void rt_free(void *p);

#endif
