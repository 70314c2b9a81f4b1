#include "code.h"

#include "../rt/mem.h"

/* Makes room for one more element in an array. */
static void *grow(void *array, size_t len, size_t *cap, size_t element)
{
    if (len < *cap)
        return array;
    *cap = *cap ? *cap * 2 : 8;
    return rt_realloc(array, *cap * element);
}

Proto *proto_new(Heap *heap, Str *name)
{
    Proto *p = heap_new(heap, OBJ_PROTO, sizeof *p);
    *p = (Proto){.obj = p->obj, .name = name};
    return p;
}

void proto_trace(Heap *heap, Proto *p)
{
    heap_mark_object(heap, p->name);
    for (size_t i = 0; i < p->constant_count; i++)
        heap_mark(heap, p->constants[i]);
}

static size_t table_bytes(const Proto *p)
{
    return p->upvalue_count * sizeof *p->upvalues + p->code_len +
           p->constant_count * sizeof *p->constants + p->line_count * sizeof *p->lines;
}

void proto_finish(Heap *heap, Proto *p)
{
    heap_account(heap, 0, table_bytes(p));
}

void proto_release(Heap *heap, Proto *p)
{
    heap_account(heap, table_bytes(p), 0);
    rt_free(p->upvalues);
    rt_free(p->code);
    rt_free(p->constants);
    rt_free(p->lines);
    heap_delete(heap, p, sizeof *p);
}

static void add_line(Proto *p, uint32_t line)
{
    if (p->line_count > 0 && p->lines[p->line_count - 1] == line)
        return;
    for (int i = 0; i < 2; i++) {
        p->lines = grow(p->lines, p->line_count, &p->line_cap, sizeof *p->lines);
        p->lines[p->line_count++] = i == 0 ? (uint32_t)p->code_len : line;
    }
}

void proto_emit(Proto *p, uint8_t byte, uint32_t line)
{
    add_line(p, line);
    p->code = grow(p->code, p->code_len, &p->code_cap, sizeof *p->code);
    p->code[p->code_len++] = byte;
}

static bool same_constant(Value a, Value b)
{
    return a.tag == b.tag && (a.tag != VAL_FLOAT || (a.as.number != 0 && b.as.number != 0)) &&
           value_equal(a, b);
}

size_t proto_constant(Proto *p, Value v)
{
    for (size_t i = 0; i < p->constant_count; i++)
        if (same_constant(p->constants[i], v))
            return i;
    p->constants = grow(p->constants, p->constant_count, &p->constant_cap, sizeof *p->constants);
    p->constants[p->constant_count] = v;
    return p->constant_count++;
}

uint32_t proto_line(const Proto *p, size_t offset)
{
    uint32_t line = 0;
    for (size_t i = 0; i < p->line_count && p->lines[i] <= offset; i += 2)
        line = p->lines[i + 1];
    return line;
}

const char *opcode_name(Opcode op)
{
    static const char *const names[] = {
#define NAME(name, operands) #name,
        OPCODES(NAME)
#undef NAME
    };
    return names[op];
}

const char *opcode_operands(Opcode op)
{
    static const char *const operands[] = {
#define OPERANDS(name, operands) operands,
        OPCODES(OPERANDS)
#undef OPERANDS
    };
    return operands[op];
}
