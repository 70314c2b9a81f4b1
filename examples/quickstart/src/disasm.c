/* The disassembler declared in code.h. */
#include "code.h"
#include "show.h"

#include "../rt/num.h"

#include <string.h>

static void put_column(Buf *out, const char *text, size_t width)
{
    size_t len = strlen(text);
    buf_write(out, text, len);
    buf_fill(out, ' ', len < width ? width - len : 0);
}

static void put_number(Buf *out, int64_t n, size_t width)
{
    size_t start = out->len;
    num_put_int(out, n);
    buf_fill(out, ' ', out->len - start < width ? width - (out->len - start) : 0);
}

static void put_constant(Buf *out, const Proto *p, size_t index)
{
    Value v = p->constants[index];
    buf_puts(out, " ; ");
    if (value_is(v, OBJ_PROTO)) {
        buf_puts(out, "fn ");
        show_value(out, value_object(((Proto *)v.as.object)->name));
    } else {
        show_repr(out, v);
    }
}

static bool names_constant(Opcode op)
{
    return op == OP_CONST || op == OP_GET_FIELD || op == OP_SET_FIELD || op == OP_CLOSURE ||
           op == OP_INVOKE || op == OP_FORMAT;
}

static size_t put_operand(Buf *out, const Proto *p, Opcode op, char kind, size_t at)
{
    const uint8_t *c = p->code + at;
    size_t size = kind == 'W' || kind == 'J' ? 2 : 1;
    int64_t value = size == 2 ? c[0] << 8 | c[1] : c[0];
    buf_putc(out, ' ');
    if (kind == 'S')
        value = value < 128 ? value : value - 256;
    if (kind == 'J') {
        int64_t end = (int64_t)(at + size);
        buf_puts(out, "-> ");
        value = op == OP_LOOP ? end - value : end + value;
    }
    num_put_int(out, value);
    if (kind == 'W' && names_constant(op))
        put_constant(out, p, (size_t)value);
    return at + size;
}

static size_t put_instruction(Buf *out, const Proto *p, size_t at)
{
    Opcode op = (Opcode)p->code[at];
    put_number(out, (int64_t)at, 5);
    put_number(out, proto_line(p, at), 5);
    put_column(out, opcode_name(op), 14);
    at++;
    for (const char *kind = opcode_operands(op); *kind; kind++)
        at = put_operand(out, p, op, *kind, at);
    while (out->data[out->len - 1] == ' ')
        out->len--;
    buf_putc(out, '\n');
    return at;
}

void proto_disassemble(const Proto *p, Buf *out)
{
    buf_puts(out, "function ");
    show_value(out, value_object(p->name));
    buf_puts(out, ": ");
    num_put_int(out, p->arity);
    buf_puts(out, " parameters, ");
    num_put_int(out, p->upvalue_count);
    buf_puts(out, " upvalues\n");
    for (size_t at = 0; at < p->code_len;)
        at = put_instruction(out, p, at);
    for (size_t i = 0; i < p->constant_count; i++)
        if (value_is(p->constants[i], OBJ_PROTO))
            proto_disassemble((const Proto *)p->constants[i].as.object, out);
}
