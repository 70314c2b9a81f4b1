/* Searching, wildcard matching and layout of plain text. */
#ifndef RT_TEXTSCAN_H
#define RT_TEXTSCAN_H

#include "buf.h"

#include <stdbool.h>

#define TEXT_NOT_FOUND ((size_t)-1)

size_t text_find(const char *text, size_t len, const char *what, size_t wlen, size_t from);
size_t text_rfind(const char *text, size_t len, const char *what, size_t wlen);
size_t text_count(const char *text, size_t len, const char *what, size_t wlen);

/* '*' any run, '?' any byte, '[a-z]' and '[!a-z]' sets, backslash quotes. */
bool text_glob(const char *pattern, size_t plen, const char *text, size_t len);

/* Lines of at most `width` columns, broken at spaces. */
void text_wrap(Buf *out, const char *text, size_t len, size_t width);

/* The same, with spaces widened so that all lines but the last are full. */
void text_justify(Buf *out, const char *text, size_t len, size_t width);

typedef enum { ALIGN_LEFT, ALIGN_RIGHT, ALIGN_CENTER } Align;
void text_align(Buf *out, const char *text, size_t len, size_t width, char fill, Align align);

/* Removes the indentation that all non-blank lines share. */
void text_dedent(Buf *out, const char *text, size_t len);

#endif
