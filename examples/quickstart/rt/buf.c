#include "buf.h"

#include "mem.h"

#include <string.h>

static void grow(Buf *b, size_t need)
{
    size_t cap = b->cap ? b->cap * 2 : 64;
    while (cap < need)
        cap *= 2;
    b->data = rt_realloc(b->data, cap);
    b->cap = cap;
}

void buf_init(Buf *b)
{
    b->data = NULL;
    b->len = 0;
    b->cap = 0;
}

void buf_free(Buf *b)
{
    rt_free(b->data);
    buf_init(b);
}

void buf_clear(Buf *b)
{
    b->len = 0;
}

char *buf_reserve(Buf *b, size_t extra)
{
    if (b->len + extra > b->cap)
        grow(b, b->len + extra);
    return b->data + b->len;
}

void buf_putc(Buf *b, char c)
{
    if (b->len == b->cap)
        grow(b, b->len + 1);
    b->data[b->len++] = c;
}

void buf_puts(Buf *b, const char *s)
{
    buf_write(b, s, strlen(s));
}

void buf_write(Buf *b, const void *data, size_t len)
{
    if (len == 0)
        return;
    memcpy(buf_reserve(b, len), data, len);
    b->len += len;
}

void buf_fill(Buf *b, char c, size_t count)
{
    if (count == 0)
        return;
    memset(buf_reserve(b, count), c, count);
    b->len += count;
}

void buf_reverse(Buf *b, size_t from)
{
    if (b->len == 0)
        return;
    for (size_t i = from, j = b->len - 1; i < j; i++, j--) {
        char c = b->data[i];
        b->data[i] = b->data[j];
        b->data[j] = c;
    }
}

const char *buf_cstr(Buf *b)
{
    *buf_reserve(b, 1) = '\0';
    return b->data;
}
