#include "show.h"

#include "map.h"

#include "../rt/num.h"

enum { MAX_NESTING = 12 };

static void put(Buf *out, Value v, int depth);

void show_quoted(Buf *out, const char *text, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            buf_putc(out, '\\');
            buf_putc(out, (char)c);
        } else if (c == '\n') {
            buf_puts(out, "\\n");
        } else if (c == '\t') {
            buf_puts(out, "\\t");
        } else if (c < 0x20 || c == 0x7F) {
            buf_puts(out, "\\u{");
            buf_putc(out, hex[c >> 4]);
            buf_putc(out, hex[c & 15]);
            buf_putc(out, '}');
        } else {
            buf_putc(out, (char)c);
        }
    }
    buf_putc(out, '"');
}

static void put_list(Buf *out, const List *list, int depth)
{
    buf_putc(out, '[');
    for (size_t i = 0; i < list->len; i++) {
        if (i > 0)
            buf_puts(out, ", ");
        put(out, list->items[i], depth);
    }
    buf_putc(out, ']');
}

static void put_map(Buf *out, const Map *map, int depth)
{
    MapEntry *e;
    bool first = true;
    buf_putc(out, '{');
    for (uint32_t i = 0; map_next(map, &i, &e); i++) {
        if (!first)
            buf_puts(out, ", ");
        first = false;
        put(out, e->key, depth);
        buf_puts(out, ": ");
        put(out, e->value, depth);
    }
    buf_putc(out, '}');
}

static void put_matrix(Buf *out, const Matrix *m)
{
    buf_puts(out, "matrix[");
    for (size_t i = 0; i < m->rows; i++) {
        if (i > 0)
            buf_puts(out, "; ");
        for (size_t j = 0; j < m->cols; j++) {
            if (j > 0)
                buf_putc(out, ' ');
            num_put_float(out, *matrix_at(m, i, j));
        }
    }
    buf_putc(out, ']');
}

static void put_range(Buf *out, const Range *r)
{
    num_put_int(out, r->from);
    buf_puts(out, "..");
    num_put_int(out, r->to);
    if (r->step != 1) {
        buf_puts(out, " by ");
        num_put_int(out, r->step);
    }
}

static void put_named(Buf *out, const char *what, const char *name)
{
    buf_putc(out, '<');
    buf_puts(out, what);
    buf_putc(out, ' ');
    buf_puts(out, name);
    buf_putc(out, '>');
}

static void put_object(Buf *out, Value v, int depth)
{
    if (depth > MAX_NESTING) {
        buf_puts(out, "...");
        return;
    }
    switch ((ObjKind)v.as.object->kind) {
    case OBJ_STR:
        show_quoted(out, AS_STR(v)->data, AS_STR(v)->len);
        break;
    case OBJ_LIST:
        put_list(out, AS_LIST(v), depth + 1);
        break;
    case OBJ_MAP:
        put_map(out, AS_MAP(v), depth + 1);
        break;
    case OBJ_RANGE:
        put_range(out, AS_RANGE(v));
        break;
    case OBJ_BIG:
        big_put(out, &AS_BIG(v)->big);
        break;
    case OBJ_MATRIX:
        put_matrix(out, &AS_MATRIX(v)->m);
        break;
    case OBJ_REGEX:
        put_named(out, "regex", AS_REGEX(v)->pattern->data);
        break;
    case OBJ_CLOSURE:
        put_named(out, "fn", AS_CLOSURE(v)->proto->name->data);
        break;
    case OBJ_NATIVE:
        put_named(out, "native", AS_NATIVE(v)->def->name);
        break;
    default:
        put_named(out, "object", value_type_name(v));
        break;
    }
}

static void put(Buf *out, Value v, int depth)
{
    switch (v.tag) {
    case VAL_UNDEFINED:
    case VAL_NIL:
        buf_puts(out, "nil");
        break;
    case VAL_BOOL:
        buf_puts(out, v.as.boolean ? "true" : "false");
        break;
    case VAL_INT:
        num_put_int(out, v.as.integer);
        break;
    case VAL_FLOAT:
        num_put_float(out, v.as.number);
        break;
    case VAL_OBJECT:
        put_object(out, v, depth);
        break;
    }
}

void show_repr(Buf *out, Value v)
{
    put(out, v, 0);
}

void show_value(Buf *out, Value v)
{
    if (value_is(v, OBJ_STR))
        buf_write(out, AS_STR(v)->data, AS_STR(v)->len);
    else
        put(out, v, 0);
}
