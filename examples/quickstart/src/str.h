/* String objects. */
#ifndef QS_STR_H
#define QS_STR_H

#include "object.h"

#include "../rt/buf.h"

Str *str_new(Heap *heap, const char *data, size_t len);
Str *str_from_cstr(Heap *heap, const char *text);
Str *str_concat(Heap *heap, const Str *a, const Str *b);

/* The contents of the buffer, which is emptied and freed. */
Str *str_from_buf(Heap *heap, Buf *b);

bool str_equal(const Str *a, const Str *b);
int str_compare(const Str *a, const Str *b);
uint32_t str_hash(Str *s);
void str_release(Heap *heap, Str *s);

#endif
