/* Growable byte buffer; `data` is not NUL-terminated unless buf_cstr is used. */
#ifndef RT_BUF_H
#define RT_BUF_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *data;
    size_t len;
    size_t cap;
} Buf;

void buf_init(Buf *b);
void buf_free(Buf *b);
void buf_clear(Buf *b);

/* Makes room for `extra` more bytes and returns the place to write them. */
char *buf_reserve(Buf *b, size_t extra);

void buf_putc(Buf *b, char c);
void buf_puts(Buf *b, const char *s);
void buf_write(Buf *b, const void *data, size_t len);
void buf_fill(Buf *b, char c, size_t count);
void buf_reverse(Buf *b, size_t from);
const char *buf_cstr(Buf *b);

#endif
