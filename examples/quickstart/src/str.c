#include "str.h"

#include "../rt/hash.h"

#include <string.h>

static size_t size_of(size_t len)
{
    return sizeof(Str) + len + 1;
}

static Str *allocate(Heap *heap, size_t len)
{
    Str *s = heap_new(heap, OBJ_STR, size_of(len));
    s->len = (uint32_t)len;
    s->hash = 0;
    s->data[len] = '\0';
    return s;
}

Str *str_new(Heap *heap, const char *data, size_t len)
{
    Str *s = allocate(heap, len);
    if (len > 0)
        memcpy(s->data, data, len);
    return s;
}

Str *str_from_cstr(Heap *heap, const char *text)
{
    return str_new(heap, text, strlen(text));
}

Str *str_from_buf(Heap *heap, Buf *b)
{
    Str *s = str_new(heap, b->data, b->len);
    buf_free(b);
    return s;
}

Str *str_concat(Heap *heap, const Str *a, const Str *b)
{
    Str *s = allocate(heap, (size_t)a->len + b->len);
    memcpy(s->data, a->data, a->len);
    memcpy(s->data + a->len, b->data, b->len);
    return s;
}

bool str_equal(const Str *a, const Str *b)
{
    if (a == b)
        return true;
    if (a->len != b->len || (a->hash != 0 && b->hash != 0 && a->hash != b->hash))
        return false;
    return memcmp(a->data, b->data, a->len) == 0;
}

int str_compare(const Str *a, const Str *b)
{
    size_t common = a->len < b->len ? a->len : b->len;
    int c = memcmp(a->data, b->data, common);
    if (c != 0)
        return c < 0 ? -1 : 1;
    return a->len < b->len ? -1 : a->len > b->len;
}

uint32_t str_hash(Str *s)
{
    if (s->hash == 0) {
        uint32_t h = hash_bytes(s->data, s->len, 0);
        s->hash = h ? h : 1;
    }
    return s->hash;
}

void str_release(Heap *heap, Str *s)
{
    heap_delete(heap, s, size_of(s->len));
}
