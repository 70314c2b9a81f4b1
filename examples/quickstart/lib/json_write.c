#include "json.h"

#include "../src/list.h"
#include "../src/map.h"
#include "../src/show.h"
#include "../src/str.h"

#include "../rt/num.h"

#include <math.h>

enum { MAX_DEPTH = 200 };

typedef struct {
    Vm *vm;
    Buf *out;
    int indent; /* per level, or negative */
    int depth;
} Writer;

static bool put(Writer *w, Value v);

static void put_string(Buf *out, const Str *s)
{
    static const char hex[] = "0123456789abcdef";
    buf_putc(out, '"');
    for (size_t i = 0; i < s->len; i++) {
        unsigned char c = (unsigned char)s->data[i];
        if (c == '"' || c == '\\') {
            buf_putc(out, '\\');
            buf_putc(out, (char)c);
        } else if (c == '\n') {
            buf_puts(out, "\\n");
        } else if (c < 0x20) {
            buf_puts(out, "\\u00");
            buf_putc(out, hex[c >> 4]);
            buf_putc(out, hex[c & 15]);
        } else {
            buf_putc(out, (char)c);
        }
    }
    buf_putc(out, '"');
}

static void new_line(Writer *w)
{
    if (w->indent < 0)
        return;
    buf_putc(w->out, '\n');
    buf_fill(w->out, ' ', (size_t)(w->indent * w->depth));
}

static bool put_list(Writer *w, const List *list)
{
    buf_putc(w->out, '[');
    w->depth++;
    for (size_t i = 0; i < list->len; i++) {
        if (i > 0)
            buf_putc(w->out, ',');
        new_line(w);
        if (!put(w, list->items[i]))
            return false;
    }
    w->depth--;
    if (list->len > 0)
        new_line(w);
    buf_putc(w->out, ']');
    return true;
}

/* Keys of other types are written as strings. */
static void put_key(Writer *w, Value key)
{
    if (value_is(key, OBJ_STR)) {
        put_string(w->out, AS_STR(key));
        return;
    }
    buf_putc(w->out, '"');
    show_value(w->out, key);
    buf_putc(w->out, '"');
}

static bool put_map(Writer *w, const Map *map)
{
    MapEntry *e;
    bool first = true;
    buf_putc(w->out, '{');
    w->depth++;
    for (uint32_t i = 0; map_next(map, &i, &e); i++) {
        if (!first)
            buf_putc(w->out, ',');
        first = false;
        new_line(w);
        put_key(w, e->key);
        buf_puts(w->out, w->indent < 0 ? ":" : ": ");
        if (!put(w, e->value))
            return false;
    }
    w->depth--;
    if (!first)
        new_line(w);
    buf_putc(w->out, '}');
    return true;
}

static bool put_object(Writer *w, Value v)
{
    if (w->depth > MAX_DEPTH)
        return vm_throw(w->vm, "json: nested too deeply");
    switch ((ObjKind)v.as.object->kind) {
    case OBJ_STR:
        put_string(w->out, AS_STR(v));
        return true;
    case OBJ_LIST:
        return put_list(w, AS_LIST(v));
    case OBJ_MAP:
        return put_map(w, AS_MAP(v));
    case OBJ_BIG:
        big_put(w->out, &AS_BIG(v)->big);
        return true;
    default:
        return vm_throw(w->vm, "json: cannot write %s", value_type_name(v));
    }
}

static bool put(Writer *w, Value v)
{
    switch (v.tag) {
    case VAL_BOOL:
        buf_puts(w->out, v.as.boolean ? "true" : "false");
        return true;
    case VAL_INT:
        num_put_int(w->out, v.as.integer);
        return true;
    case VAL_FLOAT:
        if (!isfinite(v.as.number))
            return vm_throw(w->vm, "json: not a finite number");
        num_put_float(w->out, v.as.number);
        return true;
    case VAL_OBJECT:
        return put_object(w, v);
    default:
        buf_puts(w->out, "null");
        return true;
    }
}

bool json_write(Vm *vm, Buf *out, Value v, int indent)
{
    Writer w = {vm, out, indent, 0};
    return put(&w, v);
}
