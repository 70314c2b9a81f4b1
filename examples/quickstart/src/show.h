/* Values as text. */
#ifndef QS_SHOW_H
#define QS_SHOW_H

#include "object.h"

#include "../rt/buf.h"

void show_value(Buf *out, Value v); /* strings as they are */
void show_repr(Buf *out, Value v);  /* strings quoted */
void show_quoted(Buf *out, const char *text, size_t len);

#endif
