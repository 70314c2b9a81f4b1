/* The modules `json` and `csv`: values as text for other programs. */
#include "json.h"

#include "../src/native.h"
#include "../src/show.h"

#include <string.h>

static bool json_parse(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    return arg_str(vm, argv, 0, &s) && json_read(vm, s->data, s->len, result);
}

static bool json_dump(Vm *vm, int argc, Value *argv, Value *result)
{
    size_t indent = 0;
    Buf out;
    if (argc > 1 && !arg_size(vm, argv, 1, 16, &indent))
        return false;
    buf_init(&out);
    if (json_write(vm, &out, argv[0], argc > 1 ? (int)indent : -1))
        return give_buf(vm, result, &out);
    buf_free(&out);
    return false;
}

typedef struct {
    Vm *vm;
    const char *p, *end;
} CsvReader;

/* A quoted field, after the opening quote; two quotes stand for one. */
static void read_quoted(CsvReader *r, Buf *field)
{
    for (; r->p < r->end; r->p++) {
        if (*r->p != '"') {
            buf_putc(field, *r->p);
        } else if (r->p + 1 < r->end && r->p[1] == '"') {
            buf_putc(field, '"');
            r->p++;
        } else {
            r->p++;
            return;
        }
    }
}

static Value read_field(CsvReader *r)
{
    Buf field;
    buf_init(&field);
    if (r->p < r->end && *r->p == '"') {
        r->p++;
        read_quoted(r, &field);
    }
    while (r->p < r->end && *r->p != ',' && *r->p != '\n')
        buf_putc(&field, *r->p++);
    return value_object(str_from_buf(&r->vm->heap, &field));
}

static Value read_row(CsvReader *r)
{
    List *row = list_new(&r->vm->heap, 0);
    for (;;) {
        list_push(&r->vm->heap, row, read_field(r));
        if (r->p == r->end)
            break;
        if (*r->p++ == '\n')
            break;
    }
    return value_object(row);
}

static bool csv_parse(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    if (!arg_str(vm, argv, 0, &s))
        return false;
    CsvReader r = {vm, s->data, s->data + s->len};
    List *rows = list_new(&vm->heap, 0);
    while (r.p < r.end)
        list_push(&vm->heap, rows, read_row(&r));
    return give(result, value_object(rows));
}

/* Quotes the text from `start` on if it would be misread otherwise. */
static void quote_field(Vm *vm, Buf *out, size_t start)
{
    size_t len = out->len - start;
    const char *text = out->data + start;
    if (len == 0 ||
        (!memchr(text, ',', len) && !memchr(text, '"', len) && !memchr(text, '\n', len)))
        return;
    const Str *copy = str_new(&vm->heap, text, len);
    out->len = start;
    buf_putc(out, '"');
    for (size_t i = 0; i < copy->len; i++) {
        if (copy->data[i] == '"')
            buf_putc(out, '"');
        buf_putc(out, copy->data[i]);
    }
    buf_putc(out, '"');
}

static void put_row(Vm *vm, Buf *out, const List *row)
{
    for (size_t i = 0; i < row->len; i++) {
        if (i > 0)
            buf_putc(out, ',');
        buf_reserve(out, 1);
        size_t start = out->len;
        show_value(out, row->items[i]);
        quote_field(vm, out, start);
    }
    buf_putc(out, '\n');
}

static bool csv_dump(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *rows;
    Buf out;
    if (!arg_list(vm, argv, 0, &rows))
        return false;
    for (size_t i = 0; i < rows->len; i++)
        if (!value_is(rows->items[i], OBJ_LIST))
            return vm_throw(vm, "csv: expected a list of lists");
    buf_init(&out);
    for (size_t i = 0; i < rows->len; i++)
        put_row(vm, &out, AS_LIST(rows->items[i]));
    return give_buf(vm, result, &out);
}

void lib_data(Vm *vm)
{
    static const NativeDef json[] = {
        {"parse", json_parse, 1, 1},
        {"dump", json_dump, 1, 2},
        {NULL, NULL, 0, 0},
    };
    static const NativeDef csv[] = {
        {"parse", csv_parse, 1, 1},
        {"dump", csv_dump, 1, 1},
        {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "json", json);
    vm_define_module(vm, "csv", csv);
}
