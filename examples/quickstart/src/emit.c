/* Instructions and jumps; see compiler.h. */
#include "compiler.h"
#include "str.h"

enum { MAX_WORD = 0xFFFF };

void emit_raw(Compiler *c, size_t byte)
{
    proto_emit(c->fn->proto, (uint8_t)byte, c->line);
}

void emit(Compiler *c, Opcode op)
{
    emit_raw(c, op);
}

void emit_byte(Compiler *c, Opcode op, size_t operand)
{
    if (operand > 0xFF)
        compile_fail(c, "too many operands");
    emit(c, op);
    emit_raw(c, operand & 0xFF);
}

void emit_word(Compiler *c, Opcode op, size_t operand)
{
    if (operand > MAX_WORD)
        compile_fail(c, "function too large");
    emit(c, op);
    emit_raw(c, operand >> 8 & 0xFF);
    emit_raw(c, operand & 0xFF);
}

void emit_constant(Compiler *c, Opcode op, Value v)
{
    emit_word(c, op, proto_constant(c->fn->proto, v));
}

void emit_text(Compiler *c, Opcode op, Text text)
{
    emit_constant(c, op, value_object(str_new(c->heap, text.data, text.len)));
}

size_t emit_jump(Compiler *c, Opcode op)
{
    emit_word(c, op, 0);
    return c->fn->proto->code_len - 2;
}

void patch_jump(Compiler *c, size_t at)
{
    Proto *p = c->fn->proto;
    size_t distance = p->code_len - (at + 2);
    if (distance > MAX_WORD)
        compile_fail(c, "jump too far");
    p->code[at] = (uint8_t)(distance >> 8);
    p->code[at + 1] = (uint8_t)distance;
}

void emit_loop(Compiler *c, size_t start)
{
    emit_word(c, OP_LOOP, c->fn->proto->code_len + 3 - start);
}
